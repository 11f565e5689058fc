import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import type { Context } from '../context.ts';
import { readStudyFile, saveStudy, type LocatedStudy } from './studies.ts';

/** The example studies that come with Lockstep, in order of their file names, Acts first. */
async function exampleStudies(resourceFolder: string): Promise<Result<readonly LocatedStudy[]>> {
  const folder = join(resourceFolder, 'db', 'examples');
  const names = (await readdir(folder))
    .filter((name) => name.endsWith('.json'))
    .sort((a, b) => Number(b === 'acts.json') - Number(a === 'acts.json') || a.localeCompare(b));
  const studies: LocatedStudy[] = [];
  for (const name of names) {
    const study = await readStudyFile(join(folder, name));
    if (!study.ok) return study;
    studies.push({ ...study.value, example: true });
  }
  return ok(studies);
}

/**
 * A new database starts with the example studies; those that an earlier start saved before it was ended are there already.
 * Returns the id of the first one, or null where all was done before.
 */
export async function seedExamples({ store, host, resourceFolder }: Context): Promise<Result<number | null>> {
  if (host === 'cli') return ok(null);
  const existing = await store.listSettings();
  if (!existing.ok) return existing;
  if (existing.value['examples.version'] === 1) return ok(null);
  const examples = await exampleStudies(resourceFolder);
  if (!examples.ok) return examples;
  const before = await store.listStudies();
  if (!before.ok) return before;
  const seeded = new Map(
    before.value.flatMap(({ id, name, spec }) =>
      (spec as Partial<LocatedStudy> | null)?.example === true ? [[name, id] as const] : [],
    ),
  );
  // Newest change is listed first: the first example is saved last.
  let firstId: number | null = null;
  for (const example of [...examples.value].reverse()) {
    firstId = seeded.get(example.study.name) ?? null;
    if (firstId !== null) continue;
    const stored = await saveStudy(store, example);
    if (!stored.ok) return stored;
    firstId = stored.value.id;
  }
  const done = await store.saveSetting('examples.version', 1);
  return done.ok ? ok(firstId) : done;
}
