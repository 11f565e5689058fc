import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { atMiddle } from '../../src-workers/advise/assumed.ts';
import type { KernelProfile } from '../../src-workers/domain/kernel.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { H100_LOOPS, H100_PRODUCTS, readH100, type H100Launch } from '../../src-workers/evidence/h100.ts';
import type { KeptTimes } from '../../src-workers/evidence/kept.ts';
import { readCsr } from '../../src-workers/parse/csr.ts';
import { makeGivenLengths, type OrderedLengths } from '../../src-workers/predict/ordered.ts';
import { gpu } from '../catalogue.ts';
import { predictLaunch, profileOf, readLengths } from './loop-launches.ts';

/** Predicts the launches on an H100 as a sweep does, with the profiles of `kernel inspect`. Nothing is fitted. */

export const H100 = gpu('nvidia-h100-sxm5-80gb');
const root = join(import.meta.dirname, '..', '..');

async function rowLengths(matrix: string): Promise<Float64Array> {
  const { rows, rowStarts } = unwrap(await readCsr(createReadStream(join(root, `db/examples/${matrix}.mtx`)), matrix));
  return Float64Array.from({ length: rows }, (_, row) => rowStarts[row + 1] - rowStarts[row]);
}
const lengths = new Map<string, Float64Array>();
for (const law of ['geometric', 'uniform', 'pareto']) lengths.set(law, readLengths(law));
for (const matrix of ['ca-GrQc', 'cage8']) lengths.set(matrix, await rowLengths(matrix));

let order: { readonly key: string; readonly ordered: OrderedLengths } | null = null;

/** Returns the lengths of a file, repeated for all units. The suffix `-sorted` sorts them, longest first. */
export function orderOf(law: string, units: number): OrderedLengths {
  const key = `${law} ${units}`;
  if (order?.key !== key) {
    const own = lengths.get(law.replace('-sorted', ''))!;
    const all = Float64Array.from({ length: units }, (_, unit) => own[unit % own.length]);
    order = { key, ordered: makeGivenLengths(law.endsWith('-sorted') ? all.sort().reverse() : all) };
  }
  return order.ordered;
}

/**
 * Returns the predicted time of a launch, µs.
 * @param from the code that `kernel inspect` reads
 * @param stated adds to the profile what a user knows but the code does not show
 */
export function predictH100(
  launch: H100Launch,
  from: 'ptx' | 'sass' = 'sass',
  stated = (kernel: KernelProfile): KernelProfile => kernel,
): number {
  const { kernel: entry, law, units, sharedBytes } = launch;
  const inspected = { ...stated(profileOf(entry, from)), sharedMemoryBytesPerBlock: sharedBytes };
  const { kernel } = atMiddle({ kernel: inspected }, [H100]);
  return 1e3 * predictLaunch(launch, { device: H100, kernel, units, ordered: orderOf(law, units) });
}

/** Predicts both data sets of `lockstep evidence` on an H100, for `predicted.json.gz`. */
export async function predictedH100(folder: string): Promise<Record<string, Record<string, KeptTimes>>> {
  const sets: Record<string, Record<string, KeptTimes>> = {};
  for (const id of [H100_LOOPS, H100_PRODUCTS]) {
    const catalogue = (await readH100(folder, id)).map((launch) => predictH100(launch));
    sets[id] = { H100: { heldOut: null, unseen: null, catalogue, assumed: null } };
  }
  return sets;
}
