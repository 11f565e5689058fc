import type { LengthClass, MixedBalancing } from '../../domain/design.ts';
import type { GpuDevice } from '../../domain/device.ts';
import type { LengthLaw } from '../../domain/workload.ts';
import { bytesOfIteration } from '../../models/memory/accesses.ts';
import { createCaches } from '../caches.ts';
import { getOrMake, kept, keptFor, keptWith } from '../../numeric/kept.ts';
import { computePhaseDemands, computeStepFactor } from '../cost/phases.ts';
import { PASS_OVERHEAD_MS } from '../cost/balancing-cost.ts';
import { makeGivenLengths, makeUnitLaw } from '../ordered.ts';
import { getGivenOrder, type SweepPlan } from '../plan.ts';
import { createPredictor, preparePipeline } from '../predictor.ts';
import type { Predictor, UnitClass } from '../tables.ts';

const CLASS_POINTS = 192;
const CLASS_CUTS = 24;
/** The block size that the search for the best classes assumes if a whole block shares a unit. */
const NOMINAL_BLOCK = 256;

/** Maximum number of class plans that are kept with their laws. Edits of a kernel often choose the same classes. */
const KEPT_CLASSES = 16;
const givenClasses = new WeakMap<Float64Array, Map<string, Pick<SweepPlan, 'units' | 'ordered' | 'law'> | null>>();

export function resolveThreads(threads: LengthClass['threads'], device: GpuDevice, blockThreads: number): number {
  return threads === 'block' ? blockThreads : threads === 'group' ? device.threadGroupWidth : threads;
}

export function getClasses(predictor: Predictor, balancing: MixedBalancing, deviceAt: number): readonly UnitClass[] {
  const byDevice = getOrMake(predictor.classes, balancing, () => []);
  return (byDevice[deviceAt] ??= makeClasses(predictor, balancing, predictor.plan.axes.devices[deviceAt] as GpuDevice));
}

function makeClasses(
  predictor: Predictor,
  { classes: wanted }: MixedBalancing,
  device: GpuDevice,
): readonly UnitClass[] {
  const lengths = typeof wanted === 'number' ? chooseClasses(predictor, device, wanted) : wanted;
  const ends = lengths.map(({ upTo }) => upTo ?? Infinity);
  return lengths.flatMap(({ threads }, at) => {
    const above = at === 0 ? -1 : ends[at - 1];
    const plan = makeClassPlan(predictor.plan, threads, above, ends[at]);
    if (!plan) return [];
    const { budget, classes: known } = predictor.caches;
    const caches = kept(known, KEPT_CLASSES, `${threads} ${above} ${ends[at]}`, () => createCaches(budget));
    return [{ threads, upTo: ends[at], predictor: createPredictor(plan, caches, true) }];
  });
}

/** `null` if the class is empty. */
function makeClassPlan(
  plan: SweepPlan,
  threads: LengthClass['threads'],
  above: number,
  upTo: number,
): SweepPlan | null {
  const { law, units, id } = plan;
  const { implementations: _, ...axes } = plan.axes;
  const isOf = (length: number): boolean => length > above && length <= upTo;
  const given = getGivenOrder(plan);
  const widths = axes.devices.flatMap((device) => (device.kind === 'gpu' ? [device.threadGroupWidth] : []));
  const threadsPerUnit =
    threads === 'block' ? axes.blockThreads : threads === 'group' ? [...new Set(widths)] : [threads];
  const common = {
    ...plan,
    id: `${id}|${threads} ${above} ${upTo}`,
    constraints: [],
    ordered: null,
    axes: { ...axes, threadsPerUnit, balancing: ['none'] },
  };
  if (given) {
    const key = `${law.label} ${units} ${above} ${upTo}`;
    const own = keptFor(givenClasses, given, KEPT_CLASSES, key, () => {
      const first = given.subarray(0, units);
      const lengths = first.filter(isOf);
      if (lengths.length === 0) return null;
      const rest = first.subarray(0, units % first.length).filter(isOf).length;
      const count = Math.floor(units / first.length) * lengths.length + rest;
      const ordered = makeGivenLengths(lengths);
      return { units: count, ordered, law: makeUnitLaw(law.label, ordered, count) };
    });
    return own && { ...common, ...own };
  }
  const support = law.support.filter(isOf);
  const parts = law.probability.filter((_, at) => isOf(law.support[at]));
  const share = parts.reduce((sum, part) => sum + part, 0);
  const count = Math.round(share * units);
  if (count === 0) return null;
  return { ...common, units: count, law: { ...law, support, probability: parts.map((part) => part / share) } };
}

/**
 * Chooses at most `most` classes that minimise the estimated total time of their launches, by dynamic programming over
 * a limited set of cuts. A launch is estimated by the work of its lockstep groups, its longest unit and its start.
 */
