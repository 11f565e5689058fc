/** Maximum number of units per slot for which the blocks that have one unit more get a law of their own. */
const COUNTED_UNITS = 12;
/** Laws per doubling of the units per slot, beyond `COUNTED_UNITS`. Each law is used for numbers up to 6 % away. */
const DEALT_STEPS_PER_OCTAVE = 6;
/** Laws per doubling of the units per slot, if units are in buckets. Each law is used for numbers up to 3 % smaller. */
const BUCKET_STEPS_PER_OCTAVE = 32;
/** Laws per doubling of the fetched units per slot. Each law is used for numbers up to 3 % away. */
const FETCHED_STEPS_PER_OCTAVE = 12;
/** The last blocks, with one unit less per slot, get no separate law if they are at most this fraction of all. */
const NEGLIGIBLE_BLOCKS = 1 / 64;

/**
 * Depth laws are made for only some mean numbers of units per slot. The depth of a slot is a sum over its units, so one
 * unit more hardly changes the shape of its law.
 */
export interface TabulatedUnits {
  /** A whole number unless units are in buckets or fetched. */
  readonly units: number;
  /** Mean units per slot divided by the tabulated number, about 1. */
  readonly scale: number;
  readonly key: number;
}

export interface DealtUnits extends TabulatedUnits {
  /** Number of first blocks whose slots have one more unit; 0.3 means 30 % of the first block's slots. */
  readonly fullerBlocks: number;
  /** Mean units per slot divided by the units for which the time is computed; 1 up to `COUNTED_UNITS` units. */
  readonly timeScale: number;
}

/** Tabulates units per slot that are dealt round by round. The first slots get the units of the last round. */
export function tabulateUnits(meanUnits: number, gridBlocks: number): DealtUnits {
  if (meanUnits > COUNTED_UNITS) {
    const units = Math.round(2 ** (Math.round(Math.log2(meanUnits) * DEALT_STEPS_PER_OCTAVE) / DEALT_STEPS_PER_OCTAVE));
    const scale = meanUnits / units;
    return { units, fullerBlocks: 0, scale, timeScale: scale, key: units };
  }
  // A mean below 1 counts as 1, because then only the last block is partly empty.
  const fewer = Math.max(1, Math.floor(meanUnits));
  const part = (meanUnits - fewer) * gridBlocks;
  const fullerBlocks = part > 1e-6 && part < 1 ? part : Math.max(0, Math.ceil(part - 1e-6));
  if (fullerBlocks > 0 && gridBlocks - fullerBlocks > NEGLIGIBLE_BLOCKS * gridBlocks)
    return { units: fewer, fullerBlocks, scale: 1, timeScale: 1, key: fewer };
  const units = fullerBlocks > 0 ? fewer + 1 : fewer;
  return { units, fullerBlocks: 0, scale: meanUnits / units, timeScale: 1, key: units };
}

/** Tabulates units per slot for buckets, rounded up, because some slots get one more of the longest units. */
export function tabulateRounds(meanUnits: number): TabulatedUnits {
  const octave = Math.max(0, Math.floor(Math.log2(meanUnits)));
  const step = 2 ** octave / BUCKET_STEPS_PER_OCTAVE;
  const steps = Math.max(BUCKET_STEPS_PER_OCTAVE, Math.ceil(meanUnits / step - 1e-9));
  const units = steps * step;
  return { units, scale: meanUnits / units, key: Math.round(units * BUCKET_STEPS_PER_OCTAVE) };
}

export function tabulateFetches(meanUnits: number): TabulatedUnits {
  // A slot that has units has at least one, even if the mean over the slots is below one.
  const key = Math.max(0, Math.round(Math.log2(meanUnits) * FETCHED_STEPS_PER_OCTAVE));
  const units = 2 ** (key / FETCHED_STEPS_PER_OCTAVE);
  return { units, scale: meanUnits / units, key };
}
