import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { NO_KERNEL, predictedMs } from '../../src-workers/evidence/shapes.ts';
import { constantLaw } from '../../src-workers/models/workload/laws.ts';

/** Reads public spaces that were measured completely, and predicts their times. */

const ROOT = join(import.meta.dirname, '../..');

/** Assumed registers per thread, and assumed additional registers per output of a thread. */
const [REGISTERS, REGISTERS_PER_OUTPUT] = [32, 2];

/** Units before tiling, iterations per unit, and instructions per iteration for each output of a thread. */
export interface TiledKernel {
  readonly units: number;
  readonly iterations: number;
  readonly instructions: number;
}
const CONVOLUTION: TiledKernel = { units: 4096 ** 2, iterations: 15 ** 2, instructions: 2 };
const DEDISPERSION: TiledKernel = { units: 25_000 * 2048, iterations: 1536, instructions: 3 };
const PNPOLY: TiledKernel = { units: 2e7, iterations: 600, instructions: 10 };

/**
 * File, name of a device in its rows, kernel, and device of the catalogue. The name is null if the file has one device.
 * Without a kernel, nothing is predicted.
 */
export const MEASURED: readonly (readonly [string, string | null, TiledKernel | null, string])[] = [
  ['convold-RTX_3090', null, CONVOLUTION, 'nvidia-rtx-3090'],
  ['convolution-A4000', null, CONVOLUTION, 'nvidia-rtx-a4000'],
  ['convolution-W7800', null, CONVOLUTION, 'amd-rx-7800-xt'],
  ['convolution', 'A100', CONVOLUTION, 'nvidia-a100-pcie-40gb'],
  ['convolution', 'MI250X', CONVOLUTION, 'amd-mi250x-gcd'],
  ['dedispersion-MI250X', null, DEDISPERSION, 'amd-mi250x-gcd'],
  ['dedispersion-W6600', null, DEDISPERSION, 'amd-rx-6600'],
  ['gemm-RTX_3090', null, null, 'nvidia-rtx-3090'],
  ['pnpoly-RTX_3090', null, PNPOLY, 'nvidia-rtx-3090'],
];

export type Row = Readonly<Record<string, string>>;

export function measuredRows([name, column]: (typeof MEASURED)[number]): readonly Row[] {
  const file = column === null ? `test/data/spaces/${name}.csv.gz` : `db/evidence/${name}.csv.gz`;
  const all: readonly Row[] = parse(gunzipSync(readFileSync(join(ROOT, file))), { columns: true });
  return all.filter((row) => row.time_ms !== '' && (column === null || row.device === column));
}

/** Predicts the times of designs in ms. A design that the predicted kernel cannot run gets twice the longest time. */
export function tiledTimes(name: string, rows: readonly Row[], kernel: TiledKernel, device: GpuDevice): Float64Array {
  const product = (row: Row, key: RegExp): number =>
    Object.keys(row).reduce((value, each) => (key.test(each) ? value * Number(row[each]) : value), 1);
  const times = new Float64Array(rows.length);
  for (const [tile, members] of Map.groupBy(rows.keys(), (at) => product(rows[at], /^tile_size/))) {
    const own = { threadsPerUnit: 1, loop: 'nested', balancing: 'none', unitsPerThread: 1 } as const;
    const designs = members.map((at) => ({ ...own, blockThreads: product(rows[at], /^block_size/) }));
    const registersPerThread = REGISTERS + REGISTERS_PER_OUTPUT * tile;
    const profile = { ...NO_KERNEL, name, registersPerThread, instructionsPerIteration: kernel.instructions * tile };
    const law = unwrap(constantLaw(kernel.iterations));
    const work = { law, units: Math.ceil(kernel.units / tile), kernel: profile };
    predictedMs(`${name} ${device.id} ${tile}`, device, designs, work).forEach((time, i) => (times[members[i]] = time));
  }
  const longest = times.reduce((one, other) => Math.max(one, other));
  return times.map((time) => (time > 0 ? time : 2 * longest));
}
