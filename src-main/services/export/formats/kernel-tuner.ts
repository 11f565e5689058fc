import { parseBalancing } from '../../../../src-workers/domain/balancing.ts';
import type { CaseResult } from '../../../../src-workers/domain/benchmark.ts';
import type { Device } from '../../../../src-workers/domain/device.ts';
import { ok, unwrap, type Result, unsupported } from '../../../../src-workers/domain/result.ts';
import { AXIS, rowPosition, type SpaceAxes } from '../../../../src-workers/domain/space.ts';
import { axisPosition, rankedDesigns } from '../../../../src-workers/sweep/ranking.ts';
import { APP_VERSION } from '../../version.ts';
import { LOOPS, NUMBERED, sweepNumber, SWEEP_PARAMETER } from '../../imports/numbered.ts';
import { ALL_VALID } from '../../ranking/rows.ts';
import type { RunView } from '../../runs/run-view.ts';
import { runStem, type MeasuredConfiguration, type MeasuredJob, type Rendered } from '../exporter.ts';
import { renumbered, restrictionsOf, type WordedAxis } from '../restrictions.ts';
import { meanTime } from '../tables.ts';
import { counted, identifier, jsonParts } from '../text.ts';
import {
  BLOCKS,
  number,
  pythonText,
  tunerFormat,
  tunerHead,
  tuple,
  type TunedRun,
  type TunerSource,
} from '../tuner-format.ts';

export const kernelTuner = tunerFormat({
  id: 'kernel-tuner',
  label: 'Kernel Tuner script',
  text: 'With the predictions as its cache',
  words: 'restrictions x0 cache',
  name: 'Kernel Tuner',
  launchable: 'Mixed designs, which have several launches, are not supported.',
  most: 10_000,
  write({ view, device, source, tuned }) {
    const { run, ranking } = view;
    const space = kernelTunerSpace(view, device);
    const text = kernelTunerScript(source, run.finishedAt ?? run.startedAt, tuned, ranking.axes, space);
    return { text, listed: source.designs.length };
  },
  writeMeasured: measuredCache,
  measuredAs: 'a cache',
});

interface KernelTunerSpace {
  readonly values: ReadonlyMap<string, readonly number[]>;
  readonly restrictions: readonly string[];
  /** Number of designs that pass the restrictions but cannot run. */
  readonly wrong: number;
}

/** The axes of the whole space. Kernel Tuner gets two parameters for the axis `launch`: units per thread and blocks. */
const WHOLE_AXES = [
  'implementation',
  'threadsPerUnit',
  'loop',
  'balancing',
  'launch',
  'registerCap',
  'blockThreads',
] as const;

/** Returns the designs of a device that Kernel Tuner can launch; null if it is unknown which designs can run. */
function kernelTunerSpace({ ranking }: RunView, device: Device): KernelTunerSpace | null {
  const { axes } = ranking;
  // A run that keeps only its best designs does not show which other designs can run.
  if (ranking.designs) return null;
  const deviceAt = axes.devices.findIndex(({ id }) => id === device.id);
  const mixed = axes.balancing.map((text) => unwrap(parseBalancing(text)).kind === 'mixed');
  const launches = axes.launch.map(({ kind, value }): readonly [rounds: number, blocks: number] =>
    kind === 'units-per-thread'
      ? [value, 0]
      : [0, kind === 'per-multiprocessor' && device.kind === 'gpu' ? value * device.multiprocessors : value],
  );
  // Two launches of the axis may have the same number of blocks. The first stands for both.
  const launchAt = launches.map((launch) => launches.findIndex((one) => one.join() === launch.join()));
  const positions = { [AXIS.device]: new Set([deviceAt]), [AXIS.blockWidth]: new Set([rowPosition(axes)]) };
  const designs: number[][] = [];
  for (const design of rankedDesigns(ranking, { ...ALL_VALID, positions }, 'timeMs')) {
    const at = WHOLE_AXES.map((axis) => axisPosition(ranking, AXIS[axis], design));
    if (mixed[at[WHOLE_AXES.indexOf('balancing')]]) continue;
    designs.push(at.map((place, axis) => (WHOLE_AXES[axis] === 'launch' ? launchAt[place] : place)));
  }
  const places = WHOLE_AXES.map((_, axis) => [...new Set(designs.map((one) => one[axis]))].sort((a, b) => a - b));
  const numbers: Readonly<Record<(typeof WHOLE_AXES)[number], (place: number) => number>> = {
    implementation: (place) => place,
    threadsPerUnit: (place) => axes.threadsPerUnit[place],
    loop: (place) => LOOPS.indexOf(axes.loop[place]),
    balancing: (place) => place,
    launch: (place) => launches[place][0],
    registerCap: (place) => axes.registerCap[place] ?? 0,
    blockThreads: (place) => axes.blockThreads[place],
  };
  const lacking = (name: string, values: readonly number[]): string =>
    values.length === 1 ? `${name} != ${values[0]}` : `${name} not in (${values.join(', ')})`;
  const worded = WHOLE_AXES.map((axis, i): WordedAxis => ({
    count: places[i].length,
    lacks: (some) => {
      const own = some.map((place) => places[i][place]);
      if (axis !== 'launch') return lacking(WHOLE_NAMES[axis], own.map(numbers[axis]));
      const rounds = own.map((place) => launches[place][0]).filter((value) => value > 0);
      const blocks = own.map((place) => launches[place][1]).filter((value) => value > 0);
      const both = [lacking('units_per_thread', rounds), lacking('fixed_blocks', blocks)];
      return rounds.length === 0 ? both[1] : blocks.length === 0 ? both[0] : `(${both.join(' and ')})`;
    },
  }));
  const { conditions, wrong } = restrictionsOf(worded, renumbered(designs, places));
  const used = places[WHOLE_AXES.indexOf('launch')].map((place) => launches[place]);
  const values = WHOLE_AXES.flatMap((axis, i) =>
    axis === 'launch'
      ? ([0, 1] as const).map((side) => [['units_per_thread', 'fixed_blocks'][side], used.map((one) => one[side])] as const)
      : [[WHOLE_NAMES[axis], places[i].map(numbers[axis])] as const],
  ); // prettier-ignore
  const sorted = values.map(([name, list]) => [name, [...new Set(list)].sort((a, b) => a - b)] as const);
  const isEither = used.some(([rounds]) => rounds > 0) && used.some(([rounds]) => rounds === 0);
  return {
    values: new Map(sorted),
    restrictions: [...(isEither ? ['(units_per_thread == 0) != (fixed_blocks == 0)'] : []), ...conditions],
    wrong,
  };
}

