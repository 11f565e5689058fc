import type { SpaceAxes } from '../../../../src-workers/domain/space.ts';
import { sweepNumber, SWEEP_PARAMETER } from '../../imports/numbered.ts';
import {
  BLOCKS,
  number,
  pythonText,
  tunerFormat,
  tunerHead,
  type TunedRun,
  type TunerSource,
} from '../tuner-format.ts';

export const optuna = tunerFormat({
  id: 'optuna',
  label: 'Optuna trials',
  text: 'The first trials of a study, in Python',
  words: 'enqueue_trial warm start',
  name: 'Optuna',
  launchable: 'Only blocks of one row are supported.',
  most: 10_000,
  mixed: true,
  write: ({ view, source, tuned }) => ({
    text: optunaModule(source, tuned, view.ranking.axes),
    listed: source.designs.length,
  }),
});

/**
 * Writes the best designs as the first trials of an Optuna study (`Study.enqueue_trial`). Their predictions are
 * attributes of the trials, never values, because a sampler must learn only from measurements. An attribute of each
 * trial also has the design, device and sweep, because `suggest` rounds a sampler's numbers to values of designs.
 */
function optunaModule(source: TunerSource, run: TunedRun, axes: SpaceAxes): string {
  const { deviceId } = source.designs[0].row;
  const sweep = sweepNumber(axes, source.study.workload.units, deviceId);
  const designs = source.designs.map(({ row, unitsPerThread, gridBlocks }) => {
    const { design } = row;
    const parameters: readonly (readonly [string, string])[] = [
      ...(design.implementation === undefined ? [] : [['implementation', pythonText(design.implementation)] as const]),
      ['threads_per_unit', String(design.threadsPerUnit)],
      ['units_per_thread', String(unitsPerThread)],
      ['block_threads', String(design.blockThreads)],
      ['grid_blocks', String(gridBlocks)],
      ['loop', pythonText(design.loop)],
      ['balancing', pythonText(design.balancing)],
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

# Parameters and predicted milliseconds: first the design to start with, then the others, best first. Units per thread are 0 where the
# number of blocks is fixed, blocks are 0 where they follow from the units, and a register cap of 0 is none.
DESIGNS = [
${designs.join('\n')}
]

# Values of each parameter in these designs. Add others for the sampler to try.
CHOICES = {name: sorted({design[name] for design, _ in DESIGNS}) for name in DESIGNS[0][0]}

# A launch fixes one of these numbers; the other number follows from it.
LAUNCHES = [name for name in ("units_per_thread", "grid_blocks") if any(CHOICES[name])]

# An import finds the designs by this mark.
RUN = {"run": ${run.run}, "study": ${pythonText(run.study)}, "seed": ${run.seed ?? 'None'}}
MARK = {"device": ${pythonText(deviceId)}, "${SWEEP_PARAMETER}": ${sweep}}


def suggest_number(trial, name):
    """Suggests a number, so that the sampler sees an order, and rounds it to one of the choices."""
    values = [value for value in CHOICES[name] if value > 0]
    low, high = values[0], values[-1]
    number = trial.suggest_int(name, low, high, log=high >= 8 * low)
    return min(values, key=lambda value: max(value / number, number / value))


def suggest(trial):
    """Returns the design of a trial, and stores it as an attribute. DESIGNS come first; then the sampler chooses."""
    launch = trial.suggest_categorical("launch", LAUNCHES)
    design = {}
    for name, values in CHOICES.items():
        if name in ("units_per_thread", "grid_blocks"):
            design[name] = suggest_number(trial, name) if name == launch else 0
        elif name in ("threads_per_unit", "block_threads"):
            design[name] = suggest_number(trial, name)
        else:
            # Names, and the register cap: 0 means no cap, so its numbers are not in order.
            design[name] = trial.suggest_categorical(name, values)
    trial.set_user_attr("lockstep", {**MARK, **design})
    return design


def parameters(design):
    """The parameters of a trial for which suggest returns this design."""
    launch = "grid_blocks" if design["grid_blocks"] else "units_per_thread"
    other = "units_per_thread" if design["grid_blocks"] else "grid_blocks"
    return {"launch": launch, **{name: value for name, value in design.items() if name != other}}


def enqueue(study, count=len(DESIGNS)):
    """Makes a study begin with the best designs. Their predictions become attributes of the trials, not values."""
    study.set_user_attr("lockstep", RUN)
    by_time = sorted(range(len(DESIGNS)), key=lambda at: DESIGNS[at][1])
    rank = {at: place for place, at in enumerate(by_time, 1)}
    for at, (design, ms) in enumerate(DESIGNS[:count]):
        attributes = {"lockstep_rank": rank[at], "lockstep_predicted_ms": ms}
        study.enqueue_trial(parameters(design), user_attrs=attributes, skip_if_exists=True)


def blocks(units, threads_per_unit, units_per_thread, block_threads, grid_blocks):
    """Blocks that a design launches for a number of units."""
${BLOCKS}
`;
}
