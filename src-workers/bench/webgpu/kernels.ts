/// <reference types="@webgpu/types" />
import type { BenchRecord, CaseOf, MeasuringDevice } from '../../domain/benchmark.ts';
import { ok, type Result, unsupported } from '../../domain/result.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { lengthSampler, mersenneTwister } from '../../numeric/random.ts';
import { median } from '../../numeric/statistics.ts';
import { mix } from '../unit-loop.ts';
import type { Launcher, PreparedCase } from './launcher.ts';
import { MAIN_INPUT, MIX } from './wgsl.ts';

/** Number of results that are compared with the CPU's, spread over all. To compare all results would take too long. */
const CHECKED = 16;

function spread(count: number): number[] {
  const checked = Math.min(count, CHECKED);
  return Array.from({ length: checked }, (_, i) => Math.floor((i * count) / checked));
}

function comparison(id: string, what: string, found: Uint32Array, expected: (at: number) => number): BenchRecord {
  const checked = spread(found.length);
  const wrong = checked.filter((at) => found[at] !== expected(at));
  const [first] = wrong;
  const message =
    first === undefined
      ? ''
      : `${wrong.length} of ${checked.length} differ; ${what} ${first} is ${found[first]} instead of ${expected(first)}`;
  return { type: 'check', case: id, correct: wrong.length === 0, message };
}

/** Rows and columns of the matrices (Swatman 2022). In much smaller matrices, the overhead of a pass would dominate. */
const MATRIX = 16;
const CELLS = MATRIX * MATRIX;
const MATRICES = 256;
/** Distinguishes the values of a matrix cell from the other random numbers of the case. */
const MATRIX_SALT = 0x2545f491;

const matrixCell = (matrix: number, cell: number): number => mix((matrix * CELLS + cell + MATRIX_SALT) >>> 0);

/** Median times of a plan's matrix powers so far (ns), by all parameters except the execution. */
export type MatrixTimes = Map<string, { lockstep?: number; independent?: number }>;

/**
 * Prepares powers of matrices modulo 2³², with one work group per subgroup. No lane can read a clock, so whole launches
 * are timed. The execution that is measured last also reports the aggregate loss n·T(lockstep)/T(independent).
 */
export async function prepareMatrixPower(
  launcher: Launcher,
  info: MeasuringDevice,
  benchCase: CaseOf<'matrix-power'>,
  law: LengthLaw,
  seed: number,
  times: MatrixTimes,
): Promise<Result<PreparedCase>> {
  const { unitsPerGroup: n, workGroups, execution, synchronised, lengths: text } = benchCase.parameters;
  const width = info.threadGroupWidth;
  if (width === null)
    return unsupported('This device does not report the width of a thread group, which this benchmark needs.');
  if (n > width)
    return unsupported(`A work group of ${n} units exceeds the ${width} lanes of this device's thread groups.`);
  const units = n * workGroups;
  const uniform = mersenneTwister(seed);
  const draw = lengthSampler(law);
  const lengths = Uint32Array.from({ length: units }, () => draw(uniform));
  const together = execution === 'lockstep' ? n : 1;
  const groups = units / together;
  const multiply = `
      for (var row = 0u; row < ${MATRIX}u; row++) {
        var product = array<u32, ${MATRIX}>();
        for (var k = 0u; k < ${MATRIX}u; k++) {
          let factor = power[row * ${MATRIX}u + k];
          for (var column = 0u; column < ${MATRIX}u; column++) {
            product[column] += factor * matrices[matrix + k * ${MATRIX}u + column];
          }
        }
        for (var column = 0u; column < ${MATRIX}u; column++) { power[row * ${MATRIX}u + column] = product[column]; }
      }`;
  // The bound of a loop around a barrier must be uniform in the block, so it is the block's word of `depths`.
  const loop = synchronised
    ? `for (var i = 0u; i < depths[work]; i++) {
      if (i < length) { ${multiply} }
      workgroupBarrier();
    }`
    : `if (length > 0u) { loop { ${multiply}
      done++;
      continuing { break if done == length; } } }`;
  const pipeline = await launcher.pipeline(`
@group(0) @binding(0) var<uniform> launch: vec4<u32>;
@group(0) @binding(1) var<storage, read> matrices: array<u32>;
@group(0) @binding(2) var<storage, read> lengths: array<u32>;
@group(0) @binding(3) var<storage, read_write> digests: array<u32>;
${synchronised ? '@group(0) @binding(4) var<storage, read> depths: array<u32>;' : ''}
${MIX}
@compute @workgroup_size(${width})
fn main(
${MAIN_INPUT}
) {
  let work = group.x + group.y * groups.x;
  if (work >= launch.x) { return; }
  let busy = thread < ${together}u;
  let unit = work * ${together}u + thread;
  let matrix = (unit % ${MATRICES}u) * ${CELLS}u;
  var length = 0u;
  if (busy) { length = lengths[unit]; }
  var power = array<u32, ${CELLS}>();
  for (var i = 0u; i < ${MATRIX}u; i++) { power[i * ${MATRIX + 1}u] = 1u; }
  ${synchronised ? '' : 'var done = 0u;'}
  ${loop}
  var digest = 0u;
  for (var cell = 0u; cell < ${CELLS}u; cell++) { digest = mix(digest + power[cell]); }
  if (busy) { digests[unit] = digest; }
}`);
  const depths = deepest(lengths, together);
  const cells = Uint32Array.from({ length: MATRICES * CELLS }, (_, i) => matrixCell(Math.floor(i / CELLS), i % CELLS));
  const words = launcher.uniform();
  const digests = await launcher.storage(4 * units);
  const buffers = [
    words,
    await launcher.storage(cells),
    await launcher.storage(lengths),
    digests,
    ...(synchronised ? [await launcher.storage(depths)] : []),
  ];
  const bindGroup = launcher.bind(pipeline, buffers);
  return ok({
    launch(share) {
      const blocks = Math.max(1, Math.round(share * groups));
      launcher.device.queue.writeBuffer(words, 0, Uint32Array.of(blocks, 0, 0, 0));
      return { pipeline, bindGroup, blocks };
    },
    async finish(timesNs) {
      const key = `${text} ${n} ${workGroups} ${synchronised}`;
      const both = times.get(key) ?? {};
      both[execution] = median(Float64Array.from(timesNs));
      times.set(key, both);
      const values: Record<string, number> = { groups, workGroups };
      if (both.lockstep !== undefined && both.independent !== undefined)
        values.aggregateLoss = (n * both.lockstep) / both.independent;
      values.lossOfLengths = (n * total(deepest(lengths, n))) / total(lengths);
      const found = await launcher.read(digests, units);
      return [
        { type: 'values', case: benchCase.id, values },
        comparison(benchCase.id, 'power of unit', found, (unit) => matrixDigest(unit, lengths[unit])),
      ];
    },
    release: () => buffers.forEach((buffer) => buffer.destroy()),
  });
}

