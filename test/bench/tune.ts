import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import type { StudyFile } from '../../src-main/contract/study.ts';
import { errorWidths } from '../../src-main/services/evidence/tie-band.ts';
import { NO_KERNEL, predictedMs } from '../../src-workers/evidence/shapes.ts';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import { evenChanceMeasurements } from '../../src-workers/models/calibration/search.ts';
import { constantLaw } from '../../src-workers/models/workload/laws.ts';
import { mersenneTwister, standardNormal, type UniformSource } from '../../src-workers/numeric/random.ts';
import { mean, median, sortedQuantile } from '../../src-workers/numeric/statistics.ts';
import { describeDesign } from '../../src-workers/predict/designs.ts';
import type { SweepPlan } from '../../src-workers/predict/plan.ts';
import { setupIterationsOf, withSetupIterations } from '../../src-workers/domain/provenance.ts';
import { pipelineOf, createPredictor } from '../../src-workers/predict/predictor.ts';
import { predictRanges } from '../../src-workers/predict/ranges.ts';
import { spaceSize } from '../../src-workers/space/axes.ts';
import { tuningSpace } from '../../src-workers/tune/space.ts';
import { createTuner, type TuningSpace } from '../../src-workers/tune/tuner.ts';
import { gpu, planOf } from '../unit/sweep-plans.ts';

/*
 * `npm run bench -- tune`: how many designs the tuner measures until one of them is within 3 % of the best of the space, on spaces that
 * were measured in full, and on spaces that the predictor makes with other parameters. It never sees a time that it did not ask for.
 * Beside it: the predicted order, and random search (the number at which its chance to have found one is even).
 */
const WITHIN = 1.03;
const SEEDS = 30;
const STEP = 4;
/** When the command ends where nothing else is said. */
const BUDGET = 40;
/** What random search needs over what the tuner needs. */
const MIN_GAIN = 10;

const ROOT = join(import.meta.dirname, '../..');
const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** A space to be tuned, and its true times, ms. */
interface Replay {
  readonly space: TuningSpace;
  readonly trueMs: Float64Array;
  /** Standard deviation of ln(time) of one measurement. */
  readonly noise: number;
}

interface Found {
  /** Measurements until a design within 3 % of the best was measured. */
  readonly tuned: number;
  readonly predicted: number;
  readonly random: number;
  /** Measurements until the expected regret is within 3 %, or the budget is spent; the expected and the true regret of the design named then. */
  readonly stopped: number;
  readonly expected: number;
  readonly regret: number;
}

function replay({ space, trueMs, noise }: Replay, seed: number): Found {
  const target = WITHIN * trueMs.reduce((least, time) => Math.min(least, time), Infinity);
  const uniform = mersenneTwister(seed);
  const least = target / WITHIN;
  const tuner = createTuner(space, seed);
  let [measured, tuned, stopped, expected, regret] = [0, 0, 0, NaN, NaN];
  while (tuned === 0 || stopped === 0) {
    const designs = tuner.propose(STEP);
    if (designs.length === 0) throw new Error('The tuner has no design left.');
    for (const design of designs) {
      measured += 1;
      if (tuned === 0 && trueMs[design] <= target) tuned = measured;
      tuner.observe(design, trueMs[design] * Math.exp(noise * standardNormal(uniform)), Math.max(noise, 0.01));
    }
    if (stopped > 0) continue;
    const { design, expectedRegret } = tuner.estimate()!;
    if (expectedRegret > WITHIN - 1 && measured < BUDGET) continue;
    [stopped, expected] = [measured, expectedRegret];
    regret = trueMs[design] / least - 1;
  }
  const order = Array.from(trueMs, (_, design) => design).sort(
    (a, b) => space.predictedMs[a] - space.predictedMs[b] || a - b,
  );
  return {
    tuned,
    predicted: order.findIndex((design) => trueMs[design] <= target) + 1,
    random: evenChanceMeasurements(trueMs.toSorted(), target),
    stopped,
    expected,
    regret,
  };
}

// -- Kernel Tuner's convolution ------------------------------------------------------------------------------------------

/** Sides of the image and of the filter, and the registers of a thread and of each of its outputs: see `evidence/shapes.ts`. */
const [IMAGE, FILTER, REGISTERS, REGISTERS_PER_OUTPUT] = [4096, 15, 32, 2];

