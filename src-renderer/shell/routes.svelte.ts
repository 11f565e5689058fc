import type { Component } from 'svelte';
import type { ViewId } from './views.ts';

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

export function viewComponent(id: ViewId): Component | undefined {
  return loaded[id];
}

/** Loads a view. It rejects if the file is not available, for example without the server, and may be called again. */
export async function loadView(id: ViewId): Promise<void> {
  if (loaded[id]) return;
  const { default: component } = await LOADERS[id]();
  loaded = { ...loaded, [id]: component };
}

/** Loads the remaining views one after another while the page is idle, so that each opens at once. */
export function loadOtherViews(): void {
  const next = (Object.keys(LOADERS) as ViewId[]).find((id) => !loaded[id]);
  // A failure is ignored here: opening the view loads it again and reports a failure.
  if (next) requestIdleCallback(() => void loadView(next).then(loadOtherViews, () => undefined));
}
