import { freemem } from 'node:os';
import { cpuDevice } from '../../../src-workers/bench/cpu/device.ts';
import { contentionCases, standardBytes } from '../../../src-workers/bench/cpu/cpu-plan.ts';
import type { BenchBackend, BenchCase, CaseOf, MeasuringDevice } from '../../../src-workers/domain/benchmark.ts';
import { ok, type Result, unsupported } from '../../../src-workers/domain/result.ts';
import { TABLE_I } from '../../../src-workers/models/imbalance/swatman-figures.ts';
import { HASAN_TABLE_2, HASAN_THREADS_PER_BLOCK } from '../../../src-workers/models/pipeline/hasan.ts';
import type { BenchSuite } from '../../contract/measuring.ts';

/** Benchmarks of the device itself. Each repeats the measurements of a published model, some with less work. */

/** Assumed width of a device that does not state its width. On a narrower device, the widest cases fail. */
const WIDEST_GROUP = 32;
const DIVERGENT_ITERATIONS = 32;
/**
 * Terms that each thread adds in the binomial series. On an H100, a launch takes 3 ms, much more than its overhead.
 * With 2²⁰ terms it took 43 ms, and all 160 cases took two minutes.
 */
const SERIES_ELEMENTS = 2 ** 16;
/** Work groups that compute matrix powers. The paper used 2¹⁸, which need 8 GB. */
const MATRIX_WORK_GROUPS = { cuda: 2 ** 14, webgpu: 2 ** 10 } as const;
/** Each suite should end within a minute on two busy cores that emulate a GPU. */
const SOFTWARE_SERIES_ELEMENTS = 2 ** 5;
const SOFTWARE_MATRIX_WORK_GROUPS = 2 ** 4;
/** The loop must take at least as long as the start of a launch, which would hide a loop of only 32 iterations. */
const SOFTWARE_DIVERGENT_ITERATIONS = 2 ** 10;

const either = new Intl.ListFormat('en-GB', { type: 'disjunction' });

const BACKENDS: Readonly<Record<Exclude<BenchSuite, 'designs'>, readonly BenchBackend[]>> = {
  'matrix-power': ['cuda', 'hip', 'webgpu'],
  'divergent-loops': ['cuda', 'hip', 'webgpu'],
  'launch-grid': ['cuda', 'hip', 'webgpu'],
  probes: ['cuda', 'hip', 'webgpu'],
  contention: ['cpu'],
};

export function suiteCases(
  suite: Exclude<BenchSuite, 'designs'>,
  backend: BenchBackend,
  device: MeasuringDevice | null,
): Result<readonly BenchCase[]> {
  if (!BACKENDS[suite].includes(backend))
    return unsupported(`The suite ${suite} runs on ${either.format(BACKENDS[suite])}, not on ${backend}.`);
  const width = device?.threadGroupWidth ?? WIDEST_GROUP;
  const software = device?.properties.software === 1;
  switch (suite) {
    case 'matrix-power':
      return ok(
        matrixPower(
          software ? SOFTWARE_MATRIX_WORK_GROUPS : MATRIX_WORK_GROUPS[backend === 'webgpu' ? 'webgpu' : 'cuda'],
          width,
        ),
      );
    case 'divergent-loops':
      return ok(divergentLoops(width, software ? SOFTWARE_DIVERGENT_ITERATIONS : DIVERGENT_ITERATIONS));
    case 'launch-grid':
      return ok(launchGrid(software ? SOFTWARE_SERIES_ELEMENTS : SERIES_ELEMENTS));
    case 'probes':
      return ok(probes(backend));
    case 'contention':
      return ok(contention());
  }
}

/** Returns the suite of Langguth's model, on all cores. Its arrays exceed the caches if the memory allows this. */
function contention(): readonly BenchCase[] {
  const { multiprocessors, properties } = cpuDevice();
  const totalBytes = standardBytes(Number(properties.lastLevelCacheBytes), freemem());
  return contentionCases({ cores: multiprocessors ?? 1, totalBytes });
}

/** Table I of Swatman 2022 (doi:10.1109/MASCOTS56607.2022.00026). */
function matrixPower(workGroups: number, width: number): readonly CaseOf<'matrix-power'>[] {
  // Launches in lockstep suffice for the losses. Those of independent units, up to 13 times as long, come last.
  return (['lockstep', 'independent'] as const).flatMap((execution) =>
    TABLE_I.filter(({ n }) => n <= width).map(({ workload: lengths, n: unitsPerGroup }) => ({
      id: `${lengths.replaceAll(/[^A-Za-z0-9.]+/g, '-')}n${unitsPerGroup}-${execution}`,
      benchmark: 'matrix-power' as const,
      parameters: { lengths, unitsPerGroup, workGroups, execution, synchronised: false },
    })),
  );
}

/** Białas and Strzelecki 2015: a case for each number of lanes that leave the loop separately. */
function divergentLoops(width: number, iterations: number): readonly CaseOf<'divergent-loops'>[] {
  return (['single', 'double'] as const).flatMap((loops) =>
    Array.from({ length: Math.min(width, WIDEST_GROUP) }, (_, divergentLanes) => ({
      id: `${loops}-${divergentLanes}`,
      benchmark: 'divergent-loops' as const,
      parameters: { loops, divergentLanes, iterations },
    })),
  );
}

/** Probes for the parameters of Kim's model: limits, residency, arithmetic, schedulers, caches and bandwidth. */
const PROBES = [
  'limits',
  'resident-blocks',
  'float-add',
  'float-multiply',
  'float-multiply-add',
  'integer-add',
  'integer-multiply-add',
  'special',
  'cache-l1',
  'cache-l2',
  'bandwidth',
] as const;
/** These probes need doubles, instructions or a clock on the device, which WebGPU does not have. */
const CUDA_PROBES: readonly string[] = [
  'state-buffers',
  'double-multiply-add',
  'schedulers',
  'logic',
  'shuffle',
  'match',
  'shared-memory',
  'fetch',
  'cache-parts',
  'random-sectors',
];

function probes(backend: BenchBackend): readonly CaseOf<'probe'>[] {
  const own = CUDA_PROBES.filter((probe) => backend === 'cuda' || probe !== 'match');
  const names = backend === 'webgpu' ? PROBES : [...PROBES, ...own];
  return names.map((probe) => ({ id: probe, benchmark: 'probe' as const, parameters: { probe, arguments: {} } }));
}

/** The launch shapes of Table 2 of Hasan 2014 (doi:10.1007/978-3-662-44917-2_65). */
function launchGrid(elements: number): readonly CaseOf<'launch-grid'>[] {
  return HASAN_TABLE_2.flatMap(({ blocks }) =>
    HASAN_THREADS_PER_BLOCK.map((threads) => ({
      id: `${blocks}x${threads}`,
      benchmark: 'launch-grid' as const,
      parameters: { blocks, threads, elements },
    })),
  );
}