/** All configurations that ran. Variants that the model does not know have the prediction of the plain kernel. */
function convolution(column: string, id: string): Replay {
  const rows = (
    parse(gunzipSync(readFileSync(join(ROOT, 'db/evidence/convolution.csv.gz'))), { columns: true }) as Record<
      string,
      string
    >[]
  ).filter((row) => row.device === column && row.time_ms !== '');
  const of = (name: string): Float64Array => Float64Array.from(rows, (row) => Number(row[name]));
  const [tileX, tileY, blockX, blockY] = ['tile_size_x', 'tile_size_y', 'block_size_x', 'block_size_y'].map(of);
  const predicted = new Float64Array(rows.length);
  const tiles = new Set(rows.map((_, at) => tileX[at] * 8 + tileY[at]));
  for (const tile of tiles) {
    const [x, y] = [Math.floor(tile / 8), tile % 8];
    const members = [...rows.keys()].filter((at) => tileX[at] === x && tileY[at] === y);
    const designs = members.map((at) => ({
      threadsPerUnit: 1,
      loop: 'nested' as const,
      balancing: 'none',
      unitsPerThread: 1,
      blockThreads: blockX[at] * blockY[at],
    }));
    const kernel = {
      ...NO_KERNEL,
      name: 'convolution',
      registersPerThread: REGISTERS + REGISTERS_PER_OUTPUT * x * y,
      instructionsPerIteration: 2 * x * y,
    };
    const work = {
      law: unwrap(constantLaw(FILTER * FILTER)),
      units: Math.ceil(IMAGE / x) * Math.ceil(IMAGE / y),
      kernel,
    };
    predictedMs(`convolution ${tile}`, gpu(id), designs, work).forEach((time, i) => (predicted[members[i]] = time));
  }
  const { shapes } = errorWidths(gpu(id));
  const names = ['read_only', 'use_padding', 'use_shmem'].map((name) => ({ values: of(name), range: 0 }));
  const sizes = [tileX, tileY, blockX, blockY].map((values) => ({ values: values.map(Math.log2), range: 2 }));
  const coordinates = [...names, ...sizes];
  const deviation = Math.SQRT1_2 * shapes;
  return {
    space: {
      predictedMs: predicted,
      coordinates: coordinates.map((one) => ({ ...one, deviation: deviation / Math.sqrt(coordinates.length) })),
      deviation,
    },
    trueMs: of('time_ms'),
    noise: 0,
  };
}

// -- Spaces of the predictor ---------------------------------------------------------------------------------------------

const MAX_DESIGNS = 1500;

/** Predicted times of designs, ms; NaN of invalid ones. */
function timesOf(plan: SweepPlan, designs: readonly number[]): Float64Array {
  const ranges = designs.map((first) => ({ first, count: 1 }));
  return Float64Array.from(predictRanges(createPredictor(plan), ranges), ({ timeMs }) => timeMs[0]);
}

/** Log-uniform within a factor. */
const about = (uniform: UniformSource, factor: number): number => factor ** (2 * uniform() - 1);

/**
 * Another truth than the study's: σ, κ, traffic, instructions, set-up and latency are the study's times factors of up to 2 (latency and the
 * knee as in the usual ranges of assumed inputs).
 */
function otherTruth(plan: SweepPlan, device: GpuDevice, uniform: UniformSource): SweepPlan {
  const { kernel } = plan;
  const changed = {
    ...kernel,
    serialFraction: Math.min(1, (kernel.serialFraction + 0.01) * about(uniform, 2)),
    cooperationCost: (kernel.cooperationCost + 0.005) * about(uniform, 2),
    bytesPerIteration: kernel.bytesPerIteration * about(uniform, 1.5),
    instructionsPerIteration: kernel.instructionsPerIteration * about(uniform, 1.5),
  };
  const setup = (setupIterationsOf(kernel) + 0.5) * about(uniform, 2);
  const other = {
    ...plan,
    id: `${plan.id} other ${uniform()}`,
    kernel: withSetupIterations(changed, setup),
    pipeline: {},
  };
  const derived = pipelineOf(other, device, null, changed.bytesPerIteration);
  const { latencyCycles, issueCycles, kneeSoftness, schedulers } = derived;
  return {
    ...other,
    pipeline: {
      [device.id]: {
        latencyCycles: latencyCycles * about(uniform, 1.5),
        issueCycles,
        kneeSoftness: kneeSoftness * about(uniform, 1.5),
        schedulers,
      },
    },
  };
}

