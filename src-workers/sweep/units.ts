/**
 * Units per slot for which depth laws are tabulated. A grid may leave any mean number of units per slot; a law for each
 * would cost more than it tells, because the shape of a sum hardly changes with one more term.
 */
export interface TabulatedUnits {
  /** Units of a slot: whole where they are dealt out. */
  readonly units: number;
  /** Mean units per slot over the tabulated ones, about 1. */
  readonly scale: number;
  readonly key: number;
}

/** Units per slot of two kinds of block, or of one. */
export interface DealtUnits extends TabulatedUnits {
  /** Blocks whose slots have one unit more: the first ones. Below one: the part of the first block's slots that have. */
  readonly fullerBlocks: number;
  /** Mean units per slot over those that times are to be taken of: 1 where they are told apart by blocks. */
  readonly timeScale: number;
}

/**
 * Up to here slots with one unit more than others are told apart; beyond, one more unit is less than the spread of the sum.
 */
const MAX_COUNTED = 12;
/** Steps per factor of two beyond that: a law stands for means at most 6 % away, whose relative spread differs by 3 %. */
const STEPS_PER_OCTAVE = 6;
/** Share of the blocks, the last ones, whose missing unit is not worth a law. */
const HARDLY_ANY = 1 / 64;

/** Units per slot where they are dealt out round by round, the last round to the first slots. */
export function tabulatedUnits(meanUnits: number, gridBlocks: number): DealtUnits {
  if (meanUnits > MAX_COUNTED) {
    const units = Math.round(2 ** (Math.round(Math.log2(meanUnits) * STEPS_PER_OCTAVE) / STEPS_PER_OCTAVE));
    const scale = meanUnits / units;
    return { units, fullerBlocks: 0, scale, timeScale: scale, key: units };
  }
  // Where there is no second round the last block alone is not full.
  const fewer = Math.max(1, Math.floor(meanUnits));
  const part = (meanUnits - fewer) * gridBlocks;
  const fullerBlocks = part > 1e-6 && part < 1 ? part : Math.max(0, Math.ceil(part - 1e-6));
  if (fullerBlocks > 0 && gridBlocks - fullerBlocks > HARDLY_ANY * gridBlocks)
    return { units: fewer, fullerBlocks, scale: 1, timeScale: 1, key: fewer };
  const units = fullerBlocks > 0 ? fewer + 1 : fewer;
  return { units, fullerBlocks: 0, scale: meanUnits / units, timeScale: 1, key: units };
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
  return { units, scale: meanUnits / units, key: Math.round(units * ROUND_STEPS) };
}

/** Steps per factor of two for slots that fetch: any mean is possible, and nobody has a unit more than others for long. */
const FETCHED_STEPS_PER_OCTAVE = 12;

/** Units per slot where slots fetch them: not whole. */
export function tabulatedFetches(meanUnits: number): TabulatedUnits {
  // A slot that is partly empty on average still holds a unit somewhere.
  const key = Math.max(0, Math.round(Math.log2(meanUnits) * FETCHED_STEPS_PER_OCTAVE));
  const units = 2 ** (key / FETCHED_STEPS_PER_OCTAVE);
  return { units, scale: meanUnits / units, key };
}
