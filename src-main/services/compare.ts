import { ok, type Result } from '../../src-workers/domain/result.ts';
import { BREAKDOWN_PARTS } from '../../src-workers/domain/breakdown.ts';
import { explainDesign } from '../../src-workers/sweep/predict.ts';
import { rankedDesigns } from '../../src-workers/sweep/ranking.ts';
import { spearman } from '../../src-workers/numeric/statistics.ts';
import type { DeviceBest, DeviceComparisonResult, RunDiff, RunSummary } from '../contract/api.ts';
import { deviceComparison, type DeviceComparisonRow } from '../../src-workers/models/occupancy/comparison.ts';
import type { Catalogue } from './catalogue.ts';
import { designText } from './design-text.ts';
import { bestRows, deviceFilter, type RunView } from './run-view.ts';

/** The best design of each device of a run, what it costs on the others, and why the fastest device wins. */
export function compareDevices(view: RunView): Result<DeviceComparisonResult> {
  const { ranking } = view;
  const stride = ranking.strides[0]!;
  const devices: DeviceBest[] = [];
  for (const device of view.devices) {
    const filter = deviceFilter(view, device.id);
    if (!filter.ok) return filter;
    const list = rankedDesigns(ranking, filter.value, 'timeMs');
    const best = bestRows(view, filter.value, 1)[0] ?? null;
    const byThreadsPerUnit = ranking.axes.threadsPerUnit.map((threadsPerUnit, at) => {
      const first = rankedDesigns(ranking, { ...filter.value, positions: { ...filter.value.positions, 1: new Set([at]) } }, 'timeMs')[0];
      return { threadsPerUnit, timeMs: first === undefined ? NaN : ranking.columns.timeMs[first]! };
    });
    devices.push({ device, best, valid: list.length, breakdown: best ? explainDesign(view.predictor, best.designIndex) : null, byThreadsPerUnit });
  }
  const cross = devices.map((row) =>
    view.devices.map((_, column) => (row.best ? ranking.columns.timeMs[(row.best.designIndex % stride) + column * stride]! : NaN)),
  );
  return ok({ devices, cross, reasons: reasons(devices) });
}

const percent = (fraction: number): string => `${Math.round(fraction * 100)} %`;

/** Why the fastest device beats the next, from the two breakdowns, largest cause first. */
function reasons(devices: readonly DeviceBest[]): readonly string[] {
  const ranked = devices.filter((entry) => entry.best && entry.breakdown).sort((a, b) => a.best!.timeMs - b.best!.timeMs);
  const [winner, next] = ranked;
  if (!winner || !next) return [];
  const gap = next.best!.timeMs - winner.best!.timeMs;
  const lines = [`${winner.device.name} is ${(next.best!.timeMs / winner.best!.timeMs).toFixed(2)} times as fast as ${next.device.name}.`];
  const causes = BREAKDOWN_PARTS.map((part) => ({ part, ms: next.breakdown!.parts[part.id] - winner.breakdown!.parts[part.id] }))
    .filter((cause) => Math.abs(cause.ms) > 0.02 * gap)
    .sort((a, b) => Math.abs(b.ms) - Math.abs(a.ms));
  for (const { part, ms } of causes.slice(0, 4)) {
    const share = percent(Math.abs(ms) / gap);
    lines.push(ms > 0 ? `${part.label}: ${ms.toFixed(3)} ms less, ${share} of the difference (${part.hint}).` : `${part.label}: ${(-ms).toFixed(3)} ms more, which costs ${share} of the difference (${part.hint}).`);
  }
  const peak = (entry: DeviceBest): number => (entry.device.multiprocessors * entry.device.clockMhz * entry.device.fp32LanesPerMultiprocessor) / 1e6;
  lines.push(`Peak rate, lanes × multiprocessors × clock: ${peak(winner).toFixed(1)} against ${peak(next).toFixed(1)} thousand billion lane-instructions a second.`);
  return lines;
}

/** What differs between two runs: fields of their studies, the best design per device, and how alike they rank. */
export function diffRuns(left: RunView, right: RunView, summaries: { readonly left: RunSummary; readonly right: RunSummary }): Result<RunDiff> {
  const fields = differences(left.study.study, right.study.study, '');
  const ids = [...new Set([...left.devices, ...right.devices].map((device) => device.id))];
  const best = ids.map((id) => {
    const of = (view: RunView) => {
      const filter = deviceFilter(view, id);
      return filter.ok ? bestRows(view, filter.value, 1)[0] : undefined;
    };
    const l = of(left);
    const r = of(right);
    return {
      device: l?.device ?? r?.device ?? id,
      leftMs: l?.timeMs ?? null,
      rightMs: r?.timeMs ?? null,
      leftDesign: l ? designText(l.design) : '',
      rightDesign: r ? designText(r.design) : '',
    };
  });
  return ok({ ...summaries, fields, best, spearman: sameSpace(left, right) ? rankCorrelation(left, right) : null });
}

/** Leaves of two JSON values that differ, by path. */
export function differences(left: unknown, right: unknown, path: string): { readonly field: string; readonly left: string; readonly right: string }[] {
  if (JSON.stringify(left) === JSON.stringify(right)) return [];
  const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null && !Array.isArray(value);
  if (isObject(left) && isObject(right))
    return [...new Set([...Object.keys(left), ...Object.keys(right)])].flatMap((key) => differences(left[key], right[key], path ? `${path}.${key}` : key));
  const text = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value));
  return [{ field: path, left: text(left), right: text(right) }];
}

function sameSpace(left: RunView, right: RunView): boolean {
  const { devices: a, ...restA } = left.ranking.axes;
  const { devices: b, ...restB } = right.ranking.axes;
  return JSON.stringify([a.map((d) => d.id), restA]) === JSON.stringify([b.map((d) => d.id), restB]);
}

/** Designs compared at most: a million rank pairs would take a second and tell nothing more. */
const MAX_RANKED = 100_000;

function rankCorrelation(left: RunView, right: RunView): number | null {
  const a: number[] = [];
  const b: number[] = [];
  const l = left.ranking.columns.timeMs;
  const r = right.ranking.columns.timeMs;
  const step = Math.max(1, Math.ceil(l.length / MAX_RANKED));
  for (let design = 0; design < l.length; design += step) {
    if (Number.isNaN(l[design]!) || Number.isNaN(r[design]!)) continue;
    a.push(l[design]!);
    b.push(r[design]!);
  }
  return a.length > 1 ? spearman(Float64Array.from(a), Float64Array.from(b)) : null;
}


/** Data-sheet figures of GPUs side by side, one row per metric. */
export async function deviceRows(
  catalogue: Catalogue,
  ids: readonly string[],
): Promise<Result<{ readonly devices: readonly string[]; readonly names: readonly string[]; readonly rows: readonly DeviceComparisonRow[] }>> {
  const devices = await catalogue.gpus(ids);
  if (!devices.ok) return devices;
  return ok({ devices: ids, names: devices.value.map((device) => device.name), rows: deviceComparison(devices.value) });
}