async function example(name: string, id: string): Promise<(seed: number) => Replay> {
  const study = JSON.parse(readFileSync(join(ROOT, `db/examples/${name}.json`), 'utf8')) as StudyFile;
  const device = gpu(id);
  const plan = await planOf({ ...study, devices: [id] }, [device]);
  const predictor = createPredictor(plan);
  const size = spaceSize(plan.axes);
  const [own] = predictRanges(predictor, [{ first: 0, count: size }]);
  const valid = Array.from({ length: size }, (_, at) => at).filter((at) => own.timeMs[at] > 0);
  return (seed) => {
    const uniform = mersenneTwister(1000 + seed);
    // As many as are soon replayed, drawn without regard to their times.
    const drawn = valid.filter(() => uniform() < MAX_DESIGNS / valid.length);
    const truth = timesOf(otherTruth(plan, device, uniform), drawn);
    const kept = drawn.filter((_, i) => truth[i] > 0);
    const designs = kept.map((at) => ({
      design: describeDesign(predictor, at).design,
      timeMs: own.timeMs[at],
      residentBlocks: own.residentBlocks[at],
    }));
    return {
      space: tuningSpace(device, designs, errorWidths(device)),
      trueMs: truth.filter((time) => time > 0),
      noise: 0.05,
    };
  };
}

// -- SwiftShader's record ------------------------------------------------------------------------------------------------

function swiftshader(): Replay {
  const { rows } = JSON.parse(readFileSync(join(ROOT, 'test/data/measured/swiftshader-ranking.json'), 'utf8')) as {
    rows: { design: Parameters<typeof tuningSpace>[1][number]['design']; measuredMs: number; predictedMs: number }[];
  };
  const device = gpu('software-swiftshader');
  const designs = rows.map(({ design, predictedMs: timeMs }) => ({ design, timeMs, residentBlocks: 1 }));
  return {
    space: tuningSpace(device, designs, errorWidths(device)),
    trueMs: Float64Array.from(rows, ({ measuredMs }) => measuredMs),
    noise: 0,
  };
}

// ------------------------------------------------------------------------------------------------------------------------

function report(label: string, replayOf: (seed: number) => Replay): void {
  const found = Array.from({ length: SEEDS }, (_, seed) => replay(replayOf(seed), seed));
  const middle = (value: (one: Found) => number): number => median(Float64Array.from(found, value));
  const [tuned, random] = [middle((one) => one.tuned), middle((one) => one.random)];
  const gain = random / tuned;
  const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
  const regretText = (some: readonly Found[]): string => {
    const regrets = Float64Array.from(some, ({ regret }) => regret).sort();
    return `${percent(median(regrets))} slower than the best (mean ${percent(mean(regrets))}, 90th percentile ${percent(sortedQuantile(regrets, 0.9))})`;
  };
  const claims = found.filter(({ expected }) => expected <= WITHIN - 1);
  const kept = claims.filter(({ regret }) => regret <= WITHIN - 1).length;
  const spent = found.filter((one) => !claims.includes(one));
  print(
    `${gain >= MIN_GAIN ? 'ok    ' : 'below '}  ${label}: ${tuned} measurements (predicted order ${middle((one) => one.predicted)}, random ${random.toFixed(0)}: ${gain.toFixed(1)} ×)`,
  );
  if (claims.length > 0)
    print(
      `          ends after ${middle((one) => one.stopped)}; in ${claims.length} of ${SEEDS} by its expected regret (mean ${percent(mean(Float64Array.from(claims, ({ expected }) => expected)))}), kept in ${kept}: ${regretText(claims)}`,
    );
  if (spent.length > 0)
    print(
      `          in ${spent.length} of ${SEEDS} by the budget of ${BUDGET}, with an expected regret of ${percent(median(Float64Array.from(spent, ({ expected }) => expected)))} (median): ${regretText(spent)}`,
    );
}

const asked = process.argv.slice(2);
const spaces: readonly (readonly [string, () => Promise<(seed: number) => Replay>])[] = [
  ['swiftshader', async () => swiftshader],
  ...(
    [
      ['geometric', 'nvidia-a100-sxm4-40gb'],
      ['acts', 'nvidia-rtx-4090'],
      ['spmv-skewed', 'nvidia-h100-sxm5-80gb'],
      ['software', 'software-swiftshader'],
    ] as const
  ).map(([name, id]) => [`${name} on ${id}`, () => example(name, id)] as const),
  ['convolution on MI250X', async () => () => convolution('MI250X', 'amd-mi250x-gcd')],
  ['convolution on A100', async () => () => convolution('A100', 'nvidia-a100-pcie-40gb')],
];
for (const [label, open] of spaces)
  if (asked.length === 0 || asked.some((one) => label.startsWith(one))) report(label, await open());
