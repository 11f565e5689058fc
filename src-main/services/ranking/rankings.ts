import type { Device } from '../../../src-workers/domain/device.ts';
import { AXIS, AXIS_ORDER, type AxisName } from '../../../src-workers/domain/space.ts';
import { fail, ok, type Result } from '../../../src-workers/domain/result.ts';
import { bestCell, bestOfCells, NO_DESIGN, type CellAxis } from '../../../src-workers/sweep/cells.ts';
import { explainDesign } from '../../../src-workers/sweep/designs.ts';
import { axisPosition, rankedDesigns, tieCount } from '../../../src-workers/sweep/ranking.ts';
import type {
  Histogram,
  LandscapeFacets,
  LandscapeGrid,
  ParallelSample,
  RankPage,
  RankRow,
} from '../../contract/api.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import { atBestFidelity, fastestFound, foundFirst } from './fidelity.ts';
import {
  ALL_VALID,
  alongAxis,
  axisTexts,
  checkDesign,
  rankRow,
  rankingFilter,
  TIE_FRACTION,
  type RunView,
} from '../runs/run-view.ts';

/** Reading a run: pages, histograms, grids. All synchronous over columns in memory. */

const AXIS_LABELS: Readonly<Record<AxisName, string>> = {
  device: 'Device',
  threadsPerUnit: 'Threads per unit',
  loop: 'Loop',
  balancing: 'Balancing',
  launch: 'Launch',
  registerCap: 'Register cap',
  blockThreads: 'Block size',
};

function detailed(view: RunView, row: RankRow): RankRow {
  if (row.invalid !== null) return row;
  return {
    ...row,
    breakdown: explainDesign(view.predictor, row.designIndex),
    alongBlock: alongAxis(view, row.designIndex, AXIS.blockThreads).timeMs,
  };
}

export function rankPage(view: RunView, input: ProcedureArguments<'ranking.page'>): Result<RankPage> {
  const filter = rankingFilter(view, input.filter);
  if (!filter.ok) return filter;
  const byTime = rankedDesigns(view.ranking, filter.value, 'timeMs');
  const ties = filter.value.validity === 'invalid' ? 0 : tieCount(view.ranking, byTime, TIE_FRACTION);
  const limitMs = ties > 0 ? view.ranking.columns.timeMs[byTime[ties - 1]] : -Infinity;
  const rankOf = ranker(view, byTime);
  const isListed = (design: number): boolean => rankOf(design) > 0;
  const now = { simulatedMs: view.simulated.order.filter(isListed), measuredMs: view.measured.order.filter(isListed) };
  const { column, descending } = input.sort;
  const kept = input.order === undefined ? undefined : view.orders.at(input.order);
  let list: Uint32Array;
  let outdated = false;
  if (column === 'simulatedMs' || column === 'measuredMs') {
    const standing = kept?.[column].filter(isListed) ?? now[column];
    outdated = !isSame(standing, now[column]);
    list = foundFirst(byTime, standing, descending);
  } else list = rankedDesigns(view.ranking, filter.value, column);
  const fastest = fastestFound(view, isListed);
  const tiesBy = column === 'simulatedMs' ? 'simulated' : 'best';
  const rows: RankRow[] = [];
  const end = Math.min(list.length, input.offset + input.limit);
  for (let at = input.offset; at < end; at += 1) {
    const design = list[descending ? list.length - 1 - at : at];
    const predicted = rankRow(view, design, rankOf(design), view.ranking.columns.timeMs[design] <= limitMs);
    const row = atBestFidelity(predicted, view, fastest, tiesBy);
    rows.push(input.detail ? detailed(view, row) : row);
  }
  let baseline: RankRow | null = null;
  if (input.baseline !== undefined) {
    const known = checkDesign(view, input.baseline);
    if (!known.ok) return known;
    baseline = designRow(view, input.baseline, byTime, limitMs);
  }
  const place = input.find === undefined ? -1 : list.indexOf(input.find);
  return ok({
    matching: list.length,
    total: view.ranking.columns.timeMs.length,
    simulated: now.simulatedMs.length,
    measured: now.measuredMs.length,
    order: kept ? input.order! : view.orders.newest,
    outdated,
    offset: input.offset,
    rows,
    ties,
    tieFraction: TIE_FRACTION,
    baseline,
    foundAt: place < 0 ? null : descending ? list.length - 1 - place : place,
  });
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((value, at) => value === b[at]);
}

