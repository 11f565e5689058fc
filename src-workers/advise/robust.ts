import { AXIS_ORDER, axisCounts, decodeInto, encode, productOf, type SpaceAxes } from '../domain/space.ts';
import { mean } from '../numeric/statistics.ts';
import { axisTexts } from './shared-designs.ts';

export interface Scenario {
  readonly axes: SpaceAxes;
  /** The time of each design of `axes`; NaN if invalid. */
  readonly timeMs: Float64Array;
}

export interface CommonDesign {
  readonly designs: readonly number[];
  /** The time of the design divided by the best time, minus 1, for each scenario. */
  readonly regret: readonly number[];
  readonly worst: number;
  readonly mean: number;
}

export interface LeastRegret {
  /** The fastest time of each scenario, ms, and its design; NaN and −1 if none is valid. */
  readonly bestMs: readonly number[];
  readonly best: readonly number[];
  /** The designs with the smallest worst regret, the smallest first; ties by mean regret. */
  readonly designs: readonly CommonDesign[];
  /** For each scenario, the worst regret of its best design; NaN if another scenario cannot run that design. */
  readonly ownBest: readonly number[];
  readonly common: number;
}

/**
 * Finds the designs with the smallest worst-case regret over the scenarios (minimax regret, Savage 1951). Two designs
 * are the same if they have the same values on all axes except the device.
 */
export function leastRegret(scenarios: readonly Scenario[], keep: number): LeastRegret {
  const best = scenarios.map(({ timeMs }) => fastest(timeMs));
  const bestMs = best.map((design, i) => (design < 0 ? NaN : scenarios[i].timeMs[design]));
  const counts = scenarios.map(({ axes }) => axisCounts(axes));
  const shared = AXIS_ORDER.map((axis) => {
    const places = scenarios.map(({ axes }) => new Map(axisTexts(axes, axis).map((text, at) => [text, at])));
    return [...places[0].keys()]
      .filter((text) => places.every((place) => place.has(text)))
      .map((text) => places.map((place) => place.get(text)!));
  });
  const sizes = shared.map((values) => values.length);
  const total = productOf(sizes);
  const kept: CommonDesign[] = [];
  let common = 0;
  const positions = new Int32Array(AXIS_ORDER.length);
  for (let at = 0; at < total; at += 1) {
    decodeInto(positions, sizes, at);
    let worst = 0;
    for (let i = 0; i < scenarios.length; i += 1) worst = Math.max(worst, regretOf(i));
    if (Number.isNaN(worst)) continue;
    common += 1;
    if (kept.length === keep && worst > kept[keep - 1].worst) continue;
    const regret = scenarios.map((_, i) => regretOf(i));
    const design = { designs: scenarios.map((_, i) => designIn(i)), regret, worst, mean: mean(regret) };
    const place = kept.findIndex((other) => worst < other.worst || (worst === other.worst && design.mean < other.mean));
    kept.splice(place < 0 ? kept.length : place, 0, design);
    if (kept.length > keep) kept.pop();
  }
  return { bestMs, best, designs: kept, ownBest: best.map((design, i) => worstElsewhere(design, i)), common };

  function designIn(scenario: number): number {
    return encode(
      counts[scenario],
      shared.map((values, axis) => values[positions[axis]][scenario]),
    );
  }
  function regretOf(scenario: number): number {
    return scenarios[scenario].timeMs[designIn(scenario)] / bestMs[scenario] - 1;
  }
  function worstElsewhere(design: number, own: number): number {
    if (design < 0) return NaN;
    decodeInto(positions, counts[own], design);
    positions.forEach((at, axis) => (positions[axis] = shared[axis].findIndex((places) => places[own] === at)));
    if (positions.includes(-1)) return NaN;
    return scenarios.reduce((worst, _, i) => Math.max(worst, regretOf(i)), 0);
  }
}

function fastest(timeMs: Float64Array): number {
  let best = -1;
  for (let design = 0; design < timeMs.length; design += 1)
    if (!Number.isNaN(timeMs[design]) && (best < 0 || timeMs[design] < timeMs[best])) best = design;
  return best;
}
