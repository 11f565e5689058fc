/**
 * `npm run bench -- compiled`: inner loops beside the same in C (`test/bench/c`, -O3 -march=native), which compute from
 * the same tables to the same numbers. Prints the fastest times of one call, or design, and ours over that of C. Needs
 * a C compiler (`cc`).
 *
 * Of a sweep, half of the time are drains, as in C. The other half takes a design apart and finds its laws by keys, for
 * any balancing, loop and implementation; the loop in C knows one of each, and finds them by their place.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { lossMoments } from '../../src-workers/models/imbalance/closed-form.ts';
import { geometricLaw } from '../../src-workers/models/workload/laws.ts';
import { normalQuantile } from '../../src-workers/models/workload/normal.ts';
import { discreteGaussRule } from '../../src-workers/numeric/quadrature.ts';
import {
  ALIGNMENT_POWER,
  ALL_BUT_CERTAIN,
  AT_MOST_ONE_ACTIVE,
  IMPOSSIBLE_LOG,
} from '../../src-workers/predict/constants.ts';
import { examine, type Candidate } from '../../src-workers/predict/design/candidate.ts';
import { REASON } from '../../src-workers/predict/design/shapes.ts';
import { aloneCycles, timeOnGpu, type TimedOnGpu } from '../../src-workers/predict/pipeline.ts';
import { paceOf } from '../../src-workers/predict/cost/pace.ts';
import { createPredictor } from '../../src-workers/predict/predictor.ts';
import { predictChunk } from '../../src-workers/predict/ranges.ts';
import { CELL_FIELDS } from '../../src-workers/predict/time/activity.ts';
import { drainCycles } from '../../src-workers/predict/time/drain.ts';
import { encode } from '../../src-workers/space/axes.ts';
import { oneDesign, planOf } from '../unit/sweep-plans.ts';

/** Ours may take so many times as long as C. */
const LIMIT = 2;
/** Sums in another order, and the exponentials of two libraries. */
const TOLERANCE = 1e-9;
/** Beyond the multiprocessors of any device. */
const MOST_MULTIPROCESSORS = 200;

const folder = mkdtempSync(join(tmpdir(), 'lockstep-compiled-'));

/** Compiles a program and runs it on these numbers. */
function compiled(name: string, input: readonly number[]): { readonly ns: number; readonly values: (number | null)[] } {
  const [program, file] = [join(folder, name), join(folder, `${name}.f64`)];
  writeFileSync(file, Float64Array.from(input));
  execFileSync('cc', ['-O3', '-march=native', '-o', program, join(import.meta.dirname, 'c', `${name}.c`), '-lm']);
  return JSON.parse(execFileSync(program, [file], { encoding: 'utf8', maxBuffer: 1 << 26 })) as never;
}

/** Time of a call in the fastest of many batches, as in `c/bench.h`. */
function fastestNs(call: () => unknown): number {
  let fastest = Infinity;
  const WARM_UP_MS = 300;
  const warmUp = performance.now();
  let calls = 0;
  for (; performance.now() - warmUp < WARM_UP_MS; calls += 1) call();
  calls = Math.ceil((calls * 2) / WARM_UP_MS);
  for (let batch = 0; batch < 250; batch += 1) {
    const start = performance.now();
    for (let i = 0; i < calls; i += 1) call();
    fastest = Math.min(fastest, (performance.now() - start) / calls);
  }
  return fastest * 1e6;
}

/** Compares a call of ours, for so many designs, with C. Throws where the numbers differ. */
function compare(name: string, input: readonly number[], ours: () => ArrayLike<number>, designs = 1) {
  const theirs = compiled(name, input);
  const values = ours();
  theirs.values.forEach((value, i) => {
    const error = value === null ? Number(!Number.isNaN(values[i])) : Math.abs(value / values[i] - 1);
    if (!(error <= TOLERANCE)) throw new Error(`${name}: value ${i} is ${value} in C and ${values[i]} here.`);
  });
  const ns = fastestNs(ours) / designs;
  const ratio = ns / theirs.ns;
  const cells = [ns, theirs.ns].map((time) => `${time.toPrecision(4)} ns`.padStart(14)).join(' ');
  process.stdout.write(
    `${name.padEnd(8)} ${cells} ${ratio.toFixed(2).padStart(8)}${ratio > LIMIT ? `  above ${LIMIT}` : ''}\n`,
  );
}

function lossInput(law: ReturnType<typeof geometric>, groupSizes: readonly number[]): number[] {
  const [step, dropped, tailNodes, reach] = [0.3, 1e-13, 6, 2]; // FULL_RULE of closed-form.ts
  const points = Float64Array.from({ length: Math.ceil(50 / step) }, (_, k) => Math.exp(-step * k));
  const tail = discreteGaussRule(
    points,
    points.map((s) => step * s),
    tailNodes,
  );
  const tailStart = reach / (groupSizes.at(-1)! * law.support.at(-1)!);
  return [
    ...[law.support.length, ...law.support, ...law.probability, groupSizes.length, ...groupSizes],
    ...[step, dropped, tailStart, tailNodes, ...tail.nodes, ...tail.weights],
  ];
}
const geometric = () => unwrap(geometricLaw(0.05));

const drainConstants = (): number[] => [
  ...[ALIGNMENT_POWER, ALL_BUT_CERTAIN, AT_MOST_ONE_ACTIVE, IMPOSSIBLE_LOG, MOST_MULTIPROCESSORS],
  ...Array.from({ length: MOST_MULTIPROCESSORS }, (_, n) => (n < 2 ? 0 : normalQuantile((n - 0.375) / (n + 0.25)))),
];

