import type { BenchBackend, BenchCase, CaseOf } from '../../src-workers/domain/benchmark.ts';
import { fail, ok, type Result } from '../../src-workers/domain/result.ts';
import { TABLE_I } from '../../src-workers/models/imbalance/published.ts';
import { HASAN_TABLE_2, HASAN_THREADS_PER_BLOCK } from '../../src-workers/models/pipeline/hasan.ts';
import type { BenchSuite } from '../contract/measuring.ts';

/** Benchmarks of the device itself: each repeats what a published model was held against, with its settings. */

/** Lanes of the widest group that is asked for; a narrower device fails the cases that it cannot run. */
const WIDEST_GROUP = 32;
const DIVERGENT_ITERATIONS = 32;
/** Elements of one launch of the binomial series; the paper does not give its own. */
const SERIES_ELEMENTS = 2 ** 20;

const BACKENDS: Readonly<Record<Exclude<BenchSuite, 'designs'>, readonly BenchBackend[]>> = {
  'matrix-power': ['cuda', 'webgpu'],
  'divergent-loops': ['cuda', 'webgpu'],
  'launch-grid': ['cuda', 'webgpu'],
  probes: ['cuda', 'webgpu'],
  contention: ['cpu'],
};

/** The cases of a suite, or why the backend has none. */
export function suiteCases(suite: Exclude<BenchSuite, 'designs'>, backend: BenchBackend): Result<readonly BenchCase[]> {
  if (!BACKENDS[suite].includes(backend))
    return fail('unsupported', `suite ${suite} runs on ${BACKENDS[suite].join(' or ')}; got a target of ${backend}`);
  switch (suite) {
    case 'matrix-power':
      return ok(matrixPower(backend));
    case 'divergent-loops':
      return ok(divergentLoops());
    case 'launch-grid':
      return ok(launchGrid());
    case 'probes':
      return ok(probes());
    case 'contention':
      return fail('unsupported', `suite ${suite}: not in this version yet`);
  }
}

/** Table I of Swatman 2022 (doi:10.1109/MASCOTS56607.2022.00026): fewer work groups than its 2¹⁸, which need 8 GB. */
function matrixPower(backend: BenchBackend): readonly CaseOf<'matrix-power'>[] {
  const workGroups = backend === 'cuda' ? 2 ** 14 : 2 ** 10;
  return TABLE_I.flatMap(({ workload: lengths, n: unitsPerGroup }) =>
    (['lockstep', 'independent'] as const).map((execution) => ({
      id: `${lengths.replaceAll(/[^A-Za-z0-9.]+/g, '-')}n${unitsPerGroup}-${execution}`,
      benchmark: 'matrix-power' as const,
      parameters: { lengths, unitsPerGroup, workGroups, execution, synchronised: false },
    })),
  );
}

/** Białas and Strzelecki 2015: every number of lanes that leave on their own. */
function divergentLoops(): readonly CaseOf<'divergent-loops'>[] {
  return (['single', 'double'] as const).flatMap((loops) =>
    Array.from({ length: WIDEST_GROUP }, (_, divergentLanes) => ({
      id: `${loops}-${divergentLanes}`,
      benchmark: 'divergent-loops' as const,
      parameters: { loops, divergentLanes, iterations: DIVERGENT_ITERATIONS },
    })),
  );
}

/** What Kim's model is made of: limits, residency, units, schedulers, caches and bandwidth. */
const PROBES = [
  'limits',
  'resident-blocks',
  'state-buffers',
  'float-add',
  'float-multiply',
  'float-multiply-add',
  'double-multiply-add',
  'integer-add',
  'integer-multiply-add',
  'special',
  'schedulers',
  'cache-l1',
  'cache-l2',
  'bandwidth',
] as const;

function probes(): readonly CaseOf<'probe'>[] {
  return PROBES.map((probe) => ({ id: probe, benchmark: 'probe' as const, parameters: { probe, arguments: {} } }));
}

/** The launch shapes of Table 2 of Hasan 2014 (doi:10.1007/978-3-662-44917-2_65). */
function launchGrid(): readonly CaseOf<'launch-grid'>[] {
  return HASAN_TABLE_2.flatMap(({ blocks }) =>
    HASAN_THREADS_PER_BLOCK.map((threads) => ({
      id: `${blocks}x${threads}`,
      benchmark: 'launch-grid' as const,
      parameters: { blocks, threads, elements: SERIES_ELEMENTS },
    })),
  );
}
