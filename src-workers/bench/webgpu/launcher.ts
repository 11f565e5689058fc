/// <reference types="@webgpu/types" />
import type { BenchRecord } from '../../domain/benchmark.ts';
import { errorText, FailureError } from '../../domain/result.ts';
import { getOrMake } from '../../numeric/kept.ts';

/** Flags of buffers and maps. Node has no globals for them, so they are numbers from the specification. */
const COPY_SRC = 0x4;
const COPY_DST = 0x8;
const QUERY_RESOLVE = 0x200;
const MAP_READ = 0x1;
const MAP_MODE_READ = 0x1;
const BUFFER_USAGE = { uniform: 0x40 | COPY_DST, storage: 0x80 | COPY_SRC | COPY_DST } as const;

const MAX_BLOCKS_PER_ROW = 65_535;

const SLEPT_SHARE = 0.9;

export const refusal = (message: string): FailureError => new FailureError({ code: 'unsupported', message });

/** In a message of the device, further lines say what the device was doing. */
const oneLine = (message: string): string => message.trim().replaceAll(/\s*\n\s*(- )?/g, ' ');

export class DeviceLostError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DeviceLostError';
  }
}

export interface Launch {
  readonly pipeline: GPUComputePipeline;
  readonly bindGroup: GPUBindGroup;
  readonly blocks: number;
}

export interface PreparedCase {
  /** Prepares the next launch with about `share` of the work, more than 0 and at most 1. */
  launch(share: number): Launch | readonly Launch[];
  begin?(): void;
  finish(timesNs: readonly number[]): Promise<readonly BenchRecord[]>;
  release(): void;
}

interface PipelineOptions {
  readonly entryPoint: string;
  readonly constants: Readonly<Record<string, number>>;
  readonly layout: GPUBindGroupLayout;
}

/** Throws a `FailureError` if the device rejects an operation, a `DeviceLostError` if it is lost. */
export interface Launcher {
  readonly device: GPUDevice;
  pipeline(source: string, of?: PipelineOptions): Promise<GPUComputePipeline>;
  storage(data: ArrayBufferView | number): Promise<GPUBuffer>;
  uniform(): GPUBuffer;
  bind(pipeline: GPUComputePipeline, buffers: readonly GPUBuffer[]): GPUBindGroup;
  /** Times consecutive launches, ns: by the device's timestamps if it has any, or by the host. */
  time(launches: Launch | readonly Launch[]): Promise<number>;
  read(buffer: GPUBuffer, words: number): Promise<Uint32Array>;
  destroy(): void;
}

function createGuard(device: GPUDevice) {
  let lost: string | null = null;
  void device.lost.then(({ reason, message }) => {
    lost = message || reason;
  });

  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (lost !== null) throw new DeviceLostError(lost);
    for (const filter of ['validation', 'out-of-memory', 'internal'] as const) device.pushErrorScope(filter);
    let value: T;
    let errors: (GPUError | null)[];
    try {
      // The calls must be made before the error scopes are popped. Their promises may resolve later.
      const promised = work();
      promised.catch(() => undefined);
      errors = await Promise.all([device.popErrorScope(), device.popErrorScope(), device.popErrorScope()]);
      const failed = errors.find((error) => error !== null);
      if (failed) throw refusal(oneLine(failed.message));
      value = await promised;
    } catch (error) {
      // A lost device rejects its promises in any order, so this waits briefly for the loss to be reported.
      const gone = await Promise.race([device.lost, new Promise<null>((done) => setTimeout(done, 200, null))]);
      if (gone) throw new DeviceLostError(gone.message || gone.reason);
      if (error instanceof FailureError) throw error;
      throw refusal(oneLine(errorText(error)));
    }
    return value;
  };
}

