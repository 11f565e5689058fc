import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { readFileSync } from 'node:fs';
import katex from 'katex';
import { describe, expect, it } from 'vitest';
import { WHOLE } from '../../../src-renderer/charts/zoom.ts';
import * as demos from '../../../src-renderer/views/models/demo.ts';
import { FIGURES, LOSS_BINS } from '../../../src-renderer/views/models/figures.ts';
import { lawOf, LAWS } from '../../../src-renderer/views/models/laws.ts';
import { MODEL_PAGES } from '../../../src-renderer/views/models/pages.ts';
import { activity } from '../../../src-renderer/views/models/played-chart.ts';
import { PUBLISHED_GROUPS } from '../../../src-renderer/views/models/published-groups.ts';
import { findDecimals, findRows, tablesOf, tally } from '../../../src-renderer/views/models/reproduction.ts';
import { inMemoryBySteps, nextEvent, tokensAt } from '../../../src-renderer/views/models/stack-replay.ts';
import type { ProcedureInput } from '../../../src-main/contract/procedures.ts';
import type { GpuDetail } from '../../../src-workers/domain/evidence.ts';
import { reproductionRow } from '../../../src-workers/domain/reproduction.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { term, type Term } from '../../../src-workers/domain/terms.ts';
import { judgeImplementation } from '../../../src-workers/evidence/judge.ts';
import { judgeLaunches } from '../../../src-workers/evidence/judge-shapes.ts';
import { loadEvidence } from '../../../src-workers/evidence/load.ts';
import { readLaunches } from '../../../src-workers/evidence/shapes.ts';
import { PUBLISHED_STACK } from '../../../src-workers/models/divergence/emulator.ts';
import { runLoops } from '../../../src-workers/models/divergence/figures.ts';
import { lossMoments } from '../../../src-workers/models/imbalance/closed-form.ts';
import { lossComparison } from '../../../src-workers/models/imbalance/loss-comparison.ts';
import { LAUNCH_DATASETS } from '../../../src-workers/models/launches/datasets.ts';
import { constantLaw, geometricLaw } from '../../../src-workers/models/workload/laws.ts';
import { mean } from '../../../src-workers/numeric/statistics.ts';
import { reproduce } from '../../../src-workers/reproductions.ts';
import { playLaunch, type PlayRequest } from '../../../src-workers/simulate/play.ts';
import { CPUS, devicesIn, GPUS } from '../../catalogue.ts';
import { dataFile } from '../../data.ts';
import { useBench } from '../../workplace.ts';
import { countOf, drawn, wordsOf } from './chart-drawing.ts';

const EVIDENCE_FOLDER = join(import.meta.dirname, '../../../db/evidence');
const EVIDENCE = unwrap(await loadEvidence(EVIDENCE_FOLDER, GPUS, {}));
const GPUS_BY_ID = new Map(GPUS.map((gpu) => [gpu.id, gpu]));
const LAUNCHES = new Map<string, GpuDetail>();
for (const dataset of LAUNCH_DATASETS)
  for (const gpu of await readLaunches(dataset, EVIDENCE_FOLDER, GPUS_BY_ID))
    LAUNCHES.set(`${dataset.id} ${gpu.column}`, judgeLaunches(dataset, gpu));

type AnyDemo = demos.Demo<demos.Values, demos.AnswerName>;
type Chosen = Readonly<Record<string, unknown>>;
const cuda: Term = (key, form) => term(key, 'cuda', form);
const say = (text: string) => demos.spelled(text, cuda);
const CONTEXT: demos.DemoContext = { term: cuda, say, gpus: devicesIn('nvidia'), cpus: CPUS };
const DEMOS = MODEL_PAGES.flatMap(({ id, demo }) => (demo ? [{ id, demo: demo as unknown as AnyDemo }] : []));

