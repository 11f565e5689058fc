import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { processLives } from '../../db/ownership.ts';
import { documentOf, lockstep } from '../command-line.ts';
import { lacks } from '../tools.mjs';
import { smallStudy } from '../unit/export-runs.ts';
import { testFolder } from '../workplace.ts';

// Compares lockstep.py with the command line on the same database. lockstep.py needs only Python's standard library.
const DATA = join(import.meta.dirname, '..', 'data');
const folder = testFolder();
const at = (name: string): string => join(folder, name);

type Fields = Readonly<Record<string, unknown>>;
type Rows = readonly (Fields & { readonly designIndex: number; readonly predictedMs: number })[];
type Design = Readonly<Record<'threadsPerUnit' | 'blockThreads', number>>;
interface Tuned extends Fields {
  readonly history: readonly { readonly designIndex: number }[];
  readonly steps: readonly { readonly failures?: Readonly<Record<string, string>> }[];
}
interface Said extends Fields {
  readonly measured: Tuned;
  readonly unusable: Tuned;
  readonly rank: Rows;
  readonly historyFrame: readonly Fields[];
  readonly lossPlot: readonly (readonly unknown[])[];
  readonly timePlot: readonly (readonly unknown[])[];
  readonly listed: { readonly rows: readonly { readonly meanLoss: number }[] };
  readonly sweep: Fields & { readonly best: Rows; readonly recommended: Fields };
  readonly recommend: Fields & { readonly uncertainty: Fields };
  readonly simulate: readonly { readonly simulated: { readonly meanMs: number } }[];
  readonly tune: Fields;
  readonly tried: readonly Design[];
  readonly processId: number;
}

const json = async <T = Fields>(...args: readonly string[]): Promise<T> =>
  documentOf<T>(await lockstep(...args, '--json', '--db', at('test.db')));

async function python(...words: readonly string[]): Promise<string> {
  const { LOCKSTEP: _, ...rest } = process.env;
  const env = { ...rest, HOME: folder, XDG_DATA_HOME: folder };
  const [out, err] = await new Promise<readonly [string, string]>((resolve) => {
    execFile('python3', ['-I', '-S', ...words], { env, maxBuffer: 2 ** 26 }, (_error, stdout, stderr) =>
      resolve([stdout, stderr]),
    );
  });
  expect(err).toBe('');
  return out;
}

/** Stands for any text that matches, also inside expected objects of any type. */
const text = (pattern: RegExp): string => expect.stringMatching(pattern) as string;

/** Renames the fields of a command line row to their names in Python. */
function namesOfPython({ device, implementationKind: kind, design, regime, ...row }: Fields): Fields {
  const { simulatedMs: _, measuredMs: __, contradicted: ___, ...rest } = row;
  const holding = (part: unknown): unknown => expect.objectContaining(part as object) as unknown;
  return { ...rest, deviceId: device, kind, design: holding(design), regime: holding(regime) };
}

/** Makes patterns from rows of the command line. Rows of Python match them, and may have more fields. */
const like = (rows: unknown): readonly unknown[] =>
  (rows as readonly Fields[]).map((row) => expect.objectContaining(namesOfPython(row)) as unknown);

