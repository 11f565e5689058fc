import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writePlanFolder } from '../../src-workers/bench/plan-files.ts';
import { unitLoopShape } from '../../src-workers/bench/stand-in.ts';
import { unitLoopShader } from '../../src-workers/bench/webgpu/unit-loop-shader.ts';
import { softwareDriver, softwareEnvironment } from '../../src-workers/bench/webgpu/node.ts';
import type { BenchCase, BenchPlan, BenchRecord, UnitLoopProfile } from '../../src-workers/domain/benchmark.ts';
import type { Design } from '../../src-workers/domain/design.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { geometricLaw } from '../../src-workers/models/workload/laws.ts';
import { lengthSampler, mersenneTwister } from '../../src-workers/numeric/random.ts';
import { swiftShaderEnvironment } from '../measured/swiftshader.ts';
import { lacks } from '../tools.mjs';
import { probe, PROFILE, recordsOf } from './bench-cuda-plans.ts';
import { testFolder } from '../workplace.ts';
import { benchPlan, unitLoop as anyUnitLoop } from '../measuring.ts';

const CHILD = join(import.meta.dirname, '../../src-workers/bench/webgpu/child.ts');
const HARNESS = join(import.meta.dirname, 'bench-webgpu-child.ts');

const uniform = mersenneTwister(3);
const draw = lengthSampler(unwrap(geometricLaw(0.2)));
const PLAN = benchPlan([], {
  backend: 'webgpu',
  workload: {
    label: 'geometric(0.2)',
    lengths: Uint32Array.from({ length: 1003 }, (_, unit) => (unit % 7 === 0 ? 0 : draw(uniform))),
    profile: { ...PROFILE, fp64Share: 0, tableWords: 256 },
    traffic: null,
  },
});

const BALANCINGS = ['none', 'best-buckets(3)', 'window-sort(100)', 'full-sort', 'dynamic-fetch', 'dynamic-fetch(3)', 'dynamic-fetch(group)']; // prettier-ignore
const other = (id: string, benchmark: string, parameters: object): BenchCase =>
  ({ id, benchmark, parameters }) as BenchCase;
const matrix = (id: string, execution: string, synchronised: boolean, lengths = 'uniform(1,6)'): BenchCase =>
  other(id, 'matrix-power', { lengths, unitsPerGroup: 4, workGroups: 30, execution, synchronised });
const unitLoop = (id: string, change: Partial<Design> = {}) =>
  anyUnitLoop(id, { unitsPerThread: 4, blockThreads: 32, gridBlocks: 5, ...change });

