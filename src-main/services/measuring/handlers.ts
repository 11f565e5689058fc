import { fail, ok, type Result } from '../../../src-workers/domain/result.ts';
import type { BenchRecord } from '../../../src-workers/domain/benchmark.ts';
import { parseBenchRecord } from '../../../src-workers/parse/bench-records.ts';
import type { CalibrationProfile } from '../../../src-workers/domain/calibration.ts';
import type { StudyRecord } from '../../contract/api.ts';
import type { ProcedureArguments, ProcedureName } from '../../contract/procedures.ts';
import { bundleArchive, type Benchmarks } from './benchmarks.ts';
import {
  fitCalibration,
  getCalibration,
  listCalibrations,
  openMeasuredSweep,
  saveCalibration,
  studyWithProfile,
} from '../measured/calibrations.ts';
import { contentionFindings } from '../measured/contention.ts';
import type { Targets } from './targets.ts';
import type { Context, Handlers } from '../context.ts';
import { measuringDetail } from '../measured/measured.ts';
import { compareMeasured } from '../measured/compare.ts';
import type { RunView } from '../runs/run-view.ts';
import { locatedStudy, type LocatedStudy } from '../studies/studies.ts';
import type { SweepHandle } from '../sweeps/sweeps.ts';

/** The procedures of measuring and calibrating. */
type MeasuringProcedure = Extract<ProcedureName, `bench.${string}` | `calibration.${string}`>;

/** What the engine lends: opening runs, starting measurements that it follows, saving studies. */
export interface MeasuringEngine {
  openRun(runId: number): Promise<Result<RunView>>;
  measure(input: ProcedureArguments<'bench.start'>): Promise<Result<SweepHandle>>;
  saveStudy(located: LocatedStudy, id: number): Promise<Result<StudyRecord>>;
}

export function measuringHandlers(
  context: Context,
  targets: Targets,
  benchmarks: Benchmarks,
  { openRun, measure, saveStudy }: MeasuringEngine,
): Handlers<MeasuringProcedure> {
  const fit = async (id: number): Promise<Result<CalibrationProfile>> => {
    const measured = await openMeasuredSweep(context, id, openRun);
    return measured.ok ? fitCalibration(context, measured.value) : measured;
  };
  return {
    'bench.targets': async ({ again }) => ok(await targets.list(again)),
    'bench.start': async (input) => {
      const handle = await measure(input);
      return handle.ok ? ok({ runId: handle.value.runId }) : handle;
    },
    'bench.runnable': (input) => benchmarks.runnable(input),
    'bench.plan': async ({ id }) => benchmarks.plan(id),
    'bench.record': async ({ id, records }) => {
      const known: BenchRecord[] = [];
      for (const [at, value] of records.entries()) {
        const record = parseBenchRecord(value);
        if (!record.ok) return fail('bad-input', `records[${at}]: ${record.error.message}`);
        if (record.value) known.push(record.value);
      }
      return benchmarks.record(id, known);
    },
    'bench.bundle': async (input) => {
      const bundle = await benchmarks.bundle(input);
      return bundle.ok ? bundleArchive(bundle.value) : bundle;
    },
    'bench.detail': async ({ id }) => {
      const run = await context.store.getRun(id);
      return run.ok ? measuringDetail(context, run.value) : run;
    },
    'bench.compare': async ({ id, profileId }) => {
      const measured = await openMeasuredSweep(context, id, openRun);
      if (!measured.ok) return measured;
      const profile = profileId === undefined ? ok(null) : await getCalibration(context, profileId);
      return profile.ok ? compareMeasured(context, measured.value, profile.value) : profile;
    },
    'bench.contention': ({ id }) => contentionFindings(context, id),
    'calibration.fit': ({ id }) => fit(id),
    'calibration.save': async ({ id, name }) => {
      const profile = await fit(id);
      return profile.ok ? saveCalibration(context, name, profile.value) : profile;
    },
    'calibration.list': ({ deviceId }) => listCalibrations(context, deviceId),
    'calibration.delete': ({ id }) => context.store.deleteCalibration(id),
    'calibration.use': async ({ studyId, deviceId, profileId }) => {
      const stored = await context.store.getStudy(studyId);
      if (!stored.ok) return stored;
      const located = locatedStudy(stored.value.spec, `study ${studyId}`);
      if (!located.ok) return located;
      const saved = profileId === null ? ok(null) : await getCalibration(context, profileId);
      if (!saved.ok) return saved;
      const study = studyWithProfile(located.value.study, deviceId, saved.value?.profile ?? null);
      return study.ok ? saveStudy({ ...located.value, study: study.value }, studyId) : study;
    },
  };
}
