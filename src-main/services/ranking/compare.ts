import {
  BREAKDOWN_PARTS,
  longestUnitText,
  shownParts,
  type BreakdownPart,
} from '../../../src-workers/domain/breakdown.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import { timeText } from '../../../src-workers/domain/times.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { AXIS } from '../../../src-workers/domain/space.ts';
import { peakInstructionsGigaPerSecond } from '../../../src-workers/models/occupancy/device-metrics.ts';
import { explainDesign } from '../../../src-workers/predict/explain.ts';
import { rankedDesigns, timeOf } from '../../../src-workers/sweep/ranking.ts';
import { AGREEMENT_FRACTION } from '../../../src-workers/sweep/ties.ts';
import { contradictionText, isContradicted } from '../../contract/accuracy.ts';
import type { DeviceBest, DeviceComparisonResult } from '../../contract/api.ts';
import { deviceEvidence, tieBandOfDevices } from '../evidence/tie-band.ts';
import type { RunView } from '../runs/run-view.ts';
import { ALL_VALID, bestOfAxis, checkDesign, deviceFilter, predictedMs, rankRow, tiesIn } from './rows.ts';
import { listText } from '../../../src-workers/domain/text.ts';

export function compareDevices(view: RunView, designIndex?: number): Result<DeviceComparisonResult> {
  const { ranking } = view;
  const stride = ranking.strides[AXIS.device];
  const known = checkDesign(view, designIndex);
  if (!known.ok) return known;
  const devices: DeviceBest[] = [];
  const bestDesigns: (number | undefined)[] = [];
  for (const [at, device] of view.devices.entries()) {
    const filter = deviceFilter(view, device.id);
    if (!filter.ok) return filter;
    const list = rankedDesigns(ranking, filter.value, 'timeMs');
    const ties = tiesIn(view, list);
    const own = list[0];
    const shown = designIndex === undefined ? own : (designIndex % stride) + at * stride;
    const valid = shown !== undefined && !Number.isNaN(predictedMs(view, shown));
    const rank = valid ? list.indexOf(shown) + 1 : 0;
    const byThreadsPerUnit = ranking.axes.threadsPerUnit.map((threadsPerUnit, position) => {
      const positions = { ...filter.value.positions, [AXIS.threadsPerUnit]: new Set([position]) };
      const first = rankedDesigns(ranking, { ...filter.value, positions }, 'timeMs')[0];
      return { threadsPerUnit, timeMs: first === undefined ? NaN : timeOf(ranking, first) };
    });
    bestDesigns.push(own);
    devices.push({
      device,
      best: valid
        ? {
            ...rankRow(view, shown, rank, ties.isTied(shown)),
            simulated: view.simulated.times.get(shown) ?? null,
            measured: view.measured.times.get(shown) ?? null,
          }
        : null,
      valid: list.length,
      ties: ties.count,
      tieBand: ties.band,
      evidence: deviceEvidence(device),
      breakdown: valid ? explainDesign(view.predictor, shown) : null,
      byThreadsPerUnit,
      byImplementation: ranking.axes.implementations ? bestOfAxis(view, 'implementation', filter.value) : [],
    });
  }
  const cross = bestDesigns.map((own) =>
    view.devices.map((_, column) => (own === undefined ? NaN : predictedMs(view, (own % stride) + column * stride))),
  );
  return ok({
    devices,
    tieFraction: tiesIn(view, rankedDesigns(ranking, ALL_VALID, 'timeMs')).band.fraction,
    cross,
    reasons: [...comparisonReasons(devices), ...contradictions(devices)],
    choice: implementationChoice(devices),
  });
}

export function implementationChoice(devices: readonly DeviceBest[]): readonly string[] {
  const fastest = new Map<string, string[]>();
  const close = new Map<string, string[]>();
  const add = (to: Map<string, string[]>, key: string, text: string) => to.set(key, [...(to.get(key) ?? []), text]);
  for (const { device, byImplementation } of devices) {
    const [first, ...others] = byImplementation;
    if (!first) continue;
    add(fastest, first.design.implementation!, device.name);
    for (const { design } of others.filter((other) => other.tied)) add(close, design.implementation!, device.name);
  }
  const all = [...fastest.values()].flat().length;
  if (all === 0) return [];
  const where = (found: ReadonlyMap<string, readonly string[]>): string =>
    [...found]
      .map(([name, on]) => `${name} on ${on.length === all && all > 1 ? `all ${all} devices` : listText(on)}`)
      .join('; ');
  const fast = `Fastest: ${where(fastest)}.`;
  return close.size === 0
    ? [fast]
    : [fast, `Too close to the fastest to be ruled out by predicted times: ${where(close)}.`];
}

export function contradictions(devices: readonly DeviceBest[]): readonly string[] {
  return devices.flatMap(({ device, best }) =>
    best?.simulated && isContradicted(best.predictedMs, best.simulated)
      ? [
          `On ${device.name}, the simulated time is ${contradictionText(best.predictedMs, best.simulated)}. Trust the simulation more, or measure.`,
        ]
      : [],
  );
}

const percent = (fraction: number): string => `${Math.round(fraction * 100)} %`;
const times = (ratio: number): string => `${ratio.toFixed(2)} ×`;