export function createLauncher(device: GPUDevice): Launcher {
  const pipelines = new Map<string, Promise<GPUComputePipeline>>();
  const own: GPUBuffer[] = [];
  const guarded = createGuard(device);

  const buffer = (size: number, usage: number): GPUBuffer => {
    const made = device.createBuffer({ size: Math.max(16, Math.ceil(size / 4) * 4), usage });
    own.push(made);
    return made;
  };

  const lastNs = new WeakMap<GPUBindGroup, number>();
  const stamped = device.features.has('timestamp-query');
  const querySet = stamped ? device.createQuerySet({ type: 'timestamp', count: 2 }) : null;
  const resolved = buffer(16, QUERY_RESOLVE | COPY_SRC);
  const stamps = buffer(16, MAP_READ | COPY_DST);

  return {
    device,

    pipeline(source, of) {
      const { layout, entryPoint = 'main', constants = {} } = of ?? {};
      const key = JSON.stringify([source, entryPoint, constants]);
      return getOrMake(pipelines, key, () =>
        guarded(() =>
          device.createComputePipelineAsync({
            layout: layout ? device.createPipelineLayout({ bindGroupLayouts: [layout] }) : 'auto',
            compute: { module: device.createShaderModule({ code: source }), entryPoint, constants: { ...constants } },
          }),
        ),
      );
    },

    storage(data) {
      const bytes = typeof data === 'number' ? data : data.byteLength;
      const most = Math.min(device.limits.maxStorageBufferBindingSize, device.limits.maxBufferSize);
      if (bytes > most) throw refusal(`a buffer of ${bytes} bytes exceeds this device's limit of ${most}`);
      return guarded(async () => {
        const made = buffer(bytes, BUFFER_USAGE.storage);
        if (typeof data !== 'number') device.queue.writeBuffer(made, 0, data.buffer, data.byteOffset, data.byteLength);
        return made;
      });
    },

    uniform: () => buffer(32, BUFFER_USAGE.uniform),

    bind: (pipeline, buffers) =>
      device.createBindGroup({
        layout: pipeline.getBindGroupLayout(0),
        entries: buffers.map((bound, binding) => ({ binding, resource: { buffer: bound } })),
      }),

    time: (launches) =>
      guarded(async () => {
        const all = [launches].flat();
        const [{ bindGroup: first }] = all;
        const encoder = device.createCommandEncoder();
        const pass = encoder.beginComputePass(
          querySet ? { timestampWrites: { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 } } : {},
        );
        for (const { pipeline, bindGroup, blocks } of all) {
          pass.setPipeline(pipeline);
          pass.setBindGroup(0, bindGroup);
          const rows = Math.ceil(blocks / MAX_BLOCKS_PER_ROW);
          pass.dispatchWorkgroups(Math.ceil(blocks / rows), rows);
        }
        pass.end();
        if (querySet) {
          encoder.resolveQuerySet(querySet, 0, 2, resolved, 0);
          encoder.copyBufferToBuffer(resolved, 0, stamps, 0, 16);
        }
        const commands = encoder.finish();
        const before = performance.now();
        device.queue.submit([commands]);
        if (!querySet) {
          await device.queue.onSubmittedWorkDone();
          return (performance.now() - before) * 1e6;
        }
        // While something is awaited, Dawn polls on a core that a software adapter needs. So this thread sleeps.
        const expectedNs = lastNs.get(first) ?? 0;
        if (expectedNs > 1e6) await new Promise((done) => setTimeout(done, (SLEPT_SHARE * expectedNs) / 1e6));
        await stamps.mapAsync(MAP_MODE_READ);
        const [begin, end] = new BigUint64Array(stamps.getMappedRange());
        const timeNs = Number(end - begin);
        lastNs.set(first, timeNs);
        stamps.unmap();
        if (timeNs > 0) return timeNs;
        throw refusal(`The device's clock shows ${timeNs} ns for a launch, which is too short to be timed.`);
      }),

    read: (source, words) =>
      guarded(async () => {
        const target = device.createBuffer({ size: 4 * words, usage: MAP_READ | COPY_DST });
        try {
          const encoder = device.createCommandEncoder();
          encoder.copyBufferToBuffer(source, 0, target, 0, 4 * words);
          device.queue.submit([encoder.finish()]);
          await target.mapAsync(MAP_MODE_READ);
          return new Uint32Array(target.getMappedRange()).slice();
        } finally {
          target.destroy();
        }
      }),

    destroy() {
      querySet?.destroy();
      for (const made of own) made.destroy();
    },
  };
}
