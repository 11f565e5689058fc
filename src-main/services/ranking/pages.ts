import { isDeepStrictEqual } from 'node:util';
import { plainDesign } from '../../../src-workers/advise/plain.ts';
import { AXIS, AXIS_ORDER } from '../../../src-workers/domain/space.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { firstIndex } from '../../../src-workers/numeric/search.ts';
import { explainDesign } from '../../../src-workers/predict/explain.ts';
import { groupedDesigns, type GroupedList } from '../../../src-workers/sweep/equal.ts';
import { axisPosition, entryOf, rankedDesigns, timeOf } from '../../../src-workers/sweep/ranking.ts';
import { reverseKeepingTies } from '../../../src-workers/sweep/sort.ts';
import type { Ties } from '../../../src-workers/sweep/ties.ts';
import type { Histogram, RankPage, RankRow, DesignSlice } from '../../contract/api.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import { atBestFidelity, fastestFound, foundFirst } from './fidelity.ts';
import { launchesOf } from './landscape.ts';
import {
  ALL_VALID,
  alongAxis,
  axisTexts,
  checkDesign,
  devicePosition,
  rankRow,
  rankedWhole,
  rankingFilter,
  tiesIn,
} from './rows.ts';
import type { Pool } from '../pool.ts';
import type { RunView } from '../runs/run-view.ts';

function detailed(view: RunView, row: RankRow): RankRow {
  if (row.invalid !== null) return row;
  return {
    ...row,
    breakdown: explainDesign(view.predictor, row.designIndex),
    alongBlock: alongAxis(view, row.designIndex, AXIS.blockThreads).timeMs,
  };
}

/** Finds the equal designs of a run (`sweep/equal.ts`) once, in a worker: a million designs take half a second. */
export async function findEquals(pool: Pool, { ranking, study }: RunView): Promise<void> {
  if (ranking.firstEquals) return;
  const { axes, strides, counts, waves, designs: kept, columns } = ranking;
  const { timeMs, gridBlocks } = columns;
  const { registersPerThread } = study.study.kernel;
  const designs = { axes, strides, counts, waves, designs: kept, columns: { timeMs, gridBlocks } };
  ranking.firstEquals = await pool.run('equals', { designs, registersPerThread });
}

function makeEqualFinder({ ranking }: RunView): (design: number) => number {
  const first = ranking.firstEquals!;
  return ranking.designs ? (design) => first[entryOf(ranking, design)] : (design) => first[design];
}

export function groupedList(view: RunView, list: Uint32Array, groups: ReadonlySet<number> = new Set()): GroupedList {
  return groupedDesigns(list, makeEqualFinder(view), view.ranking.columns.timeMs.length, groups);
}

/** A grouped list is kept as long as its list, because the pages of a list are read one after another. */
const grouped = new WeakMap<Uint32Array, { readonly key: string; readonly value: GroupedList }>();

function grouping(view: RunView, list: Uint32Array, opened: readonly number[]): GroupedList {
  const groups = new Set(opened.map(makeEqualFinder(view)).filter((entry) => entry !== undefined));
  const key = [...groups].sort((a, b) => a - b).join(' ');
  const known = grouped.get(list);
  if (known?.key === key) return known.value;
  const value = groupedList(view, list, groups);
  grouped.set(list, { key, value });
  return value;
}

