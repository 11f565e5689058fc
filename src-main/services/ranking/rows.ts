import type { PredictionColumns } from '../../../src-workers/domain/columns.ts';
import { INVALID_REASONS, invalidDesign, limitingFactors } from '../../../src-workers/domain/design.ts';
import { implementationKind, isMeasured, type TieBand } from '../../../src-workers/domain/evidence.ts';
import { ok, type Result, notFound, conflict, badInput } from '../../../src-workers/domain/result.ts';
import { AXIS, AXIS_ORDER, type AxisName, type Launch, type SpaceAxes } from '../../../src-workers/domain/space.ts';
import { coresText } from '../../../src-workers/domain/terms.ts';
import { computeBalancingTime, describeDesign } from '../../../src-workers/predict/designs.ts';
import { predictChunk } from '../../../src-workers/predict/ranges.ts';
import type { Predictor } from '../../../src-workers/predict/tables.ts';
import {
  axisPosition,
  entryOf,
  rankedDesigns,
  sizeOf,
  timeOf,
  wavesOn,
  type RankingFilter,
} from '../../../src-workers/sweep/ranking.ts';
import { tiesOf, type Ties } from '../../../src-workers/sweep/ties.ts';
import type { RankRow } from '../../contract/api.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import { deviceEvidence, tieBand } from '../evidence/tie-band.ts';
import type { RunView } from '../runs/run-view.ts';

export function tiesIn(view: RunView, byTimeList: Uint32Array): Ties & { readonly band: TieBand } {
  const device = axisPosition(view.ranking, AXIS.device, byTimeList[0] ?? 0);
  const { count, isTied } = tiesOf(view.ranking, view.ties, byTimeList);
  return { count, isTied, band: tieBand(view.devices[device]) };
}

export function checkDesign(view: RunView, design: number | undefined): Result<null> {
  const total = sizeOf(view.ranking);
  return design === undefined || design < total
    ? ok(null)
    : notFound(`Run ${view.run.id} has no design ${design}: its designs are 0 to ${total - 1}.`);
}

/** Fails if a design has no predicted time: `not-found`, or `conflict` if it is invalid or not yet predicted. */
export function checkPredicted(view: RunView, design: number): Result<null> {
  const known = checkDesign(view, design);
  if (!known.ok) return known;
  const { invalid } = describeDesign(view.predictor, design);
  if (invalid !== null) return invalidDesign(design, invalid);
  if (!Number.isNaN(timeOf(view.ranking, design))) return ok(null);
  if (view.run.kept)
    return conflict(
      `Design ${design} is not among the ${view.run.validCount} best designs that run ${view.run.id} keeps. Specify a kept design, or sweep all designs.`,
    );
  return conflict(`Design ${design} of run ${view.run.id} is not predicted yet. Resume the run first.`);
}

export const ALL_VALID: RankingFilter = { positions: {}, ranges: [], validity: 'valid' };

export function rankingFilter(
  view: RunView,
  filter: ProcedureArguments<'ranking.page'>['filter'],
): Result<RankingFilter> {
  const { axes } = view.ranking;
  const positions: Record<number, Set<number>> = {};
  type Values = readonly (string | number | null)[];
  const lists: readonly (readonly [AxisName, values: Values, wanted: Values | undefined])[] = [
    ['device', axes.devices.map(({ id }) => id), filter.deviceId === undefined ? undefined : [filter.deviceId]],
    ['implementation', axisTexts(view, AXIS.implementation), filter.implementation],
    ['blockWidth', axes.blockWidth ?? [null], filter.blockWidth],
    ['threadsPerUnit', axes.threadsPerUnit, filter.threadsPerUnit],
    ['loop', axes.loop, filter.loop],
    ['balancing', axes.balancing, filter.balancing],
    ['launch', axisTexts(view, AXIS.launch), filter.launch],
    ['registerCap', axes.registerCap, filter.registerCap],
  ];
  for (const [name, values, wanted] of lists) {
    const unknown = wanted?.find((value) => !values.includes(value));
    if (unknown !== undefined)
      return badInput(
        `${name} must be one of ${values.map((entry) => entry ?? 'none').join(', ')}, not ${String(unknown)}.`,
      );
    if (wanted) positions[AXIS[name]] = new Set(wanted.map((value) => values.indexOf(value)));
  }
  const ranges: RankingFilter['ranges'][number][] = [];
  if (filter.blockThreads) {
    const { from, to } = filter.blockThreads;
    positions[AXIS.blockThreads] = new Set(
      axes.blockThreads.flatMap((value, at) => (value >= from && value <= to ? [at] : [])),
    );
  }
  if (filter.gridBlocks) ranges.push({ column: 'gridBlocks', ...filter.gridBlocks });
  if (filter.timeMs) ranges.push({ column: 'timeMs', ...filter.timeMs });
  if (filter.occupancyFraction) ranges.push({ column: 'occupancyFraction', ...filter.occupancyFraction });
  const invalidReason =
    filter.invalidReason === undefined
      ? undefined
      : INVALID_REASONS.findIndex((reason) => reason.code === filter.invalidReason);
  return ok({ positions, ranges, validity: filter.validity, invalidReason });
}

export function rankedWhole({ positions }: RankingFilter): RankingFilter {
  const device = positions[AXIS.device];
  return device ? { ...ALL_VALID, positions: { [AXIS.device]: device } } : ALL_VALID;
}

/** `rank` is 0 if the design has none. A design that was not kept is predicted. */
export function rankRow(view: RunView, design: number, rank: number, tied: boolean): RankRow {
  const { predictor, ranking } = view;
  const entry = entryOf(ranking, design);
  return entry < 0
    ? predictedRow(predictor, design, predictChunk(predictor, design, 1), 0, rank, tied)
    : predictedRow(predictor, design, ranking.columns, entry, rank, tied);
}

