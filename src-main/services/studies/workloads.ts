import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { fail, ok, systemReason, type Result } from '../../../src-workers/domain/result.ts';
import type { StoreClient } from '../../../db/store-api.ts';
import type { SpaceAxes } from '../../../src-workers/domain/space.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import { resolveOrderedWorkload } from '../../../src-workers/parse/grammar.ts';
import { MAX_ENTRIES } from '../../../src-workers/predict/constants.ts';
import { drawnLengths, orderedLengths, type OrderedLengths } from '../../../src-workers/predict/ordered.ts';
import type { Study } from '../../contract/study.ts';

/** The largest workload file that is read: a guard against a wrong path, not a limit of the parsers. */
const MAX_FILE_BYTES = 4 * 2 ** 30;

export const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

/** Opens a workload file relative to a folder, as a byte stream. */
export function fileOpener(folder: string) {
  return async (path: string): Promise<Result<AsyncIterable<Uint8Array>>> => {
    const file = resolve(folder, path);
    try {
      const info = await stat(file);
      if (!info.isFile()) return fail('bad-input', `${path} is a folder or a device. Specify a file.`);
      if (info.size > MAX_FILE_BYTES)
        return fail('bad-input', `${path} has ${info.size} bytes, which is more than the limit of ${MAX_FILE_BYTES}.`);
    } catch (error) {
      return fail(
        'not-found',
        `${path} cannot be read (${systemReason(error)}). Files are looked for beside the study.`,
      );
    }
    return ok(createReadStream(file) as AsyncIterable<Uint8Array>);
  };
}

function shared(values: Float64Array): Float64Array {
  const copy = new Float64Array(new SharedArrayBuffer(values.byteLength));
  copy.set(values);
  return copy;
}

/** The same law over shared memory: workers then read it without a copy. */
export function sharedLaw(law: LengthLaw): LengthLaw {
  return { ...law, support: shared(law.support), probability: shared(law.probability) };
}

/**
 * What the CPUs of a study partition, over shared memory; `null` where it has none. Where the order of the lengths is not
 * known they are drawn from the law, by the seed of the study.
 */
export function planLengths(
  study: Study,
  axes: SpaceAxes,
  law: LengthLaw,
  known: OrderedLengths | null,
): OrderedLengths | null {
  if (!axes.devices.some((device) => device.kind === 'cpu')) return null;
  const { units, iterations } = known ?? drawnLengths(law, study.workload.units, study.seed);
  return { units, iterations: shared(iterations) };
}

/** Ordered lengths as text for a stored workload's provenance: compressed, since neighbours are alike. */
export function packLengths({ units, iterations }: OrderedLengths): {
  readonly units: number;
  readonly iterations: string;
} {
  const bytes = new Uint8Array(iterations.buffer, iterations.byteOffset, iterations.byteLength);
  return { units, iterations: deflateRawSync(bytes).toString('base64') };
}

/** Reads `order` of a stored workload's provenance; `null` where there is none, or none that can be read. */
export function unpackLengths(provenance: unknown): OrderedLengths | null {
  if (typeof provenance !== 'object' || provenance === null || !('order' in provenance)) return null;
  const { order } = provenance;
  if (typeof order !== 'object' || order === null || !('units' in order) || !('iterations' in order)) return null;
  const { units, iterations } = order;
  if (typeof units !== 'number' || typeof iterations !== 'string') return null;
  try {
    const bytes = inflateRawSync(Buffer.from(iterations, 'base64'), {
      maxOutputLength: MAX_ENTRIES * Float64Array.BYTES_PER_ELEMENT,
    });
    return { units, iterations: new Float64Array(new Uint8Array(bytes).buffer) };
  } catch {
    return null;
  }
}

const STORED = /^stored:([0-9a-f]{64})(?::(.*))?$/;

/** A law, and the order of its lengths where the workload has one. */
export interface OrderedLaw {
  readonly law: LengthLaw;
  readonly order: OrderedLengths | null;
}

/**
 * Resolves a workload text, also `stored:HASH:name` of a file that was imported earlier.
 * @param reading called before each file that is read
 */
export async function resolveLengths(
  store: StoreClient,
  text: string,
  baseFolder: string | null,
  truncation?: number,
  reading?: (path: string) => Promise<void>,
): Promise<Result<OrderedLaw>> {
  const stored = STORED.exec(text);
  if (stored) {
    const record = await store.getWorkload(stored[1]);
    if (!record.ok) return record;
    if (!record.value)
      return fail(
        'not-found',
        `workload.lengths: The stored workload "${stored[2] ?? text}" is not in this database. Load its file again.`,
        { field: 'workload.lengths' },
      );
    return ok({ law: record.value.law, order: unpackLengths(record.value.provenance) });
  }
  const open = fileOpener(baseFolder ?? process.cwd());
  const openFile = async (path: string): ReturnType<typeof open> => {
    await reading?.(path);
    return open(path);
  };
  const resolved = await resolveOrderedWorkload(
    text,
    truncation === undefined ? { openFile } : { openFile, truncation },
  );
  if (resolved.ok)
    return ok({ law: resolved.value.law, order: resolved.value.lengths && orderedLengths(resolved.value.lengths) });
  const { error } = resolved;
  return {
    ok: false,
    error: {
      ...error,
      message: `workload.lengths: ${error.message}`,
      context: { ...error.context, field: 'workload.lengths' },
    },
  };
}
