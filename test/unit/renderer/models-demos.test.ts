import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { WHOLE } from '../../../src-renderer/charts/zoom.ts';
import {
  readValues,
  resolve,
  segmented,
  slider,
  spelled,
  type AnswerName,
  type Block,
  type Demo,
  type DemoContext,
  type Figure,
  type Values,
} from '../../../src-renderer/views/models/demo.ts';
import { FIGURES } from '../../../src-renderer/views/models/figures.ts';
import { LAWS } from '../../../src-renderer/views/models/laws.ts';
import { MODEL_PAGES } from '../../../src-renderer/views/models/pages.ts';
import { activity } from '../../../src-renderer/views/models/played-chart.ts';
import type { ProcedureInput } from '../../../src-main/contract/procedures.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import { term, type Term } from '../../../src-workers/domain/terms.ts';
import type { PlayedLaunch } from '../../../src-workers/domain/timeline.ts';
import { judgeImplementation } from '../../../src-workers/evidence/judge.ts';
import type { GpuDetail } from '../../../src-workers/domain/evidence.ts';
import { judgeLaunches } from '../../../src-workers/evidence/judge-shapes.ts';
import { readLaunches } from '../../../src-workers/evidence/shapes.ts';
import { LAUNCH_DATASETS } from '../../../src-workers/models/launches/datasets.ts';
import { loadEvidence } from '../../../src-workers/evidence/load.ts';
import { geometricLaw } from '../../../src-workers/models/workload/laws.ts';
import { playLaunch, type PlayRequest } from '../../../src-workers/simulate/play.ts';
import { countOf, drawn, wordsOf } from './chart-drawing.ts';
import { CPUS, devicesIn, GPUS } from '../../catalogue.ts';

const EVIDENCE = unwrap(await loadEvidence(join(import.meta.dirname, '../../../db/evidence'), GPUS, {})); // prettier-ignore
const LAUNCHES = new Map<string, GpuDetail>();
for (const dataset of LAUNCH_DATASETS) {
  const devices = new Map(GPUS.map((gpu) => [gpu.id, gpu])); // prettier-ignore
  for (const gpu of await readLaunches(dataset, join(import.meta.dirname, '../../../db/evidence'), devices))
    LAUNCHES.set(`${dataset.id} ${gpu.column}`, judgeLaunches(dataset, gpu));
}
const cuda: Term = (key, form) => term(key, 'cuda', form);
const CONTEXT: DemoContext = {
  term: cuda,
  say: (text) => spelled(text, cuda),
  gpus: devicesIn('nvidia'),
  cpus: CPUS,
};
const DEMOS = MODEL_PAGES.flatMap(({ id, demo }) =>
  demo ? [{ id, demo: demo as unknown as Demo<Values, AnswerName> }] : [],
);

function answerOf({ answer }: Demo<Values, AnswerName>, values: Values): unknown {
  if (!answer) return null;
  const input = answer.input(values);
  if (answer.name === 'evidence.gpu') {
    const { dataset, gpu, implementation } = input as ProcedureInput<'evidence.gpu'>;
    const launches = LAUNCHES.get(`${dataset} ${gpu}`);
    if (launches) return launches;
    return judgeImplementation(
      EVIDENCE.find((one) => one.dataset.id === dataset)!,
      gpu,
      implementation,
    )!;
  }
  if (answer.name !== 'models.play') return (FIGURES[answer.name] as (input: unknown) => unknown)(input);
  const { lengths, ...request } = input as PlayRequest & { readonly lengths: string };
  return playLaunch(LAWS.find(({ text }) => text === lengths)!.law(), request);
}
/** Returns the figures that a page shows for the chosen values. */
function figuresOf(id: string, chosen: Readonly<Record<string, unknown>> = {}, context = CONTEXT): readonly Figure[] {
  const { demo } = DEMOS.find((each) => each.id === id)!;
  const values = readValues(demo.controls, chosen, context);
  const answer = demo.answer ? { value: answerOf(demo, values), pending: false } : null;
  return demo.figures.flatMap((make) => make(values, context, answer as never) ?? []);
}
const blocksOf = (figures: readonly Figure[]): readonly Block[] =>
  figures.flatMap(({ blocks }) => blocks.filter((block) => block !== null && block !== false));
const textOf = (figures: readonly Figure[]): string =>
  blocksOf(figures)
    .map((block) =>
      typeof block === 'string' ? block : 'text' in block ? block.text : 'note' in block ? block.note : '',
    )
    .join('\n');
