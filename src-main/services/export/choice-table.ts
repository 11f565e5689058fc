import { isDeepStrictEqual } from 'node:util';
import {
  AXIS,
  axisCounts,
  decodeInto,
  spaceSize,
  type GridLaunch,
  type SpaceAxes,
} from '../../../src-workers/domain/space.ts';
import { ok, unwrap, type Result, unsupported, conflict } from '../../../src-workers/domain/result.ts';
import { blockOddity } from '../../../src-workers/advise/pick.ts';
import { moments } from '../../../src-workers/models/workload/laws.ts';
import { summaryLaw } from '../../../src-workers/models/workload/summary-law.ts';
import type { SweepPlan } from '../../../src-workers/predict/plan.ts';
import { axisPosition } from '../../../src-workers/sweep/ranking.ts';
import { AGREEMENT_FRACTION } from '../../../src-workers/sweep/ties.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import type { RankRow } from '../../contract/api.ts';
import type { Pool } from '../pool.ts';
import type { RunView } from '../runs/run-view.ts';
import { sharedLaw } from '../studies/workloads.ts';

/** The mean lengths in the table, relative to the mean of the study. `UNITS_FACTORS` are relative numbers of units. */
const MEAN_FACTORS = [1 / 16, 1 / 4, 1, 4, 16];
const UNITS_FACTORS = [1 / 256, 1 / 64, 1 / 16, 1 / 4, 1, 4, 16];
const SPREADS = [0.125, 0.25, 0.5, 1, 2, 4];
const HELD_OUT = 24;
/** With more designs than this, the only predicted block sizes are powers of two and the size of the given design. */
const MANY_DESIGNS = 4096;
const MAX_DESIGNS = 16_384;
const ONE_EACH: GridLaunch = { kind: 'units-per-thread', value: 1 };
/** The positive root of x⁴ = x + 1. Its powers spread points evenly over three dimensions. */
const PLASTIC = 1.220_744_084_605_76;

export interface ChoiceDesign {
  readonly threadsPerUnit: number;
  readonly blockThreads: number;
  readonly launch: GridLaunch;
}

interface Choices {
  readonly means: readonly number[];
  readonly spreads: readonly number[];
  readonly units: readonly number[];
  readonly designs: readonly ChoiceDesign[];
  /** ln(time in ns) by mean, spread, units and design, the design varying fastest. NaN if a design cannot run. */
  readonly logNs: Float64Array;
}

export interface ChoiceTable extends Choices {
  readonly of: number;
  readonly isThinned: boolean;
  readonly heldOut: HeldOut;
  /**
   * For the study's own lengths: predicted time of the choice over that of the given design; NaN if it was left out.
   */
  readonly ofOwnLengths: number;
}

export interface Ratios {
  readonly laws: number;
  readonly mean: number;
  readonly worst: number;
}

interface HeldOut {
  readonly laws: number;
  readonly chosen: Ratios;
  readonly fixed: Ratios;
}

function pointsAround(
  { means, spreads, units }: Omit<Choices, 'designs' | 'logNs'>,
  mean: number,
  spread: number,
  count: number,
): readonly (readonly [point: number, weight: number])[] {
  let points: (readonly [number, number])[] = [[0, 1]];
  for (const [values, value] of [
    [means, mean],
    [spreads, spread],
    [units, count],
  ] as const) {
    const logs = values.map(Math.log);
    const place = Math.min(Math.max(Math.log(value), logs[0]), logs.at(-1)!);
    const at = Math.max(
      0,
      Math.min(
        logs.length - 2,
        logs.findLastIndex((log) => log <= place),
      ),
    );
    const part = logs.length === 1 ? 0 : (place - logs[at]) / (logs[at + 1] - logs[at]);
    points = points.flatMap(([point, weight]): (readonly [number, number])[] => [
      [point * values.length + at, weight * (1 - part)],
      [point * values.length + at + 1, weight * part],
    ]); // prettier-ignore
    points = points.filter(([, weight]) => weight > 0);
  }
  return points;
}

function chosenDesign(table: Choices, mean: number, spread: number, count: number): number {
  const points = pointsAround(table, mean, spread, count);
  const { length } = table.designs;
  let [best, least] = [-1, Infinity];
  for (let design = 0; design < length; design += 1) {
    let log = 0;
    for (const [point, weight] of points) log += weight * table.logNs[point * length + design];
    if (log < least) [best, least] = [design, log];
  }
  return best;
}

/**
 * Predicts some launches of the kernel of `row` for many laws, with the order, loop and register cap of `row`. A few
 * launches are kept, so that each law has one within `AGREEMENT_FRACTION` of its fastest, because recommendations treat
 * such times as equal.
 */