export function chooseClasses(
  { plan, longestLength, meanLength }: Predictor,
  device: GpuDevice,
  most: number,
): readonly LengthClass[] {
  const { kernel } = plan;
  const { support, cuts, points, classes: possible } = findPossibleClasses(plan.law);
  const width = device.threadGroupWidth;
  const launchCycles = PASS_OVERHEAD_MS * device.clockMhz * 1e3;
  const choices: LengthClass['threads'][] = [...listPowersOfTwo(width / 2), 'group', 'block'];
  let best = new Float64Array(points + 1).fill(Infinity);
  best[0] = 0;
  const stages: { readonly from: Int32Array; readonly choice: Int32Array }[] = [];
  const costs = choices.map((threads) => {
    const u = resolveThreads(threads, device, NOMINAL_BLOCK);
    const n = Math.max(1, width / u);
    const bytes = bytesOfIteration(device, kernel, { threadsPerUnit: u, unitElements: meanLength });
    const { latencyCycles, issueCycles } = preparePipeline(plan, device, null, bytes);
    const perUnit = u <= width ? 1 / n : u / width;
    const phi = computeStepFactor(kernel, u);
    const { unit } = computePhaseDemands(kernel, device, u);
    const lanes = kernel.sharing === 'deal' ? u : 1;
    const work = (perUnit * plan.units) / device.multiprocessors;
    const depths = possible(n, lanes);
    return (from: number, to: number): number => {
      const { share, depth } = depths[from][to];
      const longest = Math.ceil(Math.min(support[cuts[to] - 1], longestLength) / lanes);
      const issued = phi * depth * issueCycles + unit.issueCycles;
      return share * issued * work + phi * longest * latencyCycles + unit.latencyCycles + launchCycles;
    };
  });
  for (let stage = 0; stage < Math.min(most, points); stage++) {
    const next = best.slice();
    const from = new Int32Array(points + 1).fill(-1);
    const choice = new Int32Array(points + 1);
    for (let start = 0; start < points; start++) {
      if (best[start] === Infinity) continue;
      for (let end = start + 1; end <= points; end++)
        costs.forEach((cost, at) => {
          const total = best[start] + cost(start, end);
          if (total >= next[end]) return;
          next[end] = total;
          from[end] = start;
          choice[end] = at;
        });
    }
    stages.push({ from, choice });
    best = next;
  }
  const classes: LengthClass[] = [];
  for (let stage = stages.length - 1, end = points; end > 0; stage--) {
    const { from, choice } = stages[stage];
    // One more class brought no improvement up to this cut.
    if (from[end] < 0) continue;
    const upTo = support[cuts[end] - 1];
    classes.unshift({ threads: choices[choice[end]], ...(end < points && { upTo }) });
    end = from[end];
  }
  return classes;
}

interface PossibleClass {
  readonly share: number;
  readonly depth: number;
}

/** The possible classes do not depend on the kernel, so they stay valid when it is edited. */
const findPossibleClasses = keptWith((law: LengthLaw) => {
  const { support, probability } = coarsenLaw(law);
  const cuts = chooseEvenCuts(probability, CLASS_CUTS);
  const points = cuts.length - 1;
  const known = new Map<string, readonly (readonly PossibleClass[])[]>();
  const findClass = (from: number, to: number, n: number, lanes: number): PossibleClass => {
    let share = 0;
    for (let at = from; at < to; at++) share += probability[at];
    let below = 0;
    let depth = 0;
    for (let at = from; at < to; at++) {
      const before = below;
      below += probability[at] / share;
      depth += Math.ceil(support[at] / lanes) * (Math.pow(below, n) - Math.pow(before, n));
    }
    return { share, depth };
  };
  /** Lists the possible classes by the position of the first cut, then of the last. A group has `n` units. */
  const classes = (n: number, lanes: number): readonly (readonly PossibleClass[])[] =>
    getOrMake(known, `${n} ${lanes}`, () =>
      Array.from({ length: points }, (_, start) =>
        Array.from({ length: points + 1 }, (_, end) => findClass(cuts[start], cuts[end], n, lanes)),
      ),
    );
  return { support, cuts, points, classes };
});

/** Reduces a law to about `CLASS_POINTS` lengths. The longest of some neighbouring lengths represents all of them. */
function coarsenLaw({ support, probability }: LengthLaw): Pick<LengthLaw, 'support' | 'probability'> {
  const cuts = chooseEvenCuts(probability, CLASS_POINTS);
  const ends = Int32Array.from(cuts.slice(1));
  return {
    support: Float64Array.from(ends, (end) => support[end - 1]),
    probability: Float64Array.from(ends, (end, at) =>
      probability.subarray(cuts[at], end).reduce((sum, mass) => sum + mass, 0),
    ),
  };
}

function listPowersOfTwo(most: number): number[] {
  return Array.from({ length: Math.floor(Math.log2(most)) + 1 }, (_, at) => 2 ** at);
}

function chooseEvenCuts(masses: Float64Array, most: number): readonly number[] {
  if (masses.length <= most) return Array.from({ length: masses.length + 1 }, (_, at) => at);
  const cuts = [0];
  let passed = 0;
  let tail = 1;
  masses.forEach((mass, at) => {
    passed += mass;
    tail -= mass;
    const isNext = Math.floor(passed * most) > Math.floor((passed - mass) * most);
    // Further cuts, where the share of longer units falls below 1/2, 1/4, …, give the few long units their own classes.
    const isHalf = tail > 0 && Math.floor(-Math.log2(tail)) > Math.floor(-Math.log2(Math.min(1, tail + mass)));
    if (isNext || isHalf || at === masses.length - 1) cuts.push(at + 1);
  });
  return cuts;
}
