import type { MeasurementRecord, RunRecord } from '../../../db/records.ts';
import type { BenchPlan, BenchRecord, CaseResult, MeasuringDevice } from '../../../src-workers/domain/benchmark.ts';
import { ok, type Failure, type Result, badInput, conflict } from '../../../src-workers/domain/result.ts';
import { median } from '../../../src-workers/numeric/statistics.ts';
import type { MeasuringRequest } from '../../contract/measuring.ts';
import { collectCases } from './collector.ts';
import type { Context } from '../context.ts';
import { caseLabel } from './measured.ts';
import { measurementRecord, type MeasuredCaseDetail } from './records.ts';
import { openExecution } from '../runs/execution.ts';

export interface MeasuringSession {
  readonly run: RunRecord;
  remaining(): BenchPlan;
  take(record: BenchRecord): Promise<Result<null>>;
  /** Saves the complete cases when the measuring program has ended. Later records come from a new program. */
  programEnded(): Promise<Result<null>>;
  giveUp(message: string): Promise<Result<string | null>>;
  state(): {
    readonly answered: boolean;
    readonly begun: boolean;
    readonly done: boolean;
    /** The id of the case that failed in the last record. This failure explains why the program ended. */
    readonly failed: string | null;
    readonly lost: string | null;
    readonly saved: number;
    readonly total: number;
  };
  finish(end: 'complete' | 'cancelled' | Failure): Promise<Result<RunRecord>>;
}

export function openSession(
  context: Context,
  run: RunRecord,
  plan: BenchPlan,
  request: MeasuringRequest,
  before: readonly MeasurementRecord[],
): MeasuringSession {
  const { store } = context;
  const total = plan.cases.length;
  const known = new Set(before.map((record) => (record.detail as MeasuredCaseDetail).case.id));
  const alreadyDone = known.size;
  let device = run.measuringDevice as MeasuringDevice | null;
  /** Undefined until the store has been asked whether the sweep still exists. */
  let sourceRunId: number | null | undefined = request.sourceRunId === null ? null : undefined;
  let collector = collectCases(left(), plan.repeats);
  let [answered, begun, done] = [false, false, false];
  let lost: string | null = null;
  let failed: string | null = null;
  let reference: string | null = null;
  let best: Fastest | null = null;
  for (const { timesMs, correct, failure, detail } of before)
    if (failure === null) consider({ ...(detail as MeasuredCaseDetail), timesMs, correct });

  const execution = openExecution(context, run, total, alreadyDone, () => ({
    stage: known.size > alreadyDone || answered ? 'measuring' : 'preparing',
    bestTimeMs: best?.timeMs ?? null,
  }));

  function left(): BenchPlan['cases'] {
    return plan.cases.filter(({ id }) => !known.has(id));
  }

  function consider(found: Pick<CaseResult, 'case' | 'timesMs' | 'correct' | 'digest'>): void {
    if (found.timesMs.length === 0 || found.correct === false) return;
    reference ??= found.digest ?? null;
    best = pickFaster(best, found);
  }

  async function save(found: readonly CaseResult[]): Promise<Result<null>> {
    if (found.length === 0) return ok(null);
    if (sourceRunId === undefined) {
      const source = await store.getRun(request.sourceRunId!);
      sourceRunId = source.ok ? source.value.id : null;
    }
    const origin = { sourceRunId, deviceId: request.deviceId ?? device?.name ?? request.target, backend: plan.backend };
    const records = found.map((one) => measurementRecord(one, origin));
    const stored = await store.saveMeasurements(run.id, records);
    if (!stored.ok) return stored;
    for (const one of found) {
      if (!known.has(one.case.id)) execution.add(1);
      known.add(one.case.id);
      if (one.failure === null) consider(one);
    }
    context.views.dropFindings();
    execution.progress();
    return ok(null);
  }

  async function takeDevice(here: MeasuringDevice): Promise<Result<null>> {
    const fits = sameDevice(run.id, plan.backend, device, here);
    if (!fits.ok) return fits;
    if (!device) {
      const stored = await store.saveMeasuringDevice(run.id, here);
      if (!stored.ok) return stored;
      device = here;
    }
    answered = true;
    // A case that an earlier program left unfinished is measured again from its first launch.
    collector = collectCases(left(), plan.repeats);
    execution.progress();
    return ok(null);
  }

  execution.progress();
  return {
    run,
    remaining: () => ({ ...plan, cases: left(), ...(plan.program && { program: { ...plan.program, reference } }) }),
    async take(record) {
      switch (record.type) {
        case 'device':
          return takeDevice(record);
        case 'lost':
          lost = record.message;
          return ok(null);
        case 'done': {
          if (!answered) return badInput('The measuring program ended before it named its device.');
          const stored = await save(collector.finish());
          if (stored.ok) done = true;
          return stored;
        }
        default: {
          if (!answered)
            return badInput(`The measuring program sent a ${record.type} record before it named its device.`);
          begun = true;
          failed = record.type === 'failed' ? record.case : null;
          const complete = collector.take(record);
          return complete.ok ? save(complete.value) : complete;
        }
      }
    },
    async programEnded() {
      const stored = await save(collector.settle());
      [answered, begun, failed] = [false, false, null];
      return stored;
    },
    async giveUp(message) {
      const case_ = collector.underWay();
      if (!case_) return ok(null);
      const given = collector.take({ type: 'failed', case: case_.id, message });
      const stored = given.ok ? await save(given.value) : given;
      return stored.ok ? ok(caseLabel(case_)) : stored;
    },
    state: () => ({ answered, begun, done, failed, lost, saved: known.size, total }),
    finish: (end) => execution.finish(end, best),
  };
}

interface Fastest {
  readonly timeMs: number;
  readonly design: string;
}

function pickFaster(best: Fastest | null, { case: measured, timesMs }: Pick<CaseResult, 'case' | 'timesMs'>): Fastest {
  const timeMs = median(Float64Array.from(timesMs));
  return best && best.timeMs <= timeMs ? best : { timeMs, design: caseLabel(measured) };
}

function sameDevice(
  runId: number,
  backend: BenchPlan['backend'],
  device: MeasuringDevice | null,
  here: MeasuringDevice,
): Result<null> {
  if (here.backend !== backend) return conflict(`A ${here.backend} device answered instead of a ${backend} device.`);
  if (device && device.fingerprint !== here.fingerprint)
    return conflict(
      `Run ${runId} was measured on ${deviceText(device)}, but the device is now ${deviceText(here)}. A run has results of one device only. Start a new run.`,
    );
  return ok(null);
}

function deviceText({ name, driver }: MeasuringDevice): string {
  return driver === '' ? name : `${name} (${driver})`;
}
