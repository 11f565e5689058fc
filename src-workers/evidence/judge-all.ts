import type { GpuDevice } from '../domain/device.ts';
import type { DatasetEvidence, GpuDetail } from '../domain/evidence.ts';
import { ok, type Result, unsupported, notFound } from '../domain/result.ts';
import { LAUNCH_DATASETS } from '../models/launches/datasets.ts';
import { evidenceDevices as spmvDevices } from '../models/spmv/datasets.ts';
import { judgeDataset, judgeImplementation } from './judge.ts';
import { judgeLaunches, judgeShapes } from './judge-shapes.ts';
import { loadEvidence, type AskedEvidence } from './load.ts';
import { readLaunches } from './shapes.ts';

export function evidenceDevices(): readonly string[] {
  return [...new Set([...spmvDevices(), ...LAUNCH_DATASETS.flatMap(({ gpus }) => gpus.map(({ device }) => device))])];
}

/** Judges all data sets, one data set, or another file. The devices must come from `evidenceDevices`. */
export async function judgeEvidence(
  folder: string,
  devices: readonly GpuDevice[],
  asked: AskedEvidence,
): Promise<Result<readonly DatasetEvidence[]>> {
  const { dataset: id, data } = asked;
  const shapes = LAUNCH_DATASETS.filter((dataset) => id === dataset.id || (id === undefined && !data));
  if (data && shapes.length > 0)
    return unsupported(
      `The data set ${id} cannot be read from another file. Choose a data set of SpMV times, or omit --data.`,
    );
  const found: DatasetEvidence[] = [];
  if (id === undefined || shapes.length === 0) {
    const judged = await loadEvidence(folder, devices, asked);
    if (!judged.ok) return judged;
    found.push(...judged.value.map(judgeDataset));
  }
  const byId = new Map(devices.map((device) => [device.id, device]));
  for (const dataset of shapes) found.push(judgeShapes(dataset, await readLaunches(dataset, folder, byId)));
  return ok(found);
}

export async function judgeGpuAgain(
  folder: string,
  devices: readonly GpuDevice[],
  asked: { readonly dataset: string; readonly gpu: string; readonly implementation: string },
): Promise<Result<GpuDetail>> {
  const { dataset: id, gpu: column, implementation } = asked;
  const none = notFound(`The data set ${id} has no times "${column}:${implementation}".`);
  const launches = LAUNCH_DATASETS.find((dataset) => dataset.id === id);
  if (launches) {
    const gpus = await readLaunches(launches, folder, new Map(devices.map((device) => [device.id, device])));
    const gpu = gpus.find((one) => one.column === column && one.implementation === implementation);
    return gpu ? ok(judgeLaunches(launches, gpu)) : none;
  }
  const judged = await loadEvidence(folder, devices, { dataset: id });
  if (!judged.ok) return judged;
  const found = judgeImplementation(judged.value[0], column, implementation);
  return found ? ok(found) : none;
}
