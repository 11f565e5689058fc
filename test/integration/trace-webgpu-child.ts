/// <reference types="@webgpu/types" />
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openNodeWebGpu } from '../../src-workers/bench/webgpu/node.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { dataText } from '../data.ts';

// A user's WebGPU program with lockstep.wgsl before its shader: node trace-webgpu-child.ts traced|untraced UNITS ROOM.
// It prints the counts of its kernel.

const [how, unitsText, roomText] = process.argv.slice(2) as [string, string, string];
const [units, room] = [Number(unitsText), Number(roomText)];
const twin = readFileSync(join(import.meta.dirname, '../../db/kernels/lockstep.wgsl'), 'utf8');
/** The lines in the comment of lockstep.wgsl that replace it if nothing is traced. */
const EMPTY = /^\/\/ {3}(fn .*\{\})$/gm;
const tracer = how === 'traced' ? twin : [...twin.matchAll(EMPTY)].map(([, line]) => line).join('\n');

const KERNEL = dataText('webgpu/collatz.wgsl');

const { device } = unwrap(await openNodeWebGpu());
device.addEventListener('uncapturederror', ({ error }) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
/** The usage flags of buffers, as numbers of the specification, because Node has no globals for them. */
const [MAP_READ, COPY_SRC, COPY_DST, STORAGE] = [0x1, 0x4, 0x8, 0x80];
const bufferOf = (words: Uint32Array<ArrayBuffer>): GPUBuffer => {
  const buffer = device.createBuffer({ size: words.byteLength, usage: STORAGE | COPY_SRC | COPY_DST });
  device.queue.writeBuffer(buffer, 0, words);
  return buffer;
};
const head = new Uint32Array(8 + 4 * room);
head.set([0x5254534c, 1, room]);
const [steps, trace] = [bufferOf(new Uint32Array(units)), bufferOf(head)];

const module = device.createShaderModule({ code: `${tracer}\n${KERNEL}` });
const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module } });
const bindingOf = (group: number, buffer: GPUBuffer): GPUBindGroup =>
  device.createBindGroup({
    layout: pipeline.getBindGroupLayout(group),
    entries: [{ binding: 0, resource: { buffer } }],
  });
const encoder = device.createCommandEncoder();
const pass = encoder.beginComputePass();
pass.setPipeline(pipeline);
pass.setBindGroup(0, bindingOf(0, steps));
if (how === 'traced') pass.setBindGroup(3, bindingOf(3, trace));
pass.dispatchWorkgroups(2);
pass.end();
const read = (buffer: GPUBuffer): GPUBuffer => {
  const copy = device.createBuffer({ size: buffer.size, usage: MAP_READ | COPY_DST });
  encoder.copyBufferToBuffer(buffer, 0, copy, 0, buffer.size);
  return copy;
};
const [counted, traced] = [read(steps), read(trace)];
device.queue.submit([encoder.finish()]);
await Promise.all([counted, traced].map((buffer) => buffer.mapAsync(MAP_READ)));
process.stdout.write(`${JSON.stringify([...new Uint32Array(counted.getMappedRange())])}\n`);
if (how === 'traced') writeFileSync(process.env.LOCKSTEP_TRACE_FILE!, new Uint8Array(traced.getMappedRange()));
process.exit(0);
