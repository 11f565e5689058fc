import { BLOCK, CELL_FIELDS, WIDTH, type ActivityProfile } from './profile.ts';

/**
 * The blocks of one launch whose lives are known but for their order, or known to be of so many kinds, at least those with the
 * longest: not draws from one law. One of them is the longest for certain.
 */
export interface Population {
  /** Blocks of the launch. */
  readonly blocks: number;
  /** Known blocks of each kind, those with the longest life first. */
  readonly counts: Float64Array;
  /** Where the lives of each kind begin in the arrays below, and where the last ends. */
  readonly from: Int32Array;
  /** Lives, iterations, longest first within a kind, and the probability of each. */
  readonly lives: Float64Array;
  readonly masses: Float64Array;
}

/** Blocks of a launch, each with its depths. */
export interface SampledBlocks {
  /** Rows of a depth for each of `counts`, iterations, one of every block, shortest first. */
  readonly depths: Float64Array;
  /** Groups of a block that each depth of a row stands for; the last, the longest, for itself. */
  readonly counts: Int32Array;
  /** Of the blocks, in any unit; `null` where all are alike. */
  readonly weights: Float64Array | null;
}

/** Blocks of a sample that are told apart, those with the longest lives. */
const MOST_TOLD = 8;

const longest = { block: new Int32Array(MOST_TOLD), life: new Float64Array(MOST_TOLD) };

/** Each of the longest blocks of a sample is a kind by itself. */
export function sampledPopulation({ depths, counts, weights }: SampledBlocks, blocks: number): Population {
  const V = counts.length;
  const sampled = depths.length / V;
  const { block, life } = longest;
  let told = 0;
  let total = 0;
  for (let b = 0, at = V - 1; b < sampled; b++, at += V) {
    const own = depths[at];
    total += weights ? weights[b] : 1;
    if (told === MOST_TOLD && own <= life[told - 1]) continue;
    let i = told < MOST_TOLD ? told++ : told - 1;
    for (; i > 0 && life[i - 1] < own; i--) {
      life[i] = life[i - 1];
      block[i] = block[i - 1];
    }
    life[i] = own;
    block[i] = b;
  }
  const known = {
    blocks,
    counts: new Float64Array(told),
    from: new Int32Array(told + 1),
    lives: life.slice(0, told),
    masses: new Float64Array(told).fill(1),
  };
  for (let i = 0; i < told; i++) {
    known.counts[i] = ((weights ? weights[block[i]] : 1) * blocks) / total;
    known.from[i + 1] = i + 1;
  }
  return known;
}

/** Expected number of active blocks above which one of them is active for certain. */
const CERTAIN = 40;
/** Least logarithm of a probability that is told from that of nothing. */
const LEAST_LOG = -50;
/** A block that is active all but for certain. */
const NEARLY = 1 - 1e-12;

/** Times of a cell at which blocks are looked at, as parts of its width; what was found at each. */
const TIMES = [0.25, 0.75];
const logs = new Float64Array(TIMES.length);

/**
 * Writes, for every cell of a drain, ln P(no block of the device is active): blocks start in random order, so each is active with
 * the probability that it is among those that started within its life. Blocks that are not of the population are draws.
 * @param startedWithin share of the blocks of the launch that start in so many iterations before the drain, 0 and 1 at most
 */
export function nowhereInto(
  out: Float64Array,
  population: Population,
  { cells, data, slots }: ActivityProfile,
  startedWithin: (iterations: number) => number,
): void {
  const { counts, from, lives, masses } = population;
  const kinds = counts.length;
  let start = 0;
  for (let c = 0, at = 0; c < cells; c++, at += CELL_FIELDS) {
    const width = data[at + WIDTH];
    const expected = slots * data[at + BLOCK];
    if (expected > CERTAIN) out[c] = LEAST_LOG;
    else {
      let known = 0;
      for (let time = 0; time < TIMES.length; time++) {
        const now = start + TIMES[time] * width;
        let log = 0;
        for (let kind = 0; kind < kinds && log > LEAST_LOG; kind++) {
          let i = from[kind];
          if (lives[i] <= now) break;
          let active = 0;
          for (const to = from[kind + 1]; i < to && lives[i] > now; i++) {
            active += masses[i] * startedWithin(lives[i] - now);
          }
          known += (counts[kind] * active) / TIMES.length;
          log += counts[kind] * Math.log1p(-Math.min(active, NEARLY));
        }
        logs[time] = log;
      }
      const others = Math.max(0, expected - known);
      let any = 0;
      for (let time = 0; time < TIMES.length; time++) any -= Math.expm1(logs[time] - others) / TIMES.length;
      out[c] = Math.max(LEAST_LOG, Math.log1p(-Math.min(any, NEARLY)));
    }
    start += width;
  }
}

/**
 * ln P(none of some of the blocks is active), which are a part of the device's.
 * @param log ln P(no block is active)
 * @param expected number of active blocks
 * @param part of the slots, 0…1
 */
export function thinned(log: number, expected: number, part: number): number {
  // As if so many blocks were active with one probability each; that is within a few per cent what it has to be.
  const ratio = Math.min(1, expected / -log);
  const each = Math.max(LEAST_EACH, 1 - ratio * ratio);
  return (expected / each) * Math.log1p(-part * each);
}

/** Least probability of one block that is told from that of very many rare ones. */
const LEAST_EACH = 1e-9;