export function predictedRow(
  predictor: Predictor,
  design: number,
  columns: PredictionColumns,
  at: number,
  rank: number,
  tied: boolean,
): RankRow {
  const described = describeDesign(predictor, design);
  const { threadsPerUnit, balancing } = described.design;
  const kind = implementationKind(described.device, threadsPerUnit, balancing);
  return {
    rank,
    tied,
    designIndex: design,
    deviceId: described.device.id,
    device: described.device.name,
    design: described.design,
    timeMs: columns.timeMs[at],
    fidelity: 'predicted',
    predictedMs: columns.timeMs[at],
    kind,
    hasEvidence: isMeasured(deviceEvidence(described.device), kind),
    simulated: null,
    measured: null,
    meanLoss: columns.meanLoss[at],
    aggregateLoss: columns.aggregateLoss[at],
    occupancyFraction: columns.occupancyFraction[at],
    residentBlocks: columns.residentBlocks[at],
    residentThreadGroups: described.residentThreadGroups,
    waves: wavesOn(described.device, columns.gridBlocks[at], columns.residentBlocks[at]),
    limitedBy: limitingFactors(columns.limitedBy[at]),
    ...(described.bytesPerIteration !== null && { bytesPerIteration: described.bytesPerIteration }),
    invalid: described.invalid,
    breakdown: null,
    alongBlock: null,
  };
}

/**
 * Returns the part of a valid design's predicted time, ms, that is for ordering the units before the launch. Measured
 * times cover only the kernel, so they must be compared with the predicted time minus this part.
 */
export function orderingMs(view: Pick<RunView, 'predictor'>, design: number): number {
  return computeBalancingTime(view.predictor, design);
}

export function* bestRows(view: RunView, filter: RankingFilter, limit: number, from = 0): Generator<RankRow, void> {
  const list = rankedDesigns(view.ranking, filter, 'timeMs');
  const ties = tiesIn(view, list);
  const end = Math.min(limit, list.length);
  for (let at = from; at < end; at += 1) yield rankRow(view, list[at], at + 1, ties.isTied(list[at]));
}

export function bestOfAxis(view: RunView, axis: AxisName, filter: RankingFilter): readonly RankRow[] {
  const list = rankedDesigns(view.ranking, filter, 'timeMs');
  const ties = tiesIn(view, list);
  const found = new Set<number>();
  const rows: RankRow[] = [];
  for (const [at, design] of list.entries()) {
    const position = axisPosition(view.ranking, AXIS[axis], design);
    if (found.has(position)) continue;
    found.add(position);
    rows.push(rankRow(view, design, at + 1, ties.isTied(design)));
    if (found.size === view.ranking.counts[AXIS[axis]]) break;
  }
  return rows;
}

export const noDevice = (deviceId: string, owner: 'this run' | 'the study', ids: readonly string[]): Result<never> =>
  notFound(`The device "${deviceId}" is not in ${owner}. It has ${ids.join(', ')}.`);

export function devicePosition({ devices }: RunView, deviceId: string): Result<number> {
  const ids = devices.map(({ id }) => id);
  const at = ids.indexOf(deviceId);
  return at < 0 ? noDevice(deviceId, 'this run', ids) : ok(at);
}

export function deviceFilter(view: RunView, deviceId: string | undefined): Result<RankingFilter> {
  if (deviceId === undefined) return ok(ALL_VALID);
  const at = devicePosition(view, deviceId);
  return at.ok ? ok({ ...ALL_VALID, positions: { [AXIS.device]: new Set([at.value]) } }) : at;
}

export function predictedMs({ predictor, ranking, run }: RunView, design: number): number {
  return run.kept && entryOf(ranking, design) < 0
    ? predictChunk(predictor, design, 1).timeMs[0]
    : timeOf(ranking, design);
}

export function alongAxis(
  view: RunView,
  design: number,
  axis: number,
): { readonly timeMs: Float64Array; readonly designIndex: Float64Array; readonly at: number } {
  const { ranking } = view;
  const count = ranking.counts[axis];
  const stride = ranking.strides[axis];
  const at = axisPosition(ranking, axis, design);
  const timeMs = new Float64Array(count);
  const designIndex = new Float64Array(count);
  for (let position = 0; position < count; position += 1) {
    const other = design + (position - at) * stride;
    designIndex[position] = other;
    timeMs[position] = timeOf(ranking, other);
  }
  return { timeMs, designIndex, at };
}

const AXIS_TEXTS: Readonly<Record<AxisName, (axes: SpaceAxes, view: RunView) => readonly string[]>> = {
  device: ({ devices }) => devices.map(({ name }) => name),
  implementation: ({ implementations }, { study: { study } }) =>
    implementations?.map(({ name }) => name) ?? [study.kernel.name],
  blockWidth: ({ blockWidth }) => (blockWidth ?? [null]).map((width) => String(width ?? 'row')),
  threadsPerUnit: ({ threadsPerUnit }) => threadsPerUnit.map(String),
  loop: ({ loop }) => loop,
  balancing: ({ balancing }) => balancing,
  launch: ({ launch }) => launch.map(launchText),
  registerCap: ({ registerCap }) => registerCap.map((cap) => String(cap ?? 'none')),
  blockThreads: ({ blockThreads }) => blockThreads.map(String),
};

function launchText({ kind, value }: Launch): string {
  if (kind === 'grid') return `grid ${value}`;
  if (kind === 'cores') return coresText(value);
  return `${value} per ${kind === 'units-per-thread' ? 'slot' : 'SM'}`;
}

export function axisTexts(view: RunView, axis: number): readonly string[] {
  return AXIS_TEXTS[AXIS_ORDER[axis]](view.ranking.axes, view);
}
