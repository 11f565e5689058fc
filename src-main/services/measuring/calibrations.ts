import type { StoreClient } from '../../../db/store-api.ts';
import type { CalibrationRecord, MeasurementRecord, RunRecord } from '../../../db/records.ts';
import type { MeasuredDesign } from '../../../src-workers/bench/calibrate.ts';
import {
  isSoftware,
  isStandIn,
  type MeasuringDevice,
  type PlanLine,
  type UnitLoopWorkload,
} from '../../../src-workers/domain/benchmark.ts';
import { standInPlan } from '../../../src-workers/bench/stand-in.ts';
import {
  calibratedKernel,
  calibratedPipeline,
  isUnchanged,
  KERNEL_PARAMETERS,
  type CalibrationProfile,
} from '../../../src-workers/domain/calibration.ts';
import { fail, ok, type Result, unsupported, conflict, notFound } from '../../../src-workers/domain/result.ts';
import {
  fitDivergence,
  type DivergenceFit,
  type DivergentRun,
} from '../../../src-workers/models/calibration/divergence.ts';
import { takePartOfPlan } from '../../../src-workers/predict/plan.ts';
import { createPredictor } from '../../../src-workers/predict/predictor.ts';
import { median } from '../../../src-workers/numeric/statistics.ts';
import type { MeasuringRequest, SavedProfile } from '../../contract/measuring.ts';
import { validate } from '../../contract/parse.ts';
import { studySchema, type Study } from '../../contract/study.ts';
import type { Context } from '../context.ts';
import { measuredTime } from './times.ts';
import { measuredRunStudy, type MeasuredCaseDetail } from './records.ts';
import { noDevice } from '../ranking/rows.ts';
import { runStudy, type RunView } from '../runs/run-view.ts';

/** The predictor is for the loop and the number of units that were measured. */
export interface MeasuredSweep {
  readonly run: RunRecord;
  readonly request: MeasuringRequest;
  readonly view: RunView;
  readonly deviceId: string;
  readonly deviceAt: number;
  readonly measuring: MeasuringDevice;
  readonly records: readonly MeasurementRecord[];
  readonly standIn: UnitLoopWorkload['profile'] | null;
}

/** The user's own kernel counts as a program on every target. */
export function timedBackend({
  request,
  measuring,
}: Pick<MeasuredSweep, 'request' | 'measuring'>): MeasuringDevice['backend'] {
  return request.kernel ? 'program' : measuring.backend;
}

export async function openMeasuredSweep({ store, views }: Context, runId: number): Promise<Result<MeasuredSweep>> {
  const run = await store.getRun(runId);
  if (!run.ok) return run;
  const study = measuredRunStudy(run.value);
  if (!study.ok) return study;
  const { sourceRunId, deviceId } = study.value.request;
  const measuring = run.value.measuringDevice as MeasuringDevice | null;
  if (sourceRunId === null || deviceId === null)
    return unsupported(
      `Run ${runId} measured no designs of a sweep. Specify a run that measured designs${run.value.kind === 'import' ? ', or import the file again and name the sweep of its designs' : ''}.`,
    );
  if (!measuring) return conflict(`Run ${runId} has measured nothing yet.`);
  const view = await views.open(sourceRunId);
  if (!view.ok) return view;
  const deviceAt = view.value.devices.findIndex((device) => device.id === deviceId);
  if (deviceAt < 0) return notFound(`The device "${deviceId}" is not in run ${sourceRunId}.`);
  const records = await store.listMeasurements(runId);
  if (!records.ok) return records;
  const { request } = study.value;
  const standIn = isStandIn(timedBackend({ request, measuring })) ? standInProfile(run.value) : null;
  const { plan } = view.value.predictor;
  const ofPart = request.part ? takePartOfPlan(plan, request.part.units) : plan;
  const measured = standIn ? standInPlan(ofPart, standIn) : ofPart;
  const predicting = measured === plan ? view.value : { ...view.value, predictor: createPredictor(measured) };
  return ok({
    run: run.value,
    request,
    view: predicting,
    deviceId,
    deviceAt,
    measuring,
    records: records.value,
    standIn,
  });
}

/** Returns the loop that a run measured in place of the kernel; `null` if there was none, or a file lacks it. */
function standInProfile({ study }: RunRecord): UnitLoopWorkload['profile'] | null {
  const { bench, file } = study as { bench?: PlanLine; file?: { head?: Pick<PlanLine['plan'], 'workload'> | null } };
  const profile = (bench?.plan.workload ?? file?.head?.workload)?.profile;
  if (!profile) return null;
  return profile.version !== undefined || profile.parallelSteps + profile.serialSteps > 0 ? profile : null;
}

