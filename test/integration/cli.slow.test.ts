import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { parse } from 'csv-parse/sync';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { lacks } from '../tools.mjs';
import { contradictedCell, sayContradicted } from '../../src-main/cli/design-columns.ts';
import { followRun } from '../../src-main/cli/follow.ts';
import { main } from '../../src-main/cli/main.ts';
import { progressBar, showSeconds, type Streams } from '../../src-main/cli/output.ts';
import type { SimulatedTime } from '../../src-main/contract/api.ts';
import type { OpenEngine as Engine } from '../../src-main/services/engine.ts';
import { parseStudy } from '../../src-main/contract/parse.ts';
import { fail, unwrap, type Result } from '../../src-workers/domain/result.ts';
import { NOTHING_ELSE, smallStudy } from '../unit/export-runs.ts';
import { captured, documentOf, lockstep, shareEngine, type Outcome } from '../command-line.ts';
import { testFolder } from '../workplace.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const COMMAND = join(ROOT, 'src-main/cli/lockstep.mjs');
const folder = testFolder();
const at = (name: string): string => join(folder, name);
const db = at('test.db');
shareEngine(() => db);

/** Runs a command line, on the database of these tests unless the line names another one. */
const run = (line: string, streams: Partial<Streams> = {}): Promise<Outcome> =>
  captured((terminal) => main([...line.split(' '), ...(line.includes('--db') ? [] : ['--db', db])], terminal), streams);
const printed = async (line: string): Promise<string> => (await run(line)).out;

/** Runs a command. Expects one JSON document on standard output, nothing on standard error, and exit code 0. */
const json = async <T>(line: string): Promise<T> => documentOf(await run(`${line} --json`));