export function rankPage(view: RunView, input: ProcedureArguments<'ranking.page'>): Result<RankPage> {
  const filter = rankingFilter(view, input.filter);
  if (!filter.ok) return filter;
  const { columns } = view.ranking;
  const whole = rankedDesigns(view.ranking, rankedWhole(filter.value), 'timeMs');
  const ties = tiesIn(view, whole);
  const rankOf = ranker(view, whole);
  const isRanked = (design: number): boolean => rankOf(design) > 0;
  const byTime = rankedDesigns(view.ranking, filter.value, 'timeMs');
  const placeOf = ranker(view, byTime);
  const isListed = (design: number): boolean => placeOf(design) > 0;
  const now = { simulatedMs: view.simulated.order.filter(isListed), measuredMs: view.measured.order.filter(isListed) };
  const { column, descending } = input.sort;
  const kept = input.order === undefined ? undefined : view.orders.at(input.order);
  let designs: Uint32Array;
  let outdated = false;
  if (column === 'simulatedMs' || column === 'measuredMs') {
    const standing = kept?.[column].filter(isListed) ?? now[column];
    outdated = !isDeepStrictEqual(standing, now[column]);
    const timeFound = (design: number): number | undefined =>
      column === 'simulatedMs' ? view.simulated.times.get(design)?.meanMs : view.measured.times.get(design)?.medianMs;
    designs = foundFirst(
      rankedDesigns(view.ranking, filter.value, 'timeMs', descending),
      descending ? reverseKeepingTies(Uint32Array.from(standing), timeFound) : standing,
    );
  } else designs = rankedDesigns(view.ranking, filter.value, column, descending);
  const groups = input.groups ? grouping(view, designs, input.opened) : null;
  const list = groups?.list ?? designs;
  // If a measured or simulated design is in a group, it represents the group, unless the group is opened.
  const known = new Map<number, number>();
  const equalOf = groups ? makeEqualFinder(view) : Number;
  if (groups) {
    for (const design of [...now.simulatedMs, ...now.measuredMs].reverse()) known.set(equalOf(design), design);
    for (const design of input.opened) known.delete(equalOf(design));
  }
  const fastest = fastestFound(view, isRanked);
  const tiesBy = column === 'simulatedMs' ? 'simulated' : 'best';
  const rows: RankRow[] = [];
  const equal: number[] = [];
  const end = Math.min(list.length, input.offset + input.limit);
  for (let at = input.offset; at < end; at += 1) {
    const first = list[at];
    const isFound = view.simulated.times.has(first) || view.measured.times.has(first);
    const design = groups && !isFound ? (known.get(equalOf(first)) ?? first) : first;
    const predicted = rankRow(view, design, rankOf(design), ties.isTied(design));
    const row = atBestFidelity(predicted, view, fastest, tiesBy);
    rows.push(input.detail ? detailed(view, row) : row);
    equal.push(groups ? groups.counts[at] : 1);
  }
  const checked = checkDesign(view, input.baseline);
  if (!checked.ok) return checked;
  const baseline = input.baseline === undefined ? null : designRow(view, input.baseline, whole, ties);
  const place = input.find === undefined ? -1 : placeIn(view, list, groups, input.find);
  return ok({
    matching: byTime.length,
    listed: list.length,
    total: columns.timeMs.length,
    simulated: now.simulatedMs.length,
    measured: now.measuredMs.length,
    order: kept ? input.order! : view.orders.newest,
    outdated,
    offset: input.offset,
    rows,
    equal,
    ties: filter.value.validity === 'invalid' ? 0 : ties.count,
    tieFraction: ties.band.fraction,
    tieBand: ties.band,
    baseline,
    foundAt: place < 0 ? null : place,
  });
}

function placeIn(view: RunView, list: Uint32Array, groups: GroupedList | null, design: number): number {
  const own = list.indexOf(design);
  if (own >= 0 || !groups || entryOf(view.ranking, design) < 0) return own;
  const equalOf = makeEqualFinder(view);
  return list.findIndex((other) => equalOf(other) === equalOf(design));
}

function ranker({ ranking }: RunView, byTime: Uint32Array): (design: number) => number {
  return (design) => {
    const time = timeOf(ranking, design);
    if (Number.isNaN(time)) return 0;
    const place = firstIndex(0, byTime.length, (at) => {
      const other = byTime[at];
      const otherMs = timeOf(ranking, other);
      return otherMs > time || (otherMs === time && other >= design);
    });
    return byTime[place] === design ? place + 1 : 0;
  };
}

function designRow(view: RunView, design: number, byTime: Uint32Array, ties: Ties): RankRow {
  const rankOf = ranker(view, byTime);
  const row = rankRow(view, design, rankOf(design), ties.isTied(design));
  const fastest = fastestFound(view, (other) => rankOf(other) > 0);
  return detailed(view, atBestFidelity(row, view, fastest));
}

