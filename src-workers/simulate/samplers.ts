import type { GroupDepth } from '../domain/depth.ts';
import type { Random } from './random.ts';

/** Writes the depths (iterations) of the thread groups of the next block, in launch order. */
export type BlockSampler = (out: Float64Array) => void;

/** Starts a fresh stream of blocks; called once per replication. */
export type BlockSource = (random: Random) => BlockSampler;

/** Draws an index of a discrete law in constant time. */
export type IndexSampler = (random: Random) => number;

/**
 * Alias sampler of a law given by its probabilities (they are normalised).
 * Source: Vose 1991, A linear algorithm for generating random numbers with a given distribution, doi:10.1109/32.92917.
 */
export function aliasSampler(probability: Float64Array): IndexSampler {
  const n = probability.length;
  if (n === 1) return () => 0;
  let total = 0;
  for (let i = 0; i < n; i++) total += probability[i];
  const threshold = new Float64Array(n);
  const alias = new Int32Array(n);
  const small: number[] = [];
  const large: number[] = [];
  for (let i = 0; i < n; i++) {
    threshold[i] = (probability[i] * n) / total;
    alias[i] = i;
    (threshold[i] < 1 ? small : large).push(i);
  }
  while (small.length > 0 && large.length > 0) {
    const less = small.pop()!;
    const more = large.pop()!;
    alias[less] = more;
    threshold[more] -= 1 - threshold[less];
    (threshold[more] < 1 ? small : large).push(more);
  }
  // Whatever is left owes its distance from 1 to rounding.
  for (const i of small) threshold[i] = 1;
  for (const i of large) threshold[i] = 1;
  return (random) => {
    const position = random() * n;
    const i = Math.floor(position);
    return position - i < threshold[i] ? i : alias[i];
  };
}

/** Blocks whose thread groups all draw their depths independently from the law of one work group. */
export function independentGroups(depth: GroupDepth): BlockSource {
  const { values } = depth;
  const survival = new Float64Array(values.length);
  depth.survivalInto(survival, 1);
  const probability = survival.map((above, i) => Math.max(0, (i === 0 ? 1 : survival[i - 1]) - above));
  const draw = aliasSampler(probability);
  return (random) => (out) => {
    for (let i = 0; i < out.length; i++) out[i] = values[draw(random)];
  };
}
