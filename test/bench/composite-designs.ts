import type { GroupDepth } from '../../src-workers/domain/depth.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../src-workers/domain/workload.ts';
import { cycleTable } from '../../src-workers/models/pipeline/soft-saturation.ts';
import {
  binomialLaw,
  categoricalLaw,
  constantLaw,
  geometricLaw,
  lognormalLaw,
  moments,
  negativeBinomialLaw,
  poissonLaw,
  uniformLaw,
  zipfLaw,
} from '../../src-workers/models/workload/laws.ts';
import { prepareBlockLaw } from '../../src-workers/predict/time/block-law.ts';
import { smoothRounds, type CycleTable, type Schedulers } from '../../src-workers/predict/time/cycles.ts';
import { computeLaunchCycles, makePlainLaunch } from '../../src-workers/predict/time/regimes.ts';
import { makeResidency } from '../../src-workers/predict/time/residency.ts';
import { prepareDevice } from '../../src-workers/simulate/device.ts';
import type { Random } from '../../src-workers/simulate/random.ts';
import { replicate, type ReplicationOptions } from '../../src-workers/simulate/replicate.ts';
import { independentGroups } from '../../src-workers/simulate/samplers.ts';

/** Computes the depth of a work group of n unsorted units, one unit per lane. This is the simplest `GroupDepth`. */
export function unsortedDepth(law: LengthLaw, n: number): GroupDepth {
  const values = law.support;
  let sum = 0;
  const below = law.probability.map((part, i) => (i === values.length - 1 ? 1 : Math.min(1, (sum += part))));
  const survivalInto = (out: Float64Array, groupsPerBlock: number): void => {
    for (let i = 0; i < out.length; i++) out[i] = 1 - Math.pow(below[i], n * groupsPerBlock);
  };
  const survival = new Float64Array(values.length);
  survivalInto(survival, 1);
  let meanDepth = values[0];
  for (let i = 0; i + 1 < values.length; i++) meanDepth += (values[i + 1] - values[i]) * survival[i];
  const meanWork = moments(law).mean;
  const aggregateLoss = meanWork > 0 ? meanDepth / meanWork : 1;
  return { values, meanDepth, meanWork, aggregateLoss, meanLoss: aggregateLoss, survivalInto };
}

/** Tabulates t(w) = (τᵖ + (c·q⌈w/q⌉)ᵖ)^(1/p) in cycles, for w = 0…groups. */
export const kneeRate = (
  latencyCycles: number,
  issueCycles: number,
  kneeSoftness: number,
  schedulers: number,
  groups: number,
): Float64Array => cycleTable({ latencyCycles, issueCycles, kneeSoftness, schedulers }, groups);

/** A launch of independent work groups on an imaginary device. */
export interface IndependentLaunch {
  readonly depth: GroupDepth;
  /** W_b of the model; the next three fields are R, M and G. M and G are at least 1. */
  readonly groupsPerBlock: number;
  readonly residentBlocks: number;
  readonly multiprocessors: number;
  readonly gridBlocks: number;
  /** t(w) in cycles, for w = 0…R·W_b groups or more. */
  readonly cyclesPerIteration: CycleTable;
  readonly schedulers?: Schedulers;
}

export interface RandomDesign extends IndependentLaunch {
  readonly label: string;
  readonly cyclesPerIteration: Float64Array;
  readonly schedulers: Schedulers;
}

export function pick<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)];
}

const between = (random: Random, low: number, high: number): number => low + (high - low) * random();
const logBetween = (random: Random, low: number, high: number): number => low * Math.pow(high / low, random());

function randomLaw(random: Random): LengthLaw {
  const integer = (low: number, high: number): number => Math.round(logBetween(random, low, high));
  const kinds: readonly (() => LengthLaw)[] = [
    () => unwrap(geometricLaw(logBetween(random, 0.003, 0.5))),
    () => {
      const low = integer(1, 50);
      return unwrap(uniformLaw(low, low + integer(1, 200)));
    },
    () => unwrap(zipfLaw(between(random, 0.8, 2.5), integer(20, 20000))),
    () => unwrap(lognormalLaw(between(random, 1, 5), between(random, 0.2, 1.5))),
    () => {
      const heavy = logBetween(random, 0.0005, 0.5);
      const low = integer(1, 20);
      const likely = { length: low, probability: 1 - heavy };
      return unwrap(categoricalLaw([likely, { length: low * integer(2, 300), probability: heavy }]));
    },
    () => unwrap(poissonLaw(logBetween(random, 2, 300))),
    () => unwrap(binomialLaw(integer(10, 400), between(random, 0.1, 0.9))),
    () => unwrap(negativeBinomialLaw(logBetween(random, 0.5, 20), between(random, 0.02, 0.5))),
    () => unwrap(constantLaw(integer(1, 300))),
  ];
  return pick(random, kinds)();
}

const MULTIPROCESSORS = [8, 16, 20, 46, 80, 108, 132];

/** Draws a design from the composite model's whole space. A quarter of the grids fill less than one wave. */
export function randomDesign(random: Random, maxGroupEnds = 2e6): RandomDesign {
  for (;;) {
    const law = randomLaw(random);
    const n = pick(random, [1, 2, 4, 8, 16, 32]);
    const width = Math.floor(logBetween(random, 1, 32.999));
    const most = Math.max(1, Math.min(32, Math.floor(64 / width)));
    const residentBlocks = Math.max(1, Math.min(most, Math.round(logBetween(random, 1, most))));
    const multiprocessors = pick(random, MULTIPROCESSORS);
    const waves = random() < 0.25 ? random() : logBetween(random, 1, 100);
    const gridBlocks = Math.max(1, Math.round(waves * multiprocessors * residentBlocks));
    if (gridBlocks * width > maxGroupEnds) continue;
    const schedulers = pick(random, [1, 2, 4]);
    const softness = between(random, 1, 8);
    const groups = schedulers * Math.ceil((residentBlocks * width) / schedulers);
    const latency = logBetween(random, 10, 800);
    // Chooses the issue cost so that launches are anywhere from deeply latency-bound to deeply issue-bound.
    const issue = (latency / groups) * logBetween(random, 0.1, 10);
    return {
      label: `${law.label} n=${n} Wb=${width} R=${residentBlocks} M=${multiprocessors} G=${gridBlocks} waves=${waves.toFixed(2)} τ=${latency.toFixed(0)} c=${issue.toFixed(2)} p=${softness.toFixed(1)} q=${schedulers}`,
      depth: unsortedDepth(law, n),
      groupsPerBlock: width,
      residentBlocks,
      multiprocessors,
      gridBlocks,
      cyclesPerIteration: smoothRounds(kneeRate(latency, issue, softness, schedulers, groups), schedulers),
      schedulers: { count: schedulers, issueShare: 1 },
    };
  }
}

export function prepareLaunch(launch: IndependentLaunch): ReturnType<typeof makePlainLaunch> {
  const block = prepareBlockLaw(launch.depth, launch.groupsPerBlock);
  const residency = makeResidency(block, launch.residentBlocks, launch.cyclesPerIteration, launch.schedulers);
  return makePlainLaunch(residency, launch.gridBlocks, launch.multiprocessors);
}

export const predictCycles = (launch: IndependentLaunch): number => computeLaunchCycles(prepareLaunch(launch));

export const simulateCycles = (
  { depth, ...device }: IndependentLaunch,
  options: ReplicationOptions,
  draw = independentGroups(depth),
): ReturnType<typeof replicate> => replicate(prepareDevice(device, draw), options);