function table(figures: readonly Figure[], label: string) {
  const found = blocksOf(figures).find((block) => typeof block === 'object' && block.kind === 'table' && block.label === label);
  return (found as Extract<Block, { kind: 'table' }>).rows;
} // prettier-ignore
const chartsOf = (figures: readonly Figure[]) =>
  blocksOf(figures).filter((block) => typeof block === 'object' && block.kind === 'chart');
function svgOf(figures: readonly Figure[], name: string, zoom = WHOLE): string {
  const { build, heightPx } = chartsOf(figures).find((chart) => chart.name === name)!;
  return drawn((theme, size) => build(theme, size, zoom), { width: 488, height: heightPx });
}

/** Returns values in which one control is at an end of its range, for each control and each end. */
function extremes({ controls }: Demo<Values, AnswerName>): readonly Readonly<Record<string, unknown>>[] {
  const values = readValues(controls, {}, CONTEXT);
  return [
    {},
    ...Object.entries(controls).flatMap(([id, control]): readonly Readonly<Record<string, unknown>>[] => {
      const now = resolve(control, CONTEXT, values);
      if (now.kind === 'draw') return [{ [id]: 2 }];
      if (now.kind === 'slider') return [{ [id]: now.min }, { [id]: now.max }];
      return [now.options[0], now.options[now.options.length - 1]].map(({ value }) => ({ [id]: value }));
    }),
  ];
}