const GPU_PART_WORDS: Readonly<Record<BreakdownPart, string>> = {
  idealWork: 'issuing the work itself',
  cooperation: 'threads that share a unit',
  imbalance: 'lanes that wait for the longest unit of their group',
  registerCap: 'spills under a register cap',
  latency: 'latency that too few active thread groups cannot hide',
  blockTail: 'places of finished thread groups, which stay empty until their block ends and the next one starts',
  lastWave: 'multiprocessors without blocks at the end',
  divergence: 'the stack for reconverging divergent lanes',
  balancing: 'ordering or fetching units',
};
const PART_WORDS: Readonly<Record<BreakdownPart, string>> = {
  ...GPU_PART_WORDS,
  idealWork: 'the work itself',
  imbalance: 'waiting for the cores with the most work',
  latency: 'too few accesses in flight',
};
const gigabytesPerSecond = (device: Device): number =>
  device.kind === 'gpu' ? device.memoryBandwidthGbS : device.fullBandwidthGbS;
const WORTH_SAYING = 0.05;
const MAX_CAUSES = 3;

export function comparisonReasons(devices: readonly DeviceBest[]): readonly string[] {
  const ranked = devices
    .filter((entry) => entry.best && entry.breakdown)
    .sort((a, b) => a.best!.timeMs - b.best!.timeMs);
  const winner = ranked[0];
  const next = ranked.at(-1);
  if (!winner || !next || winner === next) return [];
  const gap = next.best!.timeMs - winner.best!.timeMs;
  const ratio = next.best!.timeMs / winner.best!.timeMs;
  if (ratio < 1 + AGREEMENT_FRACTION)
    return [
      `The best times of the devices are within ${(100 * (ratio - 1)).toFixed(1)} % of each other, which is less than the model's own error.`,
    ];
  const fastest = ranked.length > 2 ? 'the fastest' : 'the faster';
  const slowest = ranked.length > 2 ? ', the slowest' : '';
  const lines = [`${winner.device.name} is ${fastest}: ${times(ratio)} as fast as ${next.device.name}${slowest}.`];
  const { fraction, source, takenFrom } = tieBandOfDevices(winner.device, next.device);
  if (ratio < 1 + fraction)
    lines.push(
      `A predicted difference below ${percent(fraction)} is uncertain. This limit comes from ${source ?? takenFrom}.`,
    );
  const [ofNext, ofWinner] = [shownParts(next.breakdown!), shownParts(winner.breakdown!)];
  const causes = BREAKDOWN_PARTS.map(({ id }) => ({ id, ms: ofNext[id] - ofWinner[id] }))
    .filter(({ ms }) => Math.abs(ms) > WORTH_SAYING * gap)
    .sort((a, b) => Math.abs(b.ms) - Math.abs(a.ms));
  const gpus = winner.device.kind === 'gpu' && next.device.kind === 'gpu';
  const byTraffic = [winner, next].filter(({ breakdown }) => breakdown!.achieved.limit === 'bandwidth');
  const ownWords = byTraffic.length === 0 ? GPU_PART_WORDS : { ...GPU_PART_WORDS, idealWork: PART_WORDS.idealWork };
  const words = gpus ? ownWords : PART_WORDS;
  for (const { id, ms } of causes.slice(0, MAX_CAUSES)) {
    const share = Math.abs(ms) / gap;
    // If two devices are nearly equally fast, single parts of their times can differ by much more than the times do.
    const difference = share < 1.5 ? `${percent(share)} of the difference` : `${share.toFixed(1)} × the difference`;
    if (ms > 0) lines.push(`${winner.device.name} spends ${timeText(ms)} less on ${words[id]}: ${difference}.`);
    else lines.push(`${winner.device.name} spends ${timeText(-ms)} more on ${words[id]}, which cancels ${difference}.`);
  }
  if (causes.slice(0, MAX_CAUSES).some(({ id }) => id === 'lastWave'))
    for (const { device, breakdown } of [winner, next]) {
      const longest = longestUnitText(breakdown!);
      if (longest !== '') lines.push(`On ${device.name}: ${longest.charAt(0).toLowerCase()}${longest.slice(1)}`);
    }
  const [one, other] = [winner.device, next.device];
  if (one.kind === 'cpu' || other.kind === 'cpu') {
    const bandwidths = gigabytesPerSecond(one) / gigabytesPerSecond(other);
    lines.push(
      bandwidths >= 1
        ? `The memory of ${one.name} is ${times(bandwidths)} as fast as that of ${other.name}.`
        : `${one.name} wins although its memory is only ${percent(bandwidths)} as fast as that of ${other.name}.`,
    );
    return lines;
  }
  if (byTraffic.length > 0) {
    const names = listText(byTraffic.map(({ device }) => device.name));
    lines.push(`Memory traffic limits the ${byTraffic.length > 1 ? 'launches' : 'launch'} on ${names}.`);
    lines.push(peakSentence('memory bandwidth', one.memoryBandwidthGbS / other.memoryBandwidthGbS, winner, next));
  }
  if (byTraffic.length < 2) {
    const peaks = peakInstructionsGigaPerSecond(one) / peakInstructionsGigaPerSecond(other);
    lines.push(peakSentence('instruction rate', peaks, winner, next));
  }
  return lines;
}

function peakSentence(
  peak: 'memory bandwidth' | 'instruction rate',
  ratio: number,
  winner: DeviceBest,
  next: DeviceBest,
): string {
  const compared =
    ratio >= 1
      ? `The peak ${peak} of ${winner.device.name} is ${times(ratio)} that of ${next.device.name}`
      : `${winner.device.name} wins although its peak ${peak} is only ${percent(ratio)} of that of ${next.device.name}`;
  const [used, usedByNext] = [winner, next].map(({ breakdown }) => {
    const { issueFraction, bandwidthFraction } = breakdown!.achieved;
    return peak === 'instruction rate' ? issueFraction : bandwidthFraction;
  });
  if (used === null || usedByNext === null) return `${compared}.`;
  const [name, nameOfNext] = [winner.device.name, next.device.name];
  return `${compared}. ${name} uses ${percent(used)} of its peak, ${nameOfNext} ${percent(usedByNext)} of its own.`;
}