export async function choiceTable(
  pool: Pool,
  view: RunView,
  device: Device,
  row: RankRow,
): Promise<Result<ChoiceTable>> {
  const { plan } = view.predictor;
  const all = launchAxes(view, device, row);
  const isThinned = spaceSize(all) > MANY_DESIGNS;
  const own = row.design.blockThreads;
  const usual = all.blockThreads.filter((threads) => threads === own || blockOddity(threads) <= 1);
  const axes = isThinned ? { ...all, blockThreads: usual } : all;
  const of = spaceSize(axes);
  if (of > MAX_DESIGNS)
    return unsupported(
      `The study has ${of} launches of this kernel, but a table for many laws can have at most ${MAX_DESIGNS}. Sweep fewer values of threads per unit, block size or launch.`,
    );
  const designs = listLaunches(axes);
  const predict = async (mean: number, spread: number, units: readonly number[]): Promise<readonly Float64Array[]> => {
    const own: SweepPlan = {
      ...plan,
      id: `choice ${view.run.id} ${row.designIndex} ${mean} ${spread}`,
      axes,
      law: sharedLaw(unwrap(summaryLaw({ mean, sd: mean * spread }, `mean ${mean}, spread ${spread}`))),
      units: units[0],
      ordered: null,
      width: undefined,
    };
    const changes = units.map((value, at) => (at === 0 ? null : ({ input: 'workload.units', value } as const)));
    const numbers = Uint32Array.from(designs.keys());
    const timesMs = await pool.run('vary', { plan: own, key: own.id, designs: numbers, changes });
    return timesMs.map((times, at) => withFewerBlocks(designs, times, units[at], device));
  };

  const ownMean = Math.max(1, moments(plan.law).mean);
  // Lengths are whole, so only a law with a whole mean can have a spread near 0. Means are therefore rounded.
  const means = distinct(MEAN_FACTORS.map((factor) => Math.max(1, Math.round(ownMean * factor))));
  const units = distinct(UNITS_FACTORS.map((factor) => Math.max(1, Math.round(plan.units * factor))));
  const laws = means.flatMap((mean) => SPREADS.map((spread) => [mean, spread] as const));
  const timesMs = (await Promise.all(laws.map(([mean, spread]) => predict(mean, spread, units)))).flat();

  const kept = covering(timesMs);
  if (kept.length === 0)
    return conflict(`No launch of design ${row.designIndex}'s kernel can run on ${device.name} with these lengths.`);
  const table = {
    means,
    spreads: SPREADS,
    units,
    designs: kept.map((design) => designs[design]),
    logNs: Float64Array.from(timesMs.flatMap((times) => kept.map((design) => Math.log(times[design] * 1e6)))),
  };
  const { launch } = view.predictor.plan.axes;
  const { threadsPerUnit, blockThreads } = row.design;
  const same = {
    threadsPerUnit,
    blockThreads,
    launch: launch[axisPosition(view.ranking, AXIS.launch, row.designIndex)],
  };
  const fixed = designs.findIndex((design) => isDeepStrictEqual(design, same));
  const { mean, standardDeviation } = moments(plan.law);
  const chosen = kept[chosenDesign(table, mean, standardDeviation / mean, plan.units)];
  const ofOwn: SweepPlan = { ...plan, id: `choice ${view.run.id} ${row.designIndex} own`, axes, width: undefined };
  const task = { plan: ofOwn, key: ofOwn.id, designs: Uint32Array.of(chosen, Math.max(0, fixed)), changes: [null] };
  const [[chosenMs, fixedMs]] = await pool.run('vary', task);
  const heldOut = await judge(table, kept, fixed, predict);
  return ok({ ...table, of, isThinned, heldOut, ofOwnLengths: fixed < 0 ? NaN : chosenMs / fixedMs });
}

/**
 * Returns axes on which only threads per unit, block size and launch vary. One unit per slot is always among the
 * launches, because it replaces a fixed grid that is too large for the units.
 */
function launchAxes({ ranking, predictor }: RunView, device: Device, { designIndex }: RankRow): SpaceAxes {
  const { blockWidth: _rows, ...axes } = predictor.plan.axes;
  const own = <T>(
    values: readonly T[],
    axis: 'implementation' | 'loop' | 'balancing' | 'registerCap',
  ): readonly T[] => [values[axisPosition(ranking, AXIS[axis], designIndex)]];
  return {
    ...axes,
    devices: [device],
    ...(axes.implementations && { implementations: own(axes.implementations, 'implementation') }),
    loop: own(axes.loop, 'loop'),
    balancing: own(axes.balancing, 'balancing'),
    registerCap: own(axes.registerCap, 'registerCap'),
    launch: [
      ...axes.launch.filter(({ kind }) => kind !== 'cores'),
      ...(axes.launch.some((launch) => isDeepStrictEqual(launch, ONE_EACH)) ? [] : [ONE_EACH]),
    ],
  };
}

