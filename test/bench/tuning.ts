import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorDeviation } from '../../src-main/services/evidence/tie-band.ts';
import type { GpuDevice } from '../../src-workers/domain/device.ts';
import {
  arbitraryOrder,
  mersenneTwister,
  standardNormal,
  type UniformSource,
} from '../../src-workers/numeric/random.ts';
import { mean, median, spearman } from '../../src-workers/numeric/statistics.ts';
import { describeDesign } from '../../src-workers/predict/designs.ts';
import type { SweepPlan } from '../../src-workers/predict/plan.ts';
import { computeSetupIterations, withSetupIterations } from '../../src-workers/domain/provenance.ts';
import { preparePipeline, createPredictor } from '../../src-workers/predict/predictor.ts';
import { predictRanges } from '../../src-workers/predict/ranges.ts';
import { spaceSize } from '../../src-workers/domain/space.ts';
import { tuningSpace } from '../../src-workers/tune/space.ts';
import { makeAxis, createProcess, fitWidths, type Process } from '../../src-workers/tune/process.ts';
import { createTuner, logImprovement, type Tuner, type TuningSpace } from '../../src-workers/tune/tuner.ts';
import { planOf } from '../unit/sweep-plans.ts';
import { percent, say } from './report.ts';
import { MEASURED, measuredRows, tiledTimes } from './spaces.ts';
import { exampleStudy, gpu } from '../catalogue.ts';

// `npm run bench -- tuning [SPACE …]` measures how many designs the tuner needs until one of them is within 3 % of the
// best of the space, and how often the tuner is right when it claims this. Some spaces were measured completely; the
// tuner searches them with the predictions and without them. In other spaces, the predictor with changed parameters
// provides the true times. The tuner sees only the times that it requests. It is compared with a plain Gaussian process
// with expected improvement, which has the same budget and seeds, and with random search (the number of designs with an
// even chance of success).
const WITHIN = 1.03;
const SEEDS = Number(process.env.SEEDS ?? 30);
const STEP = 4;
const BUDGET = 120;
/** Smallest fraction of true claims ("within 3 % of the best"), for each space and for all spaces together. */
const MIN_KEPT = { each: 0.75, all: 0.9 };

const ROOT = join(import.meta.dirname, '../..');

/** A space to tune, and its true times in ms. */
interface Replay {
  readonly space: TuningSpace;
  readonly trueMs: Float64Array;
  /** Standard deviation of ln(time) of one measurement. */
  readonly noise: number;
}

type Search = Pick<Tuner, 'observe' | 'propose'> & Partial<Pick<Tuner, 'estimate'>>;

interface Found {
  /** Number of measurements until one of them is within 3 % of the best; infinite if the budget is too small. */
  readonly measured: number;
  /** Number of measurements when the tuner claims to be within 3 %, and the true regret then; null without a claim. */
  readonly claim: { readonly measured: number; readonly regret: number } | null;
}

function search({ trueMs, noise }: Replay, seed: number, { propose, observe, estimate }: Search): Found {
  const least = trueMs.reduce((one, other) => Math.min(one, other));
  const uniform = mersenneTwister(seed);
  let [measured, found] = [0, Infinity];
  let claim: Found['claim'] = null;
  while (measured < BUDGET && (found === Infinity || (estimate && !claim))) {
    const designs = propose(Math.min(STEP, BUDGET - measured));
    if (designs.length === 0) break;
    for (const design of designs) {
      measured += 1;
      if (trueMs[design] <= WITHIN * least) found = Math.min(found, measured);
      observe(design, trueMs[design] * Math.exp(noise * standardNormal(uniform)), Math.max(noise, 0.01));
    }
    if (claim) continue;
    const now = estimate?.();
    if (now && now.expectedRegret <= WITHIN - 1) claim = { measured, regret: trueMs[now.design] / least - 1 };
  }
  return { measured: found, claim };
}

/** Number of designs that are drawn at random before the Gaussian process chooses. */
const PLAIN_START = 12;