const WHOLE_NAMES: Readonly<Record<(typeof WHOLE_AXES)[number], string>> = {
  implementation: NUMBERED.implementation[0],
  threadsPerUnit: 'threads_per_unit',
  loop: NUMBERED.loop[0],
  balancing: NUMBERED.balancing[0],
  launch: '',
  registerCap: 'register_cap',
  blockThreads: 'block_size_x',
};

/**
 * Writes a Python script for Kernel Tuner (kernel_tuner/interface.py; cache schema 1.0.0). The search space has the
 * best designs. For the simulation mode, the script writes their predictions into a cache file, marked as predicted.
 * All parameters are numbers, because the schema of caches and the macros of kernels require this.
 * @param timestamp when the run ended, ISO 8601
 * @param run names the sweep, so that an import of the predictions finds it
 * @param axes the axes whose positions stand for implementations and balancings
 * @param space null if only the best designs are known
 */
function kernelTunerScript(
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
# THIS_FILE.tune("kernel.cu", arguments, strategy="greedy_ils", whole=True)     searches the whole space from the first design on
# lockstep import measured.json --run ${run.run}     compares these times with the predictions
#
# The kernel finds each parameter as a macro of its name. ${SWEEP_PARAMETER} is only for the import: it identifies the sweep and the device.

import json
import sys

# Name of the function in your source.
KERNEL = ${pythonText(kernel)}
UNITS = ${study.workload.units}
DEVICE = ${pythonText(best.row.device)}

# What the numbers of these parameters stand for.
IMPLEMENTATIONS = ${tuple(implementations.map(pythonText))}
LOOPS = ${tuple(LOOPS.map(pythonText))}
BALANCINGS = ${tuple(axes.balancing.map(pythonText))}

# Units per thread are 0 where the number of blocks is fixed, and fixed blocks are 0 where they follow from the units.
NAMES = (
    "${NUMBERED.implementation[0]}", "threads_per_unit", "units_per_thread", "block_size_x", "fixed_blocks", "${NUMBERED.loop[0]}", "${NUMBERED.balancing[0]}",
    "register_cap", "${SWEEP_PARAMETER}",
)

# Predicted milliseconds of each design: first the one to start with, then the others, best first.
PREDICTED_MS = {
${rows.join('\n')}
}

# The first design. Strategies that accept a starting point begin there. Others refuse it, or choose their own.
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
    """Blocks of the launch, which Kernel Tuner must not divide.""" 
    launch = (design[name] for name in ("threads_per_unit", "units_per_thread", "block_size_x", "fixed_blocks"))
    return (blocks(UNITS, *launch),)


${cacheWriter(source, timestamp, run)}

${TUNE}

if __name__ == "__main__":
    file = sys.argv[1] if len(sys.argv) > 1 else ${pythonText(`${kernel}-predicted.json`)}
    write_cache(file)
    print("Wrote the predictions to " + file)
    tune("// not compiled: " + KERNEL, [], cache=file, simulation_mode=True, lang="CUDA")
`;
}

function cacheWriter(source: TunerSource, timestamp: string, run: TunedRun): string {
  const [best] = source.designs;
  return `def write_cache(file):
    """Writes the predictions as a cache file of Kernel Tuner. Its device name says that nothing was measured."""
    cache = {}
    for design, ms in PREDICTED_MS.items():
        entry = dict(zip(NAMES, design))
        (grid,) = problem_size(entry)
        slots = grid * entry["block_size_x"] // entry["threads_per_unit"]
        # As in the T4 files of Lockstep, so that an import recognizes the design.
        configuration = {
            "device": ${pythonText(best.row.deviceId)},${best.row.design.implementation === undefined ? '' : `\n            "implementation": IMPLEMENTATIONS[entry["${NUMBERED.implementation[0]}"]],`}
            "threads_per_unit": entry["threads_per_unit"],
            "units_per_thread": entry["units_per_thread"] or -(-UNITS // slots),
            "loop": LOOPS[entry["${NUMBERED.loop[0]}"]],
            "balancing": BALANCINGS[entry["${NUMBERED.balancing[0]}"]],
            "block_size_x": entry["block_size_x"],
            "grid_size_x": grid,
            "register_cap": entry["register_cap"],
        }
        # A prediction has no repeats, so there are no "times".
        entry.update(time=ms, compile_time=0, verification_time=0, benchmark_time=0, strategy_time=0, framework_time=0)
        entry.update(timestamp=${pythonText(timestamp)}, lockstep=configuration)
        cache[",".join(map(str, design))] = entry
    head = {
        "schema_version": "1.0.0",
        "metadata": {
            "source": ${pythonText(`Lockstep ${APP_VERSION}, model ${source.model}: predicted times, nothing was measured`)},
            "run": ${run.run},
            "study": ${pythonText(run.study)},
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
`;
}

const TUNE = `def tune(kernel_source, arguments, strategy=None, strategy_options=None, whole=False, **options):
    """Tunes with Kernel Tuner: measures every design, or searches by a strategy, which starts at the first design if possible.

    whole: searches the whole space instead of the best designs.
    """
    import kernel_tuner

    if strategy is not None:
        start = {"x0": X0} if strategy in X0_STRATEGIES else {}
        options.update(strategy=strategy, strategy_options={**start, **(strategy_options or {})})
    parameters, limits = (WHOLE, RESTRICTIONS) if whole else (tune_params, restrictions)
    return kernel_tuner.tune_kernel(
        KERNEL, kernel_source, problem_size, arguments, parameters, grid_div_x=[], restrictions=limits, **options
    )
`;

function wholeSpace(space: KernelTunerSpace | null): string {
  if (!space)
    return '\n# The sweep kept only its best designs, so they are the whole space.\nWHOLE, RESTRICTIONS = tune_params, restrictions\n';
  const values = [...space.values].map(([name, list]) => `    ${pythonText(name)}: [${list.join(', ')}],\n`);
  const wrong = space.wrong === 0 ? '' : ` RESTRICTIONS admit ${counted(space.wrong, 'design')} that cannot run.`;
  return `
# WHOLE has all values of the designs, and RESTRICTIONS exclude combinations that cannot run. Add parameters of your own.${wrong}
WHOLE = {name: tune_params[name] for name in NAMES}
WHOLE.update({
${values.join('')}})
RESTRICTIONS = [
${space.restrictions.map((one) => `    ${pythonText(one)},\n`).join('')}]
`;
}

function measuredCache({ run, measured, base, metadata }: MeasuredJob): Result<Rendered> {
  const timestamp = run.finishedAt ?? run.startedAt;
  const names = Object.keys(measured[0].configuration);
  const other = measured.find(({ configuration }) => Object.keys(configuration).join('\n') !== names.join('\n'));
  if (other)
    return unsupported(
      `Case ${other.record.designIndex ?? measured.indexOf(other)} of run ${run.id} has other parameters than the first case. A cache cannot express this. Export the run as t4.`,
    );
  const [{ record }] = measured;
  const { case: first } = record.detail as Pick<CaseResult, 'case'>;
  const head = {
    schema_version: '1.0.0',
    metadata,
    device_name: metadata.device_name,
    kernel_name: first.benchmark === 'external' ? first.parameters.kernel : runStem(run.name),
    problem_size: 'callable',
    tune_params_keys: names,
    tune_params: Object.fromEntries(
      names.map((name) => [
        name,
        [...new Set(measured.map(({ configuration }) => configuration[name]))].sort(ascending),
      ]),
    ),
    objective: 'time',
  };
  const cache = Object.fromEntries(measured.map((one) => cacheEntry(one, timestamp)));
  return ok({
    fileName: `${base}.json`,
    mediaType: 'application/json',
    parts: jsonParts({ ...head, cache }),
  });
}

const ascending = (a: number | string | boolean, b: number | string | boolean): number =>
  typeof a === 'number' && typeof b === 'number' ? a - b : String(a) < String(b) ? -1 : 1;

function cacheEntry(
  { configuration, record: { timesMs, correct, failure } }: MeasuredConfiguration,
  timestamp: string,
) {
  const isFailed = failure !== null || correct === false || timesMs.length === 0;
  const result = isFailed ? { __error__: 'RuntimeFailedConfig' } : { time: meanTime(timesMs), times: timesMs };
  const unmeasured = { compile_time: 0, verification_time: 0, benchmark_time: 0, strategy_time: 0, framework_time: 0 };
  return [
    Object.values(configuration).map(String).join(','),
    { ...configuration, ...result, ...unmeasured, timestamp },
  ] as const;
}
