import type { Component } from 'svelte';
import type { ViewId } from './views.ts';

/** The component of each view, in a separate file. It takes no props; all data comes from `useApp()`. */
const LOADERS: Readonly<Record<ViewId, () => Promise<{ readonly default: Component }>>> = {
  study: () => import('../views/study/StudyView.svelte'),
  landscape: () => import('../views/landscape/LandscapeView.svelte'),
  ranking: () => import('../views/ranking/RankingView.svelte'),
  compare: () => import('../views/compare/CompareView.svelte'),
  measure: () => import('../views/measure/MeasureView.svelte'),
  runs: () => import('../views/runs/RunsView.svelte'),
  models: () => import('../views/models/ModelsView.svelte'),
  export: () => import('../views/export/ExportView.svelte'),
};

let loaded = $state.raw<Readonly<Partial<Record<ViewId, Component>>>>({});

/** The component of a view, once it is loaded. */
export function viewComponent(id: ViewId): Component | undefined {
  return loaded[id];
}

/** Loads a view; rejects if its file cannot be had, as when the program is gone. May be tried again. */
export async function loadView(id: ViewId): Promise<void> {
  if (loaded[id]) return;
  const { default: component } = await LOADERS[id]();
  loaded = { ...loaded, [id]: component };
}

/** Loads the remaining views one after another while the page is idle, so that each opens at once. */
export function loadOtherViews(): void {
  const next = (Object.keys(LOADERS) as ViewId[]).find((id) => !loaded[id]);
  // What fails here is tried again, and reported, when the view is opened.
  if (next) requestIdleCallback(() => void loadView(next).then(loadOtherViews, () => undefined));
}