export interface ComparableDesign extends MeasuredDesign {
  readonly lowMs: number | null;
  readonly highMs: number | null;
}

export function comparableDesigns({ records }: MeasuredSweep): readonly ComparableDesign[] {
  const designs = new Map<number, ComparableDesign>();
  for (const record of records) {
    const { designIndex, failure, correct } = record;
    if (designIndex === null || failure !== null || correct === false) continue;
    const time = measuredTime(record);
    // A time of 0 is below the resolution of the device's timer.
    if (!time || time.medianMs === 0) continue;
    const { medianMs: timeMs, lowMs, highMs } = time;
    const halfWidthMs = lowMs === null || highMs === null ? null : (highMs - lowMs) / 2;
    designs.set(designIndex, { designIndex, timeMs, halfWidthMs, lowMs, highMs });
  }
  return [...designs.values()];
}

export async function fitCalibration(context: Context, measured: MeasuredSweep): Promise<Result<CalibrationProfile>> {
  const { run, view, deviceAt, measuring } = measured;
  const divergence = await findDivergence(context, measuring.fingerprint);
  if (!divergence.ok) return divergence;
  const fitted = await context.pool.run('calibrate', {
    plan: view.predictor.plan,
    deviceAt,
    measured: comparableDesigns(measured),
    options: {
      deviceName: measuring.name,
      fingerprint: measuring.fingerprint,
      backend: timedBackend(measured),
      sourceRunIds: [run.id, ...(divergence.value ? [divergence.value.runId] : [])],
      divergence: divergence.value?.fit ?? null,
      software: isSoftware(measuring),
    },
    seed: run.seed ?? 0,
  });
  return fitted.ok ? fitted : fail(fitted.error.code, `Run ${run.id}: ${fitted.error.message}`);
}

async function findDivergence(
  context: Context,
  fingerprint: string,
): Promise<Result<{ readonly runId: number; readonly fit: DivergenceFit } | null>> {
  const page = await context.store.listRuns({ kind: 'bench', state: 'complete', limit: 1000 });
  if (!page.ok) return page;
  for (const { id } of page.value.rows) {
    const run = await context.store.getRun(id);
    if (!run.ok) return run;
    const study = measuredRunStudy(run.value);
    const device = run.value.measuringDevice as MeasuringDevice | null;
    if (!study.ok || study.value.request.suite !== 'divergent-loops' || device?.fingerprint !== fingerprint) continue;
    const records = await context.store.listMeasurements(id);
    if (!records.ok) return records;
    const runs = records.value.flatMap(({ failure, correct, detail }): DivergentRun[] => {
      const { case: one, values } = detail as MeasuredCaseDetail;
      const { cycles } = values;
      if (one.benchmark !== 'divergent-loops' || failure !== null || correct === false || cycles === undefined)
        return [];
      const { loops, divergentLanes } = one.parameters;
      const all = typeof cycles === 'number' ? [cycles] : cycles;
      return all.length === 0 ? [] : [{ loops, divergentLanes, cycles: median(Float64Array.from(all)) }];
    });
    const fit = fitDivergence(runs);
    if (fit.ok) return ok({ runId: id, fit: fit.value });
  }
  return ok(null);
}

export async function saveCalibration(
  store: StoreClient,
  name: string,
  profile: CalibrationProfile,
): Promise<Result<SavedProfile>> {
  const saved = await store.saveCalibration({ name, deviceId: profile.deviceId, profile });
  return saved.ok ? savedProfile(saved.value) : saved;
}

export async function listCalibrations(
  store: StoreClient,
  deviceId?: string,
): Promise<Result<readonly SavedProfile[]>> {
  const records = await store.listCalibrations(deviceId);
  if (!records.ok) return records;
  // A profile that a newer version saved is left out, because this version could misread it.
  return ok(records.value.flatMap((record) => (isKnown(record.profile) ? [profileOf(record, record.profile)] : [])));
}

export async function getCalibration(store: StoreClient, id: number): Promise<Result<SavedProfile>> {
  const records = await store.listCalibrations();
  if (!records.ok) return records;
  const record = records.value.find((one) => one.id === id);
  return record
    ? savedProfile(record)
    : notFound(`This database has no calibration ${id}. The Measure view lists the saved calibrations.`, { id });
}

function isKnown(profile: unknown): profile is CalibrationProfile {
  return typeof profile === 'object' && profile !== null && 'version' in profile && profile.version === 1;
}

