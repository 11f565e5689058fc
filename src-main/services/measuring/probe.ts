import { availableParallelism } from 'node:os';
import {
  fittingMeasurement,
  isProbeEnough,
  nextProbeUnits,
  PROBE_DESIGNS,
  PROBE_REPEATS,
  PROBE_WARM_UPS,
  probeTimes,
  type ProbeTimes,
  type TimedRecord,
} from '../../../src-workers/bench/probe.ts';
import type { BenchCase, BenchPlan } from '../../../src-workers/domain/benchmark.ts';
import { fail, ok, type Result, badInput, notFound, unsupported } from '../../../src-workers/domain/result.ts';
import type { ProbeAnswer } from '../../contract/measuring.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import type { Context } from '../context.ts';
import { spreadOver } from './plans.ts';
import { EMULATION_TARGET, isCallerTarget, measureOn, PAGE_TARGET } from './targets.ts';

/** The time limit of one design in the probe, ms. If a design takes longer, its exact time does not matter. */
const PROBE_CASE_LIMIT_MS = 20_000;
const ROUND_LIMIT_MS = 300_000;
/** If the units cannot fill the blocks of any design, their number grows by this factor. */
const GROWTH = 2;

type Request = ProcedureArguments<'bench.start'>;
type Planner = (input: Request) => Promise<Result<{ readonly plan: BenchPlan }>>;

const CANCELLED: Result<never> = fail('cancelled', 'The probe was cancelled, so nothing was measured.');

export async function probeMeasurement(
  context: Context,
  { timeLimitMs, rounds: known, ...input }: Omit<ProcedureArguments<'bench.probe'>, 'client'>,
  plan: Planner,
  signal: AbortSignal,
): Promise<Result<ProbeAnswer>> {
  if (input.suite !== 'designs')
    return badInput('A probe is for designs of a sweep. Measure a suite without a probe.', { field: 'suite' });
  if (isCallerTarget(input.target) || input.target === EMULATION_TARGET)
    return unsupported(`${input.target} cannot run a probe. Start the measurement without a probe.`, {
      field: 'target',
    });
  const page = input.target === PAGE_TARGET;
  if (!page && known.length > 0)
    return badInput(`Specify rounds only for the target ${PAGE_TARGET}.`, { field: 'rounds' });
  const whole = await plan(input);
  if (!whole.ok) return whole;
  const { cases, backend, kernel } = whole.value.plan;
  const ofUnits = unitsOf(whole.value.plan);
  const parts = backend !== 'cpu' && backend !== 'program' && !kernel;
  const rounds: ProbeTimes[] = [...known];
  for (;;) {
    const units = nextProbeUnits(rounds, ofUnits, parts);
    if (units === null) break;
    const round = await planRound(input, spread(cases), units, ofUnits, plan);
    if (signal.aborted) return CANCELLED;
    if (!round.ok) return round;
    if (page) return ok({ kind: 'round', plan: round.value.plan });
    const times = await runRound(context, input.target, round.value.plan, signal);
    if (signal.aborted) return CANCELLED;
    if (!times.ok) return times;
    if (times.value === null) return ok({ kind: 'done', proposal: null });
    rounds.push(times.value);
  }
  const { repeats, warmUps, caseTimeLimitMs } = input;
  const fitting = fittingMeasurement(rounds, {
    units: ofUnits,
    designs: cases.length,
    repeats,
    warmUps,
    timeLimitMs,
    caseTimeLimitMs,
    parts,
    buildsAtOnce: backend === 'program' && (kernel || input.program?.build) ? availableParallelism() : null,
  });
  const proposal = { ...fitting, ofUnits, ofDesigns: cases.length, ofRepeats: repeats };
  return ok({ kind: 'done', proposal });
}

const unitsOf = ({ program, workload }: BenchPlan): number => program?.units ?? workload!.lengths.length;

function spread(cases: readonly BenchCase[]): readonly number[] {
  return spreadOver(cases, PROBE_DESIGNS).flatMap((one) =>
    one.benchmark === 'unit-loop' && one.parameters.designIndex !== null ? [one.parameters.designIndex] : [],
  );
}

/** Plans the next launches of a probe, with more units if `wanted` are too few for every design. */
async function planRound(
  input: Request,
  designs: readonly number[],
  wanted: number,
  ofUnits: number,
  plan: Planner,
): Promise<Result<{ readonly plan: BenchPlan }>> {
  for (let units = wanted; ; units = Math.min(ofUnits, units * GROWTH)) {
    const planned = await plan({
      ...input,
      choose: 'named',
      designs: [...designs],
      repeats: PROBE_REPEATS,
      warmUps: PROBE_WARM_UPS,
      caseTimeLimitMs: Math.min(input.caseTimeLimitMs, PROBE_CASE_LIMIT_MS),
      ...(units < ofUnits && { units }),
    });
    if (planned.ok && planned.value.plan.program) {
      const { plan: own } = planned.value;
      return ok({ plan: { ...own, program: { ...own.program!, probe: true } } });
    }
    // Designs are measured one after another, because the probe uses the times between their records.
    if (planned.ok) return ok({ plan: { ...planned.value.plan, alternating: 1 } });
    if (units >= ofUnits) return planned;
  }
}

async function runRound(
  context: Context,
  target: string,
  plan: BenchPlan,
  signal: AbortSignal,
): Promise<Result<ProbeTimes | null>> {
  const records: TimedRecord[] = [];
  const limits = { totalMs: ROUND_LIMIT_MS, startMs: ROUND_LIMIT_MS, caseMs: ROUND_LIMIT_MS };
  const enough = new AbortController();
  const stop = AbortSignal.any([enough.signal, signal]);
  const ran = await measureOn(context, null, target, plan, limits, stop, async (record, atMs) => {
    records.push({ atMs, record });
    if (isProbeEnough(records)) enough.abort();
    return ok(null);
  });
  if (!ran.ok) return ran;
  // If the probe finds no program, the measurement will not find it either. But a lost device may answer again.
  const missing = plan.program && records.map(({ record }) => record).find(({ type }) => type === 'lost');
  return missing?.type === 'lost' ? notFound(`${missing.message}.`) : ok(probeTimes(unitsOf(plan), records));
}
