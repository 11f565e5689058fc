/* Tests the traffic of a kernel by the pattern of its accesses, and its use in a sweep. */
import { describe, expect, it } from 'vitest';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { parseStudy } from '../../src-main/contract/parse.ts';
import { studyAxes } from '../../src-main/services/studies/plan.ts';
import type { Device } from '../../src-workers/domain/device.ts';
import type { MemoryAccess } from '../../src-workers/domain/kernel.ts';
import { inputFacts, trafficPhrase } from '../../src-workers/domain/provenance.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import {
  bytesOfIteration,
  loadLatencyCycles,
  type AccessingThreads,
} from '../../src-workers/models/memory/accesses.ts';
import { firstLevelCacheBytes } from '../../src-workers/models/memory/first-level-cache.ts';
import { describeDesign } from '../../src-workers/predict/designs.ts';
import { simulateDesign } from '../../src-workers/simulate/simulate-design.ts';
import { KERNEL, oneDesign, planOf, predicted } from './sweep-plans.ts';
import { cpu, gpu } from '../catalogue.ts';

const A100 = gpu('nvidia-a100-sxm4-40gb');
/** On this device, loads bypass the first-level cache. */
const K20 = gpu('nvidia-k20');
const MI210 = gpu('amd-mi210');
/** Devices whose level-2 cache keeps no sectors that the first-level cache lost. */
const [SMALL_A100, SMALL_K20] = [A100, K20].map((device) => ({ ...device, l2Bytes: 0 }));

const bytes = (device: typeof A100, accesses: readonly MemoryAccess[], threads: Partial<AccessingThreads> = {}) =>
  bytesOfIteration(device, { accesses, bytesPerIteration: 0 }, threads);
const along = (elementBytes: number): MemoryAccess => ({ pattern: 'along-unit', elementBytes });
const gather = (elementBytes: number, more: Partial<MemoryAccess> = {}) =>
  ({ pattern: 'scattered', elementBytes, ...more }) as const;

