import { describe, expect, it } from 'vitest';
import type { ContentionFindings, MeasuredCase } from '../../src-main/contract/measuring.ts';
import * as suites from '../../src-renderer/views/measure/suites.ts';
import { runLoops } from '../../src-workers/models/divergence/figures.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { geometricLaw } from '../../src-workers/models/workload/laws.ts';
import { sampleCase, sampleTime } from './measure-samples.ts';
import { gpu } from '../catalogue.ts';

function suiteCase(position: number, change: Partial<MeasuredCase>): MeasuredCase {
  return sampleCase(position, { designIndex: null, design: null, predictedMs: null, ...change });
}

const A100 = gpu('nvidia-a100-sxm4-40gb');

it('takes the median of several values, and no value if there is none', () => {
  const each = suiteCase(0, { values: { one: 3, several: [5, 1, 2], none: [], odd: NaN } });
  expect(['one', 'several', 'none', 'odd', 'absent'].map((name) => suites.valueOf(each, name))).toEqual([3, 2, null, null, null]);
}); // prettier-ignore

it('tables of contention mark the nearest model of every row, and list both workloads', () => {
  const errors = { full: 0.24, none: -0.1, staircase: 0.008, 'two-phase': -0.012 };
  const models = Object.entries(errors).map(([model, error]) => ({ model, timeMs: 100 * (1 + error), error }));
  const tablesOf = (...workloads: string[]) =>
    suites.contentionTables({
      workloads: workloads.flatMap((workload) => [2, 4].map((cores) => ({ workload, cores, measuredMs: 100, models }))),
    } as unknown as ContentionFindings);
  const tables = tablesOf('triangular', 'amdahl');
  expect(tables.map(({ workload }) => workload)).toEqual(['triangular', 'amdahl']);
  for (const { rows, models } of tables)
    for (const row of rows) {
      expect(row.models).toHaveLength(models.length);
      expect(row.models.filter((cell) => cell?.best).map((cell) => cell!.error)).toEqual([0.008]);
    }
  expect(tablesOf()).toEqual([]);
});

it('the rows of a matrix power have the losses of the law, once it is known, and leave out cases without a loss', () => {
  const at = (unitsPerGroup: number, values: MeasuredCase['values']) => {
    const parameters = { lengths: 'geometric(0.05)', unitsPerGroup, workGroups: 4096, execution: 'lockstep' as const };
    const each = { id: 'm', benchmark: 'matrix-power' as const, parameters: { ...parameters, synchronised: false } };
    return suiteCase(unitsPerGroup, { case: each, values });
  };
  const cases = [at(2, { meanLoss: [1.47, 1.48, 1.46], aggregateLoss: 1.49 }), at(4, {})];
  const [row, ...others] = suites.matrixPowerRows(cases, { 'geometric(0.05)': unwrap(geometricLaw(0.05)) });
  expect(row).toMatchObject({ n: 2, measuredMean: 1.47, measuredAggregate: 1.49 });
  expect(row.modelMean).toBeCloseTo(1.4762, 4);
  expect(row.modelAggregate).toBeCloseTo(1.4872, 4);
  expect(others).toEqual([]);
  expect(suites.matrixPowerRows(cases, {})).toMatchObject([{ modelMean: null }]);
});

it('finds the stack that explains the cycles of divergent loops, and draws its line through them', () => {
  const cases = (['single', 'double'] as const).flatMap((loops) =>
    Array.from({ length: 32 }, (_, divergentLanes) => {
      const { divergentBranches, spills } = runLoops(loops, divergentLanes);
      const parameters = { loops, divergentLanes, iterations: 8 };
      return suiteCase(divergentLanes, {
        case: { id: `${loops}${divergentLanes}`, benchmark: 'divergent-loops', parameters },
        values: { cycles: [500 + 32 * divergentBranches + 84 * spills] },
      });
    }),
  );
  const { fit, curves, unit } = suites.loopFindings(cases, true);
  expect(unit).toBe('cycles');
  expect(fit!.cyclesPerDivergentBranch).toBeCloseTo(32, 6);
  expect(fit!.cyclesPerSpillAndLoad).toBeCloseTo(84, 6);
  for (const { points, model } of curves)
    for (const [i, [, cycles]] of points.entries()) expect(model[i][1]).toBeCloseTo(cycles, 5);
  // A device that counts no cycles has nanoseconds.
  const timed = cases.map((each) => ({ ...each, values: {}, measured: sampleTime(0.01) }));
  const found = suites.loopFindings(timed, false);
  expect([found.unit, found.fit]).toEqual(['ns', null]);
  expect(found.curves[0].points[0][1] / 1e4).toBeCloseTo(1, 1);
});

