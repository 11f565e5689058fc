import { NOT_SAVED } from '../../../src-workers/domain/columns.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import { ok, type Result, badInput, unsupported } from '../../../src-workers/domain/result.ts';
import { AXIS, AXIS_ORDER, type AxisName } from '../../../src-workers/domain/space.ts';
import { bestCell, bestOfCells, NO_DESIGN, type CellAxis } from '../../../src-workers/sweep/cells.ts';
import { peakInstructionsGigaPerSecond } from '../../../src-workers/models/occupancy/device-metrics.ts';
import { explainDesign } from '../../../src-workers/predict/explain.ts';
import {
  axisPosition,
  entryOf,
  passingDesigns,
  rankedDesigns,
  timeOf,
  type RankingFilter,
} from '../../../src-workers/sweep/ranking.ts';
import { tieFraction } from '../../../src-workers/sweep/ties.ts';
import type { LandscapeFacets, LandscapeGrid, ParallelSample, Roofline, LandscapeAxis } from '../../contract/api.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import { tieBand } from '../evidence/tie-band.ts';
import type { RunView } from '../runs/run-view.ts';
import { axisTexts, rankingFilter } from './rows.ts';

const AXIS_LABELS: Readonly<Record<AxisName, string>> = {
  device: 'Device',
  implementation: 'Implementation',
  blockWidth: 'Block width',
  threadsPerUnit: 'Threads per unit',
  loop: 'Loop',
  balancing: 'Balancing',
  launch: 'Launch',
  registerCap: 'Register cap',
  blockThreads: 'Block size',
};

export function launchesOf(
  { ranking: { axes } }: RunView,
  kind: Device['kind'] | null,
): { readonly from: number; readonly to: number } {
  const to = axes.launch.length;
  const cores = axes.launch.findIndex((launch) => launch.kind === 'cores');
  if (kind === null || cores <= 0) return { from: 0, to };
  return kind === 'cpu' ? { from: cores, to } : { from: 0, to: cores };
}

function kindShown({ devices }: RunView, position: number | undefined): Device['kind'] | null {
  const kinds = new Set(
    (position === undefined ? devices : devices.slice(position, position + 1)).map(({ kind }) => kind),
  );
  return kinds.size === 1 ? [...kinds][0] : null;
}

export function landscapeAxes(view: RunView): readonly LandscapeAxis[] {
  return AXIS_ORDER.map((id, at) => {
    const texts = axisTexts(view, at);
    const values = id === 'device' ? view.devices.map((device) => device.id) : texts;
    return { id, label: AXIS_LABELS[id], values, texts };
  });
}

/** Axes are positions in AXIS_ORDER. Each cell has the best time over the `free` axes. */
interface MapFrame {
  readonly x: number;
  readonly y: number;
  /** The number of values on each axis; for launches, only the launches of the devices on the map. */
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
    return badInput(`A map needs two different axes of ${AXIS_ORDER.join(', ')}, not "${xName}" and "${yName}".`);
  const free: CellAxis[] = [];
  let first = 0;
  for (let axis = 0; axis < AXIS_ORDER.length; axis += 1) {
    const isDrawn = axis === x || axis === y;
    const held = isDrawn ? undefined : hold[AXIS_ORDER[axis]];
    const most = view.ranking.counts[axis] - 1;
    if (held !== undefined && held > most)
      return badInput(`hold.${AXIS_ORDER[axis]} must be a position from 0 to ${most}, not ${held}.`);
    first += (held ?? (axis === AXIS.launch ? from : 0)) * strides[axis];
    if (!isDrawn && held === undefined) free.push({ stride: strides[axis], count: counts[axis], cells: null });
  }
  return ok({ x, y, counts, texts, first, free });
}

/** In the map, neighbouring cells of the axis are `size` entries apart. */
function drawnAxis(stride: number, count: number, cells: number, size: number): CellAxis {
  const place = Uint32Array.from({ length: count }, (_, position) => Math.floor((position * cells) / count) * size);
  return { stride, count, cells: place };
}

function passingCells(
  view: RunView,
  asked: ProcedureArguments<'landscape.grid'>['filter'],
  first: number,
  axes: readonly CellAxis[],
  cells: number,
): Result<Uint8Array | null> {
  const filter = rankingFilter(view, asked);
  if (!filter.ok) return filter;
  const mask = passingDesigns(view.ranking, filter.value);
  if (!mask) return ok(null);
  const { columns, designs } = view.ranking;
  const timeMs = columns.timeMs.map((time, entry) => (mask[entry] === 1 ? time : NaN));
  const { designIndex } = bestOfCells(timeMs, designs, first, axes, cells);
  return ok(Uint8Array.from(designIndex, (design) => (design === NO_DESIGN ? 0 : 1)));
}

