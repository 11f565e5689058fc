import type { BenchRecord } from '../../../src-workers/domain/benchmark.ts';
import type { Benchmarks } from './benchmarks.ts';
import type { CalibrationProfile } from '../../../src-workers/domain/calibration.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import type { Study } from '../../contract/study.ts';
import type { Targets } from './targets.ts';
import {
  fitCalibration,
  getCalibration,
  listCalibrations,
  openMeasuredSweep,
  saveCalibration,
  studyBefore,
  studyWithoutProfile,
  studyWithProfile,
} from '../measuring/calibrations.ts';
import { compareMeasured } from '../measuring/compare.ts';
import { compareRuns } from '../measuring/compare-runs.ts';
import { contentionFindings } from '../measuring/contention.ts';
import { getStudy } from '../studies/studies.ts';
import { measuredDevice } from './device-fields.ts';
import { measuringDetail } from '../measuring/measured.ts';
import { nextDesigns } from './tune.ts';
import { ok, type Result, badInput } from '../../../src-workers/domain/result.ts';
import { parseBenchRecord } from '../../../src-workers/parse/bench-records.ts';
import { savedStudy } from '../studies/handlers.ts';

export function measuringHandlers(
  context: Context,
  targets: Targets,
  benchmarks: Benchmarks,
): Handlers<ProceduresOf<'bench' | 'calibration'>> {
  const { store } = context;
  const fit = async (id: number): Promise<Result<CalibrationProfile>> => {
    const measured = await openMeasuredSweep(context, id);
    return measured.ok ? fitCalibration(context, measured.value) : measured;
  };
  const calibrated = async (study: Study, deviceId: string, profileId: number | null): Promise<Result<Study>> => {
    if (profileId === null) {
      const before = await studyBefore(context, study, deviceId);
      return before.ok ? studyWithoutProfile(study, deviceId, before.value) : before;
    }
    const saved = await getCalibration(store, profileId);
    return saved.ok ? studyWithProfile(study, deviceId, saved.value.profile) : saved;
  };
  return {
    'bench.targets': async ({ again }) => ok(await targets.list(again)),
    'bench.probe': (input, gone) => benchmarks.probe(input, gone),
    'bench.cancelProbe': async ({ client }) => ok(benchmarks.cancelProbe(client)),
    'bench.start': (input) => context.running.start(benchmarks.start(input)),
    'bench.runnable': (input) => benchmarks.runnable(input),
    'bench.next': (input) => nextDesigns(context, targets, input),
    'bench.plan': async ({ id }) => benchmarks.plan(id),
    'bench.record': async ({ id, records }) => {
      const known: BenchRecord[] = [];
      for (const [at, value] of records.entries()) {
        const record = parseBenchRecord(value);
        if (!record.ok) return badInput(`records[${at}]: ${record.error.message}`);
        if (record.value) known.push(record.value);
      }
      return benchmarks.record(id, known);
    },
    'bench.bundle': (input) => benchmarks.bundle(input),
    'bench.detail': async ({ id }) => {
      const run = await store.getRun(id);
      return run.ok ? measuringDetail(store, run.value) : run;
    },
    'bench.compare': async ({ id, profileId }) => {
      const measured = await openMeasuredSweep(context, id);
      if (!measured.ok) return measured;
      const profile = profileId === undefined ? ok(null) : await getCalibration(store, profileId);
      return profile.ok ? compareMeasured(context, measured.value, profile.value) : profile;
    },
    'bench.compareRuns': ({ ids, threshold }) => compareRuns(context, ids, threshold),
    'bench.contention': ({ id }) => contentionFindings(store, id),
    'bench.measuredDevice': ({ id, device }) => measuredDevice(context, id, device),
    'calibration.fit': ({ id }) => fit(id),
    'calibration.save': async ({ id, name }) => {
      const profile = await fit(id);
      return profile.ok ? saveCalibration(store, name, profile.value) : profile;
    },
    'calibration.list': ({ deviceId }) => listCalibrations(store, deviceId),
    'calibration.delete': ({ id }) => store.deleteCalibration(id),
    'calibration.use': async ({ studyId, deviceId, profileId }) => {
      const located = await getStudy(store, studyId);
      if (!located.ok) return located;
      const study = await calibrated(located.value.study, deviceId, profileId);
      return study.ok ? savedStudy(context, { ...located.value, study: study.value }, studyId) : study;
    },
  };
}
