import { tieBand } from '../../evidence/tie-band.ts';
import type { RunView } from '../../runs/run-view.ts';
import type { Pool } from '../../pool.ts';
import { MODEL_VERSION } from '../../version.ts';
import { threadGroupWidth } from '../code-format.ts';
import {
  BLOCKS,
  number,
  tunerFormat,
  tunerHead,
  tuple,
  type TunedDesign,
  type TunerJob,
  type TunerSource,
} from '../tuner-format.ts';

export const triton = tunerFormat({
  id: 'triton',
  label: 'Triton configurations',
  text: 'For autotune, pruned by prediction',
  words: 'autotune perf_model top_k early_config_prune',
  name: 'Triton',
  launchable:
    'Blocks must have 1, 2, 4, 8, 16 or 32 thread groups. Mixed designs, which have several launches, are not supported.',
  // Maximum number of the best designs for the study's units that are predicted at other numbers of units.
  most: 400,
  launchesGroups: (groups) => groups >= 1 && Number.isInteger(Math.log2(groups)),
  blocksOnly: true,
  otherUnits: true,
  async write({ context, view, input, device, source }: TunerJob) {
    const { designs, table } = await unitsTable(context.pool, view, source.designs, input.limit);
    const own = { ...source, model: MODEL_VERSION, designs };
    return {
      text: tritonModule(own, table, threadGroupWidth(device), tieBand(device).fraction),
      listed: designs.length,
    };
  },
});

/** Numbers of units to predict, relative to the study's number. */
const UNITS_FACTORS = [1 / 256, 1 / 64, 1 / 16, 1 / 4, 1, 4, 16, 64];
/** Ordered units are predicted one by one, so at most this many are tried, or the study's number if that is larger. */
const MAX_ORDERED_UNITS = 2 ** 22;

interface UnitsTable {
  readonly units: readonly number[];
  /** Times by number of units and by design, ms; NaN if a design cannot run. */
  readonly timesMs: readonly ArrayLike<number>[];
}

/**
 * Keeps the `limit` designs that come closest to the best time at some number of units. The first design is always
 * kept, because it is the best at the study's number of units.
 */
async function unitsTable(
  pool: Pool,
  view: RunView,
  designs: readonly TunedDesign[],
  limit: number,
): Promise<{ readonly designs: readonly TunedDesign[]; readonly table: UnitsTable }> {
  const { plan } = view.predictor;
  const most = plan.ordered?.given ? Math.max(plan.units, MAX_ORDERED_UNITS) : Number.MAX_SAFE_INTEGER;
  const wanted = UNITS_FACTORS.map((factor) => Math.max(1, Math.round(plan.units * factor)));
  const units = [...new Set(wanted)].filter((value) => value <= most);
  const timesMs = await pool.run('vary', {
    plan,
    key: plan.id,
    designs: Uint32Array.from(designs, ({ row }) => row.designIndex),
    changes: units.map((value) => (value === plan.units ? null : { input: 'workload.units', value })),
  });
  const best = timesMs.map((times) => times.reduce((least, time) => (time < least ? time : least), Infinity));
  const ratio = designs.map((_, at) =>
    timesMs.reduce(
      (least, times, i) => Math.min(least, Number.isNaN(times[at]) ? Infinity : times[at] / best[i]),
      Infinity,
    ),
  );
  const kept = [...designs.keys()]
    .sort((a, b) => ratio[a] - ratio[b])
    .slice(0, limit)
    .sort((a, b) => a - b);
  return {
    designs: kept.map((at) => designs[at]),
    table: { units, timesMs: timesMs.map((times) => kept.map((at) => times[at])) },
  };
}

/** How many configurations Triton measures after pruning, unless the user edits the file. */
const TRITON_TOP_K = 10;

/**
 * Writes configurations for `triton.autotune` and the functions that prune them (`prune_configs_by` with `perf_model`,
 * `top_k` and `early_config_prune`, python/triton/runtime/autotuner.py). The file imports only Triton.
 * @param slack the tie band: a design whose predicted time exceeds the best by at most this fraction may be the fastest
 */