describe('bytes of an iteration', () => {
  it('are those of the profile if it lists no accesses, and the element across lanes', () => {
    expect(bytesOfIteration(A100, { bytesPerIteration: 12 })).toBe(12);
    for (const device of [A100, K20, MI210])
      expect(bytes(device, [{ pattern: 'across-lanes', elementBytes: 4 }])).toBe(4);
  });

  it('along a unit are the sectors that its threads share, and those of neighbours if units are short, if nothing is reused', () => {
    // A sector has 8 elements. u consecutive elements that begin anywhere touch (u + 7)/8 sectors on average.
    for (const u of [1, 2, 4, 8, 32, 256])
      expect(bytes(SMALL_K20, [along(4)], { threadsPerUnit: u })).toBe((4 * (u + 7)) / u);
    expect(bytes(SMALL_K20, [along(8), along(4)])).toBe(64);
    const short = [{ unitElements: 2 }, { unitElements: 2, threadsPerUnit: 2 }, { unitElements: 0.5 }];
    expect(short.map((threads) => bytes(SMALL_K20, [along(4)], threads))).toEqual([8, 4, 4]);
  });

  it('along a unit come from device memory once, as far as the level-2 cache keeps them', () => {
    // 2,048 threads on each of 13 multiprocessors touch 128 B each. If this fills the cache, half of the sectors stay.
    const full = { ...K20, l2Bytes: K20.multiprocessors * 2048 * 128 };
    expect(bytes(full, [along(4)])).toBeCloseTo(4 + (32 - 4) / 2, 12);
    // If all stay, the level-2 cache delivers each sector eight times, with 2.3 times the bandwidth.
    expect(bytes({ ...full, l2Bytes: 1e12 }, [along(4)])).toBeCloseTo(32 / 2.3, 9);
  });

  it('along a unit load fewer sectors twice if several iterations wait for their loads together', () => {
    const of = (dependentLoadsPerIteration: number): number =>
      bytesOfIteration(SMALL_A100, { accesses: [along(4)], bytesPerIteration: 0, dependentLoadsPerIteration });
    expect(of(2)).toBe(of(1));
    expect(of(0.25) - 4).toBeCloseTo((of(1) - 4) / 4, 12);
  });

  it('come from the level-2 cache in a repeated launch, as far as they fit', () => {
    const warm = (footprintBytes: number): number =>
      bytes(A100, [{ pattern: 'across-lanes', elementBytes: 4, footprintBytes, isWarm: true }]);
    expect(warm(1)).toBeCloseTo(4 / 2.3, 9);
    expect(warm(100 * A100.l2Bytes)).toBeCloseTo(4, 4);
  });

  it('along a unit are the element if sectors stay in the first-level cache', () => {
    // The cache has lines of 128 B. 32 lines take 1/48 of 192 KiB, so all but one of 48³ + 1 reads hit.
    expect(bytes(SMALL_A100, [along(4)], { residentThreads: 32 })).toBeCloseTo(4 + 28 / (48 ** 3 + 1), 12);
    // 2,048 lines take 4/3 of the cache, so 27 of 27 + 64 reads hit.
    expect(bytes(SMALL_A100, [along(4)])).toBeCloseTo((27 * 4 + 64 * 32) / 91, 12);
    // A unit has 8 B. 2,048 units share lines and touch 16 KiB of the cache, so 1 in 12³ + 1 reads misses.
    expect(bytes(SMALL_A100, [along(4)], { unitElements: 2 })).toBeCloseTo(4 + (8 - 4) / (12 ** 3 + 1), 12);
    // The shared memory leaves no space for a first-level cache.
    expect(bytes(SMALL_A100, [along(4)], { sharedMemoryBytes: 192 * 1024 })).toBe(32);
  });

  it('are whole sectors for the gathers that miss, which are 45 % unless the kernel states it, and 20 % in an array of known size', () => {
    // A sector has 32 B on NVIDIA and 64 B on AMD.
    const missing = { missFraction: 1 };
    expect([bytes(K20, [gather(8, missing)]), bytes(MI210, [gather(8, missing)])]).toEqual([32, 64]);
    expect(bytes(K20, [gather(48, missing)])).toBe(64);
    expect(bytes(K20, [gather(8)])).toBeCloseTo(0.45 * 32, 12);
    expect(bytes(K20, [gather(8, { footprintBytes: 1e15 })])).toBeCloseTo(
      bytes(K20, [gather(8, { footprintBytes: 1e15, missFraction: 0.2 })]),
      12,
    );
    // The level-2 cache serves √0.05 of the gathers, with 2.3 times the bandwidth, but is still the bottleneck.
    expect(bytes(K20, [gather(8, { missFraction: 0.05 })])).toBeCloseTo((Math.sqrt(0.05) * 32) / 2.3, 12);
    expect(bytes(K20, [gather(8, { missFraction: 0 })])).toBe(0);
  });

  it('come from the cache that holds an array which is read again', () => {
    const of = (footprintBytes: number): MemoryAccess => gather(8, { footprintBytes, missFraction: 1 });
    // Hits in the level-2 cache have 2.3 times the bandwidth of device memory.
    expect(bytes(K20, [of(1)])).toBeCloseTo(32 / 2.3, 9);
    // The array gets half of the cache. If it has this size, the hit rate is ∛½, and the cache is still the bottleneck.
    expect(bytes(K20, [of(K20.l2Bytes / 2)])).toBeCloseTo(32 / 2.3, 9);
    // If the array is four times as large, the hit rate is 1/∛65, and device memory is the bottleneck. It delivers
    // sectors at random addresses at the measured rate, or else at 0.35 of the peak.
    const known = { ...K20, achievedBandwidthFraction: 0.7 };
    expect(bytes(known, [of(K20.l2Bytes * 2)])).toBeCloseTo(2 * 32 * (1 - 1 / Math.cbrt(65)), 9);
    const measured = { ...known, randomSectorsGbS: 0.14 * K20.memoryBandwidthGbS };
    expect(bytes(measured, [of(K20.l2Bytes * 2)])).toBeCloseTo(5 * 32 * (1 - 1 / Math.cbrt(65)), 9);
    expect(bytes({ ...K20, achievedBandwidthFraction: 0.2 }, [of(K20.l2Bytes * 2)])).toBeCloseTo(
      32 * (1 - 1 / Math.cbrt(65)),
      9,
    );
    // Whatever the size of an array, a part of it is in the caches.
    expect(bytes(known, [of(K20.l2Bytes * 1000)])).toBeCloseTo(2 * 32 * (1 - 1 / 2000), 6);
    expect(bytes(A100, [of(64)])).toBeCloseTo(0, 6);
  });

  it('depend on the other data in the first-level cache', () => {
    // 2,048 threads touch three lines each, four times the cache. One in 65 sectors along the unit is reused.
    const apart = gather(8, { missFraction: 1 });
    expect(bytes(SMALL_A100, [along(8), along(4), apart])).toBeCloseTo((8 + 4 + 64 * (32 + 32)) / 65 + 32, 9);
    // A small array takes no more than its size.
    const small = gather(8, { missFraction: 1, footprintBytes: 1 });
    expect(bytes(SMALL_A100, [along(8), along(4), small])).toBeCloseTo(
      bytes(SMALL_A100, [along(8), along(4)], { residentThreads: 2048 }),
      2,
    );
    // If lanes gather from the same lines, the gathers take less space in the cache.
    const shared = gather(8, { missFraction: 0.25 });
    const ratio = (4 / 3) * (1 + 1 + 0.5);
    const reuse = 1 / (1 + ratio ** 3);
    expect(bytes(SMALL_A100, [along(8), along(4), shared])).toBeCloseTo(reuse * 12 + (1 - reuse) * 64 + 0.25 * 32, 9);
  });
});