/** Rank of a design by time in a list ascending in time, from 1; 0 where it is not in the list. */
function ranker(view: RunView, byTime: Uint32Array): (design: number) => number {
  const { timeMs } = view.ranking.columns;
  return (design) => {
    const time = timeMs[design];
    if (Number.isNaN(time)) return 0;
    let low = 0;
    let high = byTime.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      // Equal times are in the order of the designs.
      const other = byTime[middle];
      if (timeMs[other] < time || (timeMs[other] === time && other < design)) low = middle + 1;
      else high = middle;
    }
    return byTime[low] === design ? low + 1 : 0;
  };
}

function designRow(view: RunView, design: number, byTime: Uint32Array, tieLimitMs: number): RankRow {
  const rankOf = ranker(view, byTime);
  const row = rankRow(view, design, rankOf(design), view.ranking.columns.timeMs[design] <= tieLimitMs);
  const fastest = fastestFound(view, (other) => rankOf(other) > 0);
  return detailed(view, atBestFidelity(row, view, fastest));
}

/** See the contract's `ranking.plain`. */
export function plainDesign(
  view: RunView,
  deviceId: string | undefined,
): Result<{ readonly designIndex: number | null }> {
  const { axes, strides, counts, columns, waves } = view.ranking;
  const best = rankedDesigns(view.ranking, ALL_VALID, 'timeMs')[0];
  const device =
    deviceId === undefined
      ? Math.floor((best ?? 0) / strides[AXIS.device])
      : axes.devices.findIndex(({ id }) => id === deviceId);
  if (device < 0)
    return fail(
      'not-found',
      `device "${deviceId}" is not in this run; expected one of ${axes.devices.map(({ id }) => id).join(', ')}`,
    );
  const smallest = (distances: readonly number[]): number => distances.indexOf(Math.min(...distances));
  const base =
    device * strides[AXIS.device] +
    smallest(axes.threadsPerUnit) * strides[AXIS.threadsPerUnit] +
    Math.max(0, axes.loop.indexOf('nested')) * strides[AXIS.loop] +
    Math.max(0, axes.balancing.indexOf('none')) * strides[AXIS.balancing] +
    smallest(axes.registerCap.map((cap) => (cap === null ? 0 : 1 / cap))) * strides[AXIS.registerCap];
  const sizes = axes.blockThreads
    .map((threads, at) => ({ at, distance: Math.abs(Math.log2(threads / 256)) }))
    .sort((a, b) => a.distance - b.distance);
  for (const { at } of sizes) {
    let chosen: number | null = null;
    let bestDistance = Infinity;
    for (let launch = 0; launch < counts[AXIS.launch]; launch += 1) {
      const design = base + launch * strides[AXIS.launch] + at * strides[AXIS.blockThreads];
      if (Number.isNaN(columns.timeMs[design])) continue;
      const { kind, value } = axes.launch[launch];
      const distance = kind === 'units-per-thread' && value === 1 ? -1 : Math.abs(Math.log2(waves[design]));
      if (distance < bestDistance) [chosen, bestDistance] = [design, distance];
    }
    if (chosen !== null) return ok({ designIndex: chosen });
  }
  return ok({ designIndex: null });
}

export function rankedDesign(view: RunView, input: ProcedureArguments<'ranking.design'>): Result<RankRow> {
  const known = checkDesign(view, input.designIndex);
  if (!known.ok) return known;
  const filter = rankingFilter(view, input.filter);
  if (!filter.ok) return filter;
  const byTime = rankedDesigns(view.ranking, filter.value, 'timeMs');
  const ties = tieCount(view.ranking, byTime, TIE_FRACTION);
  return ok(
    designRow(view, input.designIndex, byTime, ties > 0 ? view.ranking.columns.timeMs[byTime[ties - 1]] : -Infinity),
  );
}

