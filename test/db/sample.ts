import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { BestDesigns, PredictionChunk, RunAxes, RunDraft } from '../../db/records.ts';
import type { CpuDevice } from '../../src-workers/domain/device.ts';

/** Makes a small run whose values all follow from the design index, so any process knows what should be saved. */

export const MIGRATIONS = join(import.meta.dirname, '../../db/migrations');

export async function inFolder(body: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-store-'));
  try {
    await body(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function device(id: string): CpuDevice {
  return {
    kind: 'cpu',
    id,
    name: id,
    vendor: 'test',
    cores: 4,
    singleCoreBandwidthGbS: 10,
    fullBandwidthGbS: 20,
    kneeCores: 2,
    sources: { cores: 'made up' },
  };
}

export function sampleDraft(axes: RunAxes = SAMPLE_AXES): RunDraft {
  return {
    kind: 'sweep',
    name: 'sample',
    studyId: null,
    study: { workload: 'geometric(0.05)' },
    appVersion: '0.1.0',
    modelVersions: { composite: '1' },
    seed: 42,
    machine: { cpu: 'test' },
    enumeratedCount: Object.values(axes).reduce((size, values) => size * values.length, 1),
    devices: axes.device.map((id) => device(String(id))),
    axes,
  };
}

export const SAMPLE_AXES: RunAxes = {
  device: ['slow', 'fast'],
  threadsPerUnit: [1, 2, 4],
  loop: ['nested', 'flattened'],
  balancing: ['none', 'window-sort(4096)'],
  launch: ['units-per-thread 4', 'grid 1728'],
  registerCap: [null, 32],
  blockThreads: [64, 128, 256, 512, 1024],
};

/** Makes a chunk in which every seventh design is invalid. */
export function sampleChunk(firstDesign: number, count: number): PredictionChunk {
  const index = Float64Array.from({ length: count }, (_, i) => firstDesign + i);
  const valid = (design: number): boolean => design % 7 !== 3;
  const doubles = (value: (design: number) => number): Float64Array => index.map((d) => (valid(d) ? value(d) : NaN));
  return {
    firstDesign,
    count,
    timeMs: doubles((d) => 1 + ((d * 7919) % 1000) / 8),
    meanLoss: Float32Array.from(doubles((d) => 1 + (d % 10) / 3)),
    aggregateLoss: Float32Array.from(doubles((d) => 1 + (d % 11) / 3)),
    occupancyFraction: Float32Array.from(doubles((d) => (d % 9) / 8)),
    residentBlocks: Uint16Array.from(index, (d) => (valid(d) ? 1 + (d % 32) : 0)),
    limitedBy: Uint8Array.from(index, (d) => (valid(d) ? 1 << (d % 4) : 0)),
    invalidReason: Uint8Array.from(index, (d) => (valid(d) ? 0 : 2)),
    unitsPerThread: doubles((d) => 1 + (d % 64)),
    gridBlocks: doubles((d) => 1 + d * 1000),
  };
}

export function sampleBest(): BestDesigns {
  const { count: _count, firstDesign: _first, ...columns } = sampleChunk(0, 100);
  const designs = Uint32Array.from([...columns.invalidReason.keys()].filter((at) => columns.invalidReason[at] === 0).slice(2, 5)); // prettier-ignore
  const some = Object.entries(columns).map(([name, column]) => [
    name,
    (column as Float64Array).filter((_, at) => designs.includes(at)),
  ]);
  return { ...(Object.fromEntries(some) as typeof columns), designs, predicted: 7, picked: 1 };
}