export function landscapeGrid(view: RunView, input: ProcedureArguments<'landscape.grid'>): Result<LandscapeGrid> {
  const { ranking } = view;
  const { strides, columns } = ranking;
  const frame = mapFrame(view, input.x, input.y, input.hold, kindShown(view, input.hold.device));
  if (!frame.ok) return frame;
  const { x, y, counts, texts, first, free } = frame.value;
  const nx = counts[x];
  const ny = counts[y];
  const axes = [drawnAxis(strides[x], nx, nx, 1), drawnAxis(strides[y], ny, ny, nx), ...free];
  const cells = bestOfCells(columns.timeMs, ranking.designs, first, axes, nx * ny);
  const passing = passingCells(view, input.filter, first, axes, nx * ny);
  if (!passing.ok) return passing;
  const best = bestCell(cells);
  const { timeMs, designIndex } = cells;
  const tied = new Uint8Array(nx * ny);
  const invalidReason = new Uint8Array(nx * ny);
  const waves = new Float32Array(nx * ny);
  // The axis with the larger stride is the outer loop, so that columns are read in the order of memory.
  const across = { count: nx, cells: 1, stride: strides[x] };
  const up = { count: ny, cells: nx, stride: strides[y] };
  const [outer, inner] = across.stride > up.stride ? [across, up] : [up, across];
  for (let i = 0; i < outer.count; i += 1)
    for (let j = 0; j < inner.count; j += 1) {
      const at = i * outer.cells + j * inner.cells;
      // A cell without a valid design gets its first design, to show why that design is invalid.
      if (designIndex[at] === NO_DESIGN) designIndex[at] = first + i * outer.stride + j * inner.stride;
      const design = designIndex[at];
      const entry = entryOf(ranking, design);
      invalidReason[at] = entry < 0 ? NOT_SAVED : columns.invalidReason[entry];
      waves[at] = entry < 0 ? NaN : ranking.waves[entry];
      tied[at] = timeMs[at] <= best.best * (1 + tieFraction(view.ties, best.bestDesign, design)) ? 1 : 0;
    }
  const deviceAt = axisPosition(ranking, AXIS.device, Number.isNaN(best.best) ? first : best.bestDesign);
  const band = tieBand(view.devices[deviceAt]);
  return ok({
    xAxis: input.x,
    yAxis: input.y,
    xValues: texts(x),
    yValues: texts(y),
    timeMs,
    designIndex,
    invalidReason,
    waves,
    passing: passing.value,
    ...best,
    tieFraction: band.fraction,
    tieBand: band,
    tied,
  });
}

export function landscapeFacets(view: RunView, input: ProcedureArguments<'landscape.facets'>): Result<LandscapeFacets> {
  const { ranking } = view;
  const { strides, columns } = ranking;
  const facet = AXIS_ORDER.findIndex((axis) => axis === input.facet);
  if (facet < 0 || input.facet === input.x || input.facet === input.y)
    return badInput(
      `facet must be one of ${AXIS_ORDER.filter((axis) => axis !== input.x && axis !== input.y).join(', ')}, not "${input.facet}".`,
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
  const pixels = bestOfCells(columns.timeMs, ranking.designs, first, axes, many * size);
  const passing = passingCells(view, input.filter, first, axes, many * size);
  if (!passing.ok) return passing;
  const facets = Array.from({ length: many }, (_, position) => ({
    timeMs: Float32Array.from(pixels.timeMs.subarray(position * size, (position + 1) * size)),
    passing: passing.value?.slice(position * size, (position + 1) * size) ?? null,
    ...bestCell(pixels, position * size, (position + 1) * size),
  }));
  return ok({ columns: nx, rows: ny, facets });
}

/** Samples valid designs: a quarter of the sample are the fastest, and the rest are at even distances in rank. */
export function parallelSample(view: RunView, input: ProcedureArguments<'landscape.parallel'>): Result<ParallelSample> {
  const filter = rankingFilter(view, input.filter);
  if (!filter.ok) return filter;
  const { ranking } = view;
  const { designs, sampledFrom } = sampled(view, filter.value, input.sample);
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
  columns.push(designs.map((design) => ranking.columns.occupancyFraction[entryOf(ranking, design)]));
  axes.push({ id: 'timeMs', label: 'Predicted, ms', categories: null });
  columns.push(designs.map((design) => timeOf(ranking, design)));
  return ok({ axes, columns, designIndex: designs, sampledFrom });
}

function sampled(
  { ranking }: RunView,
  filter: RankingFilter,
  most: number,
): { readonly designs: Float64Array; readonly sampledFrom: number } {
  const list = rankedDesigns(ranking, { ...filter, validity: 'valid', invalidReason: undefined }, 'timeMs');
  const size = Math.min(most, list.length);
  const leading = Math.min(size >>> 2, list.length);
  const designs = Float64Array.from({ length: size }, (_, i) => {
    const spaced = ((i - leading) * (list.length - leading)) / Math.max(1, size - leading);
    return list[i < leading ? i : leading + Math.floor(spaced)];
  });
  return { designs, sampledFrom: list.length };
}

/** Samples the designs of a device, with their rates under its two roofs. Designs with unknown traffic are left out. */
export function roofline(view: RunView, input: ProcedureArguments<'landscape.roofline'>): Result<Roofline> {
  const { deviceId, sample } = input;
  const filter = rankingFilter(view, { ...input.filter, deviceId });
  if (!filter.ok) return filter;
  const device = view.devices.find(({ id }) => id === deviceId)!;
  if (device.kind === 'cpu')
    return unsupported(`${device.name} is a CPU, whose instructions are not predicted. Choose a GPU.`);
  const peakIssueGips = peakInstructionsGigaPerSecond(device);
  const { designs, sampledFrom } = sampled(view, filter.value, sample);
  const known = Array.from(designs, (designIndex) => ({
    designIndex,
    breakdown: explainDesign(view.predictor, designIndex)!,
  })).filter(({ breakdown: { achieved } }) => achieved.bandwidthGbS !== null && achieved.issueFraction !== null);
  return ok({
    peakIssueGips,
    peakBandwidthGbS: device.memoryBandwidthGbS,
    sampledFrom,
    designIndex: Float64Array.from(known, ({ designIndex }) => designIndex),
    timeMs: Float64Array.from(known, ({ breakdown }) => breakdown.timeMs),
    issueGips: Float64Array.from(known, ({ breakdown }) => breakdown.achieved.issueFraction! * peakIssueGips),
    bandwidthGbS: Float64Array.from(known, ({ breakdown }) => breakdown.achieved.bandwidthGbS!),
  });
}