// The first-level cache has the room that shared memory leaves, if both are one memory. Turing keeps 32 KiB for shared
// memory, even if it is unused. Loads bypass the cache on Kepler and Pascal, except on GP100.
it.each([
  [A100, 0, 192],
  [A100, 64, 128],
  [MI210, 64, 16],
  [K20, 0, 0],
  [gpu('nvidia-t4'), 0, 64],
  [gpu('nvidia-t4'), 48, 48],
  [gpu('nvidia-p100-pcie-16gb'), 48, 24],
  [gpu('nvidia-gtx-1080-ti'), 0, 0],
])('the first-level cache of $0.name with $1 KiB of shared memory in use has $2 KiB', (device, sharedKib, kib) =>
  expect(firstLevelCacheBytes(device, sharedKib * 1024)).toBe(kib * 1024),
);

const ACCESSES: NonNullable<StudyFile['kernel']['accesses']> = [
  { pattern: 'along-unit', elementBytes: 8 },
  { pattern: 'along-unit', elementBytes: 4 },
  { pattern: 'scattered', elementBytes: 8 },
];

it('counts gathers first, in any order of the list, and a part of the last access', () => {
  const latency = (dependentLoadsPerIteration: number, ...accesses: readonly MemoryAccess[]): number =>
    loadLatencyCycles(A100, { accesses, dependentLoadsPerIteration }, {}, (probability) => probability);
  const [far, near] = [gather(8, { footprintBytes: 1e9 }), gather(8, { footprintBytes: 1e6 })];
  // Loads that wait together change the reuse of a sector, so numbers of loads are compared by gathers.
  expect(latency(2, far, near)).toBeGreaterThan(latency(1, far, near));
  expect(latency(1.5, far, near)).toBeCloseTo((latency(1, far, near) + latency(2, far, near)) / 2, 9);
  expect(latency(1, far, along(8))).toBe(latency(1, along(8), far));
});