/** Launches of one wave: every block has its slots at once, and every slot as many units. */
async function sweepOf() {
  const study = oneDesign({
    workload: { lengths: 'geometric(0.05)', units: 1 << 16 },
    devices: ['nvidia-v100-sxm2-16gb', 'nvidia-a100-sxm4-40gb', 'nvidia-h100-sxm5-80gb', 'nvidia-rtx-4090'],
    axes: {
      threadsPerUnit: [1],
      loop: ['nested'],
      balancing: ['none'],
      blockThreads: [32, 64, 128, 256, 512, 1024, 2048],
      unitsPerThread: [1, 2, 4, 8, 16],
      registerCap: [null, 30, 28, 26, 24],
    },
  });
  const predictor = createPredictor(await planOf(study));
  const { axes, units } = predictor.plan;
  const { blockThreads, registerCap, launch: launches } = axes;
  const devices = axes.devices as readonly GpuDevice[];
  const designs = predictor.counts.reduce((product, count) => product * count, 1);
  const at = (device: number, launch: number, cap: number, block: number): Candidate => {
    const candidate = {} as Candidate;
    examine(predictor, Int32Array.of(device, 0, 0, 0, 0, launch, cap, block), candidate);
    return candidate;
  };
  const timed = (device: number, launch: number, block: number): TimedOnGpu => {
    const out = {} as TimedOnGpu;
    timeOnGpu(predictor, at(device, launch, 0, block), devices[device], out);
    if (out.regime !== 'one-wave' && out.regime !== 'longest-unit')
      throw new Error(`A design is timed as ${out.regime}, which the loop in C does not know.`);
    return out;
  };
  const input = [...drainConstants(), devices.length, registerCap.length, blockThreads.length, launches.length];
  input.push(units, ...blockThreads);
  const columns = predictChunk(predictor, 0, designs);
  devices.forEach((device, d) => {
    // What multiplies the cycles of all launches of the device.
    const { launch } = timed(d, 0, 2);
    const { fresh, groupsPerBlock } = launch.residency.block;
    const table = launch.residency.cyclesPerIteration;
    const few = Math.floor(launch.gridBlocks / device.multiprocessors);
    const fuller = launch.gridBlocks - few * device.multiprocessors;
    const drain = (blocks: number, some: number) =>
      some > 0 && blocks > 0 ? drainCycles(fresh, blocks, some, table, blocks * groupsPerBlock) : 0;
    const cycles = Math.max(drain(few + 1, fuller), drain(few, device.multiprocessors));
    const first = at(d, 0, 0, 2);
    const alone = aloneCycles(predictor, first) / paceOf(predictor, first).iterationFactor;
    const timeMs = columns.timeMs[encode(predictor.counts, [d, 0, 0, 0, 0, 0, 0, 2])];
    const cycleMs = timeMs / Math.max(cycles, alone);
    input.push(device.multiprocessors, REASON['grid-blocks'], cycleMs, device.limits.maxGridBlocks);
  });
  launches.forEach(({ value }, l) => {
    const { meanLoss, aggregateLoss } = timed(0, l, 2);
    const first = at(0, l, 0, 2);
    input.push(
      value,
      1,
      aloneCycles(predictor, first) / paceOf(predictor, first).aloneCycles.step,
      meanLoss,
      aggregateLoss,
    );
  });
  devices.forEach((_, d) =>
    registerCap.forEach((__, cap) =>
      blockThreads.forEach((___, block) => {
        const candidate = at(d, 0, cap, block);
        const { invalid, residentBlocks, groupsPerBlock, limitedBy, occupancyFraction } = candidate.shape;
        const { cyclesPerIteration } = paceOf(predictor, candidate);
        input.push(invalid, residentBlocks, groupsPerBlock, limitedBy, occupancyFraction);
        input.push(cyclesPerIteration.length, ...cyclesPerIteration);
      }),
    ),
  );
  launches.forEach((_, l) =>
    blockThreads.forEach((__, block) => {
      const isValid = at(0, l, 0, block).invalid === 0;
      const { cells, data } = isValid ? timed(0, l, block).launch.residency.block.fresh : { cells: 0, data: [] };
      input.push(cells, ...Array.from(data).slice(0, cells * CELL_FIELDS));
    }),
  );
  return { input, designs, predictor, timed };
}

try {
  process.stdout.write(`${''.padEnd(8)} ${'ours'.padStart(14)} ${'C'.padStart(14)} ${'ratio'.padStart(8)}\n`);
  const law = geometric();
  const groupSizes = [2, 4, 8, 16, 32];
  compare('loss', lossInput(law, groupSizes), () => lossMoments(law, groupSizes).map(({ meanLoss }) => meanLoss));

  const { input, designs, predictor, timed } = await sweepOf();
  const { fresh, groupsPerBlock } = timed(1, 1, 3).launch.residency.block;
  const { cyclesPerIteration } = timed(1, 1, 3).launch.residency;
  const [slots, multiprocessors] = [4, 108];
  const cap = slots * groupsPerBlock;
  compare(
    'drain',
    [
      ...[...drainConstants(), fresh.cells, ...fresh.data.subarray(0, fresh.cells * CELL_FIELDS), slots],
      ...[multiprocessors, cap, ...cyclesPerIteration.subarray(0, cap + 1)],
    ],
    () => [drainCycles(fresh, slots, multiprocessors, cyclesPerIteration, cap)],
  );
  compare('sweep', input, () => predictChunk(predictor, 0, designs).timeMs, designs);
} finally {
  rmSync(folder, { recursive: true });
}
