import { findLargest, type CompactNumbers } from '../../numeric/compact.ts';
import { goldenTurn } from '../../numeric/lattice.ts';
import { indexedQueue } from '../../numeric/queue.ts';
import { getLongestOfGroups, getLossOfGroups, sumRepeated, type GivenOrder } from './given.ts';
import type { DiscreteLaw } from '../depth/discrete-law.ts';
import type { FetchedOrder, FetchingGroup } from '../depth/fetched.ts';

const PLAYED_UNITS = 2 ** 14;
const MIN_PLAYED_GROUPS = 4;
/** At most about this many unfinished fetches are examined when the units have run out. */
const LAST_LIVES = 2 ** 16;

/**
 * @param fetch number of consecutive units that a lane fetches at once; with `group`, a group fetches one for each lane
 */
export function readFetchedOrder(order: GivenOrder, fetch: number | 'group', unitsPerGroup: number): FetchedOrder {
  // A group that fetches for its lanes is simulated as a single lane. Each unit of that lane is the longest of n units.
  const isTogether = fetch === 'group';
  const lengths = isTogether ? getLongestOfGroups(order, unitsPerGroup) : order.lengths;
  const units = isTogether ? Math.ceil(order.units / unitsPerGroup) : order.units;
  const fetched: Fetched = {
    lengths,
    units,
    lanes: isTogether ? 1 : unitsPerGroup,
    perFetch: isTogether ? 1 : fetch,
    longest: findLargest(lengths),
    mean: sumRepeated(lengths, units) / units,
  };
  return {
    meanLoss: isTogether ? getLossOfGroups(order, unitsPerGroup).meanLoss : null,
    group: (unitsPerLane, setupIterations) => createFetchingGroup(fetched, unitsPerLane, setupIterations),
  };
}

interface Fetched {
  readonly lengths: CompactNumbers;
  readonly units: number;
  readonly lanes: number;
  readonly perFetch: number;
  readonly longest: number;
  readonly mean: number;
}

/**
 * Simulates ("plays") some of the groups (README.md, Dynamic fetch). They take turns at the units as all groups would,
 * so after each fetch they skip the units that the other groups fetch in the meantime. If lanes have very many units,
 * each played lane gets fewer. When the units run out, at time T, every lane still runs the rest of its last units.
 * Lanes that fetched at the same time are followed together; otherwise lanes count as independent. T follows, because
 * all work is either done by T or left at T.
 */
function createFetchingGroup(fetched: Fetched, unitsPerLane: number, setupIterations: number): FetchingGroup {
  const { units, lanes, mean } = fetched;
  const perGroup = lanes * unitsPerLane;
  const groups = units / perGroup;
  const most = Math.max(MIN_PLAYED_GROUPS, Math.floor(PLAYED_UNITS / perGroup));
  const count = Math.max(1, Math.min(Math.round(groups), most));
  const played = playGroups(fetched, count, Math.min(units, PLAYED_UNITS, count * perGroup), setupIterations);
  const { lives, weight, workLeft } = computeLastLives(fetched, played, groups / count);
  const iterations = Math.max(0, unitsPerLane * mean - workLeft / (groups * lanes));
  const parts = perGroup / (played.taken / count);
  return {
    depth: computeDepthAfter(iterations, lives, weight, groups),
    iterations,
    // If the launch has fewer units than lanes, some groups fetch nothing.
    starts: Math.max(1, (played.starts / count) * parts),
    events: Math.max(0, (played.fetches / count) * parts - 1),
    lastEvents: played.lastFetches / count,
  };
}

interface PlayedFetches {
  readonly fetches: number;
  /** Number of iterations, summed over the groups, after which any lane found no unit. */
  readonly lastFetches: number;
  readonly before: Float64Array;
  /** Iterations from each fetch until the units run out. */
  readonly age: Float64Array;
  readonly taken: number;
  readonly starts: number;
}

