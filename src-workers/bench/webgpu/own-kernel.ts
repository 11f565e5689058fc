/// <reference types="@webgpu/types" />
import type { BenchRecord, CaseOf } from '../../domain/benchmark.ts';
import {
  elementType,
  LENGTHS_FILE_NAME,
  ORDER_FILE_NAME,
  type KernelTask,
  type ManifestNumber,
} from '../../domain/kernel-manifest.ts';
import { ok, unwrap, type Result, unsupported } from '../../domain/result.ts';
import {
  checkOutput,
  designOrder,
  outputCount,
  findEntry,
  launchValues,
  resolveNumber,
  orderKey,
  unitLaunches,
  valueBytes,
  type KernelContents,
} from '../kernel/launches.ts';
import { refuseCap } from '../stand-in.ts';
import type { Launch, Launcher, PreparedCase } from './launcher.ts';

export interface LoadedKernel extends KernelContents {
  readonly task: KernelTask;
  readonly wgsl: string;
}

export interface OwnKernelBuffers {
  readonly kernel: LoadedKernel;
  readonly lengths: Uint32Array;
  /** The array of each argument; `null` for a scalar, and for the order of units. */
  readonly arrays: readonly (GPUBuffer | null)[];
  /** The contents of each output before a launch; `null` if it starts with zeros. */
  readonly initial: readonly (GPUBuffer | null)[];
  readonly layout: GPUBindGroupLayout;
  order: { readonly key: string; readonly buffer: GPUBuffer } | null;
}

const COMPUTE = 0x4;

const WORD_BYTES = 4;
const WORDS = { u32: Uint32Array, i32: Int32Array, f32: Float32Array } as const;

function wgslType(text: string): keyof typeof WORDS | null {
  const type = elementType(text)!;
  return !type.isStruct && type.value in WORDS ? (type.value as keyof typeof WORDS) : null;
}

const wordsOf = (type: string, bytes: Uint8Array) => new WORDS[wgslType(type)!](bytes.slice().buffer);

export async function ownKernelBuffers(
  launcher: Launcher,
  kernel: LoadedKernel,
  lengths: Uint32Array,
): Promise<Result<OwnKernelBuffers>> {
  const { task, initial } = kernel;
  const { arguments: all } = task.manifest;
  const other = all.findIndex(({ type }) => wgslType(type) === null);
  if (other >= 0)
    return unsupported(`${task.file}: arguments[${other}].type is ${all[other].type}, which WebGPU cannot use. Use u32, i32 or f32`); // prettier-ignore
  const arrays: (GPUBuffer | null)[] = [];
  const kept: (GPUBuffer | null)[] = [];
  for (const [at, { type, file, output }] of all.entries()) {
    const contents = initial[at] && wordsOf(type, initial[at]);
    const input = contents ?? (file === LENGTHS_FILE_NAME ? wordsOf(type, valueBytes('u32', lengths)) : null);
    if (output) arrays.push(await launcher.storage(WORD_BYTES * unwrap(outputCount(all[at], task.units))));
    else arrays.push(input && (await launcher.storage(input)));
    kept.push(output && contents ? await launcher.storage(contents) : null);
  }
  const layout = launcher.device.createBindGroupLayout({
    entries: all.map(({ value, output }, binding) => ({
      binding,
      visibility: COMPUTE,
      buffer: { type: value !== undefined ? 'uniform' : output ? 'storage' : 'read-only-storage' },
    })),
  });
  return ok({ kernel, lengths, arrays, initial: kept, layout, order: null });
}

export async function prepareOwnKernel(
  launcher: Launcher,
  shared: OwnKernelBuffers,
  benchCase: CaseOf<'unit-loop'>,
): Promise<Result<PreparedCase>> {
  const { kernel, lengths, arrays, initial, layout } = shared;
  const { task, references, wgsl } = kernel;
  const { manifest, units } = task;
  const { design } = benchCase.parameters;
  const { device } = launcher;
  const found = findEntry(manifest, design);
  if (!found.ok) return found;
  const { entry, constants } = found.value;
  if (design.registerCap !== null) return refuseCap(design.registerCap, 'WebGPU');
  const launches = unitLaunches(design, lengths);
  const maxBlocks = device.limits.maxComputeWorkgroupsPerDimension;
  const widest = Math.max(...launches.map(({ gridBlocks }) => gridBlocks));
  if (widest > maxBlocks)
    return unsupported(`${widest} blocks exceed this device's limit of ${maxBlocks}. Specify more units per thread`);
  let order: GPUBuffer | null = null;
  if (manifest.arguments.some(({ file }) => file === ORDER_FILE_NAME)) {
    const key = orderKey(design);
    if (shared.order?.key !== key) {
      const ordered = designOrder(design, lengths, task.threadGroupWidth);
      if (!ordered.ok) return ordered;
      shared.order?.buffer.destroy();
      shared.order = { key, buffer: await launcher.storage(ordered.value) };
    }
    order = shared.order.buffer;
  }
  const scalars: GPUBuffer[] = [];
  const prepared: Launch[] = [];
  for (const launch of launches) {
    const values = launchValues(design, launch, units);
    const pipeline = await launcher.pipeline(wgsl, {
      entryPoint: entry,
      constants: Object.fromEntries(
        Object.entries(constants).map(([name, value]) => [name, resolveNumber(value, values)]),
      ),
      layout,
    });
    const buffers = manifest.arguments.map(({ type, value }, at) => {
      if (value === undefined) return arrays[at] ?? order!;
      const scalar = launcher.uniform();
      scalars.push(scalar);
      device.queue.writeBuffer(
        scalar,
        0,
        valueBytes(wgslType(type)!, [resolveNumber(value as ManifestNumber, values)]),
      );
      return scalar;
    });
    prepared.push({ pipeline, bindGroup: launcher.bind(pipeline, buffers), blocks: launch.gridBlocks });
  }
  return ok({
    launch(share) {
      // A launch may add to its outputs, so they first get their initial contents. This copy is not timed.
      const encoder = device.createCommandEncoder();
      for (const [at, { output }] of manifest.arguments.entries()) {
        const [array, contents] = [arrays[at], initial[at]];
        if (!output || !array) continue;
        if (contents) encoder.copyBufferToBuffer(contents, 0, array, 0, array.size);
        else encoder.clearBuffer(array);
      }
      device.queue.submit([encoder.finish()]);
      return prepared.map((one) => ({ ...one, blocks: Math.max(1, Math.round(share * one.blocks)) }));
    },
    async finish() {
      const records: BenchRecord[] = [];
      let maxError: number | null = 0;
      const wrong: string[] = [];
      for (const [at, argument] of manifest.arguments.entries()) {
        const reference = references[at];
        if (!reference) continue;
        const left = await launcher.read(arrays[at]!, reference.byteLength / 4);
        const [found, expected] = [new Uint8Array(left.buffer), reference].map((bytes) =>
          wordsOf(argument.type, bytes),
        );
        const check = checkOutput(argument, found, expected);
        maxError = maxError === null || check.maxError === null ? null : Math.max(maxError, check.maxError);
        if (check.wrong > 0) wrong.push(check.message);
      }
      records.push({ type: 'check', case: benchCase.id, correct: wrong.length === 0, message: wrong.join('; ') });
      if (maxError !== null) records.push({ type: 'values', case: benchCase.id, values: { maxError } });
      return records;
    },
    release: () => scalars.forEach((scalar) => scalar.destroy()),
  });
}