function deepest(lengths: Uint32Array, together: number): Uint32Array {
  const depths = new Uint32Array(lengths.length / together);
  lengths.forEach((length, unit) => {
    const group = Math.floor(unit / together);
    depths[group] = Math.max(depths[group], length);
  });
  return depths;
}

const total = (counts: Uint32Array): number => counts.reduce((sum, count) => sum + count, 0);

function matrixDigest(unit: number, length: number): number {
  let power = Uint32Array.from({ length: CELLS }, (_, cell) => (cell % (MATRIX + 1) === 0 ? 1 : 0));
  for (let iteration = 0; iteration < length; iteration++) {
    const product = new Uint32Array(CELLS);
    for (let row = 0; row < MATRIX; row++)
      for (let k = 0; k < MATRIX; k++) {
        const factor = power[row * MATRIX + k];
        for (let column = 0; column < MATRIX; column++)
          product[row * MATRIX + column] += Math.imul(factor, matrixCell(unit % MATRICES, k * MATRIX + column));
      }
    power = product;
  }
  let digest = 0;
  for (const cell of power) digest = mix((digest + cell) >>> 0);
  return digest;
}

/**
 * Prepares loops of one thread group whose last lanes leave one iteration apart, the very last lane first (Białas and
 * Strzelecki 2015, Table I). The steps are those of the unit loop, so that results can be compared bit by bit.
 */
