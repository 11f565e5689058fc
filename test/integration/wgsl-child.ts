/// <reference types="@webgpu/types" />
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openNodeWebGpu } from '../../src-workers/bench/webgpu/node.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { dataText } from '../data.ts';

// Runs WGSL shaders of tests under Node. An error of the device ends the process. `node wgsl-child.ts kernels FILE`
// runs exported kernels, and prints the sums of all units and how often each unit ended. `node wgsl-child.ts
// traced|untraced UNITS ROOM` is a user's program with lockstep.wgsl. It prints the counts of its kernel.

const { device } = unwrap(await openNodeWebGpu());
device.addEventListener('uncapturederror', ({ error }) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
/** Usage flags of buffers. The numbers are those of the specification, because Node has no globals for them. */
const [MAP_READ, COPY_SRC, COPY_DST, UNIFORM, STORAGE] = [0x1, 0x4, 0x8, 0x40, 0x80];

function bufferOf(words: Iterable<number>, kind: 'storage' | 'uniform' = 'storage'): GPUBuffer {
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

/** Launches a shader's only entry several times in turn. Returns the contents of the buffers `results` as words. */
async function runWgsl(
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

/** Launches of a kernel in turn. `lists` are the bindings that follow the launch's own bindings, in order. */
export interface WgslKernelRun {
  readonly code: string;
  readonly lengths: readonly number[];
  readonly lists: readonly (readonly number[])[];
  readonly launches: readonly { readonly first: number; readonly units: number; readonly workgroups: number; readonly which: number }[]; // prettier-ignore
}

async function runKernel({ code, lengths, lists, launches }: WgslKernelRun): Promise<readonly (readonly number[])[]> {
  const none = lengths.map(() => 0);
  const [sums, calls] = [bufferOf(none), bufferOf(none)];
  const units = [bufferOf(lengths), sums, calls];
  const shared = lists.map((list) => bufferOf(list));
  const launched = launches.map(({ first, units: count, workgroups, which }) => ({
    groups: { 0: units, 3: [bufferOf([first, count, workgroups, which], 'uniform'), ...shared] },
    workgroups,
  }));
  return (await runWgsl(`${code}\n${dataText('webgpu/digest.wgsl')}`, launched, [sums, calls])).map((words) => [
    ...words,
  ]);
}

async function runTraced(isTraced: boolean, units: number, room: number): Promise<void> {
  const twin = readFileSync(join(import.meta.dirname, '../../db/kernels/lockstep.wgsl'), 'utf8');
  /** These lines in a comment of lockstep.wgsl replace the file if nothing is traced. */
  const EMPTY = /^\/\/ {3}(fn .*\{\})$/gm;
  const tracer = isTraced ? twin : [...twin.matchAll(EMPTY)].map(([, line]) => line).join('\n');

  const head = new Uint32Array(8 + 4 * room);
  head.set([0x5254534c, 1, room]);
  const [steps, trace] = [bufferOf(new Uint32Array(units)), bufferOf(head)];
  const groups = { 0: [steps], ...(isTraced && { 3: [trace] }) };
  const code = `${tracer}\n${dataText('webgpu/collatz.wgsl')}`;
  const [counted, traced] = await runWgsl(code, [{ groups, workgroups: 2 }], [steps, trace]);
  process.stdout.write(`${JSON.stringify([...counted])}\n`);
  if (isTraced) writeFileSync(process.env.LOCKSTEP_TRACE_FILE!, traced);
}

const [how, ...words] = process.argv.slice(2);
if (how === 'kernels') {
  const found: (readonly (readonly number[])[])[] = [];
  for (const kernel of JSON.parse(readFileSync(words[0], 'utf8')) as WgslKernelRun[])
    found.push(await runKernel(kernel));
  process.stdout.write(JSON.stringify(found), () => process.exit(0));
} else {
  await runTraced(how === 'traced', Number(words[0]), Number(words[1]));
  process.exit(0);
}