it('arranges a launch grid by blocks and threads, with gaps where nothing was measured', () => {
  const launch = (blocks: number, threads: number, medianMs: number) => {
    const parameters = { blocks, threads, elements: 1e6 };
    const each = { id: `${blocks}-${threads}`, benchmark: 'launch-grid' as const, parameters };
    return suiteCase(blocks, { case: each, measured: sampleTime(5, { medianMs }) });
  };
  const grid = suites.launchTimes([launch(112, 64, 4), launch(16, 32, 1), launch(112, 32, 3)])!;
  expect(grid).toMatchObject({ blocks: [16, 112], threadsPerBlock: [32, 64], bestMs: 1, worstMs: 4 });
  expect([...grid.values]).toEqual([1, NaN, 3, 4]);
  expect(suites.launchTimes([])).toBeNull();
});

describe('probes', () => {
  const probe = (name: string, change: Partial<MeasuredCase>) =>
    suiteCase(0, { case: { id: name, benchmark: 'probe', parameters: { probe: name, arguments: {} } }, ...change });

  const onH100 = (name: string, values: MeasuredCase['values']) =>
    suites.probeRows([probe(name, { values })], gpu('nvidia-h100-sxm5-80gb'))[0];

  it('are shown beside the values of the catalogue, if it has any, and say why they have no result', () => {
    const slots = probe('slots', { values: { blockSlots: 32, registers: [1, 2], oddity: 7 } });
    const schedulers = probe('schedulers', { values: { schedulers: 2 } });
    expect(suites.probeRows([slots, schedulers, probe('l2', { failure: 'no time left' })], A100)).toEqual([
      { probe: 'slots', property: 'block slots', found: '32', catalogue: '32', agrees: true, note: '' },
      { probe: 'slots', property: 'oddity', found: '7', catalogue: '', agrees: null, note: '' },
      { probe: 'schedulers', property: 'schedulers', found: '2', catalogue: '4', agrees: false, note: '' },
      { probe: 'l2', property: '', found: 'no time left', catalogue: '', agrees: null, note: '' },
    ]);
  });

  it.each([
    // Each class of instructions has its own lanes.
    ['float-add', { lanesPerCycle: 125.4 }, '128', true],
    ['special', { lanesPerCycle: 15.99 }, '16', true],
    ['logic', { lanesPerCycle: 63.55 }, '64', true],
    ['integer-multiply-add', { lanesPerCycle: 63.75 }, '64', true],
    ['double-multiply-add', { lanesPerCycle: 63.51 }, '64', true],
    // The compiler spreads additions over two execution units, which the model does not know.
    ['integer-add', { lanesPerCycle: 124.7 }, '64', false],
    // The model has no throughput for this class and the next, and no latency for those after them.
    ['shuffle', { lanesPerCycle: 32 }, '', null],
    ['match', { lanesPerCycle: 32 }, '', null],
    ['special', { latencyCycles: 17 }, '', null],
    ['double-multiply-add', { latencyCycles: 17 }, '', null],
    ['cache-l1', { latencyCycles: 17 }, '', null],
    ['fetch', { latencyCycles: 17 }, '', null],
    ['float-add', { latencyCycles: 4.037 }, '4', true],
    ['integer-add', { latencyCycles: 5.028 }, '4', false],
    ['shuffle', { latencyCycles: 24.01 }, '25', true],
    ['cache-l2', { missLatencyCycles: 687.8 }, '700', true],
  ])('of an H100: %s %j beside %j', (name, values, catalogue, agrees) =>
    expect(onH100(name, values)).toMatchObject({ catalogue, agrees }),
  );

  it.each([
    ['cache-l2', { capacityBytes: 28.2e6 }, null, 'One multiprocessor sees only the nearer half of the cache.'],
    ['cache-l2', { capacityBytes: 50e6 }, true, ''],
    ['cache-l2', { capacityBytes: 4e6 }, false, ''],
    ['bandwidth', { bandwidthGbS: 2932 }, null, '87.5 % of the peak'],
    ['bandwidth', { bandwidthGbS: 5000 }, false, ''],
    ['bandwidth', { bandwidthGbS: 300 }, false, ''],
  ])('a half of a cache or a part of the peak bandwidth is no disagreement: %s %j', (name, values, agrees, note) =>
    expect(onH100(name, values)).toMatchObject({ agrees, note }),
  );

  it('recognise the device by its name', () => {
    expect(suites.catalogueDevice([A100], 'NVIDIA A100-SXM4-40GB')).toBe(A100);
    expect(suites.catalogueDevice([A100], 'SwiftShader Device (Subzero)')).toBeNull();
  });
});
