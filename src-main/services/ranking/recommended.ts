import { CORES_RULE, PICK_RULE, pickDesign } from '../../../src-workers/advise/pick.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import { designText } from '../../../src-workers/domain/design.ts';
import type { TieBand } from '../../../src-workers/domain/evidence.ts';
import type { InputFact } from '../../../src-workers/domain/provenance.ts';
import { AXIS } from '../../../src-workers/domain/space.ts';
import { timeText } from '../../../src-workers/domain/times.ts';
import {
  axisPosition,
  entryOf,
  rankedDesigns,
  tieCount,
  timeOf,
  type RankingFilter,
} from '../../../src-workers/sweep/ranking.ts';
import { AGREEMENT_FRACTION } from '../../../src-workers/sweep/ties.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import type { FastestMeasured } from '../../contract/advice.ts';
import type { RankRow } from '../../contract/api.ts';
import type { RunView } from '../runs/run-view.ts';
import { listInputs } from '../studies/inputs.ts';
import { tiesIn } from './rows.ts';

export interface RecommendedDesign {
  readonly designIndex: number;
  readonly ties: number;
  readonly band: TieBand;
  /** Whether `pickRule` chose the design, and not the draws that `weighed` describes. */
  readonly isByRule: boolean;
  readonly weighed: string;
}

/**
 * Uses predicted times for the middle of each assumed input; `advice/of-run.ts` weighs the design over all values. A
 * run that keeps too few designs for `pickRule` has saved what this rule picks, which may not be a kept design.
 */
export function recommendedDesign(view: RunView, within: RankingFilter): RecommendedDesign | null {
  const { ranking } = view;
  const fastest = rankedDesigns(ranking, within, 'timeMs')[0];
  if (fastest === undefined) return null;
  const device = axisPosition(ranking, AXIS.device, fastest);
  const ofDevice = { ...within, positions: { ...within.positions, [AXIS.device]: new Set([device]) } };
  const list = rankedDesigns(ranking, ofDevice, 'timeMs');
  const figures = {
    timeMs: (design: number) => timeOf(ranking, design),
    gridBlocks: (design: number) => ranking.columns.gridBlocks[entryOf(ranking, design)],
  };
  const equal = list.subarray(0, tieCount(ranking, list, AGREEMENT_FRACTION));
  const { count, band } = tiesIn(view, list);
  const { positions, ranges } = within;
  const isWhole = ranges.length === 0 && Object.keys(positions).every((axis) => Number(axis) === AXIS.device);
  const picked = isWhole ? (view.run.kept?.picked ?? null) : null;
  const isOfDevice = picked !== null && axisPosition(ranking, AXIS.device, picked) === device;
  const designIndex = isOfDevice ? picked : pickDesign(ranking.axes, figures, equal)!;
  return { designIndex, ties: count, band, isByRule: true, weighed: '' };
}

/** Returns null if no design of the device was measured, or the fastest of them is `row`. */
export function fastestMeasured(
  { measured, predictor }: RunView,
  { designIndex, deviceId }: Pick<RankRow, 'designIndex' | 'deviceId'>,
): FastestMeasured | null {
  const order = measured.order.filter((design) => describeDesign(predictor, design).device.id === deviceId);
  const [fastest] = order;
  if (fastest === undefined || fastest === designIndex) return null;
  const text = designText(describeDesign(predictor, fastest).design);
  const { medianMs } = measured.times.get(fastest)!;
  const own = measured.times.get(designIndex);
  const against = own
    ? `, against ${timeText(own.medianMs)} for design ${designIndex}`
    : `; design ${designIndex} was not measured`;
  const among = order.length === 1 ? 'Only one design was measured:' : `Of ${order.length} measured designs,`;
  const was = order.length === 1 ? 'takes' : 'was the fastest:';
  const sentence = `${among} the kernel of design ${fastest} (${text}) ${was} ${timeText(medianMs)}${against}.`;
  return { designIndex: fastest, text, medianMs, sentence };
}

export function pickRule({ kind }: Device): string {
  return kind === 'cpu' ? CORES_RULE : PICK_RULE;
}

export function runInputs(
  { study: { study }, ranking }: RunView,
  device: Device,
  implementation?: string,
): readonly InputFact[] {
  return listInputs(study, ranking.axes, device, implementation);
}

export function inputsByDevice(view: RunView): Readonly<Record<string, readonly InputFact[]>> {
  return Object.fromEntries(view.devices.map((device) => [device.id, runInputs(view, device)]));
}