describe.skipIf(lacks('swiftshader'))('WebGPU under Node', () => {
  const folder = testFolder();

  async function run(plan: Partial<BenchPlan>, args: readonly string[] = [CHILD]): Promise<BenchRecord[]> {
    await writePlanFolder(folder, { ...PLAN, ...plan });
    const { stdout, stderr, status, signal } = spawnSync(process.execPath, [...args, folder], {
      env: swiftShaderEnvironment(),
      encoding: 'utf8',
    });
    expect([status, signal], stderr).toEqual([0, null]);
    return recordsOf(stdout);
  }
  const of = (records: readonly BenchRecord[], id: string): BenchRecord[] =>
    records.filter((record) => 'case' in record && record.case === id);

  it.each(['split', 'deal'] as const)('computes what the CPU does for every design of %s units', async (sharing) => {
    // With one thread per unit, a unit is not shared, so one of the two ways of sharing covers this case.
    const cases = (sharing === 'deal' ? [2, 4] : [1, 2, 4]).flatMap((threadsPerUnit) =>
      (['nested', 'flattened'] as const).flatMap((loop) =>
        BALANCINGS.map((balancing, i) =>
          unitLoop(`u${threadsPerUnit}-${loop}-${i}`, {
            threadsPerUnit,
            loop,
            balancing,
            // Some blocks end within a thread group. Slots take one unit or many.
            ...(i % 2 === 0 ? { blockThreads: 20, gridBlocks: 3 } : { blockThreads: 64, gridBlocks: 80 }),
          }),
        ),
      ),
    );
    const shared = { sharing, unitInstructions: 50, combineInstructions: 9 };
    const profile = { ...PLAN.workload!.profile, ...shared } as UnitLoopProfile;
    const records = await run({ cases, workload: { ...PLAN.workload!, profile } });
    expect(records[0]).toMatchObject({ type: 'device', backend: 'webgpu', threadGroupWidth: 4, timer: 'device' });
    for (const { id } of cases) {
      const found = of(records, id);
      expect(found, id).toMatchObject([
        { type: 'sample', warmUp: true, repeat: 0 },
        { type: 'sample', warmUp: false, repeat: 0 },
        { type: 'sample', warmUp: false, repeat: 1 },
        { type: 'check', correct: true },
      ]);
      expect((found[2] as { timeNs: number }).timeNs).toBeGreaterThan(0);
    }
    expect(records.at(-1)!.type).toBe('done');
  });

  it('repeats the published benchmarks', async () => {
    const loops = (id: string, kind: string, divergentLanes: number): BenchCase =>
      other(id, 'divergent-loops', { loops: kind, divergentLanes, iterations: 20 });
    const records = await run({
      workload: null,
      cases: [
        matrix('m1', 'lockstep', false),
        matrix('m2', 'independent', false),
        matrix('m3', 'lockstep', true),
        loops('d0', 'single', 0),
        loops('d3', 'double', 3),
        other('grid', 'launch-grid', { blocks: 3, threads: 32, elements: 500 }),
        probe('limits'),
        probe('float-add', { rounds: 256 }),
        probe('cache-l1', { leastBytes: 1024, mostBytes: 4096 }),
        probe('bandwidth', { bytes: 2 ** 16 }),
        probe('resident-blocks', { rounds: 64 }),
      ],
    });
    for (const id of ['m1', 'm2', 'm3', 'd0', 'd3', 'grid'])
      expect(of(records, id), id).toContainEqual({ type: 'check', case: id, correct: true, message: '' });
    // Launches of the same power alternate, forwards and backwards.
    const launches = records.flatMap((record) => (record.type === 'sample' ? [record.case] : []));
    expect(launches.slice(0, 12)).toEqual(['m1', 'm2', 'm3', 'm3', 'm2', 'm1', 'm1', 'm2', 'm3', 'd0', 'd0', 'd0']);
    const number = expect.any(Number) as number;
    for (const [id, values] of [
      ['limits', { maxComputeInvocationsPerWorkgroup: 256 }],
      ['float-add', { latencyNs: number }],
      ['cache-l1', { sizesBytes: [1024, 2048, 4096] }],
      ['bandwidth', { bandwidthGbS: number }],
      ['resident-blocks', {}],
    ] as const)
      expect(of(records, id)).toMatchObject([{ type: 'values', values }]);
    const loss = { type: 'values', case: 'm2', values: expect.objectContaining({ aggregateLoss: number }) as object };
    expect(records).toContainEqual(expect.objectContaining(loss));
  });

  const REFUSED: readonly (readonly [BenchCase, RegExp])[] = [
    [unitLoop('cap', { registerCap: 32 }), /^The design has a cap of 32 registers per thread, but WebGPU cannot cap registers\.$/], // prettier-ignore
    [unitLoop('block', { blockThreads: 512 }), /^a block of 512 threads exceeds this device's limit of 256$/],
    [unitLoop('share', { threadsPerUnit: 8 }), /cannot measure 8 threads per unit, since only the 4 threads of a thread group/], // prettier-ignore
    [unitLoop('cores', { balancing: 'row-split' }), /row-split/],
    [other('lanes', 'divergent-loops', { loops: 'single', divergentLanes: 4, iterations: 9 }), /^4 divergent lanes are too many/], // prettier-ignore
    [other('probe', 'probe', { probe: 'schedulers', arguments: {} }), /^probe schedulers does not exist for WebGPU\. Use one of limits, /], // prettier-ignore
    [other('stream', 'stream', { cores: 1, bytesPerCore: 8 }), /^The benchmark stream does not run on a WebGPU device/],
    [matrix('file', 'lockstep', false, 'file:a.csv'), /a\.csv/],
  ];
  it('gives the reason why a case has no time, and continues', async () => {
    const records = await run({ cases: [...REFUSED.map(([one]) => one), unitLoop('good')] });
    for (const [{ id }, message] of REFUSED) expect(of(records, id).at(-1), id).toMatchObject({ type: 'failed', message }); // prettier-ignore
    expect(of(records, 'good').at(-1)).toMatchObject({ type: 'check', correct: true });

    const long = other('long', 'launch-grid', { blocks: 64, threads: 64, elements: 2 ** 22 });
    const limited = await run({ caseTimeLimitMs: 100, cases: [long, unitLoop('next', { blockThreads: 512 })] });
    const message = /^1\/64 of a launch took .* would exceed the limit of 100 ms/;
    expect(of(limited, 'long').at(-1)).toMatchObject({ type: 'failed', message });
    expect(of(limited, 'next').at(-1)).toMatchObject({ type: 'failed', message: /^a block of 512 threads/ });
  });

  it('ends with the loss of the device', async () => {
    const records = await run({ cases: [unitLoop('a'), unitLoop('b')] }, [HARNESS, 'destroy']);
    expect(records.at(-1)).toMatchObject({ type: 'lost', message: /\w/ });
    expect(records.filter(({ type }) => type === 'lost' || type === 'done')).toHaveLength(1);
    expect(of(records, 'b')).toEqual([]);
  });

  it('reports nothing more after it was aborted', async () => {
    const records = await run({ repeats: 50, cases: [unitLoop('a'), unitLoop('b')] }, [HARNESS, 'abort']);
    expect(records.at(-1)).toMatchObject({ type: 'sample', case: 'a', repeat: 0 });
  });

  it('finds a named software driver, and does not add it if the environment names another', () => {
    expect(softwareDriver({ LOCKSTEP_VULKAN_ICD: '/nowhere.json' })).toBeNull();
    expect(softwareDriver({ LOCKSTEP_VULKAN_ICD: CHILD })).toBe(CHILD);
    expect(softwareEnvironment({ VK_ICD_FILENAMES: '/own.json', LOCKSTEP_VULKAN_ICD: CHILD })).toBeNull();
  });
});

describe('the shader of a unit loop', () => {
  const profile = { ...PROFILE, instructionsPerIteration: 300, integerShare: 0, dependentLoadsPerIteration: 0 };

  it('exchanges values only between threads that share a unit', () => {
    const shader = (threadsPerUnit: number): string =>
      unitLoopShader({ profile, threadsPerUnit, blockThreads: 32, form: 'nested' });
    expect(shader(1)).not.toContain('subgroup');
    expect(shader(4).match(/subgroupShuffleXor/g)).toHaveLength(2);
  });

  it('unrolls a few steps, and loops over many', () => {
    const shader = unitLoopShader({ profile, threadsPerUnit: 1, blockThreads: 32, form: 'flattened' });
    const { floats } = unitLoopShape(profile, 1);
    expect(floats).toBeGreaterThan(64);
    expect(shader.match(/f \* launch\.floatZero/g)).toHaveLength(64 + (floats % 64));
    expect(shader).toContain(`k < ${Math.floor(floats / 64)}u`);
  });
});