function profileOf({ id, name, createdAt }: CalibrationRecord, profile: CalibrationProfile): SavedProfile {
  return { id, name, createdAt, profile };
}

function savedProfile(record: CalibrationRecord): Result<SavedProfile> {
  return isKnown(record.profile)
    ? ok(profileOf(record, record.profile))
    : fail('storage', `Calibration ${record.id} has a version that this Lockstep cannot read.`);
}

const MAX_KNEE_SOFTNESS = 100;

function hasDevice(study: Study, deviceId: string): Result<null> {
  return study.devices.includes(deviceId) ? ok(null) : noDevice(deviceId, 'the study', study.devices);
}

/**
 * Returns the study with a calibration of its kernel for one device. The measured serial fraction, cost of cooperation
 * and setup of the kernel apply to all devices of the study. Fails with `unsupported` for a profile of the loop that
 * stands in for a kernel, and for a study of several kernels.
 */
export function studyWithProfile(study: Study, deviceId: string, profile: CalibrationProfile): Result<Study> {
  const known = hasDevice(study, deviceId);
  if (!known.ok) return known;
  if (isStandIn(profile.backend))
    return unsupported(
      'This calibration was fitted to the loop that stands in for a kernel, so it does not apply to the kernel of the study. Measure your kernel (lockstep bench RUN --exec … or --kernel …), and calibrate from that run.',
    );
  if (profile.deviceId !== deviceId)
    return conflict(`The calibration is for ${profile.deviceId}. Specify a calibration for ${deviceId}.`);
  if (study.implementations)
    return unsupported('A calibration is for one kernel. Use it in a study without implementations.');
  if (isUnchanged(profile))
    return conflict(
      'The study that this calibration was fitted to predicts its measured designs as well as any fitted parameters, so the calibration changes nothing.',
    );
  const pipeline = calibratedPipeline(profile.parameters);
  return validate(
    studySchema,
    {
      ...study,
      kernel: calibratedKernel(study.kernel, profile),
      pipeline: {
        ...study.pipeline,
        [deviceId]: {
          ...pipeline,
          kneeSoftness: Math.min(pipeline.kneeSoftness, MAX_KNEE_SOFTNESS),
          origin: 'calibrated',
          fittedTo: 'kernel',
        },
      },
    },
    'study',
  );
}

/**
 * Returns a study that predicts a device from its data sheet again. If no other device is calibrated, the calibrated
 * fields of the kernel get their earlier values. Fields whose earlier values are unknown are marked as assumed.
 * @param before the study at the time of the sweep whose designs were measured for the calibration
 */
export function studyWithoutProfile(study: Study, deviceId: string, before: Study | null): Result<Study> {
  const known = hasDevice(study, deviceId);
  if (!known.ok) return known;
  const { [deviceId]: _gone, ...pipeline } = study.pipeline;
  if (Object.values(pipeline).some(({ origin }) => origin === 'calibrated')) return ok({ ...study, pipeline });
  let { kernel } = study;
  for (const name of Object.values(KERNEL_PARAMETERS)) {
    if (kernel.origins?.[name] !== 'calibrated') continue;
    const origin = before?.kernel.origins?.[name];
    const isKnown = before !== null && origin !== 'calibrated';
    const { [name]: _calibrated, ...others } = kernel.origins;
    const origins = isKnown
      ? { ...others, ...(origin && { [name]: origin }) }
      : { ...others, [name]: 'assumed' as const };
    const { origins: _before, ...values } = kernel;
    kernel = {
      ...values,
      ...(isKnown && { [name]: before.kernel[name] }),
      ...(Object.keys(origins).length > 0 && { origins }),
    };
  }
  return ok({ ...study, kernel, pipeline });
}

/**
 * Returns the study of the sweep whose designs were measured for the calibration of this device; `null` if no saved
 * calibration has the study's figures, or if the run with the measurements was deleted.
 */
export async function studyBefore({ store }: Context, study: Study, deviceId: string): Promise<Result<Study | null>> {
  const kept = await listCalibrations(store, deviceId);
  if (!kept.ok) return kept;
  const figures = study.pipeline[deviceId];
  const used = kept.value.find(
    ({ profile: { parameters } }) =>
      parameters.latencyCycles === figures?.latencyCycles && parameters.issueCycles === figures.issueCycles,
  );
  if (!used) return ok(null);
  // The first of these runs measured the designs. It may have been deleted.
  const run = await store.getRun(used.profile.sourceRunIds[0]);
  const measured = run.ok ? runStudy(run.value) : run;
  return ok(measured.ok ? measured.value.study : null);
}