/** Searches without predictions: a Matérn kernel with one length scale per coordinate, and expected improvement. */
function plainSearch({ coordinates, predictedMs }: TuningSpace, seed: number): Search {
  const count = predictedMs.length;
  const axes = coordinates.map(({ values, range }) => makeAxis(values, range === 0));
  const field = { axes, line: new Float64Array(count), interaction: 1 };
  const start = arbitraryOrder(count, seed).slice(0, PLAIN_START);
  const known: number[] = [];
  const logMs: number[] = [];
  let process: Process | null = null;
  let [fittedTo, added] = [0, 0];
  return {
    observe(design, timeMs) {
      known.push(design);
      logMs.push(Math.log(timeMs));
    },
    propose(wanted) {
      if (known.length < PLAIN_START) return [...start.slice(known.length, known.length + wanted)];
      const middle = mean(Float64Array.from(logMs));
      const unit = Math.sqrt(mean(Float64Array.from(logMs, (log) => (log - middle) ** 2))) || 1;
      const z = Float64Array.from(logMs, (log) => (log - middle) / unit);
      if (!process || known.length >= 1.2 * fittedTo) {
        const noise = new Float64Array(known.length);
        process = createProcess(field, fitWidths(field, { designs: known, z, noise }));
        [fittedTo, added] = [known.length, 0];
      }
      for (; added < known.length; added += 1) process.add(known[added], 0);
      const expected = process.expect(z).mean;
      const taken = new Set(known);
      let best = z.reduce((one, other) => Math.min(one, other));
      while (taken.size < known.length + wanted) {
        let [next, most] = [-1, -Infinity];
        for (let design = 0; design < count; design += 1) {
          if (taken.has(design)) continue;
          const width = Math.sqrt(Math.max(1e-12, process.spread[design]));
          const gain = logImprovement(best - expected[design], width);
          if (gain > most) [next, most] = [design, gain];
        }
        if (next < 0) break;
        taken.add(next);
        best = Math.min(best, expected[next]);
        process.add(next, 0);
      }
      process.keep(known.length);
      return [...taken].slice(known.length);
    },
  };
}

/** Parameters whose values are names. The values of all other parameters are sizes. */
const NAMES = /^(read_only|use_|tile_stride|SA$|SB$|between_method)/;
/** Returns all configurations that ran. A variant that the model does not know is predicted as the plain kernel. */
function measuredSpace(one: (typeof MEASURED)[number], isPredicted: boolean): Replay {
  const [name, , kernel, id] = one;
  const rows = measuredRows(one);
  const columns = Object.keys(rows[0]).filter((key) => key !== 'device' && key !== 'time_ms');
  const values = (key: string): Float64Array => Float64Array.from(rows, (row) => Number(row[key]));
  return {
    space: {
      predictedMs:
        isPredicted && kernel ? tiledTimes(name, rows, kernel, gpu(id)) : new Float64Array(rows.length).fill(1),
      coordinates: columns.map((key) =>
        NAMES.test(key) ? { values: values(key), range: 0 } : { values: values(key).map(Math.log2), range: 1 },
      ),
      deviation: errorDeviation(gpu(id)),
    },
    trueMs: values('time_ms'),
    noise: 0,
  };
}

const MAX_DESIGNS = 1500;

/** Returns predicted times of designs, ms; NaN if a design is invalid. */
function timesOf(plan: SweepPlan, designs: readonly number[]): Float64Array {
  const ranges = designs.map((first) => ({ first, count: 1 }));
  return Float64Array.from(predictRanges(createPredictor(plan), ranges), ({ timeMs }) => timeMs[0]);
}

/** Draws a factor log-uniformly, from 1/`factor` to `factor`. */
const about = (uniform: UniformSource, factor: number): number => factor ** (2 * uniform() - 1);

/** Multiplies parameters of the study by random factors. Those of latency and knee are the usual ranges of inputs. */
function otherTruth(plan: SweepPlan, device: GpuDevice, uniform: UniformSource): SweepPlan {
  const { kernel } = plan;
  const changed = {
    ...kernel,
    serialFraction: Math.min(1, (kernel.serialFraction + 0.01) * about(uniform, 2)),
    cooperationCost: (kernel.cooperationCost + 0.005) * about(uniform, 2),
    bytesPerIteration: kernel.bytesPerIteration * about(uniform, 1.5),
    instructionsPerIteration: kernel.instructionsPerIteration * about(uniform, 1.5),
  };
  const own = withSetupIterations(changed, (computeSetupIterations(kernel) + 0.5) * about(uniform, 2));
  const other = { ...plan, id: `${plan.id} other ${uniform()}`, kernel: own, pipeline: {} };
  const derived = preparePipeline(other, device, null, changed.bytesPerIteration);
  const { latencyCycles, issueCycles, kneeSoftness, schedulers } = derived;
  const latency = latencyCycles * about(uniform, 1.5);
  const pipeline = {
    latencyCycles: latency,
    issueCycles,
    kneeSoftness: kneeSoftness * about(uniform, 1.5),
    schedulers,
  };
  return { ...other, pipeline: { [device.id]: pipeline } };
}

async function example(name: string, id: string): Promise<(seed: number) => Replay> {
  const study = exampleStudy(name);
  const device = gpu(id);
  const plan = await planOf({ ...study, devices: [id] }, [device]);
  const predictor = createPredictor(plan);
  const size = spaceSize(plan.axes);
  const [own] = predictRanges(predictor, [{ first: 0, count: size }]);
  const valid = Array.from({ length: size }, (_, at) => at).filter((at) => own.timeMs[at] > 0);
  return (seed) => {
    const uniform = mersenneTwister(1000 + seed);
    // A part of the valid designs keeps a replay short. They are drawn independently of their times.
    const drawn = valid.filter(() => uniform() < MAX_DESIGNS / valid.length);
    const truth = timesOf(otherTruth(plan, device, uniform), drawn);
    const kept = drawn.filter((_, i) => truth[i] > 0);
    const designs = kept.map((at) => ({
      design: describeDesign(predictor, at).design,
      timeMs: own.timeMs[at],
      residentBlocks: own.residentBlocks[at],
    }));
    const space = tuningSpace(device, designs, errorDeviation(device));
    return { space, trueMs: truth.filter((time) => time > 0), noise: 0.05 };
  };
}