describe.each(DEMOS)('the demo of $id', ({ id, demo }) => {
  it('shows valid figures at the ends of every control', () => {
    const placed = new Set<string>();
    for (const chosen of extremes(demo)) {
      const figures = figuresOf(id, chosen);
      expect(figures.length).toBeGreaterThan(0);
      expect(textOf(figures)).not.toMatch(/NaN|undefined|\{/);
      for (const block of blocksOf(figures)) {
        if (typeof block === 'string') continue;
        if (block.kind === 'controls') for (const control of block.ids) placed.add(control);
        if (block.kind === 'table')
          for (const { head, cells } of block.rows) {
            expect(head).not.toMatch(/\{|undefined/);
            expect(cells).toHaveLength(block.columns.length - 1);
            for (const cell of cells)
              if (typeof cell === 'object' && 'bar' in cell) {
                expect(cell.bar).toBeGreaterThanOrEqual(0);
                expect(cell.bar).toBeLessThanOrEqual(1);
              } else expect(typeof cell === 'string' ? cell : cell.text).not.toMatch(/NaN|undefined/);
          }
        if (block.kind === 'chart') {
          const [head, ...rows] = block.data();
          expect(rows.length).toBeGreaterThan(0);
          for (const row of rows) expect(row).toHaveLength(head.length);
          expect(svgOf(figures, block.name)).not.toContain('NaN');
        }
      }
    }
    // Every control belongs to a figure, and figures name no other controls.
    expect([...placed].sort()).toEqual(Object.keys(demo.controls).sort());
  });
});

describe('controls', () => {
  const CONTROLS = {
    width: segmented('Width of a {threadGroup}', { narrow: 'Narrow {blocks}', wide: 'Wide' }, 'wide'),
    size: slider('Size', { min: 1, max: (_, { width }) => (width === 'wide' ? 64 : 32), step: 1, default: Infinity }),
  };
  it('stay within the limits that the other controls set', () => {
    expect({ ...readValues(CONTROLS, {}, CONTEXT) }).toEqual({ width: 'wide', size: 64 });
    expect({ ...readValues(CONTROLS, { width: 'narrow', size: 50 }, CONTEXT) }).toEqual({ width: 'narrow', size: 32 });
    expect({ ...readValues(CONTROLS, { width: 'gone', size: -3 }, CONTEXT) }).toEqual({ width: 'narrow', size: 1 });
  });
  it('are labelled in the chosen vocabulary', () => {
    const now = resolve(CONTROLS.width, { ...CONTEXT, say: (text) => spelled(text, (key, form) => term(key, 'opencl', form)) }, {}); // prettier-ignore
    expect(now).toMatchObject({ label: 'Width of a sub-group', options: [{ label: 'Narrow work-groups' }, {}] });
    expect(spelled('{Registers} and {sharedMemory} of {multiprocessors}', cuda)).toBe(
      'Registers and shared memory of streaming multiprocessors',
    );
  });
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
    expect(table(figures, 'What each limit allows').flatMap(({ head, strong }) => (strong ? [head] : []))).toEqual(['Registers']); // prettier-ignore
    expect(blocksOf(figures)[1]).toMatchObject({ facts: [['occupancy', '50.0\u00a0%'], ['blocks', '4'], ['of 64 warps', '32']] }); // prettier-ignore
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
  it('show measured times only for all cores of a published CPU', () => {
    const heads = (chosen: Readonly<Record<string, unknown>>) => table(figuresOf('contention', chosen), 'The models side by side').map(({ head }) => head); // prettier-ignore
    expect(heads({})).toContain('Measured');
    expect(heads({ cores: 12 })).not.toContain('Measured');
    expect(heads({ work: 'task' })).not.toContain('Measured');
    expect(textOf(figuresOf('contention', { work: 'task', taskPart: 0.5 }))).toMatch(/All 72 take \d.* longer/);
  });
  it('draw a bar for every core that ends alone, and one for those that end together', () => {
    const bars = (chosen: Readonly<Record<string, unknown>>) => countOf(svgOf(figuresOf('contention', chosen), 'staircase'), 'series-1'); // prettier-ignore
    expect(bars({ cores: 12 })).toBe(12);
    expect(bars({ work: 'task', cores: 12 })).toBe(2);
  });
  it('name the regimes of a CPU, and mark the chosen launch', () => {
    const words = wordsOf(svgOf(figuresOf('contention'), 'regimes'));
    expect(words).toEqual(expect.arrayContaining(['Bandwidth-bound', 'Longest task', 'Contended', 'chosen']));
  });
  it('are empty while no device is known', () => {
    expect(figuresOf('occupancy', {}, { ...CONTEXT, gpus: [] })).toEqual([]);
    expect(figuresOf('contention', {}, { ...CONTEXT, cpus: [] })).toEqual([]);
  });
  it('draw each block of a simulated launch, or of its zoomed part', () => {
    const figures = figuresOf('simulator', { grid: 40 });
    const bars = (svg: string) => ['series-1', 'part-lastWave'].reduce((sum, fill) => sum + countOf(svg, fill), 0);
    const whole = svgOf(figures, 'simulated-launch');
    // The picture has forty bars, three more in the legend, and the line and the area of the active warps.
    expect(bars(whole)).toBe(40 + 3 + 2);
    expect(wordsOf(whole)).toEqual(expect.arrayContaining(['ideal', 'predicted', 'odd blocks', 'thousand cycles']));
    expect(wordsOf(svgOf(figures, 'simulated-launch', [0.9, 1]))).not.toContain('ideal');
    expect(table(figures, 'Times').map(({ head }) => head)).toContain('Composite prediction');
  });
});

it('active thread groups of a launch add up to the depths of its groups', () => {
  const played: PlayedLaunch = playLaunch(unwrap(geometricLaw(0.1)), {
    unitsPerGroup: 4,
    groupsPerBlock: 1,
    residentBlocks: 2,
    multiprocessors: 3,
    gridBlocks: 30,
    pipeline: { latencyCycles: 100, issueCycles: 20, kneeSoftness: 6, schedulers: 1 },
    seed: 1,
  });
  const corners = activity(played);
  let area = 0;
  for (let i = 1; i < corners.length; i += 1) area += corners[i - 1][1] * (corners[i][0] - corners[i - 1][0]);
  // If a block has one group, it is active from its start to its end.
  const busy = played.blockEndCycles.reduce((sum, end, i) => sum + end - played.blockStartCycles[i], 0);
  expect(area * played.multiprocessors).toBeCloseTo(busy, 6);
  expect(corners.at(-1)![1]).toBe(0);
});

it('the evidence has a point for every measured matrix, and states the cost of the choice', () => {
  for (const gpu of ['ginkgo K40m', 'loops unnamed']) {
    const figures = figuresOf('evidence', { gpu });
    const points = chartsOf(figures).map((chart) => chart.data().length);
    expect(points.map((count) => count > 801)).toEqual([true, true]);
    const [least, , always] = table(figures, 'Choice');
    // Choosing by prediction is better than the best fixed implementation.
    expect(Number(least.cells[0])).toBeLessThan(Number(String(always.cells[0]).split(' ').at(-1)));
  }
  for (const [gpu, points, charts] of [
    ['convolution A100', 857, 2],
    ['hasan K20', 110, 2],
    ['smite A100', 15, 1],
    ['swiftshader SwiftShader', 60, 2],
  ] as const) {
    const rows = chartsOf(figuresOf('evidence', { gpu })).map((chart) => chart.data().length);
    expect(rows).toEqual(Array<number>(charts).fill(points + 1));
  }
  expect(table(figuresOf('evidence', { gpu: 'loops unnamed' }), 'Implementations').map(({ head }) => head)).toEqual([
    'thread mapped',
    'group mapped',
    'merge path',
  ]);
});
