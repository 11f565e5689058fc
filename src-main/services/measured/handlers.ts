import { ok, type Result } from '../../../src-workers/domain/result.ts';
import type { CalibrationProfile } from '../../../src-workers/domain/calibration.ts';
import type { Study } from '../../contract/study.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';
import { savedStudy } from '../studies/handlers.ts';
import { getStudy } from '../studies/studies.ts';
import {
  fitCalibration,
  getCalibration,
  listCalibrations,
  openMeasuredSweep,
  saveCalibration,
  studyBefore,
  studyWithoutProfile,
  studyWithProfile,
} from './calibrations.ts';
import { compareMeasured } from './compare.ts';
import { compareRuns } from './compare-runs.ts';
import { contentionFindings } from './contention.ts';
import { measuringDetail } from './measured.ts';

/** Procedures that read measurements and calibrate with them. */
export function measuredHandlers(
  context: Context,
): Handlers<ProceduresOf<'calibration'> | 'bench.detail' | 'bench.compare' | 'bench.compareRuns' | 'bench.contention'> {
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
