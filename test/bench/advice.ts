import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { openEngine } from '../../src-main/services/engine.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { median } from '../../src-workers/numeric/statistics.ts';

/*
 * `npm run bench -- advice`: times of the recommendation and of the sensitivity for each example study, ms, over all
 * its devices: the first answers, the coarse and the exact one; the exact one after an edit of each of some inputs; the
 * one with ties and small maps, for which all designs are predicted; then the least expected regret, and the
 * sensitivity. Beside them the time of all processors together, which other programs change less.
 */
const ROOT = join(import.meta.dirname, '../..');
const EXAMPLES = join(ROOT, 'db/examples');
const NAMES = ['acts', 'collatz', 'geometric', 'mandelbrot', 'software', 'spmv-cpu', 'spmv-skewed', 'spmv-uniform'];
const ROUNDS = 3;
/** Wanted after an edit, of the least expected regret where all designs are predicted, and of a sensitivity. */
const EXACT_MS = 300;
const ROBUST_MS = 1000;
const SENSITIVITY_MS = 2000;

type Kernel = StudyFile['kernel'];
const kernel =
  (change: (kernel: Kernel, round: number) => Partial<Kernel>) =>
  (study: StudyFile, round: number): StudyFile => ({
    ...study,
    kernel: { ...study.kernel, ...change(study.kernel, round) },
  });
/** Every round makes another study, and none is that of the file. */
const EDITS: Readonly<Record<string, (study: StudyFile, round: number) => StudyFile>> = {
  σ: kernel((_, round) => ({ serialFraction: 0.013 + 0.021 * round })),
  κ: kernel((_, round) => ({ cooperationCost: 0.013 + 0.021 * round })),
  registers: kernel(({ registersPerThread }, round) => ({ registersPerThread: registersPerThread + 3 + 5 * round })),
  instructions: kernel(({ instructionsPerIteration }, round) => ({
    instructionsPerIteration: instructionsPerIteration + 1 + round,
  })),
  traffic: kernel(({ bytesPerIteration = 0 }, round) => ({ bytesPerIteration: bytesPerIteration + 1 + round })),
  setup: kernel(({ unit }, round) => ({
    unit: { ...unit, instructions: (unit?.instructions ?? 0) + 10 + 10 * round },
  })),
  units: (study, round) => ({
    ...study,
    workload: { ...study.workload, units: Math.round(study.workload.units * (0.9 - 0.1 * round)) },
  }),
  lengths: (study, round) => ({
    ...study,
    workload: { ...study.workload, lengths: `geometric(${0.04 + 0.02 * round})` },
  }),
};

interface Taken {
  readonly ms: number;
  readonly processorMs: number;
}
const timeOf = async (body: () => Promise<unknown>): Promise<Taken> => {
  const [start, before] = [performance.now(), process.cpuUsage()];
  await body();
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - start, processorMs: (user + system) / 1e3 };
};
const middle = (values: readonly number[]): string => median(Float64Array.from(values).sort()).toFixed(0).padStart(7);
const write = (name: string, what: string, taken: readonly Taken[], wanted = Infinity): void => {
  const all = taken.map(({ ms }) => ms);
  const verdict = Number(middle(all)) <= wanted ? '' : `  more than ${wanted} ms`;
  process.stdout.write(
    `${name.padEnd(14)}${what.padEnd(14)}${middle(all)} ms ${middle(taken.map(({ processorMs }) => processorMs))} ms of processors${verdict}\n`,
  );
};

const asked = process.argv.slice(2);
for (const name of asked.length > 0 ? asked : NAMES) {
  const { $schema: _schema, ...study } = JSON.parse(readFileSync(join(EXAMPLES, `${name}.json`), 'utf8'));
  const first: Taken[] = [];
  const exact: Taken[] = [];
  const again: Taken[] = [];
  const edited = new Map<string, Taken[]>(Object.keys(EDITS).map((edit) => [edit, []]));
  const whole: Taken[] = [];
  const robust: Taken[] = [];
  const sensitive: Taken[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const folder = mkdtempSync(join(tmpdir(), 'lockstep-advice-bench-'));
    const engine = unwrap(
      await openEngine({ databaseFile: join(folder, 'bench.db'), resourceFolder: ROOT, host: 'cli', workers: 2 }),
    );
    const recommend = (edit: StudyFile, look: 'coarse' | 'fastest' | 'all' = 'fastest'): Promise<Taken> =>
      timeOf(async () => unwrap(await engine.call('advice.recommend', { study: edit, folder: EXAMPLES, look })));
    try {
      first.push(await recommend(study, 'coarse'));
      exact.push(await recommend(study));
      again.push(await recommend(study));
      for (const [edit, times] of edited) times.push(await recommend(EDITS[edit](study, round)));
      whole.push(await recommend(study, 'all'));
      robust.push(
        await timeOf(async () => unwrap(await engine.call('advice.uncertainty', { study, folder: EXAMPLES }))),
      );
      sensitive.push(
        await timeOf(async () => unwrap(await engine.call('advice.sensitivity', { study, folder: EXAMPLES }))),
      );
    } finally {
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    }
  }
  write(name, 'first, coarse', first);
  write(name, 'first, exact', exact);
  write(name, 'unchanged', again);
  for (const [edit, times] of edited) write(name, edit, times, EXACT_MS);
  write(name, 'ties and maps', whole);
  write(name, 'least regret', robust, ROBUST_MS);
  write(name, 'sensitivity', sensitive, SENSITIVITY_MS);
}
