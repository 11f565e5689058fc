import { deviceOf } from '../format/devices.ts';
import type { App } from './app.svelte.ts';
import { newestStudy } from './library.svelte.ts';
import { ALL_DEVICES } from './location.svelte.ts';

/** Reports what the address names but this database lacks, and shows something else instead. */
export async function checkAddress(app: App): Promise<void> {
  const { location, library } = app;
  if (!library.loaded) return;
  const missing = (what: string, message: string) =>
    app.refuse({ title: `There is no ${what}`, failure: { code: 'not-found', message } });
  const elsewhere = 'It was deleted, or the link comes from another database.';

  if (location.unknownView !== null) missing(`view “${location.unknownView}”`, 'The Study view is shown instead.');

  const { studyId } = location;
  if (studyId !== null && !library.studies.some(({ id }) => id === studyId)) {
    const newest = newestStudy(library.studies);
    location.openStudy(newest?.id ?? null, location.view, true);
    return missing(`study ${studyId}`, `${elsewhere}${newest ? ` “${newest.name}” is shown instead.` : ''}`);
  }

  for (const [field, view] of [
    ['run', null],
    ['selected', 'runs'],
    ['measured', 'measure'],
  ] as const) {
    if (view !== null && location.view !== view) continue;
    const id = Number(location.params.get(field) ?? NaN);
    if (Number.isNaN(id) || library.runs.some((run) => run.id === id)) continue;
    // The library lists only the newest runs, so the engine is asked for an older one.
    const run = await app.engine.call('runs.get', { id });
    if (run.ok || run.error.code !== 'not-found') continue;
    location.drop(field, 'design', 'baseline');
    return missing(
      `run ${id}`,
      `${elsewhere} ${field === 'run' ? 'The newest run of the study is shown instead.' : ''}`,
    );
  }

  for (const field of ['device', 'reference']) {
    const id = location.params.get(field);
    if (id === null || id === '' || id === ALL_DEVICES || deviceOf(library.devices, id)) continue;
    location.drop(field);
    return missing(
      `device ${id}`,
      'This device is neither in the catalogue nor among your own devices. All devices are shown instead.',
    );
  }

  const design = location.params.get('design');
  const { run } = app;
  if (design === null || run?.kind !== 'sweep') return;
  const index = Number(design);
  if (Number.isInteger(index) && index >= 0 && index < run.enumerated) return;
  location.drop('design');
  missing(`design ${design} in run ${run.id}`, `The run has the designs 0 to ${run.enumerated - 1}.`);
}
