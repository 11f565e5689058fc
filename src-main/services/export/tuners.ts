import type { RankRow } from '../../contract/api.ts';
import type { SpaceAxes } from '../../../src-workers/domain/space.ts';
import { APP_VERSION } from '../app/version.ts';
import { LOOPS, NUMBERED, sweepNumber, SWEEP_PARAMETER } from '../imports/numbered.ts';
import { head, type CodeSource } from './code.ts';
import { comment, counted, identifier } from './text.ts';

/** The best designs of a device as Python files for tuners. Only checked numbers and cleaned names reach the text. */

/** A design, and how many blocks it launches for another number of units. */
export interface TunedDesign {
  readonly row: RankRow;
  /** Units that each slot takes, as many blocks as that needs; 0 where the number of blocks is fixed. */
  readonly unitsPerThread: number;
  /** Blocks, whatever the number of units; 0 where it follows from them. */
  readonly gridBlocks: number;
}

export interface TunerSource extends CodeSource {
  /** Best first, all of one GPU. */
  readonly designs: readonly TunedDesign[];
  /** Valid designs that these are the best of. */
  readonly of: number;
  /** A sentence that says what was left out; empty if nothing was. */
  readonly leftOut: string;
}

/** The sweep of the designs: its number, study and seed. */
export interface TunedRun {
  readonly run: number;
  readonly study: string;
  readonly seed: number | null;
}

/** The whole space of a device for Kernel Tuner. */
export interface KernelTunerSpace {
  readonly values: ReadonlyMap<string, readonly number[]>;
  /** Conditions in Python that leave out what cannot run. */
  readonly restrictions: readonly string[];
  /** Designs that pass them and cannot run. */
  readonly wrong: number;
}

/** Predicted times at several numbers of units. */
export interface UnitsTable {
  readonly units: readonly number[];
  /** Times by number of units, then design, ms; NaN where a design cannot run. */
  readonly timesMs: readonly ArrayLike<number>[];
}

/** Times of a tuner's file: more digits than any prediction deserves, fewer than a double has. */
const DIGITS = 6;
const number = (value: number): string => (Number.isFinite(value) ? String(Number(value.toPrecision(DIGITS))) : 'None');
/** JSON quotes printable ASCII as Python does. */
const text = (value: string): string => JSON.stringify(comment(value));
const tuple = (values: readonly string[]): string => `(${values.join(', ')}${values.length === 1 ? ',' : ''})`;

function tunerHead(source: TunerSource, by = 'predicted time'): readonly string[] {
  return [
    ...head(source, source.designs[0].row, '#'),
    `# The best ${source.designs.length} of ${counted(source.of, 'valid design')} for this device, by ${by}. These times are predictions.`,
    ...(source.leftOut === '' ? [] : [`# ${comment(source.leftOut)}`]),
  ];
}

/** Python that turns a design into blocks; `units_per_thread` 0 means a fixed number of blocks. */
const BLOCKS = `    return grid_blocks or -(-units * threads_per_unit // (block_threads * units_per_thread))`;

/** Configurations that Triton measures by default. */
const TRITON_TOP_K = 10;

/**
 * Configurations for `triton.autotune` and what prunes them (`prune_configs_by` with `perf_model`, `top_k` and
 * `early_config_prune`, python/triton/runtime/autotuner.py). Imports Triton alone.
 *
 * @param threadGroupWidth threads of a warp
 * @param slack how much slower than the best, as a fraction, a design may be predicted and still be the fastest: the
 * tie band
 */
