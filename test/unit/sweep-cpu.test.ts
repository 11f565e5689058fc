import { describe, expect, it } from 'vitest';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { parseStudy } from '../../src-main/contract/parse.ts';
import { studyAxes } from '../../src-main/services/studies/plan.ts';
import { packLengths, unpackLengths } from '../../src-main/services/studies/workloads.ts';
import { INVALID_REASONS } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { maxRateCurve } from '../../src-workers/models/contention/bandwidth.ts';
import { coreSweep, partitionLoads } from '../../src-workers/models/contention/cores.ts';
import { evenNonZeros, evenRows, loadImbalance, mergePath } from '../../src-workers/models/partition/partition.ts';
import { spaceSize } from '../../src-workers/domain/space.ts';
import { computeCoreLoads, createCpuLoads } from '../../src-workers/predict/cpu.ts';
import { MAX_ENTRIES } from '../../src-workers/predict/constants.ts';
import { drawLengths, makeGivenLengths } from '../../src-workers/predict/ordered.ts';
import { describeDesign } from '../../src-workers/predict/designs.ts';
import { explainDesign } from '../../src-workers/predict/explain.ts';
import { createRanking } from '../../src-workers/sweep/ranking.ts';
import { simulateDesign } from '../../src-workers/simulate/simulate-design.ts';
import { KERNEL, oneDesign, planOf, predicted } from './sweep-plans.ts';
import { cpu, CPUS } from '../catalogue.ts';

const BYTES = { bytesPerIteration: 12, bytesPerUnit: 20 };
const SPMV: StudyFile['kernel'] = { ...KERNEL, ...BYTES, lengthsKnownBeforeLaunch: true };
const PARTITIONS = ['row-split', 'nonzero-split', 'merge-path'];
const onCpus = (change: Partial<StudyFile> = {}): StudyFile =>
  oneDesign({
    workload: { lengths: 'mtx:ca-GrQc.mtx', units: 5242 },
    kernel: SPMV,
    devices: CPUS.map(({ id }) => id),
    axes: { blockThreads: [1], balancing: PARTITIONS, cores: { from: 1, to: 72 } },
    ...change,
  });

const EPS = Number.EPSILON;

describe('designs of a CPU', () => {
  it.each(CPUS)('take the same time as in the contention models on $id', async (device) => {
    const { plan, columns, predictor } = await predicted(onCpus({ devices: [device.id] }));
    [evenRows, evenNonZeros, mergePath].forEach((split, p) => {
      const traffic = { bytesPerNonZero: 12, bytesPerRow: 20 };
      const loadsOf = (cores: number) => partitionLoads(split(plan.ordered!.iterations, cores), traffic);
      const { timeMs, bestCores } = coreSweep(maxRateCurve(device, device.cores), loadsOf);
      const times = Array.from(columns.timeMs.subarray(p * 72, p * 72 + device.cores));
      times.forEach((time, c) => {
        // Both times are the same sums in the same order, except for a factor that should be 1.
        expect(Math.abs(time / timeMs[c] - 1)).toBeLessThanOrEqual(8 * EPS);
        const design = p * 72 + c;
        expect(columns.aggregateLoss[design]).toBe(Math.fround(loadImbalance(loadsOf(c + 1))));
        expect(columns.occupancyFraction[design]).toBe(Math.fround((c + 1) / device.cores));
        const launch = { gridBlocks: c + 1, blockThreads: 1, unitsPerThread: Math.ceil(5242 / (c + 1)) };
        const expected = { invalid: null, design: { ...launch, balancing: PARTITIONS[p] } };
        expect(describeDesign(predictor, design)).toMatchObject(expected);
        const { parts } = explainDesign(predictor, design)!;
        const sum = Object.values(parts).reduce((a, b) => a + b, 0);
        expect(Math.abs(sum / time - 1)).toBeLessThanOrEqual(8 * EPS);
        for (const part of Object.values(parts)) expect(part).toBeGreaterThanOrEqual(-8 * EPS * time);
      });
      // Among times that are equal up to rounding, the model takes the fewest cores.
      expect(times.findIndex((time) => time <= Math.min(...times) * (1 + 1e-9)) + 1).toBe(bestCores);
    });
  });

  it('take time in proportion to the units that the rows represent', async () => {
    const devices = ['amd-epyc-7302p'];
    const one = await predicted(onCpus({ devices }));
    const many = await predicted(onCpus({ devices, workload: { lengths: 'mtx:ca-GrQc.mtx', units: 5242 * 200 } }));
    for (let design = 0; design < 16; design += 1)
      expect(many.columns.timeMs[design] / one.columns.timeMs[design]).toBeCloseTo(200, 9);
  });

  it('move the bytes of all units with any partition and bundling', () => {
    const lengths = Float64Array.from({ length: MAX_ENTRIES + 12_345 }, (_, i) => i % 7);
    const total = lengths.reduce((a, b) => a + b, 0) * 12 + lengths.length * 20;
    const loads = createCpuLoads(BYTES, lengths.length, makeGivenLengths(lengths));
    expect(loads.ordered.iterations.length).toBeLessThanOrEqual(MAX_ENTRIES);
    for (const kind of ['row-split', 'nonzero-split', 'merge-path'] as const)
      expect(computeCoreLoads(loads, { kind }, 7).reduce((a, b) => a + b, 0) / total).toBeCloseTo(1, 12);
  });

  it('are one wave, and are not simulated', async () => {
    const { plan, predictor, columns } = await predicted(onCpus({ devices: ['amd-epyc-7302p'] }));
    const ranking = createRanking(plan.axes, columns);
    expect([...ranking.waves.slice(15, 17)]).toEqual([1, 0]);
    expect(simulateDesign(predictor, 15, { seed: 1, halfWidth: 0.01, maxReplications: 10 })).toFail('unsupported');
  });
});

