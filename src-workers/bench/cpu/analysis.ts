import type { BenchCase, CaseResult, MeasuringDevice } from '../../domain/benchmark.ts';
import type { CpuDevice } from '../../domain/device.ts';
import { fail, ok, type Result } from '../../domain/result.ts';
import { calibrateBandwidth, type BandwidthCalibration } from '../../models/calibration/bandwidth.ts';
import type { BandwidthCurve, MemorySystem } from '../../models/contention/bandwidth.ts';
import { CONTENTION_MODELS, contentionMs, staircaseMs, type ContentionModel } from '../../models/contention/time.ts';
import { median, medianInterval } from '../../numeric/statistics.ts';
import { caseShares } from './shares.ts';

/** Analyses measured contention: bandwidth by active cores, and every model beside measured unbalanced work. */

/** A measured case. Every analysis ignores cases of other benchmarks, and cases without a time. */
export type MeasuredContentionCase = Pick<CaseResult, 'case' | 'timesMs' | 'values'>;

/** A median of repeats with its interval of at least 95 %, by order statistics; `null` with fewer than 6 repeats. */
export interface MedianOf {
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
}

export interface MeasuredBandwidths extends BandwidthCalibration {
  /** Ascending. The columns below have one entry for each. */
  readonly cores: readonly number[];
  /** BW_i, GB/s (10⁹ bytes), with bytes counted as in STREAM. */
  readonly bandwidth: readonly MedianOf[];
  /** The smallest and largest K = ⌈ρ/β⌉ that the intervals of ρ and β allow; `null` without intervals. */
  readonly saturatingCoresRange: readonly [number, number] | null;
}

/** Prediction of one model. `error` is predicted over measured time, minus 1; the slides print errors of bandwidths. */
export interface ModelledTime {
  readonly model: ContentionModel;
  readonly timeMs: number;
  readonly error: number;
}

export interface ComparedContention {
  readonly id: string;
  readonly workload: 'triangular' | 'amdahl';
  readonly cores: number;
  readonly measuredMs: number;
  readonly lowMs: number | null;
  readonly highMs: number | null;
  /** All bytes over the measured time, GB/s: the form of results in the slides. */
  readonly bandwidthGbS: number;
  readonly models: readonly ModelledTime[];
  /** Bytes of each core, and its end time: the median of the repeats, `null` if it was not recorded. */
  readonly loadBytes: readonly number[];
  readonly coreEndMs: readonly number[] | null;
  /** End time of each core by the staircase over the measured curve. */
  readonly staircaseEndMs: readonly number[];
}

/**
 * BW_i, β, ρ and K from the STREAM cases.
 *
 * @returns `bad-input` without a timed STREAM case of one core
 */
export function contentionFromStream(cases: readonly MeasuredContentionCase[]): Result<MeasuredBandwidths> {
  const measured = cases
    .flatMap((each) => {
      if (each.case.benchmark !== 'stream' || each.timesMs.length === 0) return [];
      const loads = computeLoads(each.case);
      if (!loads) return [];
      const bytes = sum(loads);
      const bandwidth = makeMedian(each.timesMs.map((timeMs) => bytes / (timeMs * 1e6)));
      return [{ cores: each.case.parameters.cores, bandwidth }];
    })
    .sort((a, b) => a.cores - b.cores);
  const calibrated = calibrateBandwidth(
    measured.map(({ cores, bandwidth }) => ({ cores, bandwidthGbS: bandwidth.value })),
  );
  if (!calibrated.ok) return calibrated;
  const single = measured[0].bandwidth;
  const { fullBandwidthGbS } = calibrated.value.memory;
  const full = measured.find(({ bandwidth }) => bandwidth.value === fullBandwidthGbS)?.bandwidth ?? single;
  const range =
    single.low === null || single.high === null || full.low === null || full.high === null
      ? null
      : ([Math.ceil(full.low / single.high), Math.ceil(full.high / single.low)] as const);
  return ok({
    ...calibrated.value,
    cores: measured.map(({ cores }) => cores),
    bandwidth: measured.map(({ bandwidth }) => bandwidth),
    // If ρ equals β, K is 1, and the ends of a single interval say nothing about a ratio.
    saturatingCoresRange: full === single ? [1, 1] : range,
  });
}

/**
 * Compares every model with every unbalanced case. The machine counts as having only the P cores of the case: β, and as
 * ρ the highest measured bandwidth of up to P cores. The staircase uses the measured curve, and both two-phase forms
 * use K = ⌈ρ/β⌉. Cases on more cores than the curve has are ignored.
 */
export function compareContention(
  { curve }: Pick<MeasuredBandwidths, 'curve'>,
  cases: readonly MeasuredContentionCase[],
): readonly ComparedContention[] {
  return cases.flatMap((each) => {
    const { id, benchmark } = each.case;
    if ((benchmark !== 'triangular' && benchmark !== 'imbalanced-stream') || each.timesMs.length === 0) return [];
    const loads = computeLoads(each.case);
    if (!loads || loads.length >= curve.length) return [];
    const cores = loads.length;
    const reached = curve.subarray(0, cores + 1);
    const memory = makeMemory(reached);
    const measured = makeMedian(each.timesMs);
    return [
      {
        id,
        workload: benchmark === 'triangular' ? ('triangular' as const) : ('amdahl' as const),
        cores,
        measuredMs: measured.value,
        lowMs: measured.low,
        highMs: measured.high,
        bandwidthGbS: sum(loads) / (measured.value * 1e6),
        models: CONTENTION_MODELS.map(({ id: model }) => {
          const timeMs = contentionMs(model, memory, loads, reached);
          return { model, timeMs, error: timeMs / measured.value - 1 };
        }),
        loadBytes: Array.from(loads),
        coreEndMs: coreEnds(each.values.threadEndNs, cores),
        staircaseEndMs: Array.from(loads, (own) =>
          staircaseMs(
            reached,
            loads.map((load) => Math.min(load, own)),
          ),
        ),
      },
    ];
  });
}

