import { ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import { parseBalancing } from '../../../src-workers/domain/balancing.ts';
import { INVALID_REASONS, isEvenShare } from '../../../src-workers/domain/design.ts';
import { AXIS_ORDER, axisCounts, spaceSize } from '../../../src-workers/domain/space.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import { MAX_DESIGNS, type Study } from '../../contract/study.ts';
import { lawDigest } from '../advice/prepare.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import type { RunHandle } from '../runs/running.ts';
import { atMiddle } from '../../../src-workers/advise/assumed.ts';
import { studyAxes, sweepPlan, tooLarge } from '../studies/plan.ts';
import { getStudy, type LocatedStudy } from '../studies/studies.ts';
import { sha256, type OrderedLaw } from '../studies/workloads.ts';
import { prepareStudy, startSweep, studyDevices } from './sweeps.ts';

export function sweepHandlers(context: Context): Handlers<'runs.start' | ProceduresOf<'space'>> {
  return {
    'runs.start': (input) => context.running.start(begin(context, input)),
    'space.size': async ({ studyId, study: asked }) => {
      const devices = await studyDevices(context.catalogue, asked);
      if (!devices.ok) return devices;
      const study = atMiddle(asked, devices.value);
      const axes = studyAxes(study, devices.value);
      if (!axes.ok) return axes;
      const lengths = await readLengths(context, studyId, study);
      const law = lengths && axes.value.balancing.some(needsLaw) ? lengths.law : null;
      const id = `size-${sha256(JSON.stringify(study))}${law ? ` ${lawDigest(law)}` : ''}`;
      const plan = sweepPlan(id, study, axes.value, law ?? ANY_LAW);
      const enumerated = spaceSize(axes.value);
      // A larger space has too many designs to check each of them.
      const tally = enumerated > MAX_DESIGNS ? [] : await context.pool.run('classify', { plan });
      const counts = axisCounts(axes.value);
      // A CPU takes units in their own order or, if it is unknown, in the order in which they were drawn.
      const isOrdered = Boolean(lengths?.order) || axes.value.devices.some(({ kind }) => kind === 'cpu');
      return ok({
        enumerated,
        valid: tally[0] ?? null,
        invalid: INVALID_REASONS.map(({ code: reason, text }, code) => ({ reason, text, count: tally[code] }))
          .filter((entry) => entry.reason !== 'valid' && entry.count > 0)
          .sort((a, b) => b.count - a.count),
        axes: AXIS_ORDER.map((axis, at) => ({ axis, count: counts[at] })).filter(
          ({ axis }) => axis !== 'implementation' || axes.value.implementations,
        ),
        estimatedMs: enumerated / context.running.designsPerMs(isOrdered ? study.workload.units : null),
      });
    },
  };
}

/** With even shares or classes, the lengths decide which designs are valid: a share or a class may have no work. */
function needsLaw(balancing: string): boolean {
  const parsed = parseBalancing(balancing);
  return parsed.ok && (isEvenShare(parsed.value) || parsed.value.kind === 'mixed');
}

/** Returns `null` if the lengths are unreadable, which the interface shows at their field. */
async function readLengths(context: Context, studyId: number | undefined, study: Study): Promise<OrderedLaw | null> {
  const saved = studyId === undefined ? null : await getStudy(context.store, studyId);
  const found = await context.lengths.resolve(study, saved?.ok ? saved.value.baseFolder : null);
  return found.ok ? found.value : null;
}

/** Stands for the lengths if they are unreadable, or if no balancing of the study needs them (`needsLaw`). */
const ANY_LAW: LengthLaw = {
  label: 'constant(1)',
  support: Float64Array.of(1),
  probability: Float64Array.of(1),
  truncatedMass: 0,
};

async function begin(
  context: Context,
  { studyId, study, folder, best }: ProcedureArguments<'runs.start'>,
): Promise<Result<RunHandle>> {
  if ((studyId === undefined) === (study === undefined))
    return badInput('runs.start: specify either studyId or study.');
  const located: Result<LocatedStudy> = study
    ? ok({ study, baseFolder: folder ?? null, example: false })
    : await getStudy(context.store, studyId!);
  if (!located.ok) return located;
  const prepared = await prepareStudy(context, located.value);
  if (!prepared.ok) return prepared;
  const refused = best === undefined ? tooLarge(prepared.value.axes) : null;
  return refused ?? startSweep(context, located.value, prepared.value, studyId ?? null, best);
}
