import type { CaseResult, MeasuringDevice } from '../../domain/benchmark.ts';
import type { CpuDevice } from '../../domain/device.ts';
import { ok, type Result, badInput } from '../../domain/result.ts';
import { calibrateBandwidth, type BandwidthCalibration } from '../../models/calibration/bandwidth.ts';
import { totalLoad } from '../../models/contention/loads.ts';
import { CONTENTION_MODELS, contentionMs, type ContentionModel } from '../../models/contention/time.ts';
import { median, medianInterval } from '../../numeric/statistics.ts';
import { caseShares, type ContentionCase } from './shares.ts';

export type MeasuredContentionCase = Pick<CaseResult, 'case' | 'timesMs' | 'values'>;

/** A median and its interval of at least 95 %, from order statistics. The interval needs at least 6 repeats. */
export interface MedianOf {
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
}

export interface MeasuredBandwidths extends BandwidthCalibration {
  readonly cores: readonly number[];
  /** Measured bandwidth with each number of cores, GB/s (10⁹ bytes), with bytes counted as in STREAM. */
  readonly bandwidth: readonly MedianOf[];
}

/** `error`: predicted time divided by measured time, minus 1. (Langguth prints errors of bandwidths.) */
export interface ModelledTime {
  readonly model: ContentionModel;
  readonly timeMs: number;
  readonly error: number;
}

export interface ComparedContention {
  readonly workload: 'triangular' | 'amdahl';
  readonly cores: number;
  readonly measuredMs: number;
  readonly models: readonly ModelledTime[];
}

/** Fails with `bad-input` if no STREAM case of one core has a time. */
export function contentionFromStream(cases: readonly MeasuredContentionCase[]): Result<MeasuredBandwidths> {
  const measured = cases
    .flatMap(({ case: one, timesMs }) => {
      if (one.benchmark !== 'stream' || timesMs.length === 0) return [];
      const loads = computeLoads(one);
      if (!loads) return [];
      const bytes = totalLoad(loads);
      const bandwidth = makeMedian(timesMs.map((timeMs) => bytes / (timeMs * 1e6)));
      return [{ cores: one.parameters.cores, bandwidth }];
    })
    .sort((a, b) => a.cores - b.cores);
  const calibrated = calibrateBandwidth(
    measured.map(({ cores, bandwidth }) => ({ cores, bandwidthGbS: bandwidth.value })),
  );
  if (!calibrated.ok) return calibrated;
  return ok({
    ...calibrated.value,
    cores: measured.map(({ cores }) => cores),
    bandwidth: measured.map(({ bandwidth }) => bandwidth),
  });
}

/**
 * Compares times with Langguth's models: β is the bandwidth of one core, ρ the highest of up to P cores. The staircase
 * takes the bandwidth at each number of cores. Cases on more cores than the curve has are ignored.
 */
export function compareContention(
  { curve }: Pick<MeasuredBandwidths, 'curve'>,
  cases: readonly MeasuredContentionCase[],
): readonly ComparedContention[] {
  return cases.flatMap(({ case: one, timesMs }): ComparedContention[] => {
    if ((one.benchmark !== 'triangular' && one.benchmark !== 'imbalanced-stream') || timesMs.length === 0) return [];
    const loads = computeLoads(one);
    if (!loads || loads.length >= curve.length) return [];
    const cores = loads.length;
    const reached = curve.subarray(0, cores + 1);
    const memory = { singleCoreBandwidthGbS: reached[1], fullBandwidthGbS: Math.max(...reached) };
    const measuredMs = median(Float64Array.from(timesMs));
    const models = CONTENTION_MODELS.map(({ id: model }) => {
      const timeMs = contentionMs(model, memory, loads, reached);
      return { model, timeMs, error: timeMs / measuredMs - 1 };
    });
    return [{ workload: one.benchmark === 'triangular' ? 'triangular' : 'amdahl', cores, measuredMs, models }];
  });
}

/** A thread with a core to itself runs for this fraction of the time: interrupts and the start take the rest. */
const UNDISTURBED_FRACTION = 0.95;

/** Returns the fraction of the time, 0…1, that a case's threads were on a core; `null` if undisturbed or unknown. */
export function disturbedFraction(values: CaseResult['values']): number | null {
  const onCore = values.threadOnCoreFraction;
  if (!Array.isArray(onCore) || onCore.length === 0) return null;
  const fraction = median(Float64Array.from(onCore as readonly number[]));
  return fraction < UNDISTURBED_FRACTION ? fraction : null;
}

export function disturbances(cases: readonly MeasuredContentionCase[]): readonly string[] {
  return cases.flatMap(({ case: { id }, values }) => {
    const fraction = disturbedFraction(values);
    if (fraction === null) return [];
    return `${id}: its threads ran for only ${(100 * fraction).toFixed(0)} % of the time, because other programs used their cores.`;
  });
}

const VENDORS = ['Intel', 'AMD', 'Apple', 'Ampere', 'NVIDIA', 'Qualcomm', 'IBM'];

/** Returns the device, with bandwidths rounded to 0.01 GB/s. Fails with `bad-input` if some cores were not measured. */
export function measuredCpu(device: MeasuringDevice, measured: MeasuredBandwidths): Result<CpuDevice> {
  const cores = measured.cores.at(-1)!;
  if (device.multiprocessors !== null && cores < device.multiprocessors)
    return badInput(`Only ${cores} of the ${device.multiprocessors} cores were measured. Measure with all of them.`);
  const slug = device.name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-+|-+$/g, ''); // prettier-ignore
  const source = `Measured on ${device.properties.startedAt ?? 'an unknown day'}: STREAM triad, ${device.driver}`;
  const rounded = (value: number): number => Math.round(value * 100) / 100;
  return ok({
    kind: 'cpu',
    id: `measured-${slug.slice(0, 50).replace(/-+$/, '') || 'cpu'}-${cores}`,
    name: device.name.slice(0, 200),
    vendor: VENDORS.find((vendor) => device.name.toLowerCase().includes(vendor.toLowerCase())) ?? 'Other',
    cores,
    singleCoreBandwidthGbS: rounded(measured.memory.singleCoreBandwidthGbS),
    fullBandwidthGbS: rounded(measured.memory.fullBandwidthGbS),
    kneeCores: Math.min(measured.saturatingCores, cores),
    sources: {
      singleCoreBandwidthGbS: source,
      fullBandwidthGbS: source,
      kneeCores: '⌈ρ/β⌉, limited to the number of cores',
    },
  });
}

function computeLoads(one: ContentionCase): Float64Array | null {
  const shares = caseShares(one);
  return shares.ok ? Float64Array.from(shares.value.loadBytes) : null;
}

function makeMedian(values: readonly number[]): MedianOf {
  const sorted = Float64Array.from(values).sort();
  const bounds = medianInterval(sorted.length, 0.95);
  return { value: median(sorted), low: bounds ? sorted[bounds.low] : null, high: bounds ? sorted[bounds.high] : null };
}
