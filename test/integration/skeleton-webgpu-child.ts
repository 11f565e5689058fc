/// <reference types="@webgpu/types" />
import { readFileSync } from 'node:fs';
import { openNodeWebGpu } from '../../src-workers/bench/webgpu/node.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { dataText } from '../data.ts';

// Runs exported WGSL kernels: node skeleton-webgpu-child.ts FILE. For each kernel, prints the sums of all units and how
// often each unit ended.

/** Launches that run one after another. `lists` are the bindings that follow the launch's own, in order. */
export interface WgslKernelRun {
  readonly code: string;
  readonly lengths: readonly number[];
  readonly lists: readonly (readonly number[])[];
  readonly launches: readonly { readonly first: number; readonly units: number; readonly workgroups: number; readonly which: number }[]; // prettier-ignore
}

const WORK = dataText('webgpu/digest.wgsl');

const { device } = unwrap(await openNodeWebGpu());
device.addEventListener('uncapturederror', ({ error }) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
/** The usage flags of buffers, as numbers of the specification, because Node has no globals for them. */
const [MAP_READ, COPY_SRC, COPY_DST, UNIFORM, STORAGE] = [0x1, 0x4, 0x8, 0x40, 0x80];
function bufferOf(words: readonly number[], usage = STORAGE): GPUBuffer {
  const data = Uint32Array.from(words);
  const buffer = device.createBuffer({ size: data.byteLength, usage: usage | COPY_SRC | COPY_DST });
  device.queue.writeBuffer(buffer, 0, data);
  return buffer;
}

async function run({ code, lengths, lists, launches }: WgslKernelRun): Promise<readonly (readonly number[])[]> {
  const module = device.createShaderModule({ code: `${code}\n${WORK}` });
  const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'run_units' } });
  const group = (index: number, buffers: readonly GPUBuffer[]): GPUBindGroup =>
    device.createBindGroup({
      layout: pipeline.getBindGroupLayout(index),
      entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
    });
  const none = lengths.map(() => 0);
  const [sums, calls] = [bufferOf(none), bufferOf(none)];
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group(0, [bufferOf(lengths), sums, calls]));
  const shared = lists.map((list) => bufferOf(list));
  for (const { first, units, workgroups, which } of launches) {
    pass.setBindGroup(3, group(3, [bufferOf([first, units, workgroups, which], UNIFORM), ...shared]));
    pass.dispatchWorkgroups(workgroups);
  }
  pass.end();
  const copies = [sums, calls].map((buffer) => {
    const copy = device.createBuffer({ size: buffer.size, usage: MAP_READ | COPY_DST });
    encoder.copyBufferToBuffer(buffer, 0, copy, 0, buffer.size);
    return copy;
  });
  device.queue.submit([encoder.finish()]);
  await Promise.all(copies.map((buffer) => buffer.mapAsync(MAP_READ)));
  return copies.map((buffer) => [...new Uint32Array(buffer.getMappedRange())]);
}

const found: (readonly (readonly number[])[])[] = [];
for (const kernel of JSON.parse(readFileSync(process.argv[2], 'utf8')) as WgslKernelRun[])
  found.push(await run(kernel));
process.stdout.write(JSON.stringify(found), () => process.exit(0));