describe.skipIf(lacks('python3'))('lockstep.py', () => {
  let said: Said;
  const program = `'${process.execPath}' '${join(DATA, 'bench', 'own-program.ts')}' --design {design} --times '${at('times.json')}' --log '${at('log.jsonl')}'`;

  beforeAll(async () => {
    const workload = { lengths: 'geometric(0.05)', units: 20_000 };
    const axes = { ...smallStudy().axes, blockThreads: [64, 128, 256, 512], threadsPerUnit: [1, 4, 16] };
    writeFileSync(at('study.json'), JSON.stringify(smallStudy({ workload, axes })));
    const times = Array.from({ length: 2000 }, (_, i) => [i, 1 + (i % 7) / 10]);
    writeFileSync(at('times.json'), JSON.stringify(Object.fromEntries(times)));
    expect(await lockstep('python', '-o', at('lockstep.py'))).toMatchObject({ status: 0, err: '' });
    const out = await python(join(DATA, 'python', 'check.py'), folder, program);
    said = JSON.parse(out) as Said;
  });

  it('returns the losses of the command line', async () => {
    expect(said.loss).toEqual(await json('loss', '--workload', 'geometric(0.05)', '--n', '2,4'));
    writeFileSync(at('lengths.csv'), '3\n1\n40\n7\n0\n12\n5\n2\n');
    const words = ['--workload', `file:${at('lengths.csv')}`, '--n', '2'];
    const { rows } = await json<{ readonly rows: readonly Fields[] }>('loss', ...words);
    const { listed } = said;
    expect(listed.rows).toEqual([{ ...rows[0], quantiles: null, distribution: null }]);
    expect([said.ofTuple, said.likeNumpy, said.ofBooleans]).toEqual([listed, [listed, listed, listed], 0.5]);
  });

  it('returns the rows of sweep and rank', async () => {
    const answer = await json('sweep', at('study.json'), '--top', '3');
    const { runId, elapsedMs: _, best, bestOfDevices, recommended, evidence: __, ...rest } = answer;
    expect(runId).not.toBe(said.sweep.runId);
    expect(said.sweep).toMatchObject({ ...rest, runId: 1, best: like(best), bestOfDevices: like(bestOfDevices) });
    const { ties, rule, ...row } = recommended as Fields;
    expect(said.sweep.recommended).toMatchObject({ ties, rule, row: like([row])[0] });
    expect(said.rank).toEqual(like((await json('rank', '1', '--top', '4', '--groups')).rows));
    expect(said.ofDevice).toEqual(like((await json('rank', '1', '--top', '1', '--device', 'nvidia-rtx-4090')).rows));
  });

  it('predicts designs by their parameters', () => {
    const predict = said.rank.map(({ predictedMs }) => predictedMs);
    const predictOne = [predict[0], [null, 'more threads per block than the device allows']];
    const predictNothing = { code: 'bad-input', field: 'designs[0]' };
    expect(said).toMatchObject({ predict, predictOne, predictNothing });
  });

  it('returns the recommendation of the command line', async () => {
    type Answer = Fields & Readonly<Record<'robust' | 'point', Fields> & Record<'designs' | 'worthKnowing', Fields[]>>;
    const { elapsedMs: _, rank: __, ...answer } = await json<Answer>('recommend', at('study.json'));
    const { design, implementationKind: kind, hasEvidence, robust, point } = answer;
    const { designs, unknown, worthKnowing, separation } = answer;
    expect(said.recommend).toMatchObject({ ...answer, row: { design, kind, hasEvidence } });
    const indexOf = ({ designIndex }: Fields) => ({ designIndex });
    const gains = worthKnowing.map(({ gain }) => ({ gain }));
    const uncertainty = { unknown, separation, robust: indexOf(robust), designs: designs.map(indexOf) };
    expect(said.recommend.uncertainty).toMatchObject({ ...uncertainty, worthKnowing: gains });
    expect(said.ofRun).toMatchObject(indexOf(point));
    expect(said.plainOfStudy).toMatchObject({ ...indexOf(point), design: point['design'] });
    for (const plain of [said.ofRun, said.plainOfStudy])
      expect(Object.keys(plain as Fields)).not.toContain('uncertainty');
    const { elapsedMs: ___, ...ofRun } = await json('recommend', '1');
    expect(said.robustOfRun).toMatchObject(ofRun);
  });

  it('returns the simulated times', async () => {
    type Answer = { readonly rows: readonly { readonly simulatedMs: { readonly mean: number } }[] };
    const { rows } = await json<Answer>('simulate', '1', '--top', '2');
    expect(said.simulate).toMatchObject(rows.map(({ simulatedMs: { mean: meanMs } }) => ({ simulated: { meanMs } })));
  });

  it('tunes like the command line, which can continue the tuning', async () => {
    const words = ['--device', 'nvidia-rtx-4090', '--exec', program, '--budget', '5'];
    const { steps, elapsedMs: _, within: __, ...tuned } = await json('tune', '1', ...words);
    expect(steps).toEqual([]);
    expect(said.tune).toMatchObject(tuned);
    expect(said.tune.steps).toMatchObject([{ designs: { length: 4 } }, { designs: { length: 1 } }]);
  });

  it('tunes by a function that may fail and be interrupted', () => {
    const { tried, interrupted, callers, measured, unusable } = said;
    const isLarge = ({ blockThreads }: Design): boolean => blockThreads === 512;
    // Only the interrupted design is measured again.
    const [made, again] = [tried.toSpliced(5, 1), tried[5]];
    expect(new Set(made.map((one) => JSON.stringify(one))).size).toBe(18);
    expect(made).toContainEqual(again);
    const large = (designs: readonly Design[]): number => designs.filter(isLarge).length;
    expect(interrupted).toMatchObject({ measured: 5 - large(tried.slice(0, 5)), failed: large(tried.slice(0, 5)) });
    // At the last design of the budget, nothing is left to gain either, so tuning may stop for either reason.
    expect(measured).toMatchObject({ measured: 18 - large(made), failed: large(made) });
    expect(['budget', 'within']).toContain(measured.stopped);
    expect(large(made)).toBeGreaterThan(0);
    // The fastest time of the space is 1/8 + 100/256 ms.
    expect(measured.best).toMatchObject({ measuredMs: 0.515625, design: { threadsPerUnit: 1, blockThreads: 256 } });
    const failures = measured.steps.flatMap((step) => Object.values(step.failures ?? {}));
    expect(failures).toContain('RuntimeError: too large');
    const infinite = { [unusable.history[0].designIndex]: text(/returned inf/) };
    expect(unusable).toMatchObject({ best: null, failed: 1, steps: [{ failures: infinite }] });
    expect(callers).toMatchObject([
      { code: 'unsupported', message: text(/caller:measure.*Call tune there again/) },
      { code: 'unsupported', message: text(/cannot run a probe/) },
      { code: 'bad-input', message: text(/repeats by itself/) },
    ]);
  });

  it('recommends for lengths in memory, on the GPU of PyTorch or CuPy, with the known values of the kernel', () => {
    const answers = said.ofLengths as readonly {
      readonly device: { readonly id: string };
      readonly inputs: readonly { readonly field: string; readonly value: unknown; readonly origin: string }[];
    }[];
    const ids = ['nvidia-rtx-4090', 'amd-mi250x-gcd', 'nvidia-h100-sxm5-80gb', 'nvidia-a100-sxm4-40gb'];
    expect(answers.map(({ device }) => device.id)).toEqual(ids);
    const registers = answers.map(({ inputs }) => inputs.find(({ field }) => field === 'kernel.registersPerThread')!);
    expect(registers.map(({ origin }) => origin)).toEqual(['assumed', 'given', 'given', 'given']);
    expect(registers.slice(1, 3).map(({ value }) => value)).toEqual([32, 32]);
    expect(said.noGpu).toMatchObject([
      { code: 'not-found', field: 'device', message: text(/Name one: device="/) },
      { code: 'not-found', field: 'device', message: text(/"GTX 9999"/) },
      { code: 'bad-input', field: 'kernel' },
      { code: 'bad-input', message: text(/registers/) },
    ]);
  });

  it('stores the lengths of a list, keeps the counts of threads apart, and restarts', () =>
    expect(said).toMatchObject({ units: 800, threads: true, status: 0, again: 5 }));

  it('raises errors with a message, a code and the field', () => {
    const failed = (code: string, message: RegExp, field: string | null = null) => ({ code, field, message });
    expect(said.failures).toEqual([
      failed('bad-input', /axes\.blockThreads\[0\] must be/, 'study.axes.blockThreads[0]'),
      failed('not-found', /no run 999/),
      failed('bad-input', /whole number .*1\.5/, 'workload.lengths[0]'),
      failed('bad-input', /not JSON/),
      failed('bad-input', /the shape \(2, 2\)\. Give an array of one dimension/),
      failed('bad-input', /the shape \(2, 1\)/),
      failed('bad-input', /not JSON/),
      failed('not-found', /missing\.json cannot be read/),
      failed('bad-input', /target and exec/),
      failed('unsupported', /pip install pandas/),
      failed('not-found', /nowhere.* cannot be started/),
      failed('cancelled', /has ended/),
      failed('bad-input', /the limit is 1000\. Name a file/),
    ]);
  });

  it('makes flat rows for pandas, and draws losses and times', () => {
    const { predictedMs } = said.sweep.best[0];
    const first = { rank: 1, blockThreads: expect.any(Number) as number, predictedMs };
    expect(said.frame).toMatchObject([first, {}, {}]);
    const history = ({ designIndex }: Fields) => designIndex;
    expect(said.historyFrame).toHaveLength(18);
    expect(said.historyFrame.map(history)).toEqual(said.measured.history.map(history));
    expect(said.lossPlot[0]).toEqual(['plot', [2], [said.listed.rows[0].meanLoss]]);
    expect(said.timePlot.slice(0, 2).map(([name]) => name)).toEqual(['plot', 'plot']);
    expect(said.timePlot[1][1]).toEqual(said.simulate.map(({ simulated }) => simulated.meanMs));
  });

  it('ends the program when Python is killed', async () => {
    for (let tries = 0; tries < 600 && processLives(said.processId); tries += 1) await pause(100);
    expect(processLives(said.processId)).toBe(false);
  });

  it('is the file of the repository, except for the path of the program that wrote it', async () => {
    const { out } = await lockstep('python');
    const lines = (text: string): readonly string[] =>
      text.split('\n').filter((line) => !line.startsWith('_WRITTEN_BY'));
    expect(lines(out)).toEqual(lines(readFileSync(join(DATA, '..', '..', 'db', 'python', 'lockstep.py'), 'utf8')));
  });
});
