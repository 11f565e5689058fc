import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import type { Context } from '../context.ts';
import { readStudyFile, saveStudy, type LocatedStudy } from './studies.ts';

async function exampleFiles(resourceFolder: string): Promise<readonly string[]> {
  return (await readdir(join(resourceFolder, EXAMPLES_FOLDER)))
    .filter((name) => name.endsWith('.json'))
    .sort((a, b) => Number(b === 'acts.json') - Number(a === 'acts.json') || a.localeCompare(b));
}

export const EXAMPLES_FOLDER = join('db', 'examples');
/** A database gets this setting when it has received all examples at its first start. */
const STARTED = 'examples.version';
/** The example files that a database has ever received, even those changed or deleted since. */
const OFFERED = 'examples.offered';
/** The examples that a database has received if it is older than this setting. */
const FIRST = ['acts', 'collatz', 'geometric', 'mandelbrot', 'software', 'spmv-cpu', 'spmv-skewed', 'spmv-uniform'].map(
  (name) => `${name}.json`,
);

/**
 * Adds the example studies to a new database, and to an older database only examples that are new in this version. An
 * example is never added again, even if the user has changed or deleted it. Returns the id of the first example, or
 * null if this is not the first start.
 */
export async function seedExamples({ store, host, resourceFolder }: Context): Promise<Result<number | null>> {
  if (host === 'cli') return ok(null);
  const settings = await store.listSettings();
  if (!settings.ok) return settings;
  const isNew = settings.value[STARTED] !== 1;
  const offered = isNew ? [] : ((settings.value[OFFERED] ?? FIRST) as readonly string[]);
  const files = await exampleFiles(resourceFolder);
  const added = files.filter((file) => !offered.includes(file));
  if (added.length === 0) return ok(null);
  const before = await store.listStudies();
  if (!before.ok) return before;
  const there = new Map(
    before.value.flatMap(({ id, name, spec }) =>
      (spec as Partial<LocatedStudy> | null)?.example === true ? [[name, id] as const] : [],
    ),
  );
  // Lists begin with the newest change, so the first example is saved last.
  let firstId: number | null = null;
  for (const file of added.reverse()) {
    const example = await readStudyFile(join(resourceFolder, EXAMPLES_FOLDER, file));
    if (!example.ok) return example;
    const { study, folder } = example.value;
    firstId = there.get(study.name) ?? null;
    if (firstId !== null) continue;
    const stored = await saveStudy(store, { study, baseFolder: folder, example: true });
    if (!stored.ok) return stored;
    firstId = stored.value.id;
  }
  const noted = await store.saveSetting(OFFERED, [...new Set([...offered, ...files])]);
  if (!noted.ok) return noted;
  const done = await store.saveSetting(STARTED, 1);
  return done.ok ? ok(isNew ? firstId : null) : done;
}
