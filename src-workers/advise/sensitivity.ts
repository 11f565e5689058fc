import { spaceSize } from '../domain/space.ts';
import type { Predictor } from '../predict/tables.ts';
import type { InputChange } from './change.ts';
import { makeFigures, pickDesign } from './pick.ts';
import { tieFraction, type TieTable } from '../sweep/ties.ts';
import { predictTimes, shortestTime, surveyFastest } from './survey.ts';

/** The effect of one input. Each list has an entry for every tried value. */
export interface InputTrial {
  readonly bestMs: readonly number[];
  /** NaN where the recommended design is invalid. */
  readonly recommendedMs: readonly number[];
  readonly picked: readonly number[];
  /** The range in which the recommended design stays tied; an end is null if it is beyond the tried values. */
  readonly holds: readonly [number | null, number | null];
  /** The design picked just outside `holds`, and the largest fraction of time that any design saves on that side. */
  readonly below: TakenOver | null;
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
  /** The result at the current value; `null` if it must be computed. */
  readonly known: Best | null;
}

export const CANDIDATES_PER_VALUE = 12;
const BISECTIONS = 9;
/** Maximum number of searches for an end of a range. A better design in the whole space makes another necessary. */
const ROUNDS = 6;

export interface Best {
  readonly best: number;
  readonly bestMs: number;
  readonly recommendedMs: number;
  readonly picked: number;
  readonly candidates: readonly number[];
}

/**
 * Tries the values of one input, and finds the fastest design of the whole space for each. Between the values, only the
 * fastest designs of each value are compared. Where a range ends, the whole space is searched again.
 */
export function tryInput(predictorAt: (value: number) => Predictor, options: TrialOptions): InputTrial {
  const { values, value, recommended, ties } = options;
  // A set keeps its order, so the recommended design is the first one.
  const candidates = new Set([recommended, ...(options.known?.candidates ?? [])]);
  const bestOf = (at: number): Best => {
    const found = findBest(predictorAt(at), Uint32Array.from(candidates));
    for (const design of found.candidates) candidates.add(design);
    return found;
  };
  const bests = values.map((at) => (at === value && options.known) || bestOf(at));
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
      const list = Uint32Array.from(candidates);
      for (let i = 0; i < BISECTIONS; i += 1) {
        const middle = options.whole ? Math.floor((good + bad) / 2) : (good + bad) / 2;
        if (middle === good || middle === bad) break;
        const times = predictTimes(predictorAt(middle), list);
        const bestMs = shortestTime(times);
        if (holdsAt({ recommendedMs: times[0], bestMs, best: list[Math.max(0, times.indexOf(bestMs))] })) good = middle;
        else bad = middle;
      }
      const found = bestOf(good);
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

function computeGain({ bestMs, recommendedMs }: Best): number {
  return Number.isNaN(recommendedMs) ? 1 : 1 - bestMs / recommendedMs;
}

/** @param candidates the recommended design, then others that are probably fast, which shorten the search */
function findBest(predictor: Predictor, candidates: Uint32Array): Best {
  const { axes } = predictor.plan;
  const [recommended] = candidates;
  const candidateMs = predictTimes(predictor, candidates);
  const whole = { first: 0, count: spaceSize(axes) };
  const { designs, columns } = surveyFastest(predictor, whole, { bestMs: shortestTime(candidateMs) });
  const figures = makeFigures(designs, columns);
  const tied = [...designs].sort((a, b) => figures.timeMs(a) - figures.timeMs(b) || a - b);
  const picked = pickDesign(axes, figures, tied) ?? recommended;
  return {
    best: tied[0] ?? recommended,
    bestMs: shortestTime(columns.timeMs),
    recommendedMs: candidateMs[0],
    picked,
    candidates: [picked, ...tied.slice(0, CANDIDATES_PER_VALUE)],
  };
}