function tritonModule(source: TunerSource, table: UnitsTable, threadGroupWidth: number, slack: number): string {
  const rows = source.designs.map(({ row: { design }, unitsPerThread, gridBlocks }, at) => {
    const key = [
      design.threadsPerUnit,
      unitsPerThread,
      gridBlocks,
      design.blockThreads / threadGroupWidth,
      design.registerCap ?? 'None',
    ];
    return `    (${key.join(', ')}): ${tuple(table.timesMs.map((times) => number(times[at])))},`;
  });
  return `${tunerHead(source, 'predicted time for one of the numbers of units below').join('\n')}
#
# @triton.autotune(configs=configs, key=[UNITS_ARGUMENT], prune_configs_by=prune_configs_by)
# @triton.jit
# def kernel(..., units, THREADS_PER_UNIT: tl.constexpr, UNITS_PER_THREAD: tl.constexpr, BLOCK_UNITS: tl.constexpr,
#            GRID_BLOCKS: tl.constexpr): ...
# kernel[grid](...)
#
# A program takes BLOCK_UNITS units at once, THREADS_PER_UNIT threads each. In round j of UNITS_PER_THREAD it takes the units from
# (j * programs + program) * BLOCK_UNITS on. With GRID_BLOCKS the number of programs is fixed, and rounds follow until no unit is left.

import bisect
import math

import triton

# Argument of the kernel that holds the number of units.
UNITS_ARGUMENT = "units"

# Configurations that are compiled and measured for each number of units.
TOP_K = ${Math.min(TRITON_TOP_K, source.designs.length)}

# A design within this fraction of the best predicted time may be the fastest; a measurement decides.
TIE_FRACTION = ${number(slack)}

# Numbers of units that were predicted.
UNITS = ${tuple(table.units.map(String))}

# (threads per unit, units per thread or 0, programs or 0, num_warps, maxnreg): predicted ms at each of UNITS; None: cannot run.
PREDICTED_MS = {
${rows.join('\n')}
}

configs = [
    triton.Config(
        {
            "THREADS_PER_UNIT": threads,
            "UNITS_PER_THREAD": rounds,
            "BLOCK_UNITS": warps * ${threadGroupWidth} // threads,
            "GRID_BLOCKS": blocks,
        },
        num_warps=warps,
        **({} if registers is None else {"maxnreg": registers}),
    )
    for threads, rounds, blocks, warps, registers in PREDICTED_MS
]


def predicted_ms(key, units):
    """Predicted milliseconds of a configuration. Logarithms are interpolated between UNITS; beyond them, the nearest one counts."""
    times = PREDICTED_MS[key]
    units = min(max(units, UNITS[0]), UNITS[-1])
    after = bisect.bisect_left(UNITS, units)
    if UNITS[after] == units:
        return math.inf if times[after] is None else times[after]
    low, high = times[after - 1], times[after]
    if low is None or high is None:
        return math.inf
    part = math.log(units / UNITS[after - 1]) / math.log(UNITS[after] / UNITS[after - 1])
    return low * (high / low) ** part


def perf_model(**arguments):
    """Predicted milliseconds of a configuration, for Triton's perf_model."""
    key = tuple(arguments[name] for name in ("THREADS_PER_UNIT", "UNITS_PER_THREAD", "GRID_BLOCKS", "num_warps"))
    return predicted_ms((*key, arguments.get("maxnreg")), arguments[UNITS_ARGUMENT])


def early_config_prune(configs, named_args, **kwargs):
    """Before compilation, excludes configurations whose predicted time exceeds the best by more than TIE_FRACTION."""
    arguments = {**named_args, **kwargs}
    times = [perf_model(**{**arguments, **config.all_kwargs()}) for config in configs]
    limit = min(times) * (1 + TIE_FRACTION)
    return [config for config, time in zip(configs, times) if time <= limit]


prune_configs_by = {"perf_model": perf_model, "top_k": TOP_K, "early_config_prune": early_config_prune}


def blocks(units, threads_per_unit, units_per_thread, block_threads, grid_blocks):
    """Programs that a configuration launches for a number of units."""
${BLOCKS}


def grid(meta):
    """The launch grid, for kernel[grid](...)."""
    threads = meta["THREADS_PER_UNIT"]
    block_threads = meta["BLOCK_UNITS"] * threads
    return (blocks(meta[UNITS_ARGUMENT], threads, meta["UNITS_PER_THREAD"], block_threads, meta["GRID_BLOCKS"]),)
`;
}