it('invalid designs have a reason, for every invalid design of a mixed space', async () => {
  const study = onCpus({
    devices: ['amd-epyc-7302p', 'nvidia-a100-sxm4-40gb'],
    axes: {
      threadsPerUnit: [1, 4],
      loop: ['nested', 'flattened'],
      balancing: ['none', 'full-sort', 'row-split', 'merge-path'],
      registerCap: [null, 32],
      blockThreads: [128, 256],
      unitsPerThread: [1],
      cores: [1, 16, 17],
    },
  });
  const { predictor, columns, plan } = await predicted(study);
  expect(spaceSize(plan.axes)).toBe(2 * 2 * 2 * 4 * 4 * 2 * 2);
  for (let design = 0; design < columns.timeMs.length; design += 1) {
    const { design: d, device } = describeDesign(predictor, design);
    const launch = plan.axes.launch[Math.floor(design / 4) % 4];
    const partition = d.balancing === 'row-split' || d.balancing === 'merge-path';
    const plain = d.threadsPerUnit === 1 && d.loop === 'nested' && d.registerCap === null && design % 2 === 0;
    const onCores = launch.kind === 'cores';
    const isOnDevice = device.kind === 'gpu' ? d.balancing !== 'row-split' && !onCores : partition && plain && onCores;
    const expected = !isOnDevice ? 'not-on-device' : onCores && launch.value === 17 ? 'cores' : 'valid';
    expect([design, INVALID_REASONS[columns.invalidReason[design]].code]).toEqual([design, expected]);
    expect(Number.isNaN(columns.timeMs[design])).toBe(expected !== 'valid');
  }
});

it.each<[Partial<StudyFile>, rows: string, others: string]>([
  [{ kernel: { ...SPMV, lengthsKnownBeforeLaunch: false } }, 'valid', 'lengths-unknown'],
  [{ workload: { lengths: 'constant(3)', units: 7 } }, 'idle-blocks', 'idle-blocks'],
  [{ constraints: [{ quantity: 'blockThreads', multipleOf: 32 }] }, 'valid', 'valid'],
  [{ constraints: [{ quantity: 'occupancyFraction', atLeast: 0.6 }] }, 'constraint', 'constraint'],
])('designs with %o are %s on eight cores if rows are split, and otherwise %s', async (change, rows, others) => {
  const axes = { blockThreads: [1], balancing: PARTITIONS, cores: [8] };
  const { columns } = await predicted(onCpus({ devices: ['amd-epyc-7302p'], axes, ...change }));
  expect(Array.from(columns.invalidReason, (code) => INVALID_REASONS[code].code)).toEqual([rows, others, others]);
});

it.each([
  ['axes.cores', { axes: { blockThreads: [1], balancing: PARTITIONS } }],
  ['axes.balancing', { axes: { blockThreads: [1], cores: [4] } }],
  ['kernel.bytesPerIteration', { kernel: { ...SPMV, bytesPerIteration: 0, bytesPerUnit: 0 } }],
] satisfies readonly (readonly [string, Partial<StudyFile>])[])('a design requires %s for a CPU', (field, change) => {
  const axes = studyAxes(unwrap(parseStudy(JSON.stringify(onCpus(change)))), [cpu('amd-epyc-7302p')]);
  expect(axes).toMatchObject({ ok: false, error: { code: 'bad-input', context: { field } } });
  if (!axes.ok) expect(axes.error.message).toContain('amd-epyc-7302p');
});

it('ordered lengths can be read from the text in which they are stored', async () => {
  const lists = [Float64Array.of(3, 0, 2 ** 40, 1.5), Float64Array.of(3, 0, 2 ** 31)];
  const given = lists.map((list) => makeGivenLengths(list));
  // Entries of earlier versions contained several units each. No GPU runs such an entry as one unit.
  const bundled = { units: 9, iterations: Float64Array.of(3, 2 ** 40, 1.5), given: false };
  for (const ordered of [...given, bundled]) {
    const order = JSON.parse(JSON.stringify(await packLengths(ordered))) as unknown;
    expect(await unpackLengths({ order })).toEqual(ordered);
  }
  for (const wrong of [null, {}, { order: 1 }, { order: { units: 1, iterations: 'no' } }])
    expect(await unpackLengths(wrong)).toBeNull();
});

it('ordered lengths are the same draws for the same seed, one for each unit', async () => {
  const { law } = await planOf(oneDesign());
  const drawn = drawLengths(law, 5000, 7);
  expect(drawn).toEqual(drawLengths(law, 5000, 7));
  expect(drawn).not.toEqual(drawLengths(law, 5000, 8));
  expect(drawn.iterations).toHaveLength(5000);
  // The law has a mean of 20 and a standard deviation of 19.5. The tolerance is five standard errors.
  expect(Math.abs(drawn.iterations.reduce((a, b) => a + b, 0) / 5000 - 20)).toBeLessThan((5 * 19.5) / Math.sqrt(5000));
});
