import { createHash, hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import type { StoreClient } from '../../../db/store-api.ts';
import { fail, ok, type Result, notFound } from '../../../src-workers/domain/result.ts';
import type { SpaceAxes } from '../../../src-workers/domain/space.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import { MAX_ORDERED_LENGTHS } from '../../../src-workers/parse/length-taker.ts';
import {
  drawLengths,
  makeGivenLengths,
  keepLawOfUnits,
  shareValues,
  type CompactOrder,
  type OrderedLengths,
} from '../../../src-workers/predict/ordered.ts';
import { workloadWithFiles, type OpenedFile } from '../../../src-workers/parse/open-file.ts';
import type { Study } from '../../contract/study.ts';
import type { Pool } from '../pool.ts';

export const sha256 = (bytes: Uint8Array | string): string => hash('sha256', bytes);

const DIGEST_STEP_BYTES = 4 * 2 ** 20;

/** Computes the SHA-256 of all parts together, in hexadecimal. Other calls can run in between. */
export async function digestOf(...parts: readonly Uint8Array[]): Promise<string> {
  const sum = createHash('sha256');
  for (const part of parts)
    for (let at = 0; at < part.length; at += DIGEST_STEP_BYTES) {
      sum.update(part.subarray(at, at + DIGEST_STEP_BYTES));
      await setImmediate();
    }
  return sum.digest('hex');
}

const LENGTHS_STEP = 2 ** 20;

export function sharedLaw(law: LengthLaw): LengthLaw {
  if (law.support.buffer instanceof SharedArrayBuffer) return law;
  return { ...law, support: shareValues(law.support), probability: shareValues(law.probability) };
}

/**
 * Returns the order of the workload in shared memory. If there is none and a CPU must partition the units, they are
 * drawn from the law with the seed of the study. Otherwise returns `null`.
 */
export function planLengths(
  study: Study,
  axes: SpaceAxes,
  law: LengthLaw,
  known: CompactOrder | null,
): CompactOrder | null {
  if (known?.iterations.buffer instanceof SharedArrayBuffer) return known;
  if (known) return { ...known, iterations: shareValues(known.iterations) };
  if (!axes.devices.some((device) => device.kind === 'cpu')) return null;
  const drawn = drawLengths(law, study.workload.units, study.seed);
  return { ...drawn, iterations: shareValues(drawn.iterations) };
}

/** Computes the law of a study's units in the pool if this takes long. It is then ready for the plan. */
export async function prepareLaw(pool: Pool, label: string, ordered: CompactOrder, units: number): Promise<void> {
  if (!ordered.given || ordered.iterations.length < LENGTHS_STEP) return;
  keepLawOfUnits(ordered, units, await pool.run('unitsLaw', { label, ordered, units }));
}

interface PackedLengths {
  readonly units: number;
  readonly bytesPerLength: number;
  readonly iterations: string;
}

export async function packLengths({ units, iterations }: OrderedLengths): Promise<PackedLengths> {
  const short = new Uint32Array(iterations.length);
  let isShort = true;
  for (let from = 0; isShort && from < iterations.length; from += LENGTHS_STEP) {
    short.set(iterations.subarray(from, from + LENGTHS_STEP), from);
    // With tens of millions of lengths, a loop by index takes a fifth of the time that an iterator takes.
    for (let at = from; at < Math.min(iterations.length, from + LENGTHS_STEP); at += 1)
      isShort &&= short[at] === iterations[at];
    await setImmediate();
  }
  const { buffer, byteOffset, byteLength } = isShort ? short : iterations;
  const packed = await promisify(deflateRaw)(new Uint8Array(buffer, byteOffset, byteLength));
  return { units, bytesPerLength: isShort ? 4 : 8, iterations: packed.toString('base64') };
}

export async function unpackLengths(provenance: unknown): Promise<OrderedLengths | null> {
  const { order } = (provenance ?? {}) as { readonly order?: Partial<PackedLengths> | null };
  const { units, iterations: text, bytesPerLength } = order ?? {};
  if (typeof units !== 'number' || typeof text !== 'string') return null;
  try {
    const bytes = await promisify(inflateRaw)(Buffer.from(text, 'base64'), {
      maxOutputLength: MAX_ORDERED_LENGTHS * Float64Array.BYTES_PER_ELEMENT,
    });
    const values = new (bytesPerLength === 4 ? Uint32Array : Float64Array)(new Uint8Array(bytes).buffer);
    const iterations = new Float64Array(new SharedArrayBuffer(values.length * Float64Array.BYTES_PER_ELEMENT));
    for (let from = 0; from < values.length; from += LENGTHS_STEP) {
      iterations.set(values.subarray(from, from + LENGTHS_STEP), from);
      await setImmediate();
    }
    // In earlier versions, an entry could stand for several units, but a GPU takes units one at a time.
    return { units, iterations, given: iterations.length === units };
  } catch {
    return null;
  }
}

export const STORED = /^stored:([0-9a-f]{64})(?::(.*))?$/;

export interface OrderedLaw {
  readonly law: LengthLaw;
  readonly order: OrderedLengths | null;
  readonly note?: string;
}

/** The CSV of this many lengths has up to 160 MB. */
const MAX_CSV_LENGTHS = 2 ** 24;

export async function lengthsCsv({ law, order }: OrderedLaw): Promise<string | null> {
  if (!order?.given)
    return [
      'length,probability',
      ...Array.from(law.support, (length, at) => `${length},${law.probability[at]}`),
      '',
    ].join('\n');
  const { iterations } = order;
  if (iterations.length > MAX_CSV_LENGTHS) return null;
  const parts = ['length'];
  for (let from = 0; from < iterations.length; from += LENGTHS_STEP) {
    parts.push(iterations.subarray(from, from + LENGTHS_STEP).join('\n'));
    await setImmediate();
  }
  return [...parts, ''].join('\n');
}

/** These sources are read in the pool. A file may have gigabytes, and an example may have millions of points. */
const TAKES_LONG = /\b(file|mtx|example)\s*:/;

/** The text may name an imported file, as `stored:HASH:name`. */
export async function resolveLengths(
  { store, pool }: { readonly store: StoreClient; readonly pool: Pool },
  text: string,
  baseFolder: string | null,
  truncation?: number,
): Promise<Result<OrderedLaw & { readonly files: readonly OpenedFile[] }>> {
  const stored = STORED.exec(text);
  if (stored) {
    const record = await store.getWorkload(stored[1]);
    if (!record.ok) return record;
    if (!record.value)
      return notFound(
        `workload.lengths: The stored workload "${stored[2] ?? text}" is not in this database. Load its file again.`,
        { field: 'workload.lengths' },
      );
    const { law, provenance } = record.value;
    const { note } = (provenance ?? {}) as { readonly note?: string };
    return ok({ law, order: await unpackLengths(provenance), ...(note && { note }), files: [] });
  }
  const asked = { text, folder: baseFolder ?? process.cwd(), truncation };
  const resolved = TAKES_LONG.test(text) ? await pool.run('workload', asked) : await workloadWithFiles(asked);
  if (resolved.ok) {
    const { lengths, ...rest } = resolved.value;
    return ok({ ...rest, order: lengths && makeGivenLengths(lengths) });
  }
  const { code, message, context } = resolved.error;
  return fail(code, `workload.lengths: ${message}`, { ...context, field: 'workload.lengths' });
}