/** @param units number of units that all played groups take, evenly spread over the units of the launch */
function playGroups(fetched: Fetched, groups: number, units: number, setupIterations: number): PlayedFetches {
  const { lengths, lanes, perFetch } = fetched;
  const kept = lengths.length;
  const stride = fetched.units / units;
  // Each group has the iteration at which it continues, with setups (`clock`) and without (`due`). Each lane has the
  // end of its unit without setups (`ends`), and the number of units that it has fetched but not started (`held`).
  const clock = new Float64Array(groups);
  const due = new Float64Array(groups);
  const ends = new Float64Array(groups * lanes);
  const held = new Int32Array(groups * lanes);
  const next = new Int32Array(groups * lanes);
  const most = Math.ceil(units / perFetch) + 1;
  const before = new Float64Array(most);
  const age = new Float64Array(most);
  const fetcher = new Int32Array(most);
  let fetches = 0;
  let lastFetches = 0;
  let taken = 0;
  let starts = 0;
  let end: Float64Array | null = null;
  /** Gives new units to the lanes whose units have ended, and returns whether any lane is active. */
  const step = (group: number): boolean => {
    const from = group * lanes;
    const now = due[group];
    const first = taken;
    let begun = false;
    let isLast = false;
    let soonest = Infinity;
    let idle = 0;
    for (let lane = from; lane < from + lanes; lane++) if (ends[lane] <= now && held[lane] === 0) idle += perFetch;
    // A played fetch represents a stretch of the order. It takes its unit from a quasi-random place of this stretch,
    // because a fixed place would meet the same columns of an image in every row.
    let at = Math.floor(taken * stride + goldenTurn(fetches) * idle * (stride - 1)) % kept;
    for (let lane = from; lane < from + lanes; lane++) {
      if (ends[lane] <= now) {
        if (held[lane] === 0 && taken < units) {
          next[lane] = at;
          held[lane] = perFetch;
          taken += perFetch;
          at = (at + perFetch) % kept;
        }
        if (held[lane] > 0) {
          held[lane]--;
          ends[lane] = now + lengths[next[lane]];
          next[lane] = (next[lane] + 1) % kept;
          begun = true;
        } else {
          ends[lane] = Infinity;
          isLast = true;
        }
      }
      if (ends[lane] < soonest) soonest = ends[lane];
    }
    if (begun) starts++;
    if (isLast) lastFetches++;
    if (taken > first) {
      before[fetches] = first;
      age[fetches] = now;
      fetcher[fetches++] = group;
    }
    if (taken >= units) end ??= due.map((own, other) => own - (clock[other] - clock[group]));
    clock[group] += soonest - now + (begun ? setupIterations : 0);
    due[group] = soonest;
    return soonest < Infinity;
  };
  const queue = indexedQueue(clock);
  for (let group = 0; group < groups; group++) if (step(group)) queue.push(group);
  while (queue.size() > 0) {
    if (step(queue.first())) queue.settle();
    else queue.pop();
  }
  for (let i = 0; i < fetches; i++) age[i] = Math.max(0, end![fetcher[i]] - age[i]);
  return { fetches, lastFetches, before: before.subarray(0, fetches), age, taken, starts };
}

/**
 * Finds the fetches that are not finished when the units run out. Returns their remaining iterations, ascending
 * (`lives`), the number of fetches that each of these represents (`weight`), and the iterations left to all lanes.
 * @param each number of fetches that a played fetch represents
 */
function computeLastLives(
  { lengths, units, perFetch, longest }: Fetched,
  { before, age, taken }: PlayedFetches,
  each: number,
): { readonly lives: Float64Array; readonly weight: number; readonly workLeft: number } {
  const kept = lengths.length;
  const isUnderWay = (fetch: number): boolean => age[fetch] < perFetch * longest;
  const unitsOf = (fetch: number): number => (before[fetch + 1] ?? taken) - before[fetch];
  let underWay = 0;
  for (let fetch = 0; fetch < before.length; fetch++) if (isUnderWay(fetch)) underWay += unitsOf(fetch) * each;
  const skip = Math.max(1, Math.ceil(underWay / LAST_LIVES));
  const lives: number[] = [];
  let workLeft = 0;
  // Of every `skip` unfinished fetches, only one is examined. `next` is the number of the next one to examine. Each
  // played fetch stands for `count` unfinished fetches, with the numbers from `passed` on.
  let passed = 0;
  let looked = 0;
  let next = 0;
  for (let fetch = 0; fetch < before.length; fetch++) {
    if (!isUnderWay(fetch)) continue;
    const own = unitsOf(fetch);
    // Positions are counted back from the last unit, because the last fetches took the last units.
    const from = Math.max(0, Math.round(units - (taken - before[fetch]) * each));
    const count = Math.ceil((Math.round(units - (taken - before[fetch] - own) * each) - from) / own);
    for (; next < passed + count; looked++, next = looked * skip + Math.floor(goldenTurn(looked) * skip)) {
      const at = from + (next - passed) * own;
      let life = 0;
      for (let start = at; start < at + own && start < units; start += perFetch) {
        let left = -age[fetch];
        for (let unit = start; unit < start + perFetch && unit < units; unit++) left += lengths[unit % kept];
        if (left <= 0) continue;
        workLeft += left;
        if (left > life) life = left;
      }
      if (life > 0) lives.push(life);
    }
    passed += count;
  }
  return { lives: Float64Array.from(lives).sort(), weight: skip, workLeft: workLeft * skip };
}

function computeDepthAfter(from: number, lives: Float64Array, weight: number, groups: number): DiscreteLaw {
  const alive = Math.max(1, (lives.length * weight) / groups);
  const values = [from];
  const survival: number[] = [];
  let ended = 0;
  const above = (): number =>
    -Math.expm1(alive * Math.log1p(-Math.min(1, ((lives.length - ended) * weight) / (alive * groups))));
  survival.push(above());
  while (ended < lives.length) {
    const life = lives[ended];
    while (ended < lives.length && lives[ended] === life) ended++;
    values.push(from + life);
    survival.push(ended === lives.length ? 0 : above());
  }
  return { values: Float64Array.from(values), survival: Float64Array.from(survival) };
}