const predictedWith = (kernel: Partial<StudyFile['kernel']>, axes: Partial<StudyFile['axes']> = {}) =>
  predicted(
    oneDesign({
      // With one thread per unit, the blocks are four whole waves of 108 multiprocessors.
      workload: { lengths: 'constant(256)', units: 4 * 108 * 2048 },
      kernel: { ...KERNEL, instructionsPerIteration: 4, ...kernel },
      axes: { threadsPerUnit: [1, 32], blockThreads: [256], ...axes },
    }),
  );

/**
 * These are the bytes of `ACCESSES` on full multiprocessors of an A100, with one thread per unit and with 32. With one
 * thread, 2,048 threads touch two lines each along the unit, and √0.45 of a line by gathers; the cache has 1,536 lines.
 * With 32 threads, the threads of a unit touch 31 elements and a sector. Of the gathers, 45 % miss. `kept` is the part
 * of the lost sectors that the level-2 cache keeps.
 */
const kept = (ofThread: number): number => 1 / (1 + ((ofThread * 2048 * A100.multiprocessors) / A100.l2Bytes) ** 3);
const TOUCHED = 128 * (2 + Math.sqrt(0.45));
const REUSED = 1 / (1 + (TOUCHED / 96) ** 3);
const BY_THREAD = 8 + 4 + (1 - REUSED) * (32 + 32 - 12) * (1 - kept(TOUCHED)) + 0.45 * 32;
const TOUCHED_BY_GROUP = 8 + 4 + 128 * Math.sqrt(0.45);
const REUSED_BY_GROUP = 1 / (1 + (TOUCHED_BY_GROUP / 96) ** 3);
const LOST = (31 * (8 + 4) + 2 * 32) / 32 - 12;
const BY_GROUP = 8 + 4 + (1 - REUSED_BY_GROUP) * LOST * (1 - kept(TOUCHED_BY_GROUP)) + 0.45 * 32;

describe('a sweep', () => {
  it('makes a thread per unit slower than a group per unit only by coalescing, also in the simulator', async () => {
    const plain = await predictedWith({ bytesPerIteration: BY_GROUP });
    const [thread, group] = plain.columns.timeMs;
    // All units have the same length and no serial part, so both ways to map a unit have the same work.
    expect(thread).toBeNear(group, 0.01);
    const { columns, predictor } = await predictedWith({ accesses: ACCESSES });
    const each = [0, 1].map((design) => describeDesign(predictor, design).bytesPerIteration!);
    expect(each[0]).toBeCloseTo(BY_THREAD, 9);
    expect(each[1]).toBeCloseTo(BY_GROUP, 9);
    // Memory limits the times, so they are proportional to the bytes.
    expect(columns.timeMs[0] / columns.timeMs[1]).toBeNear(BY_THREAD / BY_GROUP, 0.02);
    expect(columns.timeMs[1]).toBeCloseTo(group, 9);
    const simulated = [0, 1].map(
      (design) => unwrap(simulateDesign(predictor, design, { seed: 1, halfWidth: 0.01, maxReplications: 8 })).meanMs,
    );
    expect(simulated[0] / simulated[1]).toBeNear(BY_THREAD / BY_GROUP, 0.02);
    simulated.forEach((ms, design) => expect(ms).toBeNear(columns.timeMs[design], 0.02));
  });

  it('is equal bit by bit if the accesses add up to the number of the profile', async () => {
    const axes = {
      threadsPerUnit: [1, 4, 64],
      loop: ['nested' as const, 'flattened' as const],
      balancing: ['none', 'full-sort', 'dynamic-fetch', 'mixed(2)'],
      blockThreads: [64, 256],
      registerCap: [null, 24],
    };
    const one = await predictedWith({ bytesPerIteration: 12 }, axes);
    const accesses = [8, 4].map((elementBytes): MemoryAccess => ({ pattern: 'across-lanes', elementBytes }));
    const listed = await predictedWith({ accesses }, axes);
    expect(one.columns.timeMs.filter((ms) => ms > 0).length).toBeGreaterThan(10);
    expect(listed.columns.timeMs).toEqual(one.columns.timeMs);
    expect(describeDesign(one.predictor, 0).bytesPerIteration).toBeNull();
  });

  it('allows an implementation its own accesses, or one number instead', async () => {
    const study = oneDesign({
      kernel: { ...KERNEL, accesses: ACCESSES },
      implementations: [{ name: 'csr' }, { name: 'plain', kernel: { bytesPerIteration: 20 } }],
    });
    const kernelsOf = async (study: StudyFile) =>
      (await planOf(study)).axes.implementations!.map(({ kernel }) => kernel);
    const [csr, plain] = await kernelsOf(study);
    expect(csr).toMatchObject({ accesses: ACCESSES, bytesPerIteration: 0 });
    expect(plain).toMatchObject({ accesses: undefined, bytesPerIteration: 20 });
    const back = oneDesign({
      kernel: { ...KERNEL, bytesPerIteration: 20 },
      implementations: [{ name: 'csr', kernel: { accesses: ACCESSES } }],
    });
    expect((await kernelsOf(back))[0]).toMatchObject({ accesses: ACCESSES, bytesPerIteration: 0 });
  });
});