function listLaunches(axes: SpaceAxes): readonly ChoiceDesign[] {
  const counts = axisCounts(axes);
  const at = new Int32Array(counts.length);
  return Array.from({ length: spaceSize(axes) }, (_, design) => {
    decodeInto(at, counts, design);
    return {
      threadsPerUnit: axes.threadsPerUnit[at[AXIS.threadsPerUnit]],
      blockThreads: axes.blockThreads[at[AXIS.blockThreads]],
      launch: axes.launch[at[AXIS.launch]] as GridLaunch,
    };
  });
}

export function fixedBlocks({ launch }: ChoiceDesign, device: Device): number {
  if (launch.kind === 'units-per-thread') return 0;
  return launch.kind === 'grid' || device.kind === 'cpu' ? launch.value : launch.value * device.multiprocessors;
}

/**
 * A sweep refuses a fixed grid with more blocks than the units need. The exported header launches only the needed
 * blocks, so such a grid gets the time of the design with one unit per slot.
 */
function withFewerBlocks(
  designs: readonly ChoiceDesign[],
  timesMs: Float64Array,
  units: number,
  device: Device,
): Float64Array {
  const shape = ({ threadsPerUnit, blockThreads }: ChoiceDesign): string => `${threadsPerUnit} ${blockThreads}`;
  const oneEach = new Map(
    designs.flatMap((design, at) =>
      isDeepStrictEqual(design.launch, ONE_EACH) ? [[shape(design), timesMs[at]] as const] : [],
    ),
  );
  return timesMs.map((time, at) => {
    const { threadsPerUnit, blockThreads } = designs[at];
    const needed = Math.ceil(units / (blockThreads / threadsPerUnit));
    return fixedBlocks(designs[at], device) > needed ? (oneEach.get(shape(designs[at])) ?? NaN) : time;
  });
}

const distinct = (values: readonly number[]): readonly number[] => [...new Set(values)].sort((a, b) => a - b);

const bestOf = (times: Float64Array): number =>
  times.reduce((best, time, at) => (Number.isNaN(time) || (best >= 0 && times[best] <= time) ? best : at), -1);

function covering(timesMs: readonly Float64Array[]): readonly number[] {
  const best = timesMs.map((times) => times[bestOf(times)] ?? NaN);
  let open = [...timesMs.keys()].filter((law) => !Number.isNaN(best[law]));
  const kept: number[] = [];
  const covers = (design: number, law: number): boolean => timesMs[law][design] <= best[law] * (1 + AGREEMENT_FRACTION);
  while (open.length > 0) {
    const counts = timesMs[0].map((_, design) => open.filter((law) => covers(design, law)).length);
    const most = counts.indexOf(counts.reduce((a, b) => Math.max(a, b)));
    kept.push(most);
    open = open.filter((law) => !covers(most, law));
  }
  return kept.sort((a, b) => a - b);
}

async function judge(
  table: Choices,
  kept: readonly number[],
  fixed: number,
  predict: (mean: number, spread: number, units: readonly number[]) => Promise<readonly Float64Array[]>,
): Promise<HeldOut> {
  const between = (values: readonly number[], part: number): number => values[0] * (values.at(-1)! / values[0]) ** part;
  const ratios = await Promise.all(
    Array.from({ length: HELD_OUT }, async (_, at) => {
      const part = (power: number): number => (0.5 + (at + 1) / PLASTIC ** power) % 1;
      const mean = between(table.means, part(1));
      // If the mean lies between two whole numbers, whole lengths have at least this spread.
      const leastSpread = Math.sqrt((mean % 1) * (1 - (mean % 1))) / mean;
      const spread = Math.max(between(table.spreads, part(2)), leastSpread);
      const units = Math.round(between(table.units, part(3)));
      const [times] = await predict(mean, spread, [units]);
      const least = times[bestOf(times)];
      return [times[kept[chosenDesign(table, mean, spread, units)]] / least, times[fixed] / least] as const;
    }),
  );
  const [chosen, always] = ([0, 1] as const).map((at) => computeSpread(ratios.map((own) => own[at])));
  return { laws: HELD_OUT, chosen, fixed: always };
}

function computeSpread(ratios: readonly number[]): Ratios {
  const known = ratios.filter((ratio) => !Number.isNaN(ratio));
  const sum = known.reduce((total, ratio) => total + Math.log(ratio), 0);
  return { laws: known.length, mean: Math.exp(sum / known.length), worst: Math.max(...known) };
}
