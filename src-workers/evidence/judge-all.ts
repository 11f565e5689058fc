import type { GpuDevice } from '../domain/device.ts';
import type { DatasetEvidence } from '../domain/evidence.ts';
import { fail, ok, type Result } from '../domain/result.ts';
import { evidenceDevices as spmvDevices } from '../models/spmv/datasets.ts';
import { judgeDataset } from './judge.ts';
import { judgeShapes } from './judge-shapes.ts';
import { loadEvidence, type EvidenceFile } from './load.ts';
import { SHAPE_DATASETS } from './shapes.ts';

/** Ids of all devices that were measured. */
export function evidenceDevices(): readonly string[] {
  return [...new Set([...spmvDevices(), ...SHAPE_DATASETS.flatMap(({ devices }) => devices)])];
}

/**
 * Predictions beside every public measurement, or those of one data set, or another file of its columns.
 * @param folder `db/evidence`
 * @param devices those of `evidenceDevices`
 */
export async function judgeEvidence(
  folder: string,
  devices: readonly GpuDevice[],
  asked: { readonly dataset?: string | undefined; readonly data?: EvidenceFile | undefined },
): Promise<Result<readonly DatasetEvidence[]>> {
  const { dataset: id, data } = asked;
  const shapes = SHAPE_DATASETS.filter((dataset) => id === dataset.id || (id === undefined && !data));
  if (data && shapes.length > 0)
    return fail(
      'unsupported',
      `${id} is read from its own file alone. Specify a data set of SpMV times, or leave --data out.`,
    );
  const found: DatasetEvidence[] = [];
  if (id === undefined || shapes.length === 0) {
    const judged = await loadEvidence(folder, devices, asked);
    if (!judged.ok) return judged;
    found.push(...judged.value.map(judgeDataset));
  }
  const byId = new Map(devices.map((device) => [device.id, device]));
  for (const dataset of shapes) found.push(judgeShapes(dataset, await dataset.read(folder, byId)));
  return ok(found);
}
