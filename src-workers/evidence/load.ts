import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { GpuDevice } from '../domain/device.ts';
import { ok, type Result, notFound } from '../domain/result.ts';
import { parseEvidence } from '../parse/evidence.ts';
import { bytesSource } from '../parse/source.ts';
import { unpacked } from '../parse/unpack.ts';
import { LAUNCH_DATASETS } from '../models/launches/datasets.ts';
import { SPMV_DATASETS, type SpmvDataset } from '../models/spmv/datasets.ts';
import type { KeptParameters, KeptPredictions } from './kept.ts';
import type { Judged } from './judge.ts';

export interface EvidenceFile {
  readonly fileName: string;
  readonly bytes: Uint8Array;
}

export interface AskedEvidence {
  readonly dataset?: string | undefined;
  readonly data?: EvidenceFile | undefined;
}

export const PARAMETERS_FILE = 'parameters.json';
export const PREDICTED_FILE = 'predicted.json.gz';

function timeColumns({ gpus, unseen }: SpmvDataset): readonly string[] {
  return [...gpus, ...unseen].flatMap(({ implementations }) => implementations.map(({ column }) => column));
}

export async function readMeasured(folder: string, dataset: SpmvDataset, data?: EvidenceFile) {
  const { fileName, bytes } = data ?? { fileName: dataset.file, bytes: await readFile(join(folder, dataset.file)) };
  const content = await unpacked(bytes, fileName);
  return content.ok ? parseEvidence(bytesSource(content.value), fileName, timeColumns(dataset)) : content;
}

export async function readPredictions(folder: string): Promise<KeptPredictions> {
  return JSON.parse(gunzipSync(await readFile(join(folder, PREDICTED_FILE))).toString()) as KeptPredictions;
}

/** Without `dataset`, loads all data sets, or the one whose columns the file has. `devices`: from `evidenceDevices`. */
export async function loadEvidence(
  folder: string,
  devices: readonly GpuDevice[],
  { dataset: id, data }: AskedEvidence,
): Promise<Result<readonly Judged[]>> {
  const datasets = SPMV_DATASETS.filter((dataset) => id === undefined || dataset.id === id);
  const known = [...SPMV_DATASETS, ...LAUNCH_DATASETS].map((one) => one.id);
  if (datasets.length === 0) return notFound(`There is no data set "${id}". Specify one of ${known.join(', ')}.`);
  const kept = JSON.parse(await readFile(join(folder, PARAMETERS_FILE), 'utf8')) as KeptParameters;
  const predicted = data ? null : await readPredictions(folder);
  const byId = new Map(devices.map((device) => [device.id, device]));
  const judged: Judged[] = [];
  let refused: Result<never> | null = null;
  for (const dataset of datasets) {
    const measured = await readMeasured(folder, dataset, data);
    if (measured.ok)
      judged.push({
        dataset,
        measured: measured.value,
        devices: byId,
        kept,
        predicted,
        parameters: data ? 'all' : 'held-out',
      });
    else refused ??= measured;
  }
  // A file has the columns of one data set only, so every other data set rejects it.
  if (refused && (!data || judged.length === 0)) return refused;
  return ok(judged);
}