const answers = new Map<string, unknown>();
/** Computes what the engine answers. Several tests ask for the same values. */
function answerOf({ name, input }: { readonly name: demos.AnswerName; readonly input: unknown }): unknown {
  const key = `${name} ${JSON.stringify(input)}`;
  if (!answers.has(key)) answers.set(key, computeAnswer(name, input));
  return answers.get(key);
}
function computeAnswer(name: demos.AnswerName, input: unknown): unknown {
  if (name === 'evidence.gpu') {
    const { dataset, gpu, implementation } = input as ProcedureInput<'evidence.gpu'>;
    const judged = EVIDENCE.find((one) => one.dataset.id === dataset)!;
    return LAUNCHES.get(`${dataset} ${gpu}`) ?? judgeImplementation(judged, gpu, implementation)!;
  }
  if (name !== 'models.play') return (FIGURES[name] as (input: unknown) => unknown)(input);
  const { lengths, ...request } = input as PlayRequest & { readonly lengths: string };
  return playLaunch(LAWS.find(({ text }) => text === lengths)!.law(), request);
}

function figuresOf(id: string, chosen: Chosen = {}, context = CONTEXT): readonly demos.Figure[] {
  const { controls, figures, answer } = DEMOS.find((each) => each.id === id)!.demo;
  const values = demos.readValues(controls, chosen, context);
  const found = answer && { value: answerOf({ name: answer.name, input: answer.input(values) }), pending: false };
  return figures.flatMap((make) => make(values, context, (found ?? null) as never) ?? []);
}
const blocksOf = (figures: readonly demos.Figure[]): readonly demos.Block[] =>
  figures.flatMap(({ blocks }) => blocks.filter((block) => block !== null && block !== false));
function textOf(figures: readonly demos.Figure[]): string {
  const text = (block: Exclude<demos.Block, string>) =>
    'text' in block ? block.text : 'note' in block ? block.note : '';
  return blocksOf(figures)
    .map((block) => (typeof block === 'string' ? block : text(block)))
    .join('\n');
}
const objectsOf = (figures: readonly demos.Figure[]) => blocksOf(figures).filter((block) => typeof block === 'object');
const table = (figures: readonly demos.Figure[], label: string) =>
  objectsOf(figures).flatMap((block) => (block.kind === 'table' && block.label === label ? block.rows : []));
const headsOf = (figures: readonly demos.Figure[], label: string) => table(figures, label).map(({ head }) => head);
const chartsOf = (figures: readonly demos.Figure[]) => objectsOf(figures).filter((block) => block.kind === 'chart');
function svgOf(figures: readonly demos.Figure[], name: string, zoom = WHOLE): string {
  const { build, heightPx } = chartsOf(figures).find((chart) => chart.name === name)!;
  return drawn((theme, size) => build(theme, size, zoom), { width: 488, height: heightPx });
}

/** Returns values in which one control is at an end of its range, for each control and each end, without equal ones. */
function extremes({ controls }: AnyDemo): readonly Chosen[] {
  const values = demos.readValues(controls, {}, CONTEXT);
  const ends = Object.entries(controls).flatMap(([id, control]): readonly Chosen[] => {
    const now = demos.resolve(control, CONTEXT, values);
    if (now.kind === 'draw') return [{ [id]: 2 }];
    if (now.kind === 'slider') return [{ [id]: now.min }, { [id]: now.max }];
    return [now.options[0], now.options.at(-1)!].map(({ value }) => ({ [id]: value }));
  });
  const byValues = [{}, ...ends].map((chosen) => [JSON.stringify(demos.readValues(controls, chosen, CONTEXT)), chosen]);
  return Object.values(Object.fromEntries(byValues) as Readonly<Record<string, Chosen>>);
}

