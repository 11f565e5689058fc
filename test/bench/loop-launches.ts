import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import { inspectedFields, withInspected } from '../../src-workers/domain/inspection.ts';
import type { KernelProfile, LoopForm } from '../../src-workers/domain/kernel.ts';
import { KERNEL_DEFAULTS } from '../../src-workers/domain/provenance.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { inspectKernel } from '../../src-workers/inspect/inspect.ts';
import { makeUnitLaw, type OrderedLengths } from '../../src-workers/predict/ordered.ts';
import type { SweepPlan } from '../../src-workers/predict/plan.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';

/** Predicts launches of the kernels in `test/data/cycle-sim/loops.cu` as a sweep does. */

const DATA = join(import.meta.dirname, '../data');
/** Two forms in which a user may have the kernels' code: PTX, and machine code where a disassembler is installed. */
const CODE = {
  ptx: { ptx: readFileSync(join(DATA, 'cycle-sim/loops.ptx'), 'utf8') },
  sass: { sass: readFileSync(join(DATA, 'measured/h100-loops.sass'), 'utf8') },
};

export type Row = Readonly<Record<string, string>>;
/** A launch of a kernel. Its fields are the columns of its file. */
export type LoopLaunch = Readonly<Record<string, string | number | null>>;

export const readRows = (file: string): readonly Row[] => parse(readFileSync(file), { columns: true });
export const readLengths = (law: string): Float64Array =>
  Float64Array.from(readRows(join(DATA, `cycle-sim/lengths/${law}.csv`)), (row) => Number(Object.values(row)[0]));

export function once<Key, Value>(known: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = known.get(key);
  if (value === undefined) known.set(key, (value = make()));
  return value;
}

const profiles = new Map<string, KernelProfile>();

/** Returns the profile that `kernel inspect FILE --entry ENTRY --into STUDY` writes into a new study. */
export const profileOf = (entry: string, from: keyof typeof CODE = 'ptx'): KernelProfile =>
  once(profiles, `${entry} ${from}`, () => {
    const study: KernelProfile = {
      ...KERNEL_DEFAULTS,
      name: entry,
      registersPerThread: 16,
      instructionsPerIteration: 1,
    };
    const fields = inspectedFields(unwrap(inspectKernel('loops', CODE[from], { entry })));
    return withInspected<KernelProfile & { readonly origins?: object }>(study, fields);
  });

/** Adds the gathers of a product to a profile. Its columns are random, so every gather needs its own sector. */
export const withGathers = (kernel: KernelProfile, columns: number): KernelProfile => ({
  ...kernel,
  accesses: kernel.accesses?.map((access) =>
    access.pattern === 'scattered' ? { ...access, footprintBytes: 4 * columns, missFraction: 1 } : access,
  ),
});

interface Launched {
  readonly device: GpuDevice;
  readonly kernel: KernelProfile;
  readonly units: number;
  readonly ordered: OrderedLengths;
}

/** Returns a plan of a sweep whose only design is the launch. */
export function launchPlan(row: LoopLaunch, { device, kernel, units, ordered }: Launched): SweepPlan {
  const isFetching = row.kernel === 'fetchone1';
  return {
    id: `${device.id} ${Object.values(row).join(' ')} ${JSON.stringify(kernel)}`,
    law: makeUnitLaw(String(row.law), ordered, units),
    units,
    ordered,
    kernel,
    constraints: [],
    pipeline: {},
    axes: {
      devices: [device],
      threadsPerUnit: [Number(row.threadsPerUnit)],
      // `flat1` is flattened in the source, but the compiler made two nested loops of it.
      loop: [row.kernel === 'flatone1' || isFetching ? 'flattened' : ('nested' satisfies LoopForm)],
      balancing: [String(row.balancing ?? (isFetching ? 'dynamic-fetch(1)' : 'none'))],
      registerCap: [null],
      blockThreads: [Number(row.blockThreads)],
      launch: [{ kind: 'grid', value: Number(row.gridBlocks) }],
    },
  };
}

export const predictLaunch = (row: LoopLaunch, launched: Launched): number =>
  predictChunk(createPredictor(launchPlan(row, launched)), 0, 1).timeMs[0];
