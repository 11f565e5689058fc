/// <reference types="@webgpu/types" />
import { openNodeWebGpu } from '../../src-workers/bench/webgpu/node.ts';
import { unwrap } from '../../src-workers/domain/result.ts';

// Runs WGSL shaders of tests under Node. An error of the device ends the process.

const { device } = unwrap(await openNodeWebGpu());
device.addEventListener('uncapturederror', ({ error }) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
/** Usage flags of buffers. The numbers are those of the specification, because Node has no globals for them. */
const [MAP_READ, COPY_SRC, COPY_DST, UNIFORM, STORAGE] = [0x1, 0x4, 0x8, 0x40, 0x80];

export function bufferOf(words: Iterable<number>, kind: 'storage' | 'uniform' = 'storage'): GPUBuffer {
  const data = Uint32Array.from(words);
  const usage = (kind === 'uniform' ? UNIFORM : STORAGE) | COPY_SRC | COPY_DST;
  const buffer = device.createBuffer({ size: data.byteLength, usage });
  device.queue.writeBuffer(buffer, 0, data);
  return buffer;
}

interface WgslLaunch {
  /** Buffers to bind before this launch, by the number of the binding group. Other groups keep their buffers. */
  readonly groups: Readonly<Record<number, readonly GPUBuffer[]>>;
  readonly workgroups: number;
}

/**
 * Launches a shader's only entry several times, one after another. Returns the contents of the buffers `results` as
 * words.
 */
export async function runWgsl(
  code: string,
  launches: readonly WgslLaunch[],
  results: readonly GPUBuffer[],
): Promise<readonly Uint32Array[]> {
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module } });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  for (const { groups, workgroups } of launches) {
    for (const [group, buffers] of Object.entries(groups)) {
      const layout = pipeline.getBindGroupLayout(Number(group));
      const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
      pass.setBindGroup(Number(group), device.createBindGroup({ layout, entries }));
    }
    pass.dispatchWorkgroups(workgroups);
  }
  pass.end();
  const copies = results.map((buffer) => {
    const copy = device.createBuffer({ size: buffer.size, usage: MAP_READ | COPY_DST });
    encoder.copyBufferToBuffer(buffer, 0, copy, 0, buffer.size);
    return copy;
  });
  device.queue.submit([encoder.finish()]);
  await Promise.all(copies.map((copy) => copy.mapAsync(MAP_READ)));
  return copies.map((copy) => new Uint32Array(copy.getMappedRange()));
}