it.each(DEMOS)('the demo of $id shows valid figures at the ends of every control', ({ id, demo }) => {
  const placed = new Set<string>();
  for (const chosen of extremes(demo)) {
    const figures = figuresOf(id, chosen);
    expect(figures.length).toBeGreaterThan(0);
    expect(textOf(figures)).not.toMatch(/NaN|undefined|\{/);
    for (const block of objectsOf(figures)) {
      if (block.kind === 'controls') for (const control of block.ids) placed.add(control);
      if (block.kind === 'table')
        for (const { head, cells } of block.rows) {
          expect(head).not.toMatch(/\{|undefined/);
          expect(cells).toHaveLength(block.columns.length - 1);
          for (const cell of cells)
            if (typeof cell === 'object' && 'bar' in cell) expect(cell.bar).toBeWithin(0, 1);
            else expect(typeof cell === 'string' ? cell : cell.text).not.toMatch(/NaN|undefined/);
        }
      if (block.kind === 'chart') {
        const [head, ...rows] = block.data();
        expect(rows.length).toBeGreaterThan(0);
        expect(new Set(rows.map(({ length }) => length))).toEqual(new Set([head.length]));
        expect(svgOf(figures, block.name)).not.toContain('NaN');
      }
    }
  }
  // Every control belongs to a figure, and figures name no other controls.
  expect([...placed].sort()).toEqual(Object.keys(demo.controls).sort());
});

it('controls stay within the limits that the other controls set, and are labelled in the chosen vocabulary', () => {
  const width = demos.segmented('Width of a {threadGroup}', { narrow: 'Narrow {blocks}', wide: 'Wide' }, 'wide');
  const most = (_: unknown, { width: chosen }: demos.Values) => (chosen === 'wide' ? 64 : 32);
  const controls = { width, size: demos.slider('Size', { min: 1, max: most, step: 1, default: Infinity }) };
  const read = (chosen: Chosen) => ({ ...demos.readValues(controls, chosen, CONTEXT) });
  expect(read({})).toEqual({ width: 'wide', size: 64 });
  expect(read({ width: 'narrow', size: 50 })).toEqual({ width: 'narrow', size: 32 });
  expect(read({ width: 'gone', size: -3 })).toEqual({ width: 'narrow', size: 1 });
  const opencl = (text: string) => demos.spelled(text, (key, form) => term(key, 'opencl', form));
  const labelled = { label: 'Width of a sub-group', options: [{ label: 'Narrow work-groups' }, {}] };
  expect(demos.resolve(width, { ...CONTEXT, say: opencl }, {})).toMatchObject(labelled);
  const words = 'Registers and shared memory of streaming multiprocessors';
  expect(say('{Registers} and {sharedMemory} of {multiprocessors}')).toBe(words);
});

describe('figures', () => {
  it('state both losses if they differ', () => {
    expect(textOf(figuresOf('imbalance'))).toMatch(/\*\*10\.78\*\*.*\*\*9\.46\*\*/s);
    expect(textOf(figuresOf('imbalance', { law: 'uniform' }))).toContain('Choose the last law');
    expect(wordsOf(svgOf(figuresOf('imbalance'), 'loss-distribution'))).toContain('measured on a GPU');
    const other = wordsOf(svgOf(figuresOf('imbalance', { drawnSize: '8' }), 'loss-distribution'));
    expect(other).toContain('simulated here');
    expect(other).not.toContain('measured on a GPU');
  });
  it('show the limit of occupancy in bold', () => {
    const figures = figuresOf('occupancy');
    const strong = table(figures, 'What each limit allows').filter((row) => row.strong);
    expect(strong.map(({ head }) => head)).toEqual(['Registers']);
    const facts = Object.entries({ occupancy: '50.0\u00a0%', blocks: '4', 'of 64 warps': '32' });
    expect(blocksOf(figures)[1]).toMatchObject({ facts });
  });
  it('state how far the published equations miss the published table, and to what ours were fitted', () => {
    const text = textOf(figuresOf('hasan'));
    expect(text).toContain('**7.9 points** on average, at most 32');
    expect(text).toMatch(/Soft waves \(fitted on 5 of 16 rows\): \*\*0\.4\*\*/);
  });
  it('refuse a launch beyond a limit', () => {
    const figures = figuresOf('kim', { blockThreads: 1536 });
    expect(figures[1].hint).toBe('the launch is refused');
    expect(table(figures, 'Limit checker')[0].cells[0]).toEqual({ text: '1,536', tone: 'wrong' });
    expect(textOf(figures)).toContain('It is refused and has no time.');
    expect(figuresOf('kim')[1].hint).toBe('the launch is allowed');
    expect(textOf(figuresOf('kim'))).toContain('**g = 8**');
  });
  it('show measured times of contention only for all cores of a published CPU, and mark the chosen launch', () => {
    const heads = (chosen: Chosen) => headsOf(figuresOf('contention', chosen), 'The models side by side');
    expect(heads({})).toContain('Measured');
    expect(heads({ cores: 12 })).not.toContain('Measured');
    expect(heads({ work: 'task' })).not.toContain('Measured');
    expect(textOf(figuresOf('contention', { work: 'task', taskPart: 0.5 }))).toMatch(/All 72 take \d.* longer/);
    const words = wordsOf(svgOf(figuresOf('contention'), 'regimes'));
    expect(words).toEqual(expect.arrayContaining(['Bandwidth-bound', 'Longest task', 'Contended', 'chosen']));
  });
  it('draw a bar for every core that ends alone, and one for those that end together', () => {
    const bars = (chosen: Chosen) => countOf(svgOf(figuresOf('contention', chosen), 'staircase'), 'series-1');
    expect(bars({ cores: 12 })).toBe(12);
    expect(bars({ work: 'task', cores: 12 })).toBe(2);
  });
  it('are empty while no device is known', () => {
    expect(figuresOf('occupancy', {}, { ...CONTEXT, gpus: [] })).toEqual([]);
    expect(figuresOf('contention', {}, { ...CONTEXT, cpus: [] })).toEqual([]);
  });
  it('draw each block of a simulated launch, or of its zoomed part', () => {
    const figures = figuresOf('simulator', { grid: 40 });
    const whole = svgOf(figures, 'simulated-launch');
    // The picture has forty bars, three more in the legend, and the line and the area of the active warps.
    expect(countOf(whole, 'series-1') + countOf(whole, 'part-lastWave')).toBe(40 + 3 + 2);
    expect(wordsOf(whole)).toEqual(expect.arrayContaining(['ideal', 'predicted', 'odd blocks', 'thousand cycles']));
    expect(wordsOf(svgOf(figures, 'simulated-launch', [0.9, 1]))).not.toContain('ideal');
    expect(headsOf(figures, 'Times')).toContain('Composite prediction');
  });
  it('have a point for every measurement of the evidence, and state the cost of the choice', () => {
    const points = (gpu: string) => chartsOf(figuresOf('evidence', { gpu })).map((chart) => chart.data().length - 1);
    for (const gpu of ['ginkgo V100-SXM2', 'loops unnamed']) {
      expect(points(gpu).map((count) => count > 800)).toEqual([true, true]);
      const [least, , always] = table(figuresOf('evidence', { gpu }), 'Choice');
      // Choosing by prediction is better than the best fixed implementation.
      expect(Number(least.cells[0])).toBeLessThan(Number(String(always.cells[0]).split(' ').at(-1)));
    }
    expect(['convolution A100', 'hasan K20', 'smite A100', 'swiftshader SwiftShader'].map(points)).toEqual([
      [857, 857],
      [110, 110],
      [15],
      [60, 60],
    ]);
    const implementations = headsOf(figuresOf('evidence', { gpu: 'loops unnamed' }), 'Implementations');
    expect(implementations).toEqual(['thread mapped', 'group mapped', 'merge path']);
  });
});

describe('a launch that is played', () => {
  const request: PlayRequest = {
    unitsPerGroup: 8,
    groupsPerBlock: 2,
    residentBlocks: 3,
    multiprocessors: 2,
    gridBlocks: 40,
    pipeline: { latencyCycles: 100, issueCycles: 20, kneeSoftness: 6, schedulers: 1 },
    seed: 5,
  };
  const law = unwrap(geometricLaw(0.1));
  const played = playLaunch(law, request);

  it('never has two blocks in one slot at a time, and shows the first of its replications', () => {
    for (let m = 0; m < request.multiprocessors; m += 1)
      for (let slot = 0; slot < request.residentBlocks; slot += 1) {
        const here = [...played.blockSlot.keys()].filter(
          (block) => played.blockMultiprocessor[block] === m && played.blockSlot[block] === slot,
        );
        here.sort((a, b) => played.blockStartCycles[a] - played.blockStartCycles[b]);
        expect(here.length).toBeGreaterThan(0);
        for (let k = 1; k < here.length; k += 1)
          expect(played.blockStartCycles[here[k]]).toBeGreaterThanOrEqual(played.blockEndCycles[here[k - 1]]);
      }
    expect(Math.max(...played.blockEndCycles)).toBe(played.replicationCycles[0]);
    expect(Math.max(...played.blockStartCycles)).toBe(played.lastDispatchCycles);
    expect(new Set(played.replicationCycles).size).toBeGreaterThan(1);
  });

  it('runs even work in whole waves', () => {
    const even = playLaunch(unwrap(constantLaw(10)), request);
    // 40 blocks in 6 block slots make seven waves. Each wave takes as long as ten iterations with the resident groups.
    expect(new Set(even.blockStartCycles).size).toBe(7);
    expect(new Set(even.replicationCycles).size).toBe(1);
  });

  it('has active thread groups that add up to the depths of its groups', () => {
    // If a block has one group, it is active from its start to its end.
    const single = playLaunch(law, { ...request, groupsPerBlock: 1 });
    const corners = activity(single);
    let area = 0;
    for (let i = 1; i < corners.length; i += 1) area += corners[i - 1][1] * (corners[i][0] - corners[i - 1][0]);
    const busy = single.blockEndCycles.reduce((sum, end, i) => sum + end - single.blockStartCycles[i], 0);
    expect(area * single.multiprocessors).toBeCloseTo(busy, 6);
    expect(corners.at(-1)![1]).toBe(0);
  });

  const { engine } = useBench();
  it('is simulated by the engine, for laws and not for files', async () => {
    const ask = (lengths: string, more: object = {}) => engine.call('models.play', { ...request, lengths, ...more });
    expect(unwrap(await ask('geometric(0.1)')).blockEndCycles).toEqual(played.blockEndCycles);
    expect(await ask('file:lengths.csv')).toMatchObject({ ok: false });
    expect(await ask('constant(1)', { gridBlocks: 1e6 })).toMatchObject({ ok: false });
    expect(await ask('constant(1)', { residentBlocks: 0 })).toFail('bad-input');
  });
});

const COLUMNS = 'group,simulated_simt_iterations,simulated_mimd_iterations,measured_simt_cycles,measured_mimd_cycles';
const FILES: Readonly<Record<string, string>> = { geometric: 'geo_005', uniform: 'uniform_20_40' };

it.each(PUBLISHED_GROUPS)(
  'published work groups for $law have the counts of the published rows, and the model agrees',
  ({ law, n, simulated, measured }) => {
    const file = readFileSync(dataFile(`smite/measured-${FILES[law]}-n${n}-first4096.csv.gz`));
    const [head, ...lines] = gunzipSync(file).toString().trim().split('\n');
    expect(head).toBe(COLUMNS);
    const rows = lines.map((line) => line.split(',').map(Number));
    const losses = [1, 3].map((at) =>
      Float64Array.from(rows, (row) => (row[at + 1] === 0 ? 1 : row[at] / row[at + 1])),
    );
    const { modelled, observed } = lossComparison(lawOf(law), n, losses, LOSS_BINS);
    const counts = observed.map((parts) => Array.from(parts, (part) => Math.round(part * rows.length)));
    expect(counts).toEqual([simulated, measured]);
    // In each bin, the published simulation is within five binomial standard errors of the model.
    observed[0].forEach((part, bin) => {
      const p = modelled[bin];
      expect(Math.abs(part - p)).toBeLessThan(5 * Math.sqrt((p * (1 - p)) / rows.length) + 1 / rows.length);
    });
    const [expected] = lossMoments(lawOf(law), [n]);
    const [simulatedMean, measuredMean] = losses.map(mean);
    const standardError = expected.standardDeviationLoss / Math.sqrt(rows.length);
    expect(Math.abs(simulatedMean - expected.meanLoss)).toBeLessThan(4 * standardError);
    // The paper's measured mean is within 2 % of the model. The measured mean here is within 3 %.
    expect(measuredMean).toBeNear(expected.meanLoss, 0.03);
  },
);

it('the drawn distribution agrees with its simulation within sampling error', () => {
  const found = FIGURES.lossDistribution({ law: 'uniform', n: 8, seed: 3 });
  expect(found.modelled.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
  // The limit is five standard errors of a bin's share. One bin in a million would exceed it.
  found.modelled.forEach((p, i) =>
    expect(Math.abs(found.observed[0][i] - p)).toBeLessThan(5 * Math.sqrt((p * (1 - p) + 1e-4) / found.groups)),
  );
  expect(Math.abs(found.simulatedMean - found.modelledMean)).toBeLessThan(0.005);
});

it.each([
  ['single', 0],
  ['single', 20],
  ['double', 31],
] as const)('the replay of the stack has the depths and spills of the %s loop with %i lanes', (kernel, lanes) => {
  const run = runLoops(kernel, lanes);
  const inMemory = inMemoryBySteps(run);
  let up = 0;
  let down = 0;
  inMemory.forEach((now, step) => {
    const moved = now - (inMemory[step - 1] ?? 0);
    if (moved > 0) up += moved;
    else down -= moved;
  });
  expect([up, down]).toEqual([run.spills * PUBLISHED_STACK.chunkEntries, run.loads * PUBLISHED_STACK.chunkEntries]);
  for (let step = 0; step < run.executed; step += 37) {
    const tokens = tokensAt(run, step);
    expect(tokens).toHaveLength(run.depths[step]);
    expect(tokens.length - inMemory[step]).toBeLessThanOrEqual(PUBLISHED_STACK.fastEntries);
  }
});

it('the replay of the stack can be stepped from one push or pop to the next, and back', () => {
  const run = runLoops('single', 5);
  const visited = [nextEvent(run, -1, 1)];
  while (nextEvent(run, visited.at(-1)!, 1) !== visited.at(-1)) visited.push(nextEvent(run, visited.at(-1)!, 1));
  expect(visited).toEqual([...new Set(run.events.map(({ step }) => step))]);
  expect(nextEvent(run, visited.at(-1)!, -1)).toBe(visited.at(-2));
  expect(nextEvent(run, 0, -1)).toBe(0);
});

describe('the pages', () => {
  it('have complete tables, and formulas that can be typeset', () => {
    let formulas = 0;
    for (const { id, equations, symbols, sources } of MODEL_PAGES) {
      for (const row of [...equations, ...symbols]) {
        expect([2, 3], `${id}: ${row[0]}`).toContain(row.length);
        expect(() => katex.renderToString(row[0], { displayMode: true, strict: 'error' })).not.toThrow();
        formulas += 1;
      }
      for (const [citation, doi] of sources) {
        expect(citation, id).toMatch(/\.$/);
        expect(doi ?? '10.1234/none', id).toMatch(/^10\.\d{4,}\/\S+$/);
      }
    }
    expect(formulas).toBeGreaterThan(60);
  });

  it('show each reproduced table on exactly one page', () => {
    const all = reproduce();
    const shown = MODEL_PAGES.flatMap((page) => tablesOf(page, all));
    expect(shown).toHaveLength(all.length);
    expect(new Set(shown)).toEqual(new Set(all));
  });
});

describe('reproduced figures', () => {
  const named = (table: string, passed: boolean) => {
    const rows = [reproductionRow('n = 2', 1, 1, 0.1), reproductionRow('n = 4', 1, passed ? 1 : 2, 0.1)];
    return { paper: 'p', citation: '', table, unit: '1', rows, passed, notes: [] };
  };
  it('list failed tables and rows first, and are found by each of their words', () => {
    const both = [named('good', true), named('bad', false)];
    const found = findRows(both, '');
    expect(found.map((each) => each.table.table)).toEqual(['bad', 'good']);
    expect(found[0].rows.map(({ passed }) => passed)).toEqual([false, true]);
    expect(findRows(both, 'bad n=')).toEqual([]);
    expect(findRows(both, 'BAD 4')[0].rows).toHaveLength(1);
    expect(findRows(both, 'failed')).toHaveLength(1);
    expect(tally(both)).toEqual({ passed: 3, total: 4 });
  });

  it('have the decimals of the paper, and those that show an allowed error', () => {
    const row = (paper: number, tolerance: number, kind: 'absolute' | 'relative') =>
      reproductionRow('n=4', paper, paper, tolerance, kind);
    expect(findDecimals([row(1.09, 0.001, 'relative'), row(1.163, 0.001, 'relative')])).toBe(3);
    expect(findDecimals([row(32, 0.5, 'absolute'), row(7.9, 0.05, 'absolute')])).toBe(2);
    expect(findDecimals([row(26, 1e-9, 'absolute'), row(4, 0, 'absolute')])).toBe(0);
  });
});