/** Times slower than this many times the best are counted, not drawn. */
const HISTOGRAM_SPAN = 8;

export function rankHistogram(view: RunView, input: ProcedureArguments<'ranking.histogram'>): Result<Histogram> {
  const filter = rankingFilter(view, input.filter);
  if (!filter.ok) return filter;
  const list = rankedDesigns(view.ranking, { ...filter.value, validity: 'valid', invalidReason: undefined }, 'timeMs');
  const { timeMs } = view.ranking.columns;
  const edgesMs = new Float64Array(input.bins + 1);
  const counts = new Float64Array(input.bins);
  if (list.length === 0) return ok({ edgesMs, counts, best: NaN, median: NaN, beyond: 0 });
  const best = timeMs[list[0]];
  const last = Math.min(timeMs[list[list.length - 1]], best * HISTOGRAM_SPAN);
  const span = Math.log(Math.max(last / best, 1 + 1e-9));
  for (let i = 0; i <= input.bins; i += 1) edgesMs[i] = best * Math.exp((span * i) / input.bins);
  // The list ascends in time, so each edge is found by bisection. The last edge belongs to the last bin.
  const below = (edge: number, inclusive: boolean): number => {
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const time = timeMs[list[middle]];
      if (time < edge || (inclusive && time === edge)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  edgesMs[input.bins] = last;
  let before = 0;
  for (let bin = 0; bin < input.bins; bin += 1) {
    const upTo = below(edgesMs[bin + 1], bin === input.bins - 1);
    counts[bin] = upTo - before;
    before = upTo;
  }
  return ok({ edgesMs, counts, best, median: timeMs[list[list.length >>> 1]], beyond: list.length - before });
}

/** For every axis with more than one value: the designs that differ from this one in that axis only. */
export function designSlices(
  view: RunView,
  designIndex: number,
): Result<
  {
    readonly axis: string;
    readonly values: readonly string[];
    readonly timeMs: Float64Array;
    readonly designIndex: Float64Array;
    readonly at: number;
  }[]
> {
  const known = checkDesign(view, designIndex);
  if (!known.ok) return known;
  const device = view.devices[axisPosition(view.ranking, AXIS.device, designIndex)];
  return ok(
    AXIS_ORDER.flatMap((axis, place) => {
      const { timeMs, designIndex: designs, at } = alongAxis(view, designIndex, place);
      const whole = { from: 0, to: timeMs.length };
      const own = axis === 'launch' ? launchesOf(view, device.kind) : whole;
      // A design may have a launch of the other kind of device, and be invalid for that.
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

/** Positions of the launches that a kind of device has: those of CPUs are the last of the axis. The whole axis where it has none. */
function launchesOf(
  { ranking: { axes } }: RunView,
  kind: Device['kind'] | null,
): { readonly from: number; readonly to: number } {
  const to = axes.launch.length;
  const cores = axes.launch.findIndex((launch) => launch.kind === 'cores');
  if (kind === null || cores <= 0) return { from: 0, to };
  return kind === 'cpu' ? { from: cores, to } : { from: 0, to: cores };
}

/** The kind of all devices that are looked at: of the one at a position, else of all in the run; null where there are both. */
function kindShown({ devices }: RunView, position: number | undefined): Device['kind'] | null {
  const kinds = new Set(
    (position === undefined ? devices : devices.slice(position, position + 1)).map(({ kind }) => kind),
  );
  return kinds.size === 1 ? [...kinds][0] : null;
}

export function landscapeAxes(view: RunView): readonly {
  readonly id: string;
  readonly label: string;
  readonly values: readonly string[];
  readonly texts: readonly string[];
}[] {
  return AXIS_ORDER.map((id, at) => {
    const texts = axisTexts(view, at);
    const values = id === 'device' ? view.devices.map((device) => device.id) : texts;
    return { id, label: AXIS_LABELS[id], values, texts };
  });
}

/** Axes of a map, as positions in AXIS_ORDER, and its designs: the first of them, and the axes that are minimised over. */
interface MapFrame {
  readonly x: number;
  readonly y: number;
  /** Values of each axis, of launches only those that the devices on the map have. */
  readonly counts: readonly number[];
  readonly texts: (axis: number) => readonly string[];
  readonly first: number;
  readonly free: readonly CellAxis[];
}

function mapFrame(
  view: RunView,
  xName: string,
  yName: string,
  hold: Readonly<Record<string, number>>,
  kind: Device['kind'] | null,
): Result<MapFrame> {
  const { strides } = view.ranking;
  const { from, to } = launchesOf(view, kind);
  const counts = view.ranking.counts.with(AXIS.launch, to - from);
  const texts = (axis: number) =>
    axis === AXIS.launch ? axisTexts(view, axis).slice(from, to) : axisTexts(view, axis);
  const find = (name: string): number => AXIS_ORDER.findIndex((axis) => axis === name);
  const x = find(xName);
  const y = find(yName);
  if (x < 0 || y < 0 || x === y)
    return fail(
      'bad-input',
      `axes: got "${xName}" and "${yName}", expected two different ones of ${AXIS_ORDER.join(', ')}`,
    );
  const free: CellAxis[] = [];
  let first = 0;
  for (let axis = 0; axis < AXIS_ORDER.length; axis += 1) {
    const isDrawn = axis === x || axis === y;
    const held = isDrawn ? undefined : hold[AXIS_ORDER[axis]];
    const most = view.ranking.counts[axis] - 1;
    if (held !== undefined && held > most)
      return fail('bad-input', `hold.${AXIS_ORDER[axis]}: got position ${held}, expected 0 to ${most}`);
    first += (held ?? (axis === AXIS.launch ? from : 0)) * strides[axis];
    if (!isDrawn && held === undefined) free.push({ stride: strides[axis], count: counts[axis], cells: null });
  }
  return ok({ x, y, counts, texts, first, free });
}

/** An axis drawn with as many cells as told, each `size` cells of the map wide: values share one where they are more. */
function drawnAxis(stride: number, count: number, cells: number, size: number): CellAxis {
  const place = Uint32Array.from({ length: count }, (_, position) => Math.floor((position * cells) / count) * size);
  return { stride, count, cells: place };
}

/** Best time for every pair of values of two axes; the other axes are held where told, and minimised over elsewhere. */
export function landscapeGrid(view: RunView, input: ProcedureArguments<'landscape.grid'>): Result<LandscapeGrid> {
  const { ranking } = view;
  const { strides, columns } = ranking;
  const frame = mapFrame(view, input.x, input.y, input.hold, kindShown(view, input.hold.device));
  if (!frame.ok) return frame;
  const { x, y, counts, texts, first, free } = frame.value;
  const nx = counts[x];
  const ny = counts[y];
  const axes = [drawnAxis(strides[x], nx, nx, 1), drawnAxis(strides[y], ny, ny, nx), ...free];
  const cells = bestOfCells(columns.timeMs, first, axes, nx * ny);
  const best = bestCell(cells);
  const { timeMs, designIndex } = cells;
  const invalidReason = new Uint8Array(nx * ny);
  const waves = new Float32Array(nx * ny);
  // In the order of the columns, too.
  const across = { count: nx, cells: 1, stride: strides[x] };
  const up = { count: ny, cells: nx, stride: strides[y] };
  const [outer, inner] = across.stride > up.stride ? [across, up] : [up, across];
  for (let i = 0; i < outer.count; i += 1)
    for (let j = 0; j < inner.count; j += 1) {
      const at = i * outer.cells + j * inner.cells;
      // Where none is valid, the cell is of its first design, which says why.
      if (designIndex[at] === NO_DESIGN) designIndex[at] = first + i * outer.stride + j * inner.stride;
      const design = designIndex[at];
      invalidReason[at] = columns.invalidReason[design];
      waves[at] = ranking.waves[design];
    }
  return ok({
    xAxis: input.x,
    yAxis: input.y,
    xValues: texts(x),
    yValues: texts(y),
    timeMs,
    designIndex,
    invalidReason,
    waves,
    ...best,
    tieFraction: TIE_FRACTION,
  });
}

/** One small map for each value of an axis: see the contract's `landscape.facets`. */
export function landscapeFacets(view: RunView, input: ProcedureArguments<'landscape.facets'>): Result<LandscapeFacets> {
  const { ranking } = view;
  const { strides, columns } = ranking;
  const facet = AXIS_ORDER.findIndex((axis) => axis === input.facet);
  if (facet < 0 || input.facet === input.x || input.facet === input.y)
    return fail(
      'bad-input',
      `facet: got "${input.facet}", expected one of ${AXIS_ORDER.filter((axis) => axis !== input.x && axis !== input.y).join(', ')}`,
    );
  const kind = kindShown(view, input.hold.device);
  const frame = mapFrame(view, input.x, input.y, { ...input.hold, [input.facet]: 0 }, kind);
  if (!frame.ok) return frame;
  const { x, y, counts, first, free } = frame.value;
  const many = ranking.counts[facet];
  const nx = Math.min(counts[x], input.columns);
  const ny = Math.min(counts[y], input.rows);
  const size = nx * ny;
  const axes = [
    drawnAxis(strides[facet], many, many, size),
    drawnAxis(strides[x], counts[x], nx, 1),
    drawnAxis(strides[y], counts[y], ny, nx),
    ...free,
  ];
  const pixels = bestOfCells(columns.timeMs, first, axes, many * size);
  const facets = Array.from({ length: many }, (_, position) => ({
    timeMs: Float32Array.from(pixels.timeMs.subarray(position * size, (position + 1) * size)),
    ...bestCell(pixels, position * size, (position + 1) * size),
  }));
  return ok({ columns: nx, rows: ny, facets });
}

/** A deterministic sample of valid designs over the axes and a few results: the best, then evenly spaced by rank. */
export function parallelSample(view: RunView, input: ProcedureArguments<'landscape.parallel'>): Result<ParallelSample> {
  const filter = rankingFilter(view, input.filter);
  if (!filter.ok) return filter;
  const { ranking } = view;
  const list = rankedDesigns(ranking, { ...filter.value, validity: 'valid', invalidReason: undefined }, 'timeMs');
  const size = Math.min(input.sample, list.length);
  const leading = Math.min(size >>> 2, list.length);
  const designs = new Float64Array(size);
  for (let i = 0; i < size; i += 1) {
    const at =
      i < leading ? i : leading + Math.floor(((i - leading) * (list.length - leading)) / Math.max(1, size - leading));
    designs[i] = list[at];
  }
  const axes: { id: string; label: string; categories: readonly string[] | null }[] = [];
  const columns: Float64Array[] = [];
  const { deviceId } = input.filter;
  const device = deviceId === undefined ? -1 : view.devices.findIndex(({ id }) => id === deviceId);
  const launches = launchesOf(view, kindShown(view, device < 0 ? undefined : device));
  AXIS_ORDER.forEach((id, axis) => {
    const { from, to } = id === 'launch' ? launches : { from: 0, to: ranking.counts[axis] };
    if (to - from < 2) return;
    axes.push({ id, label: AXIS_LABELS[id], categories: axisTexts(view, axis).slice(from, to) });
    columns.push(designs.map((design) => axisPosition(ranking, axis, design) - from));
  });
  axes.push({ id: 'occupancyFraction', label: 'Occupancy', categories: null });
  columns.push(designs.map((design) => ranking.columns.occupancyFraction[design]));
  axes.push({ id: 'timeMs', label: 'Predicted, ms', categories: null });
  columns.push(designs.map((design) => ranking.columns.timeMs[design]));
  return ok({ axes, columns, designIndex: designs, sampledFrom: list.length });
}
