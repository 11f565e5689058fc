import type { StudyRecord } from '../../src-main/contract/api.ts';
import { newStudy, studyName } from '../../src-main/contract/new-study.ts';
import type { Study } from '../../src-main/contract/study.ts';
import type { Result } from '../../src-workers/domain/result.ts';
import { asOwn } from '../views/study/edit.ts';
import type { App } from '../state/app.svelte.ts';

export async function createStudy(app: App): Promise<boolean> {
  return (await openSaved(app, await app.engine.call('studies.save', { study: newStudy() }))) !== null;
}

async function openSaved(app: App, saved: Result<StudyRecord>): Promise<number | null> {
  if (!saved.ok) {
    app.report(saved.error);
    return null;
  }
  await app.library.load('studies');
  app.location.openStudy(saved.value.id, 'study');
  return saved.value.id;
}

export const isMatrix = (lengths: string): boolean => /^stored:.*\.mtx(\.gz)?$/i.test(lengths);

export async function compareSpmvKernels(app: App): Promise<void> {
  const lengths = app.editor.study?.workload.lengths ?? '';
  await openSaved(app, await app.engine.call('studies.spmv', { lengths }));
}

/** Changes the open study to use a file, and reports `text`. An example is first copied to a study of the user. */
export async function changeByFile(
  app: App,
  fileName: string,
  field: string,
  text: string,
  change: (study: Study) => Study,
): Promise<void> {
  const { id, study, example } = app.editor;
  if (id === null || study === null) return;
  if (!example) {
    app.editor.edit(field, `import ${fileName}`, change);
    return app.notices.show(text, () => {
      if (app.editor.id === id) app.editor.edit(field, `undo of ${fileName}`, () => study);
    });
  }
  // The example is duplicated in the engine, because the copy needs the folder of its files.
  const copy = await app.engine.call('studies.duplicate', { id });
  if (!copy.ok) return app.report(copy.error);
  const own = change(asOwn(study, studyName(fileName)));
  const opened = await openSaved(app, await app.engine.call('studies.save', { id: copy.value.id, study: own }));
  if (opened === null) return;
  app.notices.show(`${text}. The new study is “${own.name}”; the example stays unchanged`, async () => {
    const deleted = await app.engine.call('studies.delete', { id: opened });
    if (!deleted.ok) return app.report(deleted.error);
    await app.library.load('studies');
    app.location.openStudy(id, 'study');
  });
}
