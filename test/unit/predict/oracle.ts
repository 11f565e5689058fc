import { isWholeUnit, type WholeUnitBalancing } from '../../../src-workers/domain/design.ts';
import type { LoopForm } from '../../../src-workers/domain/kernel.ts';
import { unwrap } from '../../../src-workers/domain/result.ts';
import type { LengthLaw } from '../../../src-workers/domain/workload.ts';
import type { Dealing } from '../../../src-workers/predict/dealing/deal.ts';
import { listBucketRanges } from '../../../src-workers/predict/depth/prepared-law.ts';
import { parseBalancing } from '../../../src-workers/domain/balancing.ts';
import { cumulative } from '../../../src-workers/models/workload/laws.ts';
import { lengthSampler, mersenneTwister, type UniformSource } from '../../../src-workers/numeric/random.ts';

export function lockstep(text: string): WholeUnitBalancing {
  const balancing = unwrap(parseBalancing(text));
  if (!isWholeUnit(balancing)) throw new Error(`${text} cuts or pads units`);
  return balancing;
}

/** Returns a launch of nested loops without set-up. Its blocks consist of full groups. */
export function dealingOf(units: number, unitsPerGroup: number, groupsPerBlock: number, rounds: number): Dealing {
  const slotsPerBlock = unitsPerGroup * groupsPerBlock;
  const gridBlocks = Math.ceil(units / (slotsPerBlock * rounds));
  return { units, unitsPerGroup, groupsPerBlock, slotsPerBlock, gridBlocks, loop: 'nested', setupIterations: 0 };
}

export interface Played {
  /** Depth of every group. `blocks` has the depth of every block of consecutive groups. */
  readonly groups: Float64Array;
  readonly blocks: Float64Array;
  /** Depth of every group over its mean lane length. For a nested loop, there is a value for every round. */
  readonly losses: Float64Array;
}

/** Simulates a launch unit by unit without formulas of the model, to check `computeGroupDepth` independently. */
export function playLaunch(
  law: LengthLaw,
  n: number,
  balancing: WholeUnitBalancing,
  loop: LoopForm,
  m: number,
  options: { readonly groupsPerBlock: number; readonly blocks: number; readonly seed: number },
): Played {
  const uniform = mersenneTwister(options.seed);
  const draw = lengthSampler(law);
  const k = options.groupsPerBlock;
  const slots = n * k * options.blocks;
  const groups = new Float64Array(k * options.blocks);
  const losses: number[] = [];
  const lanes = new Float64Array(slots);

  if (balancing.kind === 'dynamic-fetch') {
    for (let g = 0; g < groups.length; g++) {
      const busy = new Float64Array(n);
      let work = 0;
      for (let unit = 0; unit < n * m; unit++) {
        let first = 0;
        for (let lane = 1; lane < n; lane++) if (busy[lane] < busy[first]) first = lane;
        const length = draw(uniform);
        busy[first] += length;
        work += length;
      }
      groups[g] = Math.max(...busy);
      losses.push(work === 0 ? 1 : (groups[g] * n) / work);
    }
  } else {
    const order = orderedUnits(law, n, balancing, slots * m, draw, uniform);
    for (let j = 0; j < m; j++)
      for (let g = 0; g < groups.length; g++) {
        let longest = 0;
        let sum = 0;
        for (let lane = 0; lane < n; lane++) {
          const length = order[j * slots + g * n + lane];
          longest = Math.max(longest, length);
          sum += length;
          lanes[g * n + lane] += length;
        }
        if (loop === 'nested') {
          groups[g] += longest;
          losses.push(sum === 0 ? 1 : (longest * n) / sum);
        }
      }
    if (loop === 'flattened')
      for (let g = 0; g < groups.length; g++) {
        const own = lanes.subarray(g * n, (g + 1) * n);
        groups[g] = Math.max(...own);
        const sum = own.reduce((total, value) => total + value, 0);
        losses.push(sum === 0 ? 1 : (groups[g] * n) / sum);
      }
  }
  const blocks = new Float64Array(options.blocks);
  for (let g = 0; g < groups.length; g++) blocks[Math.floor(g / k)] = Math.max(blocks[Math.floor(g / k)], groups[g]);
  return { groups, blocks, losses: Float64Array.from(losses) };
}

function orderedUnits(
  law: LengthLaw,
  n: number,
  balancing: Exclude<WholeUnitBalancing, { kind: 'dynamic-fetch' }>,
  total: number,
  draw: (uniform: UniformSource) => number,
  uniform: UniformSource,
): Float64Array {
  const units = Float64Array.from({ length: total }, () => draw(uniform));
  // The model's shares are for infinitely many units, so one unit is drawn from each equal part of the law, in order.
  const sorted = () => {
    const cumulated = cumulative(law);
    let at = 0;
    return units.map((_, i) => {
      while (at < cumulated.length - 1 && cumulated[at] < (i + uniform()) / total) at++;
      return law.support[at];
    });
  };
  switch (balancing.kind) {
    case 'none':
    case 'shuffle':
      return units;
    case 'full-sort':
      return sorted();
    case 'quantile-buckets':
    case 'best-buckets': {
      units.set(sorted());
      let passed = 0;
      let from = 0;
      for (const { share } of listBucketRanges(law, n, balancing)) {
        passed += share;
        const to = Math.round(passed * total);
        shuffle(units.subarray(from, to), uniform);
        from = to;
      }
      return units;
    }
    case 'window-sort':
      // Tests sort only the units of a single round.
      for (let from = 0; from < units.length; from += balancing.units)
        units.subarray(from, from + balancing.units).sort();
      return units;
  }
}

function shuffle(values: Float64Array, uniform: UniformSource): void {
  for (let i = values.length - 1; i > 0; i--) {
    const j = Math.floor(uniform() * (i + 1));
    [values[i], values[j]] = [values[j], values[i]];
  }
}

export function summary(values: Float64Array) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return { mean, deviation: Math.sqrt(variance), error: Math.sqrt(variance / values.length) };
}
