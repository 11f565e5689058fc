import type { KernelProfile } from '../domain/kernel.ts';
import { kernelInput, type KernelField } from '../domain/provenance.ts';
import { AXIS, axisCounts, decodeInto, encode, type SpaceAxes } from '../domain/space.ts';
import type { Predictor } from '../predict/tables.ts';
import { predictPromising } from './bound.ts';
import type { InputChange } from './change.ts';
import { coarseDesigns } from './coarse.ts';
import { pickDesign } from './pick.ts';
import { AGREEMENT_FRACTION, tieFraction, type TieTable } from '../sweep/ties.ts';
import { predictTimes } from './survey.ts';

/** The effect of one input: times over its range, and how far the recommended design stays within the tie band. */
export interface InputTrial {
  /** The best time at each tried value. */
  readonly bestMs: readonly number[];
  /** NaN if the recommended design is invalid. */
  readonly recommendedMs: readonly number[];
  /** The design that the rule picks at each tried value. */
  readonly picked: readonly number[];
  /** The range in which the recommended design stays tied; an end is null if it is beyond the tried values. */
  readonly holds: readonly [number | null, number | null];
  /**
   * The design that is picked just below that range, and the largest fraction of the recommended time that it saves.
   */
  readonly below: TakenOver | null;
  /** The same for the design that is picked just above that range. */
  readonly above: TakenOver | null;
}

export interface TakenOver {
  readonly at: number;
  readonly design: number;
  readonly gain: number;
}

export interface TrialOptions {
  readonly input: InputChange['input'];
  /** Ascending values, including the current `value`. */
  readonly values: readonly number[];
  readonly value: number;
  readonly whole: boolean;
  readonly recommended: number;
  readonly ties: TieTable;
  /** The best designs of every group at the current value (`Survey`). */
  readonly near: Uint32Array;
  /** The result at the current value; `null` if the recommended design is not tied there. */
  readonly known: Best | null;
}

/** Inputs that affect only iterations. */
const OF_ITERATIONS: ReadonlySet<KernelField> = new Set(['serialFraction', 'cooperationCost', 'flattenedCost']);

/**
 * Whether an input changes the times of all designs of a group by one factor, so that the best of the group stays the
 * best. This holds for a kernel that only has iterations and moves no data.
 */
export function isScaling(
  input: InputChange['input'],
  { prologue, unit, refill, accesses, bytesPerIteration }: KernelProfile,
): boolean {
  const kernel = kernelInput(input);
  if (kernel === null || !OF_ITERATIONS.has(kernel.field)) return false;
  return !prologue && !unit && !refill && !accesses && bytesPerIteration === 0;
}

/** A family is predicted in full if its coarse best is within this fraction of the best. */
const FAMILY_MARGIN = 0.06;
/** Maximum number of families that are predicted in full, and of designs of each. */
const MAX_FAMILIES = 3;
const MAX_FAMILY_DESIGNS = 2048;
/** Number of designs that are kept for each tried value. They are the candidates for the values between. */
export const CANDIDATES_PER_VALUE = 12;
const BISECTIONS = 9;
/** Maximum number of searches for an end. A search is repeated if it finds more designs that beat the best one. */
const ROUNDS = 6;

export interface Best {
  readonly best: number;
  readonly bestMs: number;
  readonly recommendedMs: number;
  readonly picked: number;
  /** The fastest designs, and the picked one. */
  readonly candidates: readonly number[];
}

/**
 * Tries the values of one input. If the input scales the times of a family (designs that differ only in block size and
 * launch), only the best of every family are compared. For other inputs, a coarse subset and these designs show which
 * families can hold the best design at any value, and these families are predicted in full. Between the values, only
 * the designs that were best at one of them are compared.
 * @param predictorAt predictor of the plan with the input at a value
 */
export function tryInput(predictorAt: (value: number) => Predictor, options: TrialOptions): InputTrial {
  const { values, value, recommended, ties } = options;
  const bestOf = (at: number): Best => findBest(predictorAt(at), options);
  const bests = values.map((at) => (at === value && options.known) || bestOf(at));
  const candidates = new Set(bests.flatMap((best) => best.candidates));
  const present = values.indexOf(value);
  const holdsAt = ({ best, bestMs, recommendedMs }: Pick<Best, 'best' | 'bestMs' | 'recommendedMs'>): boolean =>
    recommendedMs <= bestMs * (1 + tieFraction(ties, best, recommended));
  const gains = bests.map(computeGain);

  const end = (step: 1 | -1): { readonly holds: number | null; readonly over: TakenOver | null } => {
    let inside = present;
    while (inside + step >= 0 && inside + step < values.length && holdsAt(bests[inside + step])) inside += step;
    if (inside + step < 0 || inside + step >= values.length) return { holds: null, over: null };
    let good = values[inside];
    let bad = values[inside + step];
    let atBad = bests[inside + step];
    for (let round = 0; round < ROUNDS; round += 1) {
      const list = Uint32Array.from([recommended, ...candidates]);
      for (let i = 0; i < BISECTIONS; i += 1) {
        const middle = options.whole ? Math.floor((good + bad) / 2) : (good + bad) / 2;
        if (middle === good || middle === bad) break;
        const times = predictTimes(predictorAt(middle), list);
        const bestMs = times.reduce(smaller, Infinity);
        if (holdsAt({ recommendedMs: times[0], bestMs, best: list[Math.max(0, times.indexOf(bestMs))] })) good = middle;
        else bad = middle;
      }
      // The whole space may have a faster design at this value than the candidates.
      const found = bestOf(good);
      for (const design of found.candidates) candidates.add(design);
      if (holdsAt(found)) {
        atBad = bestOf(bad);
        break;
      }
      [bad, atBad] = [good, found];
      good = values[inside];
    }
    const side = gains.slice(...(step > 0 ? [present + 1] : [0, present]));
    return { holds: good, over: { at: bad, design: atBad.picked, gain: Math.max(computeGain(atBad), ...side) } };
  };

  const isHeld = holdsAt(bests[present]);
  const below = isHeld ? end(-1) : { holds: value, over: null };
  const above = isHeld ? end(1) : { holds: value, over: null };
  return {
    bestMs: bests.map(({ bestMs }) => bestMs),
    recommendedMs: bests.map(({ recommendedMs }) => recommendedMs),
    picked: bests.map(({ picked }) => picked),
    holds: [below.holds, above.holds],
    below: below.over,
    above: above.over,
  };
}