function swiftshader(): Replay {
  const { rows } = JSON.parse(readFileSync(join(ROOT, 'test/data/measured/swiftshader-ranking.json'), 'utf8')) as {
    rows: { design: Parameters<typeof tuningSpace>[1][number]['design']; measuredMs: number; predictedMs: number }[];
  };
  const device = gpu('software-swiftshader');
  const designs = rows.map(({ design, predictedMs: timeMs }) => ({ design, timeMs, residentBlocks: 1 }));
  const space = tuningSpace(device, designs, errorDeviation(device));
  return { space, trueMs: Float64Array.from(rows, ({ measuredMs }) => measuredMs), noise: 0 };
}

const totals = { claims: 0, kept: 0 };

/** Computes the number of random measurements whose best is at most `target` with a probability of at least ½. */
function evenChanceMeasurements(sorted: Float64Array, target: number): number {
  const good = sorted.filter((time) => time <= target).length;
  let missed = 1;
  let draws = 0;
  while (missed > 0.5 && draws < sorted.length) {
    missed *= Math.max(0, sorted.length - good - draws) / (sorted.length - draws);
    draws += 1;
  }
  return draws;
}

function report(label: string, replayOf: (seed: number) => Replay): void {
  const searched = (by: (space: TuningSpace, seed: number) => Search): readonly Found[] =>
    Array.from({ length: SEEDS }, (_, seed) => {
      const one = replayOf(seed);
      return search(one, seed, by(one.space, seed));
    });
  const tuned = searched(createTuner);
  const plain = searched(plainSearch);
  const { space, trueMs } = replayOf(0);
  const least = trueMs.reduce((one, other) => Math.min(one, other));
  const random = evenChanceMeasurements(trueMs.toSorted(), WITHIN * least);
  const middle = (some: readonly Found[]): number =>
    median(Float64Array.from(some, ({ measured }) => Math.min(measured, BUDGET + 1)));
  const foundText = (some: readonly Found[]): string =>
    `${middle(some) > BUDGET ? `> ${BUDGET}` : middle(some)} (${some.filter(({ measured }) => measured <= BUDGET).length} of ${SEEDS})`;
  const claims = tuned.flatMap(({ claim }) => claim ?? []);
  const kept = claims.filter(({ regret }) => regret <= WITHIN - 1).length;
  totals.claims += claims.length;
  totals.kept += kept;
  const ends = median(Float64Array.from(claims, ({ measured }) => measured));
  const worst = Math.max(...claims.map(({ regret }) => regret));
  const isFewer = middle(tuned) < middle(plain);
  const isKept = kept >= MIN_KEPT.each * claims.length;
  const skill = spearman(space.predictedMs, trueMs);
  const rank = Number.isNaN(skill) ? '' : ` (rank correlation ${skill.toFixed(2)})`;
  const claimed =
    claims.length === 0
      ? `no claim within ${BUDGET}`
      : `${kept} of ${claims.length} claims true, after ${ends} measurements, worst regret ${percent(worst)}`;
  const verdict = isFewer && isKept ? 'ok    ' : 'below ';
  say(`${verdict} ${label}${rank}: ${foundText(tuned)}; plain ${foundText(plain)}; random ${random}; ${claimed}`);
}

const asked = process.argv.slice(2);
const spaces: readonly (readonly [string, () => Promise<(seed: number) => Replay>])[] = [
  ...[false, true].flatMap((isPredicted) =>
    MEASURED.filter(([, , kernel]) => kernel || !isPredicted).map((one) => {
      const [name, column] = one;
      const label = `${name}${column ? `-${column}` : ''}${isPredicted ? ', predicted' : ''}`;
      return [
        label,
        () => {
          const replay = measuredSpace(one, isPredicted);
          return Promise.resolve(() => replay);
        },
      ] as const;
    }),
  ),
  ['swiftshader', async () => swiftshader],
  ...(
    [
      ['geometric', 'nvidia-a100-sxm4-40gb'],
      ['acts', 'nvidia-rtx-4090'],
      ['spmv-skewed', 'nvidia-h100-sxm5-80gb'],
      ['software', 'software-swiftshader'],
    ] as const
  ).map(([name, id]) => [`${name} on ${id}`, () => example(name, id)] as const),
];
say(`Measurements until within 3 % (found of ${SEEDS}), at most ${BUDGET}, ${STEP} at a time:`);
for (const [label, open] of spaces)
  if (asked.length === 0 || asked.some((one) => label.startsWith(one))) report(label, await open());
say(
  `True claims: ${totals.kept} of ${totals.claims}${totals.kept >= MIN_KEPT.all * totals.claims ? '' : ', below 90 %'}.`,
);