export function plainOf(view: RunView, deviceId: string | undefined): Result<{ readonly designIndex: number | null }> {
  const { axes, strides, waves } = view.ranking;
  const best = rankedDesigns(view.ranking, ALL_VALID, 'timeMs')[0];
  const device =
    deviceId === undefined ? ok(Math.floor((best ?? 0) / strides[AXIS.device])) : devicePosition(view, deviceId);
  if (!device.ok) return device;
  const wavesOf = (design: number): number =>
    Number.isNaN(timeOf(view.ranking, design)) ? NaN : waves[entryOf(view.ranking, design)];
  return ok({ designIndex: plainDesign(axes, device.value, wavesOf) });
}

export function rankedDesign(view: RunView, input: ProcedureArguments<'ranking.design'>): Result<RankRow> {
  const known = checkDesign(view, input.designIndex);
  if (!known.ok) return known;
  const filter = rankingFilter(view, input.filter);
  if (!filter.ok) return filter;
  const whole = rankedDesigns(view.ranking, rankedWhole(filter.value), 'timeMs');
  return ok(designRow(view, input.designIndex, whole, tiesIn(view, whole)));
}

/** Times beyond this multiple of the best time are only counted, not drawn. */
const HISTOGRAM_SPAN = 8;

export function rankHistogram(view: RunView, input: ProcedureArguments<'ranking.histogram'>): Result<Histogram> {
  const filter = rankingFilter(view, input.filter);
  if (!filter.ok) return filter;
  const list = rankedDesigns(view.ranking, rankedWhole(filter.value), 'timeMs');
  const timeMs = (design: number): number => timeOf(view.ranking, design);
  const edgesMs = new Float64Array(input.bins + 1);
  const none = new Float64Array(input.bins);
  if (list.length === 0) return ok({ edgesMs, counts: none, passing: none, best: NaN, median: NaN, beyond: 0 });
  const best = timeMs(list[0]);
  const last = Math.min(timeMs(list[list.length - 1]), best * HISTOGRAM_SPAN);
  const span = Math.log(Math.max(last / best, 1 + 1e-9));
  for (let i = 0; i <= input.bins; i += 1) edgesMs[i] = best * Math.exp((span * i) / input.bins);
  edgesMs[input.bins] = last;
  const counts = binCounts(list, timeMs, edgesMs);
  const beyond = list.length - counts.reduce((sum, n) => sum + n, 0);
  const valid = { ...filter.value, validity: 'valid', invalidReason: undefined } as const;
  const passing = binCounts(rankedDesigns(view.ranking, valid, 'timeMs'), timeMs, edgesMs);
  return ok({ edgesMs, counts, passing, best, median: timeMs(list[list.length >>> 1]), beyond });
}

function binCounts(list: Uint32Array, timeMs: (design: number) => number, edgesMs: Float64Array): Float64Array {
  const counts = new Float64Array(edgesMs.length - 1);
  const below = (edge: number, inclusive: boolean): number =>
    firstIndex(0, list.length, (at) => timeMs(list[at]) > edge || (!inclusive && timeMs(list[at]) === edge));
  let before = 0;
  for (let bin = 0; bin < counts.length; bin += 1) {
    const upTo = below(edgesMs[bin + 1], bin === counts.length - 1);
    counts[bin] = upTo - before;
    before = upTo;
  }
  return counts;
}

export function designSlices(view: RunView, designIndex: number): Result<DesignSlice[]> {
  const known = checkDesign(view, designIndex);
  if (!known.ok) return known;
  const device = view.devices[axisPosition(view.ranking, AXIS.device, designIndex)];
  return ok(
    AXIS_ORDER.flatMap((axis, place) => {
      const { timeMs, designIndex: designs, at } = alongAxis(view, designIndex, place);
      const whole = { from: 0, to: timeMs.length };
      const own = axis === 'launch' ? launchesOf(view, device.kind) : whole;
      // A design with a launch for the other kind of device is invalid. Its slice has the launches of both kinds.
      const { from, to } = at >= own.from && at < own.to ? own : whole;
      if (to - from < 2) return [];
      return [
        {
          axis,
          values: axisTexts(view, place).slice(from, to),
          timeMs: timeMs.slice(from, to),
          designIndex: designs.slice(from, to),
          at: at - from,
        },
      ];
    }),
  );
}