const numbers = (...names: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries(names.map((name) => [name, expect.any(Number) as number]));
const table = (csv: string): readonly Readonly<Record<string, string>>[] => parse(csv, { columns: true });

/** Expects that a command fails with nothing on standard output and one line on standard error, without a stack. */
async function failure(status: 1 | 2, line: string): Promise<string> {
  const outcome = await run(line);
  expect(outcome).toEqual({ status, out: '', err: /^lockstep: [^\n]+\n$/ });
  expect(outcome.err).not.toMatch(/\bat .*\.ts:\d/);
  return outcome.err;
}

const fails = async (status: 1 | 2, line: string, words: RegExp): Promise<void> =>
  expect(await failure(status, line)).toMatch(words);
const says = async (line: string, words: RegExp): Promise<void> => expect(await printed(line)).toMatch(words);

/** Writes a file of the tests' folder, and returns its path. A value that is not a text is written as JSON. */
function write(name: string, content: string | object): string {
  writeFileSync(at(name), typeof content === 'string' ? content : JSON.stringify(content));
  return at(name);
}
const read = (file: string): string => readFileSync(file, 'utf8');

interface Row {
  readonly rank: number;
  readonly device: string;
  readonly design: Readonly<Record<string, unknown>>;
  readonly timeMs: number;
  readonly designIndex: number;
  readonly regime?: { readonly id: string } | null;
  readonly fidelity: string;
  readonly predictedMs: number;
  readonly simulatedMs: { readonly mean: number } | null;
  readonly difference: number;
}
interface Rows {
  readonly rows: readonly Row[];
}
interface Sweep {
  readonly runId: number;
  readonly bestOfDevices: readonly Row[];
  readonly best: readonly Row[];
  readonly recommended: Row & { readonly ties: number; readonly rule: string };
  readonly inputs: Readonly<Record<string, readonly { readonly field: string; readonly origin: string }[]>>;
  readonly designs: { readonly enumerated: number; readonly valid: number; readonly invalid: number };
  readonly invalidReasons: readonly { readonly count: number }[];
}

const studyFile = write('study.json', smallStudy());
let swept: Sweep;
beforeAll(async () => {
  swept = await json(`sweep ${studyFile}`);
});

describe('sweep', () => {
  it('--json has the promised shape', async () => {
    const { designs, invalidReasons, best, inputs, recommended } = swept;
    expect(swept).toMatchObject({ runId: 1, study: 'Small', elapsedMs: expect.any(Number) as number, designs: { enumerated: 768 } }); // prettier-ignore
    expect(designs.valid + designs.invalid).toBe(designs.enumerated);
    expect(invalidReasons.reduce((sum, { count }) => sum + count, 0)).toBe(designs.invalid);
    expect(await json('runs show 1')).toMatchObject({ invalidReasons });
    await says('runs show 1', /\nDesigns {3}768, .*\nNot valid [a-z].* \([\d,]+\)\n/);
    expect(best.map(({ rank }) => rank)).toEqual(Array.from({ length: 10 }, (_, at) => at + 1));
    expect(best).toEqual(best.toSorted((a, b) => a.timeMs - b.timeMs));
    for (const row of best) {
      expect(row.design.gridBlocks).toBeGreaterThan(0);
      expect(row).toMatchObject({
        ...numbers('timeMs', 'meanLoss', 'aggregateLoss', 'occupancyFraction'),
        device: expect.any(String) as string,
        design: { ...numbers('threadsPerUnit', 'unitsPerThread', 'blockThreads'), balancing: /^[a-z-]+$/ },
        limitedBy: expect.any(Array) as string[],
        regime: { id: /^[a-z-]+$/, label: /^[A-Z]/, accuracy: numbers('median', 'p95', 'designs') },
      });
    }
    expect(Object.keys(inputs)).toEqual(['nvidia-a100-sxm4-40gb', 'nvidia-rtx-4090']);
    expect(Object.fromEntries(inputs['nvidia-rtx-4090'].map(({ field, origin }) => [field, origin]))).toMatchObject({
      'kernel.serialFraction': 'given',
      'kernel.cooperationCost': 'assumed',
      'device.dependentIssueLatencyCycles': 'assumed',
    });
    expect(recommended.ties).toBeGreaterThanOrEqual(recommended.rank);
    expect(recommended.device).toBe(best[0].device);
  });

  it('prints a table without --json, and a progress bar only on a terminal', async () => {
    const { recommended, best, bestOfDevices } = swept;
    const piped = await run(`sweep ${studyFile} --top 3`);
    expect(piped).toMatchObject({ status: 0, err: '' });
    for (const words of [
      `^Best with usual values on .*: \\d+ threads? per unit, blocks of .* \\(design ${recommended.designIndex}\\), predicted [\\d.]+.(µs|ms)\\.\\nRun \\d+, .*: 768 designs, `,
      '\\nDesigns may rank differently when measured if their predicted times are close: within 20 %\\.\\n',
      '\\n\\d+ inputs are assumed\\. lockstep recommend STUDY finds ',
      `\\n *1 +${best[0].designIndex}  [^]*\\nThe best design of each device:\\n`,
    ])
      expect(piped.out).toMatch(new RegExp(words));
    expect(piped.out).not.toMatch(/Not valid|Compared with the event simulation/);
    const [, ofDevices] = piped.out.split('\nThe best design of each device:\n');
    expect(ofDevices.match(/A100 SXM4 40 GB|GeForce RTX 4090/g)!.slice(0, 2)).toEqual(
      bestOfDevices.map(({ device }) => (device.includes('4090') ? 'GeForce RTX 4090' : 'A100 SXM4 40 GB')),
    );
    const watched = await run(`sweep ${studyFile} --top 3 --verbose`, { interactive: true });
    expect(watched.err).toMatch(/Predicting █+ 768 of 768/);
    expect(watched.err.endsWith('\r\x1b[2K')).toBe(true);
    for (const words of [
      /^Not valid: [a-z].* \([\d,]+\)/m,
      /predicted times are close: within 20 % \(the upper quartile of the tie bands of 4 other devices/,
      /\nCompared with the event simulation, half of the predictions/,
      /\nNo public measurements are known of GeForce RTX 4090, or of designs with dynamic fetch on A100 SXM4 40 GB\. The possible errors of these times are taken from other devices\.\n/,
      /\nAssumed for .*: .*Memory traffic per iteration = 1.5 B, .*Once per unit = 42 instructions,.*\.\n$/,
    ])
      expect(watched.out).toMatch(words);
    expect(watched.out).toContain(`\n${recommended.rule}\n`);
    expect(watched.out).not.toContain('█');
  });

  it('fails if no design is valid, and explains why', async () => {
    const kernel = { ...smallStudy().kernel, sharedMemoryBytesPerBlock: 1_000_000 };
    const out =
      / 0 valid, .*\nNot valid: .*one block needs more shared memory than a multiprocessor has \([\d,]+\).*\.\n$/;
    const err = /^lockstep: No design is valid on .*: .*\. Change kernel\.sharedMemory\w+\. Run \d+ is saved\.\n$/;
    const line = `sweep ${write('too-much.json', smallStudy({ kernel }))}`;
    expect(await run(line)).toEqual({ status: 1, out, err });
    expect(await run(`${line} --json`)).toEqual({ status: 1, out: /^\{[^]*"valid": 0,[^]*\n\}\n$/, err });
  });

  it('says why the best design is not the one with the least time', async () => {
    const acts = join(ROOT, 'db/examples/acts.json');
    const out = await printed(`sweep ${acts} --device nvidia-rtx-4090 --top 1`);
    const [, longer, design] =
      /\nIt takes ([\d.]+\s%) longer than design (\d+)\. The model cannot .*, and this one is simpler\.\n/.exec(out)!;
    expect(out).toMatch(new RegExp(`\n *1 +${design} `));
    expect(Number.parseFloat(longer)).toBeLessThanOrEqual(1.5);
  });

  it('names the error in a study and its place, and starts no run', async () => {
    const total = async () => (await json<{ runs: readonly unknown[] }>('runs list')).runs.length;
    const before = await total();
    const of = (lengths: string) => smallStudy({ workload: { lengths, units: 5 } });
    for (const [study, words] of [
      [smallStudy({ devices: ['nvidia-a100'] }), /devices\[0\]: .*"nvidia-a100"\. Did you mean nvidia-a100-/],
      [of('geometrik(0.05)'), /workload\.lengths: .*geometrik/],
      [of('file:none.csv'), /none\.csv cannot be read \(no such file or folder, ENOENT\)/],
      ['{"lockstep": 1,', /line 1, column 16/],
    ] as const)
      await fails(1, `sweep ${write('wrong.json', study)}`, words);
    expect(await total()).toBe(before);
  });
});

describe('loss', () => {
  it('--json has the promised shape and values', async () => {
    const spread = { standardDeviationLoss: expect.any(Number) as number, quantiles: numbers('p50', 'p95', 'p99') };
    expect(await json('loss --workload geometric(0.05) --n 2,32')).toMatchObject({
      workload: {
        ...numbers('standardDeviation', 'supportMax', 'truncatedMass'),
        ...{ label: 'geometric(0.05)', mean: expect.closeTo(20, 3) as number, supportMin: 1, fitted: false },
      },
      rows: [
        { n: 2, meanLoss: expect.closeTo(1.4762, 4), aggregateLoss: expect.closeTo(1.4872, 4), ...spread },
        { n: 32, ...spread },
      ],
    });
    const figures = 'loss --workload summary(mean=20,sd=12,max=300) --n 2';
    expect(await json(figures)).toMatchObject({ workload: { fitted: true, supportMax: 300 } });
    await says(figures, /; the law is assumed, and fitted to these figures/);
  });

  it("shows the loss from a profile's active lanes beside the loss of the study", async () => {
    const study = write('profiled.json', smallStudy());
    const profile = write(
      'profile.csv',
      '"ID","Kernel Name","CC","launch__registers_per_thread","smsp__thread_inst_executed_per_inst_executed.ratio"\n"","","","register/thread",""\n"0","walk(int)","8.0","40","10"\n',
    );
    const { loss } = await json<{ loss: object }>(`kernel inspect ${profile} --into ${study}`);
    const { rows } = await json<{ rows: readonly { aggregateLoss: number }[] }>(
      `loss --workload ${smallStudy().workload.lengths} --n 32`,
    );
    expect(loss).toEqual({ measured: 3.2, computed: rows[0].aggregateLoss });
  });

  it("compares a profile's counts with the predictions for its blocks", async () => {
    const [units, length, instructions, bytes] = [65_536, 100, 60, 8];
    const kernel = { ...smallStudy().kernel, instructionsPerIteration: instructions, bytesPerIteration: bytes };
    const study = write('counted.json', {
      ...smallStudy({ workload: { lengths: `constant(${length})`, units }, devices: ['nvidia-a100-sxm4-40gb'] }),
      kernel: { ...kernel, serialFraction: 0, origins: NOTHING_ELSE },
    });
    const launch = '"walk(int)","8.0","(256, 1, 1)","(256, 1, 1)","40","24000000","1500000","80000000"';
    const profile = write(
      'counted.csv',
      `"ID","Kernel Name","CC","Block Size","Grid Size","launch__registers_per_thread","smsp__inst_issued.sum","lts__t_sectors.sum","dram__bytes.sum"\n"","","","","","register/thread","inst","sector","byte"\n"0",${launch}\n"1",${launch}\n`,
    );
    const line = `kernel inspect ${profile} --into ${study}`;
    type Counts = Record<string, { measured: number; predicted: number }>;
    const [one, two] = (await json<{ work: readonly Counts[] }>(line)).work;
    expect(one).toMatchObject({ threadsPerUnit: 1, instructions: { measured: 48_000_000 }, l2Sectors: { measured: 3_000_000 }, dramBytes: { measured: 160_000_000 } }); // prettier-ignore
    // Every lane works in every iteration, so the expected counts follow by arithmetic.
    expect(one.instructions.predicted / (2 * (units / 32) * length * instructions)).toBeCloseTo(1, 6);
    expect(one.dramBytes.predicted / (2 * units * length * bytes)).toBeCloseTo(1, 6);
    expect(one.l2Sectors.predicted).toBeCloseTo(one.dramBytes.predicted / 32, 3);
    // With two threads per unit, a group has half the units, each at half the instructions or more: no smaller total.
    expect(two.instructions.predicted).toBeGreaterThan(0.99 * one.instructions.predicted);
    const text = await printed(line);
    expect(text).toMatch(/threads\/unit +instructions +ratio/);
    expect(text).toContain('0.512 ×');
  });

  it('shows the loss in the order of a file beside the loss of units drawn at random', async () => {
    const file = write('rising.csv', Array.from({ length: 64 }, (_, unit) => `${unit + 1}\n`).join(''));
    // Longest units: 32 and 64. The mean loss divides them by the means of their halves, the aggregate by that of all.
    const row = `${((32 / 16.5 + 64 / 48.5) / 2).toFixed(4)} +${((32 + 64) / (16.5 + 48.5)).toFixed(4)}`;
    const table = new RegExp(`consecutive units[^]*\\n *n +mean in order +aggregate in order[^]*\\n *32 +${row} `);
    await says(`loss --workload file:${file} --n 32`, table);
    expect(await printed('loss --workload geometric(0.05)')).not.toContain('in order');
  });
});

describe('occupancy', () => {
  it('is printed for one launch, or the limit of the device if the launch cannot run', async () => {
    const found = { blocksPerSm: 6, warpsPerSm: 48, occupancyFraction: 0.75, limitedBy: ['registers'], refused: null };
    expect(await json('occupancy --cc 9.0 --block 256 --registers 40 --shared 0')).toMatchObject(found);
    await says('occupancy --cc 9.0 --block 1024 --registers 64', /^1 block, 32 thread groups per multiprocessor, /);
    const refused = '2000 threads per block, more than the 1024 that the device allows';
    expect(await printed('occupancy --cc 9.0 --block 2000')).toBe(`This block cannot run: ${refused}.\n`);
    const impossible = { blocksPerSm: 0, limitedBy: ['warps'], refused };
    expect(await json('occupancy --cc 9.0 --block 2000')).toMatchObject(impossible);
  });

  it('equals the golden file, and names what is wrong with a file', async () => {
    const golden = join(ROOT, 'test/data/occupancy/nvidia-blocks-per-sm.csv');
    const [head, ...lines] = read(golden).trim().split('\n');
    const { rows } = await json<{ rows: readonly { blocksPerSm: number }[] }>(`occupancy --batch ${golden}`);
    expect(rows.map(({ blocksPerSm }) => blocksPerSm)).toEqual(lines.map((line) => Number(line.split(',')[4])));
    await fails(1, `occupancy --batch ${write('bad.csv', 'a,b,c,d\n1,2,3,4\n')}`, /line 1: .*"a,b,c,d"/);
    await fails(1, `occupancy --batch ${write('bad.csv', `${head}\n9.0,-1,3,4,0\n`)}`, /line 2: block_threads .*"-1"/);
  });
});

describe('lists runs and ranks designs', () => {
  it('an export takes the best design of the requested device, as a ranking and a recommendation do', async () => {
    const { bestOfDevices, best } = swept;
    expect(bestOfDevices.map(({ device }) => device).sort()).toEqual(['nvidia-a100-sxm4-40gb', 'nvidia-rtx-4090']);
    expect(bestOfDevices[0]).toEqual(best[0]);
    for (const own of bestOfDevices) expect(own.regime).not.toBeNull();
    const [fastest, { device, designIndex: index, timeMs }] = bestOfDevices;
    expect(await json(`rank 1 --top 1 --device ${device}`)).toMatchObject({ rows: [{ designIndex: index, timeMs }] });
    const { designIndex } = await json<{ designIndex: number }>(`recommend 1 --device ${device}`);
    await says(`export 1 --format cuda --device ${device}`, new RegExp(`run 1, design ${designIndex}\\.`));
    const listed: unknown = JSON.parse(await printed(`export 1 --format json --top 5 --device ${device}`));
    expect(listed).toMatchObject({ rows: Array(5).fill({ device }) as unknown });
    const other = `export 1 --format cuda --device ${device} --design ${fastest.designIndex}`;
    await fails(1, other, /belongs to .*\. Specify a design of/);
  });

  it('predict returns the same times for exported designs, and names the line of an error', async () => {
    const device = 'nvidia-rtx-4090';
    const listed = at('listed-designs.csv');
    await run(`export 1 --format csv --device ${device} --top 30 -o ${listed}`);
    const times = table(read(listed)).map((row) => Number(row.time_ms));
    expect(times.filter((time) => time > 0)).toHaveLength(30);
    const again = await printed(`predict 1 ${listed} --device ${device}`);
    const semicolons = write('semicolons.csv', read(listed).replaceAll(',', ';'));
    expect(await printed(`predict 1 ${semicolons} --device ${device}`)).toBe(again.replaceAll(',', ';'));
    const predicted = table(again).map(({ predicted_ms, reason }) => [Number(predicted_ms), reason]);
    expect(predicted).toEqual(times.map((time) => [time, '']));

    const [{ register_cap, ...others }] = table(read(listed));
    const cap = register_cap === '' ? 0 : register_cap;
    const design = JSON.stringify({ ...others, BX: 2048, units_per_thread: 0, cap, block_threads: undefined });
    const lines = write('designs.jsonl', `\n${design}\n`);
    const named = `predict ${studyFile} ${lines} --map BX=block_threads --map cap=register_cap --device ${device}`;
    const impossible = { predicted_ms: null, reason: 'more threads per block than the device allows' };
    expect(JSON.parse(await printed(named))).toMatchObject({ BX: 2048, ...impossible });
    expect(await json(named)).toMatchObject({ device: { id: device }, designs: [impossible] });
    for (const [text, words] of [
      [`\n${design}\n`, /designs\.jsonl, line 2: .* is missing/],
      ['{"threads_per_unit": 4}\nno JSON\n', /line 2: Expected a JSON object/],
      ['threads_per_unit,loop\n4,nested,9\n', /line 2: The line has 3 cells, but the header has 2/],
      ['\n', /has no designs/],
    ] as const)
      await fails(1, `predict 1 ${write('designs.jsonl', text)} --device ${device}`, words);
    await fails(1, `predict 1 ${at('nowhere.csv')} --device ${device}`, /cannot be read/);
  });

  it('runs can be listed, shown, deleted, restored and removed for good, which frees space', async () => {
    const { runId: id } = await json<Sweep>(`sweep ${studyFile}`);
    const newest = async () => (await json<{ runs: readonly { id: number }[] }>('runs list')).runs[0].id;
    expect(await newest()).toBe(id);
    expect(await json(`runs show ${id}`)).toMatchObject({ id, state: 'complete', study: { name: 'Small' } });
    expect(await json(`runs delete ${id}`)).toEqual({ runId: id, deleted: true });
    expect(await newest()).toBeLessThan(id);
    expect(await json('runs list --deleted')).toMatchObject({ runs: [{ id, deletedAt: /^\d{4}-/ }] });
    const deleted = new RegExp(`\\nState {5}complete\\nDeleted {3}\\S+; lockstep runs restore ${id} takes`);
    await says(`runs show ${id}`, deleted);
    for (const line of [`rank ${id}`, `recommend ${id} --json`])
      expect((await run(line)).err).toBe(
        `lockstep: Run ${id} is in the bin. lockstep runs restore ${id} takes it out.\n`,
      );
    await fails(1, `export ${id} --format csv`, new RegExp(`Run ${id} was deleted, .*runs restore ${id} .*runs list`));
    expect(await json(`runs restore ${id}`)).toEqual({ runId: id, restored: true });
    expect(await newest()).toBe(id);
    expect(await failure(1, `runs restore ${id}`)).toBe(`lockstep: Run ${id} is not in the bin.\n`);
    expect(await printed('runs list --deleted')).toBe('The bin is empty.\n');
    const { runId: second } = await json<Sweep>(`sweep ${studyFile}`);
    await json(`runs delete ${second}`);
    expect(await json('runs purge --dry-run')).toMatchObject({ runs: 1, studies: 0, dryRun: true });
    await says(
      'runs purge --dry-run',
      /^Run \d+, Small \(sweep\)\nWould remove 1 run and 0 studies; .*about [\d.]+ MB/,
    );
    const answered = (answer: string) => run('runs purge', { ask: async () => answer });
    expect(await answered('')).toMatchObject({ status: 1, err: 'lockstep: Nothing was removed.\n' });
    const removedOne = new RegExp(`^Run ${second}, Small \\(sweep\\)\\nRemoved 1 run and 0 studies; `);
    expect(await answered('y')).toMatchObject({ out: removedOne });
    await json(`runs delete ${id}`);
    const { freedBytes, ...removed } = await json<{ freedBytes: number }>('runs purge');
    expect(removed).toEqual({ runs: 1, studies: 0 });
    expect(freedBytes).toBeGreaterThan(0);
    await fails(1, `runs restore ${id}`, new RegExp(`no run ${id}\\. lockstep runs list`));
    expect(await printed('runs purge')).toBe('The bin is empty.\n');
  });

  it('simulate prints times beside predicted ones, and rank and export show them from then on', async () => {
    const { runId: id } = await json<Sweep>(`sweep ${studyFile}`);
    const device = 'nvidia-rtx-4090';
    const line = `simulate ${id} --top 4 --device ${device}`;
    const found = await json<Rows & { medianAbsoluteDifference: number }>(line);
    expect(found).toMatchObject({ runId: id + 1, sourceRunId: id, ...numbers('spearman') });
    for (const [at, { predictedMs, simulatedMs, difference, ...row }] of found.rows.entries()) {
      expect(row).toMatchObject({ rank: at + 1, device, contradicted: false, regime: { id: /^[a-z-]+$/ } });
      expect(difference).toBe(predictedMs / simulatedMs!.mean - 1);
    }
    const differences = found.rows.map((row) => Math.abs(row.difference)).sort((a, b) => a - b);
    expect(found.medianAbsoluteDifference).toBe((differences[1] + differences[2]) / 2);

    const ranked = await json<Rows>(`rank ${id} --top 6 --device ${device}`);
    const [simulated, predicted] = [Array<string>(4).fill('simulated'), Array<string>(2).fill('predicted')];
    expect(ranked.rows.map((row) => row.fidelity)).toEqual([...simulated, ...predicted]);
    for (const { designIndex, regime, simulatedMs, timeMs } of ranked.rows.slice(0, 4)) {
      const own = found.rows.find((other) => other.designIndex === designIndex)!;
      expect([timeMs, simulatedMs!.mean, regime]).toEqual([own.simulatedMs!.mean, own.simulatedMs!.mean, own.regime]);
    }
    await says(`rank ${id} --device ${device}`, /simulated, (ms|µs)/);
    expect(await printed('rank 1')).not.toMatch(/simulated/);

    const exported = table(await printed(`export ${id} --format csv`)).filter((row) => row.fidelity === 'simulated');
    const means = found.rows.map((row) => row.simulatedMs!.mean);
    expect(exported.map((row) => Number(row.simulated_ms)).sort()).toEqual(means.sort());
    expect(table(await printed('export 1 --format csv'))[0]).not.toHaveProperty('simulated_ms');
    const document = JSON.parse(await printed(`export ${id} --format json`)) as Rows;
    expect(document.rows.filter((row) => row.simulatedMs)).toHaveLength(4);
  });

  it.skipIf(lacks('chromium'))('export as a PDF, printed by Chromium', async () => {
    const written = await json<{ bytes: number }>(`export 1 --format pdf -o ${at('report.pdf')}`);
    const pdf = readFileSync(at('report.pdf'));
    expect([pdf.subarray(0, 5).toString(), pdf.length]).toEqual(['%PDF-', written.bytes]);
    expect(pdf.length).toBeGreaterThan(20_000);
  });

  // unit/export.test.ts tests the content of every format.
  it('an export is the same in a file, says how many designs it lists, and which file it replaces', async () => {
    const file = at('listed.csv');
    const wrote = /^Wrote .*listed\.csv: the best 3 of [\d,]+ designs; --top lists more\.\n$/;
    expect(await run(`export 1 --format csv -o ${file} --top 3`)).toEqual({ status: 0, out: '', err: wrote });
    const best = /^the best 3 of [\d,]+ designs; --top lists more\.\n$/;
    expect(await run('export 1 --format csv --top 3')).toEqual({ status: 0, out: read(file), err: best });
    const again = await json<{ bytes: number; designs: { of: number } }>(`export 1 --format csv -o ${file} --top 2`);
    expect(again).toMatchObject({ replaced: true, designs: { listed: 2 }, bytes: Buffer.byteLength(read(file)) });
    const { err } = await run(`export 1 --format csv -o ${file} --top 100000`);
    expect(err).toMatch(/^Wrote .*listed\.csv, which replaced the existing file\.\n$/);
    expect(read(file).trimEnd().split('\n')).toHaveLength(again.designs.of + 1);
  });

  it.each([
    ['study', smallStudy()],
    ['device', { kind: 'cpu', id: 'x', sources: {} }],
  ])('an export is not written over a %s', async (kind, value) => {
    const file = write(`own-${kind}.json`, value);
    const words = new RegExp(`own-${kind}\\.json holds a ${kind}, which the document would overwrite`);
    await fails(1, `export 1 --format json -o ${file}`, words);
    expect(JSON.parse(read(file))).toEqual(value);
  });

  it.each(['rank 1', 'recommend 1', 'bench 1 --compare', 'runs restore 1'])('%s makes no database', async (line) => {
    await fails(1, `${line} --db ${at('typo.db')}`, /no database at .*typo\.db\. Make a database with a sweep/);
    expect(existsSync(at('typo.db'))).toBe(false);
  });
});

describe('advice', () => {
  interface Advice {
    readonly designIndex: number;
    readonly design: object;
    readonly rank: number;
    readonly robust: { readonly designIndex: number; readonly expectedRegret: number };
    readonly point: { readonly designIndex: number; readonly expectedRegret: number };
  }

  it('recommend names the same design for a run, its study, the sweep and the header', async () => {
    const ofRun = await json<Advice>('recommend 1');
    const ofStudy = await json<Advice>(`recommend ${studyFile}`);
    const { rank, design, designIndex } = swept.recommended;
    expect(ofRun).toMatchObject({ designIndex, rank });
    expect(ofRun.design).toEqual(design);
    // A study gets the design with the least expected regret. A run keeps its best design, and shows the other too.
    expect({ ...ofStudy, ...ofRun, robust: ofStudy.robust }).toEqual(ofRun);
    expect(ofStudy.point.designIndex).toBe(designIndex);
    expect(ofStudy.designIndex).toBe(ofStudy.robust.designIndex);
    expect(ofStudy.robust.expectedRegret).toBeLessThanOrEqual(ofStudy.point.expectedRegret);
    const { out: header, err } = await run('export 1 --format cuda');
    expect(err).toBe(''); // The header has a single design, so no warning is needed.
    expect(header).toContain(`run 1, design ${designIndex}.`);
    const text = await printed('recommend 1 --verbose');
    for (const words of [
      `^.*: \\d+ threads? per unit, .* \\(design ${designIndex}: u=.*\\)\\n`,
      /\nPredicted [\d.]+.[µm]s, [\d.]+ × as fast as plain: .*; 90 % range .* to .*s\.\n/,
      /\nThe chance that this design is within 3\.0.% of the best is [\d.]+.%\. On average it is [\d.]+.% slower than the best \(/,
      /The time is computed from the properties of .*, without a measured run\.\n/,
      /\nNot known: .*\n(.*\n)*Assumed: .*Once per unit = 42 instructions.*\.\n$/,
    ])
      expect(text).toMatch(new RegExp(words));
    expect(await printed('recommend 1')).not.toMatch(/Assumed|computed from/);
  });

  it('sensitivity names what would change the recommendation', async () => {
    const line = 'sensitivity 1 --device nvidia-rtx-4090 --input workload.units --input kernel.serialFraction';
    const { inputs } = await json<{ inputs: readonly { input: { field: string }; sentence: string }[] }>(line);
    expect(inputs.map(({ input }) => input.field).sort()).toEqual(['kernel.serialFraction', 'workload.units']);
    const text = await printed(line);
    expect(text).toMatch(/^input +value +tried +holds/m);
    const said = inputs.map(({ sentence }) => sentence).filter((sentence) => sentence !== '');
    expect(said.length).toBeGreaterThan(0);
    for (const sentence of said) expect(text).toContain(`\n${sentence}\n`);
  });

  it('robust finds one design for all devices and values', async () => {
    const found = await json<{ designs: readonly { worst: number; regret: readonly number[] }[] }>(
      'robust 1 --vary kernel.serialFraction=0.01,0.3',
    );
    expect(found).toMatchObject({ scenarios: { length: 4 }, designs: { length: 10 } });
    for (const { worst, regret } of found.designs) expect(worst).toBe(Math.max(0, ...regret));
    await says('robust 1 --device nvidia-rtx-4090', /^Designs that are valid in this scenario: [\d,]+\.\n *worst reg/);
  });
});

it('devices can be listed, shown and compared, and those of your own added and deleted', async () => {
  const { devices } = await json<{ devices: readonly object[] }>('devices list');
  expect(devices.length).toBeGreaterThan(20);
  expect(await json('devices show nvidia-a100-sxm4-40gb')).toMatchObject({ multiprocessors: 108, estimates: [] });
  expect(await json('devices show nvidia-t4')).toMatchObject({ estimates: ['memoryLatencyCycles'] });
  expect(await json('devices show nvidia-t4:10')).toMatchObject({ id: 'nvidia-t4:10', multiprocessors: 10 });
  const two = ['nvidia-a100-sxm4-40gb', 'nvidia-h100-sxm5-80gb'];
  expect(await json(`devices compare ${two.join(' ')}`)).toMatchObject({ devices: two });

  const a100 = await json<object>('devices show nvidia-a100-sxm4-40gb');
  const mine = write('mine.json', { ...a100, id: 'mine', name: 'Mine' });
  expect(await json(`devices add ${mine}`)).toMatchObject({ id: 'mine' });
  expect(await json('devices show mine')).toMatchObject({ own: true });
  expect(await printed(`devices add ${mine}`)).toBe('Replaced mine, a device of your own that had this id.\n');
  expect(await json(`import ${mine}`)).toMatchObject({ deviceId: 'mine', replaced: true });
  expect(await json('devices delete mine')).toEqual({ deviceId: 'mine', deleted: true });
  await fails(1, 'devices delete mine', /mine/);

  const same = /^Saved twin\.\nnvidia-a100-sxm4-40gb has the same name, A100 SXM4 40 GB\. Give twin/;
  await says(`devices add ${write('twin.json', { ...a100, id: 'twin' })}`, same);
  const heads = / {2}A100 SXM4 40 GB \(nvidia-a100-sxm4-40gb\) {2}A100 SXM4 40 GB \(twin\) {2}H100 SXM5 80 GB\n/;
  await says(`devices compare nvidia-a100-sxm4-40gb twin nvidia-h100-sxm5-80gb`, heads);
  await printed('devices delete twin');
  await fails(1, 'devices delete nvidia-a100-sxm4-40gb', /comes with Lockstep/);
  await fails(1, `devices add ${write('mine.json', { ...a100, clockMhz: 1.41 })}`, /number of MHz from 100/);
});

it('evidence: judges a data set, and another file with the same columns', async () => {
  expect(await json('evidence loops')).toMatchObject({ datasets: [{ id: 'loops', unseen: [], gpus: { length: 1 } }] });
  // For a file of the user, the predictor runs for every matrix, so this file has only a few.
  const lines = gunzipSync(readFileSync(join(ROOT, 'db/evidence/loops.csv.gz'))).toString().split('\n'); // prettier-ignore
  const judged = await json<{ datasets: { gpus: { implementations: object[] }[] }[] }>(
    `evidence --data ${write('few.csv', `${lines.slice(0, 30).join('\n')}\n`)}`,
  );
  const figures = numbers('count', 'medianError', 'p90Error', 'spearman');
  const choice = { ...numbers('count', 'regret', 'hitRate'), bestFixed: numbers('regret') };
  const [gpu] = judged.datasets[0].gpus;
  expect(judged.datasets).toMatchObject([{ source: /./, licence: /./ }]);
  expect(gpu).toMatchObject({ implementations: Array(gpu.implementations.length).fill(figures) as unknown, choice });
  await fails(2, 'evidence nothing', /"nothing".*ginkgo, loops/);
});

it('reproduces the tables of a paper', async () => {
  expect(await json('reproduce bialas')).toMatchObject({ tables: Array(4).fill({ passed: true }) as unknown });
});

it('doctor says whether a database can be used', async () => {
  vi.stubEnv('PATH', folder); // With no compiler in PATH, doctor starts none.
  const { status, out } = await run('doctor --json');
  vi.unstubAllEnvs();
  const { checks } = JSON.parse(out) as { checks: readonly { id: string; state: string; found: string }[] };
  const database = { id: 'database', state: 'ok', found: expect.stringMatching(/test\.db \(\d+\.\d MB\)$/) as string };
  expect([status, checks]).toEqual([0, expect.arrayContaining([expect.objectContaining(database)])]);
});

describe('a new study', () => {
  const made = (name: string) => unwrap(parseStudy(read(at(name))));

  it('writes a study beside the file of its lengths, and the study gives an answer', async () => {
    const lengths = write('jobs.csv', `steps\n${'3\n1\n40\n7\n'.repeat(250)}`);
    const device = 'nvidia-h100-sxm5-80gb';
    const line = (name: string): string => `new ${at(name)} --lengths ${lengths}#steps --device ${device}`;
    const figures = { units: 1000, mean: 12.75, max: 40 };
    expect(await json(line('made.json'))).toEqual({ study: at('made.json'), ...figures, devices: [device] });
    expect(made('made.json').workload).toEqual({ lengths: 'file:jobs.csv#steps', units: 1000 });
    expect(await json(`recommend ${at('made.json')}`)).toMatchObject({ device: { id: device } });
    const cpu = 'amd-epyc-7763';
    for (const [name, words] of [
      ['both.json', `${device} ${cpu}`],
      ['cpu.json', cpu],
    ] as const) {
      await json(line(name).replace(device, words));
      expect(await json(`recommend ${at(name)}`)).toMatchObject({ device: { id: cpu } });
    }
    await fails(1, line('made.json'), /made\.json already exists/);
    expect(await json(`${line('more.json')} --units 3000`)).toMatchObject({ units: 3000, mean: 12.75 });
    expect(await json(`${line('first.json')} --units 2`)).toMatchObject({ units: 2, mean: 2, max: 3 });
    const words = /: 7 units, .*\nThe column "units" is read as .*\nNo --device is given, .* nvidia-a100-sxm4-40gb\.\n/;
    await says(`new ${at('units.json')} --lengths ${write('a#b.csv', 'length,units\n3,5\n7,2\n')}`, words);
    await says(line('bare'), /: 1,000 units, .*\nThe study is the file \S+bare, as named\. .* ends in \.json\.\n/);
    expect(await printed(line('ended.JSON'))).not.toContain('as named');
    await fails(1, `recommend ${lengths}`, /jobs\.csv is a list of lengths.* lockstep new STUDY\.json --lengths /);
  });

  it('writes a study that compares the kernels for a matrix', async () => {
    const matrix = write('a.mtx', '%%MatrixMarket matrix coordinate pattern general\n3 5 3\n1 1\n1 5\n3 2\n');
    await json(`new ${at('product.json')} --lengths ${matrix} --spmv`);
    const { implementations, workload, kernel, $schema } = made('product.json');
    expect([implementations, $schema]).toMatchObject([{ length: 8 }, undefined]);
    expect(workload).toMatchObject({ lengths: 'mtx:a.mtx', units: 3 });
    expect(kernel.accesses).toContainEqual(expect.objectContaining({ pattern: 'scattered', footprintBytes: 5 * 8 }));
  });

  it.each([
    ['x.csv', /There is no file x\.csv/],
    [folder, /: \S+ is a folder or a special file/],
    ['geometric(0.1) --device foo', /No device has the id "foo"/],
    ['geometric(0.1) --spmv', /is not a Matrix Market file/],
    ['geometric(0.1) --spmv --units 5', /Leave --units out/],
    ['geometric(0.1) --spmv --device amd-epyc-7763', /amd-epyc-7763 is a CPU/],
  ])('refuses %s', async (lengths, reason) => {
    expect((await run(`new ${at('refused.json')} --lengths ${lengths}`)).err).toMatch(reason);
    expect(existsSync(at('refused.json'))).toBe(false);
  });
});

it.each([
  [1, 'loss --workload geometric(2)', /p must be .*, not 2/],
  [2, 'loss --workload geometric(0.05) --n 2,x', /'2,x' is invalid.* whole numbers/],
  [2, 'loss', /--workload/],
  [2, 'loss --workload geometric(0.05) --truncation 7', /from 1e-15 to 0\.01, not "7"/],
  [2, 'occupancy --cc 9.0', /Specify --block and/],
  [1, 'occupancy --cc 1.0 --block 32', /1\.0/],
  [1, 'occupancy --device a100 --block 32', /Did you mean nvidia-a100/],
  [1, 'rank 1 --device nope', /"nope" is not in this run.*nvidia-a100/],
  [2, 'rank one', /Specify the number of a run, not "one"/],
  [2, 'rank 1 2', /argument/],
  [2, 'rank 1 --top -3', /'-3' is invalid.* whole number ≥ 1/],
  [2, 'runs list --db :memory:', /':memory:' is invalid.* saved in a file/],
  [2, 'runs list x', /but got 1\. See lockstep --help/],
  [1, `export 1 --format csv -o ${at('no/such/folder.csv')}`, /cannot be written \(no such file or folder, ENOENT\)/],
  [1, 'export 1 --format csv --device nope', /device "nope" is not in this run/],
  [2, 'export 1 --format docx', /docx/],
  [2, 'export 1 --format csv --design 3', /another format/],
  [2, 'export 1 --format cuda --weigh', /Omit --weigh, or specify .*csv/],
  [2, 'export 1 --format pdf', /Specify a file: -o report\.pdf/],
  [1, 'export 1 --format cuda --design 99999999', /99999999/],
  [1, `recommend ${at('none.json')}`, /none\.json cannot be read/],
  [1, 'recommend 1 --device x', /"x" is not in the study/],
  [1, 'sensitivity 1 --design 99999', /no design 99999/],
  [2, 'sensitivity 1 --input sigma', /kernel\.serialFraction/],
  [2, 'robust x', /Specify the number of a run/],
  [2, 'robust 1 --vary kernel.serialFraction=0.1=0.9', /must have numbers, .* not "0\.1=0\.9"/],
  [2, 'robust 1 --vary sigma=1', /--vary must begin with one of/],
  [1, 'robust 1 --vary kernel.serialFraction=7', /kernel\.serialFraction must be a number from 0 to 1, not 7/],
  [1, 'robust 1 --device x', /"x" is in none of these runs/],
  [1, 'devices show none', /^lockstep: No device has the id "none"/],
  [1, 'devices show nvidia-h10', /Did you mean .*nvidia-h100/],
  [1, 'devices show rtx4090', /Did you mean nvidia-rtx-4090\?/],
  [1, 'devices show nothing-like-it', /"nothing-like-it"\. lockstep devices list shows all\./],
  [2, 'devices compare nvidia-t4 nvidia-t4', /at least 2 different devices/],
  [2, 'reproduce einstein', /swatman, hasan.*"einstein"/],
  [1, 'calibrate 1', /Run 1 is a sweep\. Specify a measurement/],
  [2, 'simulate 1 --top 1001', /at most 1000, not 1001/],
  [1, 'simulate 1 --device nope', /device "nope" is not in this run/],
  [2, 'bench', /Specify the number of a run, or --suite/],
  [2, 'bench one --target cpu', /Specify the number of a run, not "one"/],
  [2, 'bench 1', /Specify --target cuda:0, hip:0, webgpu or cpu, or --exec/],
  [2, 'bench --compare', /Specify the number of a run/],
  [2, 'bench 1 --target webgpu-page', /cuda:0, hip:0, webgpu or cpu, not webgpu-page/],
  [2, 'bench 1 --target cpu --top 3 --random 4', /--top and --random/],
  [2, 'bench 1 --suite probes --target cpu', /without a run and without designs/],
  [2, 'bench --suite nonsense --target cpu', /matrix-power/],
  [2, 'bench 1 --target webgpu --repeats 5000', /repeats/],
  [1, 'bench 1 --compare', /Specify a measurement/],
  [2, 'calibrate x', /Specify the number of a run/],
  [2, 'tune 1', /Specify --target cuda:0, hip:0, webgpu or cpu, or --exec/],
  [2, 'tune 1 --target cpu --budget 0', /a time \(60s, 5m, 1h\)/],
  [2, 'tune 1 --target cpu --budget much', /a time \(60s, 5m, 1h\) or a number of designs/],
  [
    2,
    'new --lengths f --device X study.json',
    /'study': --device takes every word after it, so write the study before it\. See/,
  ],
  [2, 'tune 1 --target cpu --within 3', /such as 3%/],
  [2, 'tune one --target cpu', /Specify the number of a run/],
  [1, 'tune 77 --target cpu', /no run 77/],
  [2, 'serve --port 65536', /'65536' is invalid.* 0 to 65535/],
  [2, 'swep', /unknown command 'swep' \(Did you mean sweep\?\)\. See lockstep --help/],
  [1, `sweep ${at('missing.json')}`, /missing\.json cannot be read \(no such file or folder, ENOENT\)\. Specify a study file/], // prettier-ignore
  [2, `sweep ${studyFile} --colour`, /--colour/],
  [2, `sweep ${studyFile} --top 0`, /'0' is invalid.* whole number ≥ 1/],
  [2, `sweep ${studyFile} --best 999999999`, /from 1 to \d+\.$/m],
] as const)('refused commands, with status %i: %s', fails);

it('help names the files that commands read; help and version exit 0, no command 2', async () => {
  for (const [command, words] of [
    ['sweep', /db.study\.schema\.json$/m],
    ['import', /Kernel Tuner[^]*dataset,rows,cols,nnzs[^]*a study[^]*a device/],
    ['export', /in csv and json: [^]*\n {2}csv +The best designs, for a spreadsheet$[^]*natural logarithm/m],
    ['recommend', /expectedRegret, worst90 and gain are natural logarithms/],
    ['devices add', /in the format of lockstep devices show[^]*db.devices.README\.md$/m],
  ] as const)
    await says(`${command} --help`, words);
  expect((await lockstep('--help')).status).toBe(0);
  expect((await lockstep('--version')).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect((await lockstep()).status).toBe(2);
});

it('a file in a missing folder is refused with the name of the folder, and a folder in place of a file is refused', async () => {
  await fails(1, `runs list --db ${at('nowhere/x.db')}`, /nowhere/);
  expect(existsSync(at('nowhere'))).toBe(false);
  await failure(1, `runs list --db ${folder}`);
});

it('shows control characters of a name without their effect, and predicts a device that is named twice once', async () => {
  await fails(2, 'runs list --\u001b[2Jx', /^lockstep: unknown option '--\\u001b\[2Jx'/);
  const [device, shown] = ['nvidia-rtx-4090', 'a\\u001b[2J\\u000a\\u202eb'];
  const hostile = write('hostile.json', smallStudy({ name: 'a\u001b[2J\n\u202eb', devices: [device, device] }));
  const { status, out } = await run(`sweep ${hostile} --top 1`);
  expect([status, out.split('\n').find((line) => line.startsWith('Run'))]).toEqual([0, /^Run \d+, a.*b: 384 designs/]);
  expect(out).toContain(`, ${shown}: `);
  expect(await printed('runs list')).toContain(shown);
});

it.runIf(process.platform === 'linux')('says that its own folder cannot be made', async () => {
  vi.stubEnv('XDG_DATA_HOME', studyFile);
  const listed = await lockstep('runs', 'list');
  const doctor = await lockstep('doctor');
  vi.unstubAllEnvs();
  const words = 'cannot be made \\(a part of the path is not a folder, ENOTDIR\\)';
  expect(listed).toEqual({ status: 1, out: '', err: new RegExp(`^lockstep: .*study\\.json.lockstep ${words}.*\\n$`) });
  expect(doctor).toMatchObject({ status: 1, out: new RegExp(`^problem {2}Database .*${words}`, 'm') });
});

function watched(columns = 80) {
  let err = '';
  const terminal = { out: () => {}, err: (text: string) => void (err += text), interactive: true, columns };
  return { terminal, shown: () => err };
}

it('says what a failed or cancelled run has saved', async () => {
  const follow = (answer: Result<unknown>) => {
    const engine = { subscribe: () => () => {}, call: async () => answer } as unknown as Engine;
    return followRun(engine, watched().terminal, 'Predicting', async () => ({ ok: true, value: { runId: 7 } }));
  };
  expect(await follow(fail('storage', 'no space left'))).toFail('storage', /^no space left\..*lockstep runs resume 7 /);
  const said = fail('storage', 'lockstep runs resume 7 measures the others');
  expect(await follow(said)).toEqual(said);
  const cancelled = { id: 7, kind: 'bench', state: 'cancelled', enumerated: 8, kept: null };
  const words =
    /^Run 7 stopped after 0 of 8 cases\. What was measured is saved\. lockstep runs resume 7 continues the run\.$/;
  expect(await follow({ ok: true, value: cancelled })).toFail('cancelled', words);
});

it('names the predictions that the simulation contradicts', async () => {
  const row = (predictedMs: number, meanMs: number | null, halfWidth = 0) => {
    const range = { lowMs: meanMs! - halfWidth, highMs: meanMs! + halfWidth };
    return { predictedMs, simulated: meanMs === null ? null : ({ meanMs, ...range } as SimulatedTime) };
  };
  expect(contradictedCell(row(0.27, 3.88))).toBe('simulated 14.4 times as long as predicted');
  expect(contradictedCell(row(1, 1.25))).toBe('simulated 25 % longer than predicted');
  expect(contradictedCell(row(1, 0.8))).toBe('simulated 20 % shorter than predicted');
  // Time and prediction differ by at most 10 %, in the third row beyond the simulation's own interval.
  expect([row(1, 1.1), row(1, 0.92), row(1, 1.4, 0.3), row(1, null)].map(contradictedCell)).toEqual(['', '', '', '']);
  const said = async (...rows: readonly ReturnType<typeof row>[]): Promise<string> =>
    (await captured(async (terminal) => sayContradicted(terminal, rows))).out;
  expect(await said(row(1, 1.1), row(1, null))).toBe('');
  const words = /^The simulation contradicts 1 of 2 predictions: they are more than 10 % outside /;
  expect(await said(row(1, 1.1), row(1, 2), row(1, null))).toMatch(words);
});

// test/verify/kills.ts tests kills.
it('Ctrl-C ends a sweep in one line and keeps what was saved', async () => {
  const axes = {
    threadsPerUnit: [1, 2, 4, 8, 16, 32],
    balancing: ['none', 'dynamic-fetch'],
    blockThreads: { from: 32, to: 1024, step: 32 },
    blocksPerMultiprocessor: { from: 1, to: 64 },
  };
  const file = at('interrupted.db');
  const command = ['sweep', write('wide.json', smallStudy({ axes })), '--db', file];
  const child = spawn(process.execPath, [COMMAND, ...command], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (data: Buffer) => void (out += data.toString()));
  child.stderr.on('data', (data: Buffer) => void (err += data.toString()));
  const closed = once(child, 'close');
  const savedChunks = (): number => {
    if (!existsSync(file)) return 0;
    const reader = new Database(file, { readonly: true });
    try {
      return (reader.prepare('SELECT count(*) AS n FROM run_chunks').get() as { n: number }).n;
    } catch {
      return 0; // The database is still being created.
    } finally {
      reader.close();
    }
  };
  while (savedChunks() < 2 && child.exitCode === null) await pause(20);
  child.kill('SIGINT');
  expect([await closed, out]).toEqual([[1, null], '']);
  expect(err).toMatch(/^lockstep: Run 1 stopped after [\d,]+ of 49,152 designs\. .*lockstep runs resume 1 [^\n]*\n$/);
  expect(await json(`runs show 1 --db ${file}`)).toMatchObject({ state: 'cancelled' });
});

it.runIf(process.platform === 'linux')('reports a full disk behind standard output without a stack trace', async () => {
  const full = openSync('/dev/full', 'w');
  const words = [COMMAND, 'loss', '--workload', 'constant(1)'];
  const ended = spawnSync(process.execPath, words, { stdio: ['ignore', full, 'pipe'], encoding: 'utf8' });
  closeSync(full);
  const stderr = /^lockstep: Standard output cannot be written \(the disk is full, ENOSPC\)[^\n]+\n$/;
  expect(ended).toMatchObject({ status: 1, stderr });
});

it.each([40, 80, 200])('progress stays on one line of a terminal with %i columns', (columns) => {
  const { terminal, shown } = watched(columns);
  progressBar(terminal, 'Predicting').update(1_234_567, 64_000_000, 12_345, 'best 0.1234 ms');
  expect(shown().startsWith('\r\u001b[2KPredicting ')).toBe(true);
  expect(shown().length - '\r\u001b[2K'.length).toBeLessThan(columns);
  expect(shown()).toContain(`1,234,567 of 64,000,000${columns >= 80 ? ' 12.3 s left' : ''}`);
});

it('a long call shows its seconds on a terminal, and a short one nothing', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { terminal, shown } = watched();
  const wait = (ms: number): Promise<string> => new Promise((done) => setTimeout(done, ms, 'answer'));
  const short = showSeconds(terminal, 'Comparing designs', wait(1500));
  await vi.advanceTimersByTimeAsync(1500);
  expect([await short, shown()]).toEqual(['answer', '']);
  const long = showSeconds(terminal, 'Comparing designs', wait(3500));
  await vi.advanceTimersByTimeAsync(3500);
  const seconds = '\r\u001b[2KComparing designs, 2 s\r\u001b[2KComparing designs, 3 s\r\u001b[2K';
  expect([await long, shown()]).toEqual(['answer', seconds]);
});