describe('a study with accesses', () => {
  const axesOf = (study: StudyFile, devices: readonly Device[] = [A100]) =>
    studyAxes(unwrap(parseStudy(JSON.stringify(study))), devices);

  it('is refused if it also has one number, on a CPU, and with an unknown pattern', () => {
    const both = axesOf(oneDesign({ kernel: { ...KERNEL, accesses: ACCESSES, bytesPerIteration: 8 } }));
    const advice =
      'kernel has both accesses and bytesPerIteration (8 B). Remove bytesPerIteration: the traffic follows from the accesses.';
    expect(both).toFail(null, advice);
    const implementations = [{ name: 'a', kernel: { accesses: ACCESSES, bytesPerIteration: 8 } }];
    const field = 'implementations[0].kernel.bytesPerIteration';
    expect(axesOf(oneDesign({ implementations }))).toMatchObject({ error: { context: { field } } });
    const kernel = { ...KERNEL, accesses: ACCESSES };
    const cores = oneDesign({ kernel, axes: { blockThreads: [1], cores: [4], balancing: ['row-split'] } });
    expect(axesOf(cores, [cpu('amd-epyc-7302p')])).toMatchObject({ error: { context: { field: 'kernel.accesses' } } });
    const apart = [{ ...ACCESSES[0], missFraction: 0.5 }];
    const onlyScattered = axesOf(oneDesign({ kernel: { ...KERNEL, accesses: apart } }));
    expect(onlyScattered).toFail(null, /kernel\.accesses\[0\] has missFraction.*pattern is along-unit/);
    const strided = { ...KERNEL, accesses: [{ pattern: 'strided', elementBytes: 4 }] };
    const refused = parseStudy(JSON.stringify({ ...oneDesign(), kernel: strided }));
    expect(refused).toFail(null, /kernel\.accesses\[0\]\.pattern.*along-unit.*across-lanes.*scattered/);
  });

  it('has the accesses among its inputs, instead of the one number', async () => {
    const study = oneDesign({
      kernel: { ...KERNEL, accesses: [...ACCESSES.slice(0, 2), { ...ACCESSES[2], footprintBytes: 4_000_000 }] },
    });
    const plan = await planOf(study);
    const inputs = { workload: study.workload, kernel: plan.kernel, axes: plan.axes, pipeline: {} };
    const facts = inputFacts(inputs, A100);
    expect(facts.some(({ field }) => field === 'kernel.bytesPerIteration')).toBe(false);
    expect(trafficPhrase(facts, { bytesPerIteration: 54.321 })).toBe(
      '54.3 B per iteration of a lane: 8 B along the unit, 4 B along the unit, 8 B scattered in 4,000,000 B',
    );
    const without = inputFacts({ ...inputs, kernel: { ...plan.kernel, accesses: undefined } }, A100);
    expect(trafficPhrase(without, {})).toBeNull();
  });
});