export function tritonModule(source: TunerSource, table: UnitsTable, threadGroupWidth: number, slack: number): string {
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
# A program takes BLOCK_UNITS units at once, THREADS_PER_UNIT threads each. In round j of UNITS_PER_THREAD it takes those from
# (j * programs + program) * BLOCK_UNITS on. With GRID_BLOCKS there are so many programs, and rounds until no unit is left.

import bisect
import math

import triton

# Argument of the kernel that holds the number of units.
UNITS_ARGUMENT = "units"

# Configurations that are compiled and measured for each number of units.
TOP_K = ${Math.min(TRITON_TOP_K, source.designs.length)}

# Designs within this fraction of the best predicted time may be faster than it: a measurement decides.
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
    """Milliseconds of a configuration: between two of UNITS on a straight line of logarithms, beyond them those of the nearest."""
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
    """Leaves out, before anything is compiled, what is predicted to be slower than the best by more than the ties."""
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

/**
 * A script for Kernel Tuner (kernel_tuner/interface.py; cache schema 1.0.0): its search space are the best designs, and
 * its predictions are written as a cache file, labelled predicted, for simulation mode. All parameters are numbers, as
 * the schema of caches asks and as they are defined in a kernel's source.
 *
 * @param timestamp when the run ended, ISO 8601
 * @param run of the sweep, by which a cache of predictions that is imported finds it
 * @param axes of the sweep: implementations and balancings are places on them
 * @param space null where only the best designs are known
 */
export function kernelTunerScript(
  source: TunerSource,
  timestamp: string,
  run: TunedRun,
  axes: SpaceAxes,
  space: KernelTunerSpace | null,
): string {
  const { designs, study } = source;
  const [best] = designs;
  const implementations = axes.implementations?.map(({ name }) => name) ?? [''];
  const kernel = identifier(study.kernel.name);
  const sweep = sweepNumber(axes, study.workload.units, best.row.deviceId);
  const rows = designs.map(
    ({ row: { design, timeMs }, unitsPerThread, gridBlocks }) =>
      `    (${[
        implementations.indexOf(design.implementation ?? ''),
        design.threadsPerUnit,
        unitsPerThread,
        design.blockThreads,
        gridBlocks,
        LOOPS.indexOf(design.loop),
        axes.balancing.indexOf(design.balancing),
        design.registerCap ?? 0,
        sweep,
      ].join(', ')}): ${number(timeMs)},`,
  );
  return `${tunerHead(source).join('\n')}
#
# python3 THIS_FILE         writes the predictions as a cache file and tunes on it, in Kernel Tuner's simulation mode
# import THIS_FILE; THIS_FILE.tune("kernel.cu", arguments, cache="measured.json")     measures the designs with a kernel of your own,
#     in CUDA, HIP or OpenCL
# THIS_FILE.tune("kernel.cu", arguments, strategy="greedy_ils", whole=True)     searches the whole space from the best design on
# lockstep import measured.json --run ${run.run}     compares these times with the predictions
#
# The kernel finds each parameter as a macro of its name. ${SWEEP_PARAMETER} is for the import alone: it says the sweep and the device.

import json
import sys

# Name of the function in your source.
KERNEL = ${text(kernel)}
UNITS = ${study.workload.units}
DEVICE = ${text(best.row.device)}

# What the numbers of these parameters stand for.
IMPLEMENTATIONS = ${tuple(implementations.map(text))}
LOOPS = ${tuple(LOOPS.map(text))}
BALANCINGS = ${tuple(axes.balancing.map(text))}

# Units per thread are 0 where the number of blocks is fixed, and fixed blocks are 0 where they follow from the units.
NAMES = (
    "${NUMBERED.implementation[0]}", "threads_per_unit", "units_per_thread", "block_size_x", "fixed_blocks", "${NUMBERED.loop[0]}", "${NUMBERED.balancing[0]}",
    "register_cap", "${SWEEP_PARAMETER}",
)

# Predicted milliseconds of each design, best first.
PREDICTED_MS = {
${rows.join('\n')}
}

# Where strategies that take one begin: the best design. Others refuse it, or choose their own beginning.
X0 = list(next(iter(PREDICTED_MS)))
X0_STRATEGIES = (
    "basinhopping", "diff_evo", "dual_annealing", "firefly_algorithm", "genetic_algorithm", "greedy_ils", "greedy_mls", "minimize", "pso",
    "simulated_annealing", "skopt",
)

tune_params = {name: sorted({design[at] for design in PREDICTED_MS}) for at, name in enumerate(NAMES)}


def restrictions(design):
    """Whether a configuration is one of the designs."""
    return tuple(design[name] for name in NAMES) in PREDICTED_MS

${wholeSpace(space)}

def blocks(units, threads_per_unit, units_per_thread, block_threads, grid_blocks):
    """Blocks that a design launches for a number of units."""
${BLOCKS}


def problem_size(design):
    """Blocks of the launch: they are divided by nothing."""
    launch = (design[name] for name in ("threads_per_unit", "units_per_thread", "block_size_x", "fixed_blocks"))
    return (blocks(UNITS, *launch),)


def write_cache(file):
    """Writes the predictions as a cache file of Kernel Tuner. They were not measured, and its device name says so."""
    cache = {}
    for design, ms in PREDICTED_MS.items():
        entry = dict(zip(NAMES, design))
        (grid,) = problem_size(entry)
        slots = grid * entry["block_size_x"] // entry["threads_per_unit"]
        # As in the T4 files of Lockstep, which so knows its design again.
        configuration = {
            "device": ${text(best.row.deviceId)},${best.row.design.implementation === undefined ? '' : `\n            "implementation": IMPLEMENTATIONS[entry["${NUMBERED.implementation[0]}"]],`}
            "threads_per_unit": entry["threads_per_unit"],
            "units_per_thread": entry["units_per_thread"] or -(-UNITS // slots),
            "loop": LOOPS[entry["${NUMBERED.loop[0]}"]],
            "balancing": BALANCINGS[entry["${NUMBERED.balancing[0]}"]],
            "block_size_x": entry["block_size_x"],
            "grid_size_x": grid,
            "register_cap": entry["register_cap"],
        }
        # A prediction has no repeats, so that there are no "times".
        entry.update(time=ms, compile_time=0, verification_time=0, benchmark_time=0, strategy_time=0, framework_time=0)
        entry.update(timestamp=${text(timestamp)}, lockstep=configuration)
        cache[",".join(map(str, design))] = entry
    head = {
        "schema_version": "1.0.0",
        "metadata": {
            "source": ${text(`Lockstep ${APP_VERSION}, model ${source.model}: predicted times, nothing was measured`)},
            "run": ${run.run},
            "study": ${text(run.study)},
            "seed": ${run.seed ?? 'None'},
        },
        "device_name": "Predicted by Lockstep: " + DEVICE,
        "kernel_name": KERNEL,
        "problem_size": [UNITS],
        "tune_params_keys": list(NAMES),
        "tune_params": tune_params,
        "objective": "time",
    }
    with open(file, "w", encoding="utf-8") as out:
        json.dump({**head, "cache": cache}, out, indent=1)


def tune(kernel_source, arguments, strategy=None, strategy_options=None, whole=False, **options):
    """Tunes with Kernel Tuner: measures every design, or searches them by a strategy, which starts at the best one where it can.

    whole: the designs are those of the whole space.
    """
    import kernel_tuner

    if strategy is not None:
        start = {"x0": X0} if strategy in X0_STRATEGIES else {}
        options.update(strategy=strategy, strategy_options={**start, **(strategy_options or {})})
    parameters, limits = (WHOLE, RESTRICTIONS) if whole else (tune_params, restrictions)
    return kernel_tuner.tune_kernel(
        KERNEL, kernel_source, problem_size, arguments, parameters, grid_div_x=[], restrictions=limits, **options
    )


if __name__ == "__main__":
    file = sys.argv[1] if len(sys.argv) > 1 else ${text(`${kernel}-predicted.json`)}
    write_cache(file)
    print("Wrote the predictions to " + file)
    tune("// not compiled: " + KERNEL, [], cache=file, simulation_mode=True, lang="CUDA")
`;
}

/** The values of all parameters, and what leaves out the designs that cannot run. */
function wholeSpace(space: KernelTunerSpace | null): string {
  if (!space)
    return '\n# The sweep kept its best designs alone: they are the whole space.\nWHOLE, RESTRICTIONS = tune_params, restrictions\n';
  const values = [...space.values].map(([name, list]) => `    ${text(name)}: [${list.join(', ')}],\n`);
  const wrong =
    space.wrong === 0
      ? ''
      : ` ${counted(space.wrong, 'design')} that cannot run ${space.wrong === 1 ? 'passes' : 'pass'} them.`;
  return `
# All designs that can run on this device: every value, and the combinations that can. Add parameters of your own.${wrong}
WHOLE = {name: tune_params[name] for name in NAMES}
WHOLE.update({
${values.join('')}})
RESTRICTIONS = [
${space.restrictions.map((one) => `    ${text(one)},\n`).join('')}]
`;
}

/**
 * The best designs as the trials that an Optuna study runs first (`Study.enqueue_trial`). Predictions are attributes of
 * these trials, never their values: a sampler learns from what was measured alone. Each trial keeps the design that it
 * is as an attribute, with its device and its sweep: parameters are numbers that are rounded to those of designs.
 *
 * @param run of the sweep, by which an import finds it
 */
export function optunaModule(source: TunerSource, run: TunedRun, axes: SpaceAxes): string {
  const { deviceId } = source.designs[0].row;
  const sweep = sweepNumber(axes, source.study.workload.units, deviceId);
  const designs = source.designs.map(({ row, unitsPerThread, gridBlocks }) => {
    const { design } = row;
    const parameters: readonly (readonly [string, string])[] = [
      ...(design.implementation === undefined ? [] : [['implementation', text(design.implementation)] as const]),
      ['threads_per_unit', String(design.threadsPerUnit)],
      ['units_per_thread', String(unitsPerThread)],
      ['block_threads', String(design.blockThreads)],
      ['grid_blocks', String(gridBlocks)],
      ['loop', text(design.loop)],
      ['balancing', text(design.balancing)],
      ['register_cap', String(design.registerCap ?? 0)],
    ];
    const fields = parameters.map(([name, value]) => `"${name}": ${value}`).join(', ');
    return `    ({${fields}}, ${number(row.timeMs)}),`;
  });
  return `${tunerHead(source).join('\n')}
#
# study = optuna.create_study(storage="sqlite:///measured.db")
# enqueue(study)
# study.optimize(lambda trial: measure(**suggest(trial)), n_trials=50)
# study.best_trial.user_attrs["lockstep"]     is the fastest design
# lockstep import measured.db --run ${run.run} --time-unit ms     compares the times with the predictions

# Parameters and predicted milliseconds, best first. Units per thread are 0 where the number of blocks is fixed, blocks are 0 where
# they follow from the units, and a register cap of 0 is none.
DESIGNS = [
${designs.join('\n')}
]

# Values of each parameter in these designs. Add others for the sampler to try.
CHOICES = {name: sorted({design[name] for design, _ in DESIGNS}) for name in DESIGNS[0][0]}

# Which of the two numbers of a launch is fixed; the other one follows.
LAUNCHES = [name for name in ("units_per_thread", "grid_blocks") if any(CHOICES[name])]

# By which an import finds the designs.
RUN = {"run": ${run.run}, "study": ${text(run.study)}, "seed": ${run.seed ?? 'None'}}
MARK = {"device": ${text(deviceId)}, "${SWEEP_PARAMETER}": ${sweep}}


def suggest_number(trial, name):
    """A number, so that the sampler sees an order; rounded to one of the choices."""
    values = [value for value in CHOICES[name] if value > 0]
    low, high = values[0], values[-1]
    number = trial.suggest_int(name, low, high, log=high >= 8 * low)
    return min(values, key=lambda value: max(value / number, number / value))


def suggest(trial):
    """The design of a trial: of the first trials those of DESIGNS, of the others what the sampler chooses. Its attribute keeps it."""
    launch = trial.suggest_categorical("launch", LAUNCHES)
    design = {}
    for name, values in CHOICES.items():
        if name in ("units_per_thread", "grid_blocks"):
            design[name] = suggest_number(trial, name) if name == launch else 0
        elif name in ("threads_per_unit", "block_threads"):
            design[name] = suggest_number(trial, name)
        else:
            # Names; and a cap of registers, since no cap, 0, is more than any.
            design[name] = trial.suggest_categorical(name, values)
    trial.set_user_attr("lockstep", {**MARK, **design})
    return design


def parameters(design):
    """The parameters of a trial by which suggest gives a design."""
    launch = "grid_blocks" if design["grid_blocks"] else "units_per_thread"
    other = "units_per_thread" if design["grid_blocks"] else "grid_blocks"
    return {"launch": launch, **{name: value for name, value in design.items() if name != other}}


def enqueue(study, count=len(DESIGNS)):
    """Lets a study begin with the best designs. What was predicted of them is kept as attributes of the trials, not as values."""
    study.set_user_attr("lockstep", RUN)
    for rank, (design, ms) in enumerate(DESIGNS[:count], 1):
        attributes = {"lockstep_rank": rank, "lockstep_predicted_ms": ms}
        study.enqueue_trial(parameters(design), user_attrs=attributes, skip_if_exists=True)


def blocks(units, threads_per_unit, units_per_thread, block_threads, grid_blocks):
    """Blocks that a design launches for a number of units."""
${BLOCKS}
`;
}
