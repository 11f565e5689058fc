/**
 * Units per slot for which depth laws are tabulated. A grid may leave any mean number of units per slot; a law for each
 * would cost more than it tells, because the shape of a sum hardly changes with one more term.
 */
export interface TabulatedUnits {
  /** Units of the slots with fewer: whole where they are dealt out. */
  readonly units: number;
  /** Share of the blocks whose slots have one unit more, 0…1. */
  readonly share: number;
  /** Mean units per slot over the tabulated mean: cycles are scaled by it, about 1. */
  readonly scale: number;
  readonly key: number;
}

/** Shares of fuller blocks that are told apart. Small ones count: one block with a second unit doubles a latency-bound time. */
const SHARES = [0, 1 / 16, 1 / 3, 2 / 3, 1];
/**
 * Up to here slots with one unit more than others are told apart; beyond, one more unit is less than the spread of the sum.
 */
const MAX_MIXED = 12;
/** Steps per factor of two beyond that: a law stands for means at most 6 % away, whose relative spread differs by 3 %. */
const STEPS_PER_OCTAVE = 6;

export function tabulatedUnits(meanUnits: number): TabulatedUnits {
  if (meanUnits > MAX_MIXED) {
    const units = Math.round(2 ** (Math.round(Math.log2(meanUnits) * STEPS_PER_OCTAVE) / STEPS_PER_OCTAVE));
    return { units, share: 0, scale: meanUnits / units, key: units * SHARES.length };
  }
  // A slot that is partly empty on average still holds a unit somewhere.
  let units = Math.max(1, Math.floor(meanUnits));
  const rest = Math.max(0, meanUnits - units);
  let at = 0;
  while (SHARES[at]! < rest - 1e-9) at += 1;
  // The nearer neighbour, but never 0 for a share that exists: see above.
  if (at > 1 && rest - SHARES[at - 1]! < SHARES[at]! - rest) at -= 1;
  if (SHARES[at] === 1) {
    units += 1;
    at = 0;
  }
  const share = SHARES[at]!;
  return { units, share, scale: meanUnits / (units + share), key: units * SHARES.length + at };
}

/** Steps per factor of two where depth laws take any mean. */
const ROUND_STEPS = 32;

/**
 * Units per slot where they are dealt out in order: the slots with one unit more than others get one of the longest.
 * Never fewer than there are.
 */
export function tabulatedRounds(meanUnits: number): TabulatedUnits {
  const octave = Math.max(0, Math.floor(Math.log2(meanUnits)));
  const step = 2 ** octave / ROUND_STEPS;
  const steps = Math.max(ROUND_STEPS, Math.ceil(meanUnits / step - 1e-9));
  const units = steps * step;
  return { units, share: 0, scale: meanUnits / units, key: Math.round(units * ROUND_STEPS) };
}

/** Steps per factor of two for slots that fetch: any mean is possible, and nobody has a unit more than others for long. */
const FETCHED_STEPS_PER_OCTAVE = 12;

/** Units per slot where slots fetch them: not whole. */
export function tabulatedFetches(meanUnits: number): TabulatedUnits {
  // A slot that is partly empty on average still holds a unit somewhere.
  const key = Math.max(0, Math.round(Math.log2(meanUnits) * FETCHED_STEPS_PER_OCTAVE));
  const units = 2 ** (key / FETCHED_STEPS_PER_OCTAVE);
  return { units, share: 0, scale: meanUnits / units, key };
}
