import type { RunRecord } from '../../../db/records.ts';
import type { StoreClient } from '../../../db/store-api.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import type { FieldChange } from '../../contract/api.ts';
import { atMiddle } from '../../../src-workers/advise/assumed.ts';
import { getStudy, type LocatedStudy } from '../studies/studies.ts';
import { takesMiddles } from '../version.ts';
import { differences } from './diff.ts';

/** Imported files without a sweep and measurements of the device itself do not belong to a study. */
export function belongsToStudy({ study }: RunRecord): boolean {
  return typeof study === 'object' && study !== null && 'study' in study;
}

export async function changedSince(
  store: StoreClient,
  { studyId, devices, modelVersions }: RunRecord,
  snapshot: LocatedStudy,
): Promise<readonly FieldChange[]> {
  const now = studyId === null ? null : await getStudy(store, studyId);
  if (!now?.ok) return [];
  // An input without a stated value is predicted with the middle of its law, and the run stores this value.
  const study = takesMiddles(modelVersions.prediction) ? atMiddle(now.value.study, devices) : now.value.study;
  return staleFields(snapshot, { ...now.value, study }, devices);
}

/** @param devices of both studies; only with a CPU does the seed matter: it draws the lengths that the cores share */
export function staleFields(then: LocatedStudy, now: LocatedStudy, devices: readonly Device[]): readonly FieldChange[] {
  const seeds = devices.some(({ kind }) => kind === 'cpu') ? [] : ['seed'];
  const without = ['name', 'description', '$schema', ...seeds];
  return differences(then.study, now.study, '')
    .filter(({ field }) => !without.includes(field) && !/\.origins?\b/.test(field))
    .map(({ field, left, right }) => ({ field, was: left, is: right }));
}