const smaller = (least: number, time: number): number => (time < least ? time : least);

/** The fraction of its time by which the recommended design could be faster; 1 if it cannot run. */
function computeGain({ bestMs, recommendedMs }: Best): number {
  return Number.isNaN(recommendedMs) ? 1 : 1 - bestMs / recommendedMs;
}

/** Lists the designs that can be the best for a predictor's plan. */
function competitors(predictor: Predictor, { input, near, recommended }: TrialOptions): Uint32Array {
  if (isScaling(input, predictor.plan.kernel)) return Uint32Array.from(new Set([...near, recommended]));
  const { axes } = predictor.plan;
  const looked = Uint32Array.from(new Set([...coarseDesigns(axes), ...near, recommended]));
  const families = findFamilies(axes, looked, predictPromising(predictor, looked, FAMILY_MARGIN).columns.timeMs);
  return Uint32Array.from(new Set([...looked, ...listMembers(axes, families)]));
}

function findBest(predictor: Predictor, options: TrialOptions): Best {
  const { recommended } = options;
  const { axes } = predictor.plan;
  const designs = competitors(predictor, options);
  const { timeMs, gridBlocks } = predictPromising(predictor, designs, AGREEMENT_FRACTION).columns;
  const at = new Map(Array.from(designs, (design, entry) => [design, entry]));
  const bestMs = timeMs.reduce(smaller, Infinity);
  const tied = Array.from(designs.keys())
    .filter((entry) => timeMs[entry] <= bestMs * (1 + AGREEMENT_FRACTION))
    .sort((a, b) => timeMs[a] - timeMs[b] || designs[a] - designs[b])
    .map((entry) => designs[entry]);
  const figures = {
    timeMs: (design: number) => timeMs[at.get(design)!],
    gridBlocks: (design: number) => gridBlocks[at.get(design)!],
  };
  const picked = pickDesign(axes, figures, tied) ?? recommended;
  return {
    best: tied[0] ?? recommended,
    bestMs,
    recommendedMs: predictTimes(predictor, Uint32Array.of(recommended))[0],
    picked,
    candidates: [picked, ...tied.slice(0, CANDIDATES_PER_VALUE)],
  };
}

/** Lists the families near the best time, each as its design with the first block size and launch. */
function findFamilies(axes: SpaceAxes, designs: Uint32Array, times: Float64Array): readonly number[] {
  const counts = axisCounts(axes);
  const positions = new Int32Array(counts.length);
  const familyOf = (design: number): number => {
    decodeInto(positions, counts, design);
    positions[AXIS.blockThreads] = 0;
    positions[AXIS.launch] = 0;
    return encode(counts, positions);
  };
  const best = new Map<number, number>();
  designs.forEach((design, at) => {
    if (Number.isNaN(times[at])) return;
    const family = familyOf(design);
    best.set(family, Math.min(best.get(family) ?? Infinity, times[at]));
  });
  const ranked = [...best].sort((a, b) => a[1] - b[1]);
  const near = ranked.filter(([, time]) => time <= ranked[0][1] * (1 + FAMILY_MARGIN)).slice(0, MAX_FAMILIES);
  return near.map(([family]) => family).sort((a, b) => a - b);
}

/** Lists the designs of families. From a large family, it takes only an evenly spread part. */
function listMembers(axes: SpaceAxes, families: readonly number[]): readonly number[] {
  const counts = axisCounts(axes);
  const blocks = counts[AXIS.blockThreads];
  const launches = counts[AXIS.launch];
  const step = Math.ceil((blocks * launches) / MAX_FAMILY_DESIGNS);
  const positions = new Int32Array(counts.length);
  return families.flatMap((family) => {
    decodeInto(positions, counts, family);
    const members: number[] = [];
    for (let i = 0; i < blocks * launches; i += step) {
      positions[AXIS.blockThreads] = Math.floor(i / launches);
      positions[AXIS.launch] = i % launches;
      members.push(encode(counts, positions));
    }
    return members;
  });
}