/** Both results, for the view of a contention run. */
export interface ContentionAnalysis {
  readonly cores: readonly number[];
  readonly bandwidthGbS: readonly number[];
  readonly lowGbS: readonly (number | null)[];
  readonly highGbS: readonly (number | null)[];
  readonly singleCoreGbS: number;
  readonly fullGbS: number;
  readonly kneeCores: number;
  readonly workloads: readonly ComparedContention[];
  /** Warnings about cases whose threads waited for a core: their times show a busy machine, not its memory. */
  readonly warnings: readonly string[];
}

/** The results of `contentionFromStream` and `compareContention` in columns; K is ⌈ρ/β⌉. */
export function contentionAnalysis(cases: readonly MeasuredContentionCase[]): Result<ContentionAnalysis> {
  const found = contentionFromStream(cases);
  if (!found.ok) return found;
  const { cores, bandwidth, memory } = found.value;
  return ok({
    cores,
    bandwidthGbS: bandwidth.map(({ value }) => value),
    lowGbS: bandwidth.map(({ low }) => low),
    highGbS: bandwidth.map(({ high }) => high),
    singleCoreGbS: memory.singleCoreBandwidthGbS,
    fullGbS: memory.fullBandwidthGbS,
    kneeCores: found.value.saturatingCores,
    workloads: compareContention(found.value, cases),
    warnings: cases.flatMap((each) => disturbance(each) ?? []),
  });
}

/**
 * The least fraction of the time that a thread which is alone on its core runs. It loses only interrupts and the start
 * of a launch.
 */
const UNDISTURBED_FRACTION = 0.95;

/** The fraction of the time, 0…1, during which the threads of a case were on a core; `null` for all, or if unknown. */
export function disturbedFraction(values: CaseResult['values']): number | null {
  const onCore = values.threadOnCoreFraction;
  if (!Array.isArray(onCore) || onCore.length === 0) return null;
  const fraction = median(Float64Array.from(onCore as readonly number[]));
  return fraction < UNDISTURBED_FRACTION ? fraction : null;
}

function disturbance({ case: each, values }: MeasuredContentionCase): string | null {
  const fraction = disturbedFraction(values);
  if (fraction === null) return null;
  return `${each.id}: its threads ran for only ${(100 * fraction).toFixed(0)} % of the time, because other programs used their cores.`;
}

const VENDORS = ['Intel', 'AMD', 'Apple', 'Ampere', 'NVIDIA', 'Qualcomm', 'IBM'];

/**
 * The measured machine as an entry of the device catalogue, rounded to 0.01 GB/s.
 *
 * @returns `bad-input` if some cores of the machine were not measured, because its full bandwidth is then unknown
 */
export function measuredCpu(device: MeasuringDevice, measured: MeasuredBandwidths): Result<CpuDevice> {
  const cores = measured.cores.at(-1)!;
  if (device.multiprocessors !== null && cores < device.multiprocessors)
    return fail('bad-input', `the bandwidths go up to ${cores} cores instead of all ${device.multiprocessors}`);
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
    sources: { singleCoreBandwidthGbS: source, fullBandwidthGbS: source, kneeCores: '⌈ρ/β⌉, at most all cores' },
  });
}

function makeMemory(curve: BandwidthCurve): MemorySystem {
  return { singleCoreBandwidthGbS: curve[1], fullBandwidthGbS: Math.max(...curve) };
}

/** Bytes of each core; `null` if the case is not a benchmark of contention, or its numbers are invalid. */
function computeLoads(each: BenchCase): Float64Array | null {
  switch (each.benchmark) {
    case 'stream':
    case 'triangular':
    case 'imbalanced-stream': {
      const shares = caseShares(each.benchmark, each.parameters);
      return shares.ok ? Float64Array.from(shares.value.loadBytes) : null;
    }
    default:
      return null;
  }
}

function coreEnds(threadEndNs: number | readonly number[] | undefined, cores: number): readonly number[] | null {
  if (!Array.isArray(threadEndNs) || threadEndNs.length === 0 || threadEndNs.length % cores !== 0) return null;
  const ends = threadEndNs as readonly number[];
  return Array.from(
    { length: cores },
    (_, w) => median(Float64Array.from(ends.filter((_end, i) => i % cores === w))) / 1e6,
  );
}

function makeMedian(values: readonly number[]): MedianOf {
  const sorted = Float64Array.from(values).sort();
  const bounds = medianInterval(sorted.length, 0.95);
  return {
    value: median(sorted),
    low: bounds ? sorted[bounds.low] : null,
    high: bounds ? sorted[bounds.high] : null,
  };
}

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}
