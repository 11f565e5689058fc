/// <reference types="@webgpu/types" />
import type { CaseOf, MeasuringDevice } from '../../domain/benchmark.ts';
import { mersenneTwister } from '../../numeric/random.ts';
import { refusal, type Launcher } from './launcher.ts';
import { MAIN_INPUT } from './wgsl.ts';

export type ProbeValues = Readonly<Record<string, number | readonly number[]>>;

/**
 * Measures one property of the device by times alone. WebGPU has no clock for lanes and does not report the clock rate,
 * so latencies are in nanoseconds. Each launch is repeated, and the fastest time counts.
 *
 * | probe | arguments | values |
 * |---|---|---|
 * | `limits` | | the limits that matter to a launch |
 * | `float-add`, `float-multiply`, `float-multiply-add`, `integer-add`, `integer-multiply-add`, `special` | `rounds` | `latencyNs` of one step that waits for the one before; the step of `integer-add` is an addition and an exclusive or |
 * | `cache-l1`, `cache-l2` | `leastBytes`, `mostBytes` | `sizesBytes`, `nsPerLoad` of random dependent loads within each size |
 * | `bandwidth` | `bytes` of each of three arrays | `bandwidthGbS` of the triad |
 * | `resident-blocks` | `blockThreads`, `rounds` | `blocks`, `timesNs`, `concurrentBlocks`: the largest number of equal blocks that take less than 1.5 times as long as one |
 *
 * Throws a `FailureError` with `unsupported` on any other probe.
 */
export async function measureProbe(
  launcher: Launcher,
  info: MeasuringDevice,
  benchCase: CaseOf<'probe'>,
  signal: AbortSignal,
): Promise<ProbeValues> {
  const { probe, arguments: given } = benchCase.parameters;
  const argument = (name: string, otherwise: number): number => given[name] ?? otherwise;
  switch (probe) {
    case 'limits':
      return Object.fromEntries(
        Object.entries(info.properties).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
      );
    case 'cache-l1':
      return chase(launcher, argument('leastBytes', 2 ** 10), argument('mostBytes', 2 ** 20), signal);
    case 'cache-l2':
      return chase(launcher, argument('leastBytes', 2 ** 16), argument('mostBytes', 2 ** 26), signal);
    case 'bandwidth':
      return triad(launcher, argument('bytes', 2 ** 26));
    case 'resident-blocks':
      return concurrency(launcher, argument('blockThreads', 64), argument('rounds', 2 ** 14), signal);
  }
  const operation = OPERATIONS[probe];
  if (!operation) {
    const known = ['limits', ...Object.keys(OPERATIONS), 'cache-l1', 'cache-l2', 'bandwidth', 'resident-blocks'];
    throw refusal(`probe ${probe} does not exist for WebGPU. Use one of ${known.join(', ')}`);
  }
  return latency(launcher, operation, argument('rounds', 2 ** 16));
}

interface Operation {
  readonly type: 'f32' | 'u32';
  readonly step: string;
}

