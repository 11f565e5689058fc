import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { fail, ok, systemReason, type Result } from '../../../src-workers/domain/result.ts';
import type { StoreClient } from '../../../db/store-api.ts';
import type { SpaceAxes } from '../../../src-workers/domain/space.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import { resolveOrderedWorkload } from '../../../src-workers/parse/grammar.ts';
import { MAX_FILE_BYTES } from '../../../src-workers/parse/length-file.ts';
import { MAX_ORDERED_LENGTHS } from '../../../src-workers/parse/length-taker.ts';
import type { FileBytes } from '../../../src-workers/parse/source.ts';
import { drawnLengths, givenLengths, type OrderedLengths } from '../../../src-workers/predict/ordered.ts';
import type { Study } from '../../contract/study.ts';

export const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

/**
 * Opens a workload file relative to a folder. Refuses paths such as \\host\share: Windows would sign in to that host for whoever wrote the
 * study.
 */
export function fileOpener(folder: string) {
  return async (path: string): Promise<Result<FileBytes>> => {
    if (/^[\\/]{2}/.test(path))
      return fail('bad-input', `${path} is on another machine. Copy it to this one, beside the study.`);
    const file = resolve(folder, path);
    let byteLength: number;
    try {
      const info = await stat(file);
      if (!info.isFile()) return fail('bad-input', `${path} is a folder or a device. Specify a file.`);
      if (info.size > MAX_FILE_BYTES)
        return fail('bad-input', `${path} has ${info.size} bytes, which is more than the limit of ${MAX_FILE_BYTES}.`);
      byteLength = info.size;
    } catch (error) {
      return fail(
        'not-found',
        `${path} cannot be read (${systemReason(error)}). Files are looked for beside the study.`,
      );
    }
    return ok({
      byteLength,
      slice: (start, end = byteLength) => slice(file, start, end),
      [Symbol.asyncIterator]: () => (createReadStream(file) as AsyncIterable<Uint8Array>)[Symbol.asyncIterator](),
    });
  };
}

/** The bytes from `start` to `end`, or to the end of the file where that comes first. */
async function slice(file: string, start: number, end: number): Promise<ArrayBuffer> {
  await using handle = await open(file);
  const bytes = new Uint8Array(Math.max(0, end - start));
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
  return bytes.buffer.slice(0, bytesRead);
}

function shared(values: Float64Array): Float64Array {
  const copy = new Float64Array(new SharedArrayBuffer(values.byteLength));
  copy.set(values);
  return copy;
}

/** The same law over shared memory: workers then read it without a copy. */
export function sharedLaw(law: LengthLaw): LengthLaw {
  if (law.support.buffer instanceof SharedArrayBuffer) return law;
  return { ...law, support: shared(law.support), probability: shared(law.probability) };
}

/**
 * The order of a study's units, over shared memory: the workload's own, or, where a CPU is to partition them, draws from the law by
 * the seed of the study; else `null`.
 */
export function planLengths(
  study: Study,
  axes: SpaceAxes,
  law: LengthLaw,
  known: OrderedLengths | null,
): OrderedLengths | null {
  if (known) return { ...known, iterations: shared(known.iterations) };
  if (!axes.devices.some((device) => device.kind === 'cpu')) return null;
  const drawn = drawnLengths(law, study.workload.units, study.seed);
  return { ...drawn, iterations: shared(drawn.iterations) };
}

/** Ordered lengths as text for a stored workload's provenance: compressed, since neighbours are alike. */
export function packLengths({ units, iterations }: OrderedLengths): {
  readonly units: number;
  readonly bytesPerLength: number;
  readonly iterations: string;
} {
  const isShort = iterations.every((length) => length < 2 ** 32 && Number.isInteger(length));
  const { buffer, byteOffset, byteLength } = isShort ? Uint32Array.from(iterations) : iterations;
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  return { units, bytesPerLength: isShort ? 4 : 8, iterations: deflateRawSync(bytes).toString('base64') };
}

/** Reads `order` of a stored workload's provenance; `null` where there is none, or none that can be read. */
export function unpackLengths(provenance: unknown): OrderedLengths | null {
  if (typeof provenance !== 'object' || provenance === null || !('order' in provenance)) return null;
  const { order } = provenance;
  if (typeof order !== 'object' || order === null || !('units' in order) || !('iterations' in order)) return null;
  const { units, iterations: text } = order;
  if (typeof units !== 'number' || typeof text !== 'string') return null;
  const isShort = 'bytesPerLength' in order && order.bytesPerLength === 4;
  try {
    const bytes = inflateRawSync(Buffer.from(text, 'base64'), {
      maxOutputLength: MAX_ORDERED_LENGTHS * Float64Array.BYTES_PER_ELEMENT,
    });
    const { buffer } = new Uint8Array(bytes);
    const iterations = isShort ? Float64Array.from(new Uint32Array(buffer)) : new Float64Array(buffer);
    // Entries of earlier versions may be of several units each, which a GPU does not take in one.
    return { units, iterations, given: iterations.length === units };
  } catch {
    return null;
  }
}

const STORED = /^stored:([0-9a-f]{64})(?::(.*))?$/;

/** A law, and the order of its lengths where the workload has one. */
export interface OrderedLaw {
  readonly law: LengthLaw;
  readonly order: OrderedLengths | null;
  /** What was read of a file, where a person could expect something else. */
  readonly note?: string;
}

/**
 * Resolves a workload text, also `stored:HASH:name` of a file that was imported earlier.
 * @param reading called before the first byte of each file
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
    const { law, provenance } = record.value;
    const { note } = (provenance ?? {}) as { readonly note?: string };
    return ok({ law, order: unpackLengths(provenance), ...(note && { note }) });
  }
  const open = fileOpener(baseFolder ?? process.cwd());
  const openFile = async (path: string): ReturnType<typeof open> => {
    const bytes = await open(path);
    if (bytes.ok) await reading?.(path);
    return bytes;
  };
  const resolved = await resolveOrderedWorkload(
    text,
    truncation === undefined ? { openFile } : { openFile, truncation },
  );
  if (resolved.ok) {
    const { lengths, ...rest } = resolved.value;
    return ok({ ...rest, order: lengths && givenLengths(lengths) });
  }
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