export async function prepareLoops(
  launcher: Launcher,
  info: MeasuringDevice,
  benchCase: CaseOf<'divergent-loops'>,
): Promise<Result<PreparedCase>> {
  const { loops, divergentLanes, iterations } = benchCase.parameters;
  const width = info.threadGroupWidth;
  if (width === null)
    return unsupported('This device does not report the width of a thread group, which this benchmark needs.');
  if (divergentLanes >= width)
    return unsupported(`${divergentLanes} divergent lanes are too many for thread groups of ${width} lanes`);
  const limits = (share: number): Uint32Array => {
    const most = Math.max(1, Math.round(share * iterations));
    return Uint32Array.from({ length: width }, (_, lane) =>
      Math.max(0, most - Math.max(0, lane - (width - 1 - divergentLanes))),
    );
  };
  const inner = (name: string, body: string): string =>
    `var ${name} = 0u; loop { ${body} ${name}++; continuing { break if ${name} == limit; } }`;
  const step = 'x = mix(x + 0x9e3779b9u);';
  const nest = loops === 'single' ? inner('i', step) : inner('i', `{ ${inner('j', step)} } x = mix(x + 0x85ebca6bu);`);
  const pipeline = await launcher.pipeline(`
@group(0) @binding(0) var<storage, read> limits: array<u32>;
@group(0) @binding(1) var<storage, read_write> results: array<u32>;
${MIX}
@compute @workgroup_size(${width})
fn main(@builtin(local_invocation_index) thread: u32) {
  let limit = limits[thread];
  var x = mix(thread + 1u);
  if (limit > 0u) { ${nest} }
  results[thread] = x;
}`);
  const limitBuffer = await launcher.storage(4 * width);
  const results = await launcher.storage(4 * width);
  const bindGroup = launcher.bind(pipeline, [limitBuffer, results]);
  return ok({
    launch(share) {
      launcher.device.queue.writeBuffer(limitBuffer, 0, limits(share));
      return { pipeline, bindGroup, blocks: 1 };
    },
    async finish() {
      const whole = limits(1);
      const expected = (lane: number): number => {
        let x = mix(lane + 1);
        for (let i = 0; i < whole[lane]; i++) {
          for (let j = 0; j < (loops === 'double' ? whole[lane] : 1); j++) x = mix((x + 0x9e3779b9) >>> 0);
          if (loops === 'double') x = mix((x + 0x85ebca6b) >>> 0);
        }
        return x;
      };
      return [comparison(benchCase.id, 'lane', await launcher.read(results, width), expected)];
    },
    release() {
      limitBuffer.destroy();
      results.destroy();
    },
  });
}

/** The number of terms of one series. Then the next series begins, so that terms do not become denormal. */
const SERIES_TERMS = 64;
/** The relative tolerance of a sum: WGSL allows errors of several units in the last place, and fused operations. */
const SERIES_TOLERANCE = 1e-3;

/** Prepares the sum of a series for (1 + x)^α, with `elements` terms per thread (Hasan et al. 2014). */
export async function prepareLaunchGrid(
  launcher: Launcher,
  benchCase: CaseOf<'launch-grid'>,
): Promise<Result<PreparedCase>> {
  const { blocks, threads, elements } = benchCase.parameters;
  const most = launcher.device.limits.maxComputeInvocationsPerWorkgroup;
  if (threads > most) return unsupported(`a block of ${threads} threads exceeds this device's limit of ${most}`);
  const pipeline = await launcher.pipeline(`
@group(0) @binding(0) var<uniform> launch: vec4<u32>;
@group(0) @binding(1) var<storage, read_write> sums: array<f32>;
@compute @workgroup_size(${threads})
fn main(
${MAIN_INPUT}
) {
  let block = group.x + group.y * groups.x;
  if (block >= launch.y) { return; }
  let own = block * ${threads}u + thread;
  let alpha = f32(own % 97u + 1u) / 128.0;
  var sum = 0.0;
  var term = 1.0;
  for (var element = 0u; element < launch.x; element++) {
    let k = element % ${SERIES_TERMS}u;
    if (k == 0u) { term = 1.0; }
    sum += term;
    term *= (alpha - f32(k)) * 0.75 / (f32(k) + 1.0);
  }
  sums[own] = sum;
}`);
  const words = launcher.uniform();
  const sums = await launcher.storage(4 * blocks * threads);
  const bindGroup = launcher.bind(pipeline, [words, sums]);
  return ok({
    launch(share) {
      const terms = Math.max(1, Math.round(share * elements));
      launcher.device.queue.writeBuffer(words, 0, Uint32Array.of(terms, blocks, 0, 0));
      return { pipeline, bindGroup, blocks };
    },
    async finish() {
      const found = new Float32Array((await launcher.read(sums, blocks * threads)).buffer);
      const wrong = spread(found.length).find((thread) => {
        const expected = binomialSeries(thread, elements);
        return !(Math.abs(found[thread] - expected) <= SERIES_TOLERANCE * Math.abs(expected));
      });
      const message =
        wrong === undefined
          ? ''
          : `the sum of thread ${wrong} is ${found[wrong]}, not ${binomialSeries(wrong, elements)} (relative tolerance ${SERIES_TOLERANCE})`;
      return [{ type: 'check', case: benchCase.id, correct: wrong === undefined, message }];
    },
    release() {
      words.destroy();
      sums.destroy();
    },
  });
}

/** Computes the sum in single precision, as the device does, because a sum of many terms loses digits. */
function binomialSeries(thread: number, elements: number): number {
  const alpha = Math.fround(((thread % 97) + 1) / 128);
  let sum = 0;
  let term = 1;
  for (let element = 0; element < elements; element++) {
    const k = element % SERIES_TERMS;
    if (k === 0) term = 1;
    sum = Math.fround(sum + term);
    term = Math.fround(term * Math.fround(Math.fround(Math.fround(alpha - k) * 0.75) / (k + 1)));
  }
  return sum;
}