/** The next operation waits for `x`. `y` and `z` come from a buffer, so the compiler cannot compute the result. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  'float-add': { type: 'f32', step: 'x = x + y;' },
  'float-multiply': { type: 'f32', step: 'x = x * y;' },
  'float-multiply-add': { type: 'f32', step: 'x = fma(x, y, z);' },
  'integer-add': { type: 'u32', step: 'x = (x + y) ^ z;' },
  'integer-multiply-add': { type: 'u32', step: 'x = x * y + z;' },
  special: { type: 'f32', step: 'x = inverseSqrt(x);' },
};

const LAUNCHES = 5;

async function fastest(launcher: Launcher, pipeline: GPUComputePipeline, bindGroup: GPUBindGroup, blocks: number) {
  let best = Infinity;
  for (let launch = 0; launch < LAUNCHES; launch++)
    best = Math.min(best, await launcher.time({ pipeline, bindGroup, blocks }));
  return best;
}

const STEPS_PER_ROUND = 32;

function chainShader(operation: Operation, blockThreads: number): string {
  const { type, step } = operation;
  return `
@group(0) @binding(0) var<uniform> launch: vec4<u32>;
@group(0) @binding(1) var<storage, read_write> state: array<${type}>;
@compute @workgroup_size(${blockThreads})
fn main(@builtin(local_invocation_index) thread: u32) {
  var x = state[0];
  let y = state[1];
  let z = state[2];
  for (var round = 0u; round < launch.x; round++) {
    ${Array.from({ length: STEPS_PER_ROUND }, () => step).join('\n    ')}
  }
  if (thread == 0u) { state[3] = x; }
}`;
}

async function chain(launcher: Launcher, operation: Operation, blockThreads: number) {
  const pipeline = await launcher.pipeline(chainShader(operation, blockThreads));
  const words = launcher.uniform();
  const state = await launcher.storage(
    operation.type === 'f32' ? Float32Array.of(1, 1, 0, 0) : Uint32Array.of(1, 3, 5, 0),
  );
  const bindGroup = launcher.bind(pipeline, [words, state]);
  return {
    time: (rounds: number, blocks: number): Promise<number> => {
      launcher.device.queue.writeBuffer(words, 0, Uint32Array.of(rounds, 0, 0, 0));
      return fastest(launcher, pipeline, bindGroup, blocks);
    },
  };
}

async function latency(launcher: Launcher, operation: Operation, rounds: number): Promise<ProbeValues> {
  // Both launches have the same overhead, so their difference is the time of the operations alone.
  const { time } = await chain(launcher, operation, 1);
  const long = await time(rounds + 1, 1);
  const short = await time(1, 1);
  return { latencyNs: Math.max(0, long - short) / (rounds * STEPS_PER_ROUND) };
}

async function concurrency(launcher: Launcher, blockThreads: number, rounds: number, signal: AbortSignal) {
  const { time } = await chain(launcher, OPERATIONS['integer-multiply-add'], blockThreads);
  const blocks: number[] = [];
  const timesNs: number[] = [];
  for (let count = 1; count <= 2 ** 16 && !signal.aborted; count *= 2) {
    blocks.push(count);
    timesNs.push(await time(rounds, count));
    if (timesNs.at(-1)! > 8 * timesNs[0]) break;
  }
  const last = timesNs.findLastIndex((time) => time < 1.5 * timesNs[0]);
  return { blocks, timesNs, concurrentBlocks: blocks[last] };
}

const LINE_WORDS = 16;
const CHASED_LOADS = 2 ** 16;

/** One thread follows a random cycle of lines. Each line holds the position of the next. */
async function chase(launcher: Launcher, minBytes: number, maxBytes: number, signal: AbortSignal) {
  const pipeline = await launcher.pipeline(`
@group(0) @binding(0) var<uniform> launch: vec4<u32>;
@group(0) @binding(1) var<storage, read> next: array<u32>;
@group(0) @binding(2) var<storage, read_write> end: array<u32>;
@compute @workgroup_size(1)
fn main() {
  var at = 0u;
  for (var load = 0u; load < launch.x; load++) { at = next[at]; }
  end[0] = at;
}`);
  const end = await launcher.storage(4);
  const words = launcher.uniform();
  launcher.device.queue.writeBuffer(words, 0, Uint32Array.of(CHASED_LOADS, 0, 0, 0));
  const uniform = mersenneTwister(1);
  const sizesBytes: number[] = [];
  const nsPerLoad: number[] = [];
  const most = Math.min(maxBytes, launcher.device.limits.maxStorageBufferBindingSize);
  for (let bytes = minBytes; bytes <= most && !signal.aborted; bytes *= 2) {
    const next = await launcher.storage(randomCycle(bytes / 4, uniform));
    const timeNs = await fastest(launcher, pipeline, launcher.bind(pipeline, [words, next, end]), 1);
    next.destroy();
    sizesBytes.push(bytes);
    nsPerLoad.push(timeNs / CHASED_LOADS);
  }
  return { sizesBytes, nsPerLoad };
}

/** Sattolo's shuffle makes a single cycle through all lines. */
function randomCycle(words: number, uniform: () => number): Uint32Array {
  const lines = Math.max(1, Math.floor(words / LINE_WORDS));
  const order = Uint32Array.from({ length: lines }, (_, line) => line);
  for (let i = lines - 1; i > 0; i--) {
    const j = Math.floor(uniform() * i);
    const line = order[i];
    order[i] = order[j];
    order[j] = line;
  }
  const next = new Uint32Array(words);
  order.forEach((to, line) => (next[line * LINE_WORDS] = to * LINE_WORDS));
  return next;
}

const TRIAD_THREADS = 64;
const TRIAD_WORDS_PER_THREAD = 16;

async function triad(launcher: Launcher, bytes: number): Promise<ProbeValues> {
  const words = Math.floor(bytes / 4);
  const threads = Math.ceil(words / TRIAD_WORDS_PER_THREAD);
  const blocks = Math.ceil(threads / TRIAD_THREADS);
  const pipeline = await launcher.pipeline(`
@group(0) @binding(0) var<storage, read> b: array<f32>;
@group(0) @binding(1) var<storage, read> c: array<f32>;
@group(0) @binding(2) var<storage, read_write> a: array<f32>;
@compute @workgroup_size(${TRIAD_THREADS})
fn main(
${MAIN_INPUT}
) {
  let all = groups.x * groups.y * ${TRIAD_THREADS}u;
  for (var i = (group.x + group.y * groups.x) * ${TRIAD_THREADS}u + thread; i < ${words}u; i += all) {
    a[i] = b[i] + 3.0 * c[i];
  }
}`);
  const arrays = [await launcher.storage(bytes), await launcher.storage(bytes), await launcher.storage(bytes)];
  const timeNs = await fastest(launcher, pipeline, launcher.bind(pipeline, arrays), blocks);
  for (const array of arrays) array.destroy();
  return { bandwidthGbS: (3 * bytes) / timeNs };
}
