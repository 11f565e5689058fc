import {
  BUCKET_STEPS_PER_OCTAVE,
  COUNTED_UNITS,
  DEALT_STEPS_PER_OCTAVE,
  FETCHED_STEPS_PER_OCTAVE,
  NEGLIGIBLE_BLOCKS,
} from '../constants.ts';

/**
 * Units per slot for which depth laws are tabulated. A grid may leave any mean number of units per slot; a law for each
 * would cost much and add little, because one more term barely changes the shape of a sum.
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
  /** Mean units per slot over those that times are to be taken of: 1 where blocks differ in their units. */
  readonly timeScale: number;
}

/** Units per slot where they are dealt out round by round, the last round to the first slots. */
export function tabulatedUnits(meanUnits: number, gridBlocks: number): DealtUnits {
  if (meanUnits > COUNTED_UNITS) {
    const units = Math.round(2 ** (Math.round(Math.log2(meanUnits) * DEALT_STEPS_PER_OCTAVE) / DEALT_STEPS_PER_OCTAVE));
    const scale = meanUnits / units;
    return { units, fullerBlocks: 0, scale, timeScale: scale, key: units };
  }
  // Where there is no second round the last block alone is not full.
  const fewer = Math.max(1, Math.floor(meanUnits));
  const part = (meanUnits - fewer) * gridBlocks;
  const fullerBlocks = part > 1e-6 && part < 1 ? part : Math.max(0, Math.ceil(part - 1e-6));
  if (fullerBlocks > 0 && gridBlocks - fullerBlocks > NEGLIGIBLE_BLOCKS * gridBlocks)
    return { units: fewer, fullerBlocks, scale: 1, timeScale: 1, key: fewer };
  const units = fullerBlocks > 0 ? fewer + 1 : fewer;
  return { units, fullerBlocks: 0, scale: meanUnits / units, timeScale: 1, key: units };
}

/**
 * Units per slot where they are dealt out in order: the slots with one unit more than others get one of the longest.
 * Never fewer than there are.
 */
export function tabulatedRounds(meanUnits: number): TabulatedUnits {
  const octave = Math.max(0, Math.floor(Math.log2(meanUnits)));
  const step = 2 ** octave / BUCKET_STEPS_PER_OCTAVE;
  const steps = Math.max(BUCKET_STEPS_PER_OCTAVE, Math.ceil(meanUnits / step - 1e-9));
  const units = steps * step;
  return { units, scale: meanUnits / units, key: Math.round(units * BUCKET_STEPS_PER_OCTAVE) };
}

/** Units per slot where slots fetch them: not whole. */
export function tabulatedFetches(meanUnits: number): TabulatedUnits {
  // A slot that is partly empty on average still holds a unit somewhere.
  const key = Math.max(0, Math.round(Math.log2(meanUnits) * FETCHED_STEPS_PER_OCTAVE));
  const units = 2 ** (key / FETCHED_STEPS_PER_OCTAVE);
  return { units, scale: meanUnits / units, key };
}
