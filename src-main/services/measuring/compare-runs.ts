import type { RunRecord } from '../../../db/records.ts';
import { deviceTitle, type MeasuringDevice, type TimeRatio } from '../../../src-workers/domain/benchmark.ts';
import { ok, type Result, badInput, conflict } from '../../../src-workers/domain/result.ts';
import { AXIS } from '../../../src-workers/domain/space.ts';
import { compareTimes, MIN_VERDICT_REPEATS } from '../../../src-workers/models/calibration/verdict.ts';
import type { ComparedRun, MeasuredCase, MeasuringDetail, RunsComparison } from '../../contract/measuring.ts';
import type { Context } from '../context.ts';
import { measuringDetail } from './measured.ts';

type TimedCase = MeasuredCase & { readonly measured: NonNullable<MeasuredCase['measured']> };
interface Measured {
  readonly run: RunRecord;
  readonly detail: MeasuringDetail;
  readonly cases: readonly TimedCase[];
}

export async function compareRuns(
  context: Context,
  ids: readonly number[],
  threshold: number,
): Promise<Result<RunsComparison>> {
  const twice = ids.find((id, at) => ids.indexOf(id) < at);
  if (twice !== undefined) return badInput(`Run ${twice} is named twice. Specify different runs.`);
  const measured: Measured[] = [];
  for (const id of ids) {
    const run = await context.store.getRun(id);
    if (!run.ok) return run;
    const detail = await measuringDetail(context.store, run.value);
    if (!detail.ok) return detail;
    const cases = detail.value.cases.filter(isTimed);
    if (cases.length === 0) return conflict(`Run ${id} has no correct result with a time. Compare other runs.`);
    measured.push({ run: run.value, detail: detail.value, cases });
  }
  const key = await keyOf(context, measured);
  if (!key.ok) return key;

  // If a run has several cases of one design, the fastest of them counts.
  const rows = new Map<string, (TimedCase | null)[]>();
  for (const [at, { cases }] of measured.entries())
    for (const one of cases) {
      const row = rows.get(key.value(one)) ?? measured.map(() => null);
      const known = row[at];
      if (!known || one.measured.medianMs < known.measured.medianMs) row[at] = one;
      rows.set(key.value(one), row);
    }
  const versus = (before: TimedCase | null, after: TimedCase | null): TimeRatio | null =>
    before && after && before !== after
      ? compareTimes(before.measured.timesMs, after.measured.timesMs, threshold)
      : null;
  const all = [...rows.values()].map((row) => ({
    row,
    against: row.map((one, at) => (at === 0 ? null : versus(row[0], one))),
  }));
  const best = measured.map((_, at) =>
    all.reduce<number>(
      (known, { row }, design) =>
        timeOf(row[at]) < (known < 0 ? Infinity : timeOf(all[known].row[at])) ? design : known,
      -1,
    ),
  );
  const bestCase = best.map((design, at) => all[design].row[at]!);
  const bestMs = bestCase.map((one) => one.measured.medianMs);
  const common = all.filter(({ row }) => row.every((one) => one !== null)).length;
  const warnings = measured.flatMap(({ run, detail }) => detail.warnings.map((text) => `Run ${run.id}: ${text}`));
  const lost = measured.map(({ detail: { cases } }) => {
    const broken = cases.filter((one) => one.failure !== null || one.correct === false);
    return broken.filter((one) => rows.get(key.value(one))?.[0]).length;
  });
  const few = measured.filter(({ cases }) => cases.some((one) => one.measured.repeats < MIN_VERDICT_REPEATS));
  if (few.length > 0)
    warnings.unshift(
      `A verdict needs ${MIN_VERDICT_REPEATS} repeats on both sides. These runs have designs with fewer: ${few.map(({ run }) => `run ${run.id}`).join(', ')}.`,
    );
  for (const [at, count] of lost.entries())
    if (count > 0 && at > 0)
      warnings.unshift(
        `Designs of run ${measured[0].run.id} that failed or gave wrong results in run ${measured[at].run.id}: ${count.toLocaleString('en')}.`,
      );
  if (common === 0)
    warnings.unshift('No design was measured in all of these runs, so only their fastest designs can be compared.');
  return ok({
    threshold,
    runs: measured.map(({ run, cases }, at): ComparedRun => ({
      runId: run.id,
      name: run.name,
      device: deviceName(run),
      startedAt: run.startedAt,
      designs: cases.length,
      best: best[at],
      againstFirst: at === 0 ? null : versus(bestCase[0], bestCase[at]),
      lost: lost[at],
    })),
    designs: all.map(({ row, against }) => {
      const first = row.find((one) => one !== null)!;
      return {
        label: first.label,
        times: row.map((one) => {
          if (!one) return null;
          const { medianMs, lowMs, highMs, repeats } = one.measured;
          return { medianMs, lowMs, highMs, repeats };
        }),
        against,
      };
    }),
    cross: best.map((design) => measured.map((_, at) => all[design].row[at]?.measured.medianMs ?? null)),
    oneForAll: oneForAll(all.map(({ row }) => row.map((one, at) => timeOf(one) / bestMs[at]))),
    common,
    warnings,
  });
}

const isTimed = (one: MeasuredCase): one is TimedCase =>
  one.measured !== null && one.measured.medianMs > 0 && one.correct !== false;
const timeOf = (one: TimedCase | null): number => one?.measured.medianMs ?? Infinity;

/** @param factors by design and run: the time of the design divided by the best time of the run */
function oneForAll(factors: readonly (readonly number[])[]): RunsComparison['oneForAll'] {
  let found: RunsComparison['oneForAll'] = null;
  for (const [design, times] of factors.entries()) {
    const worst = Math.max(...times);
    if (worst < (found?.worst ?? Infinity)) found = { design, worst };
  }
  return found;
}

function deviceName({ measuringDevice }: RunRecord): string {
  const device = measuringDevice as MeasuringDevice | null;
  return device ? deviceTitle(device) : 'unknown device';
}

/**
 * Returns a function that identifies the same case in different runs. If all runs measured one sweep, the key is the
 * position on all axes except the device, because launches that fill the device may differ. Otherwise it is the design,
 * the parameters of another program, or the case.
 */
async function keyOf(context: Context, measured: readonly Measured[]): Promise<Result<(one: MeasuredCase) => string>> {
  const cases = measured.flatMap((run) => run.cases);
  const [sweep, ...others] = new Set(measured.map(({ detail }) => detail.request.sourceRunId));
  if (typeof sweep === 'number' && others.length === 0 && cases.every((one) => one.designIndex !== null)) {
    const view = await context.views.open(sweep);
    if (!view.ok) return view;
    const stride = view.value.ranking.strides[AXIS.device];
    return ok(({ designIndex }) => (designIndex === null ? '' : String(designIndex % stride)));
  }
  return ok(({ design, case: one }) => {
    if (design) return sorted(design);
    const { parameters } = one;
    return sorted(one.benchmark === 'external' ? one.parameters.configuration : parameters);
  });
}

const sorted = (value: object): string => JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
