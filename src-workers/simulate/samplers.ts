import type { GroupDepth } from '../domain/depth.ts';
import { aliasSampler } from '../numeric/random.ts';
import type { Random } from './random.ts';

/** Writes the depths (iterations) of the thread groups of the next block, in launch order. */
export type BlockSampler = (out: Float64Array) => void;

export type BlockSource = (random: Random) => BlockSampler;

export type IndexSampler = (random: Random) => number;

/** Samples indices by probabilities, which may have any sum. With one index, no random number is taken. */
export function indexSampler(probability: Float64Array): IndexSampler {
  const n = probability.length;
  if (n === 1) return () => 0;
  let total = 0;
  for (let i = 0; i < n; i++) total += probability[i];
  return aliasSampler(probability.map((p) => (p * n) / total));
}

export function independentGroups(depth: GroupDepth): BlockSource {
  const { values } = depth;
  const survival = new Float64Array(values.length);
  depth.survivalInto(survival, 1);
  const probability = survival.map((above, i) => Math.max(0, (i === 0 ? 1 : survival[i - 1]) - above));
  const draw = indexSampler(probability);
  return (random) => (out) => {
    for (let i = 0; i < out.length; i++) out[i] = values[draw(random)];
  };
}
