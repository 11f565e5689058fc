import type { Component } from 'svelte';
import CompareView from '../views/compare/CompareView.svelte';
import ExportView from '../views/export/ExportView.svelte';
import LandscapeView from '../views/landscape/LandscapeView.svelte';
import MeasureView from '../views/measure/MeasureView.svelte';
import ModelsView from '../views/models/ModelsView.svelte';
import RankingView from '../views/ranking/RankingView.svelte';
import RunsView from '../views/runs/RunsView.svelte';
import StudyView from '../views/study/StudyView.svelte';
import type { ViewId } from './views.ts';

/** The component of each view. It takes no props: everything comes from `useApp()`. */
export const ROUTES: Readonly<Record<ViewId, Component>> = {
  study: StudyView,
  landscape: LandscapeView,
  ranking: RankingView,
  compare: CompareView,
  measure: MeasureView,
  runs: RunsView,
  models: ModelsView,
  export: ExportView,
};
