import { ok, type Result, badInput } from '../../domain/result.ts';
import type { UniformSource } from '../../numeric/random.ts';
import { kendall, mean, median, sortedQuantile, spearman } from '../../numeric/statistics.ts';
import { bestOfFirst, randomMeasurements } from './search.ts';

export interface MeasuredDesigns {
  readonly predictedMs: Float64Array;
  readonly measuredMs: Float64Array;
  readonly axes?: readonly { readonly axis: string; readonly values: readonly (string | number)[] }[] | undefined;
  /** Number of valid designs of the whole run; by default the number of measured designs. */
  readonly designsOfRun?: number | undefined;
}

/** A figure and its 95 % bootstrap interval over designs, `null` if too few designs or resamples have the figure. */
export interface Estimate {
  /** NaN if the figure does not exist, such as the correlation of equal values. */
  readonly value: number;
  readonly interval: { readonly low: number; readonly high: number } | null;
}

/** The result of measuring the first k designs of the model's ranking, compared with random designs. */
export interface Shortlist {
  readonly k: number;
  /** Best measured time of the k designs, ms; an expected value if equal predictions leave their order open. */
  readonly bestMs: number;
  readonly regret: number;
  readonly randomMeasurements: number;
}

export interface AxisValueResiduals {
  readonly value: string | number;
  readonly designs: number;
  readonly medianResidual: number;
  readonly lowerQuartile: number;
  readonly upperQuartile: number;
}

export interface AxisResiduals {
  readonly axis: string;
  /**
   * Share of the residuals' variance that the axis explains beyond chance, 0…1 (ε²; Kelley, 1935,
   * doi:10.1073/pnas.21.9.554); `null` if every value has one design, or if all residuals are equal.
   */
  readonly explained: number | null;
  readonly values: readonly AxisValueResiduals[];
}

/** Errors are |scale · predicted / measured − 1|, with scale 1 in `unscaled`. */
export interface Agreement {
  readonly designs: number;
  readonly spearman: Estimate;
  readonly kendall: Estimate;
  /** Median of measured/predicted, by which the predictions are scaled. */
  readonly scale: Estimate;
  readonly medianError: Estimate;
  readonly p95Error: Estimate;
  readonly unscaled: { readonly medianError: number; readonly p95Error: number };
  /** ln(measured / (scale · predicted)) of each design. */
  readonly residuals: Float64Array;
  readonly axes: readonly AxisResiduals[];
  readonly shortlists: readonly Shortlist[];
  readonly notes: readonly string[];
}

export interface AgreementOptions {
  readonly uniform: UniformSource;
  readonly shortlists?: readonly number[];
}

const SHORTLISTS = [1, 2, 5, 10, 20];
/** With fewer designs, resampling cannot show the spread. */
const MIN_BOOTSTRAP = 8;
const RESAMPLES = 1000;
/** Limit of resamples × designs, for speed. It never leads to fewer resamples than `MIN_RESAMPLES`. */
const MAX_DRAWN = 400_000;
const MIN_RESAMPLES = 100;

/** @returns `bad-input` if columns differ in length, fewer than 2 designs were measured, or a time is not positive */
export function agreement(input: MeasuredDesigns, options: AgreementOptions): Result<Agreement> {
  const { predictedMs, measuredMs, axes = [] } = input;
  const n = measuredMs.length;
  const lengths = [predictedMs.length, ...axes.map(({ values }) => values.length)];
  if (lengths.some((length) => length !== n))
    return badInput(`All columns must have the same number of designs. They have ${[n, ...lengths].join(', ')}.`);
  if (n < 2) return badInput(`An agreement needs at least 2 measured designs, not ${n}.`);
  for (let i = 0; i < n; i += 1) {
    if (isTime(predictedMs[i]) && isTime(measuredMs[i])) continue;
    const times = `predicted ${predictedMs[i]} ms, measured ${measuredMs[i]} ms`;
    return badInput(`Design ${i}: ${times}. Times must be positive.`, { design: i });
  }
  const figures = computeFigures(predictedMs, measuredMs);
  const intervals = bootstrap(predictedMs, measuredMs, options.uniform);
  const estimate = (name: FigureName): Estimate => ({ value: figures[name], interval: intervals?.[name] ?? null });
  const residuals = measuredMs.map((measured, i) => Math.log(measured / (figures.scale * predictedMs[i])));
  const unscaled = sortedErrors(predictedMs, measuredMs, 1);
  return ok({
    designs: n,
    ...forEach(estimate),
    unscaled: { medianError: sortedQuantile(unscaled, 0.5), p95Error: sortedQuantile(unscaled, 0.95) },
    residuals,
    axes: axes
      .map(({ axis, values }) => axisResiduals(axis, values, residuals))
      .sort((a, b) => (b.explained ?? -1) - (a.explained ?? -1)),
    shortlists: (options.shortlists ?? SHORTLISTS)
      .filter((k) => k <= n)
      .map((k) => shortlist(predictedMs, measuredMs, k)),
    notes: writeNotes(n, input.designsOfRun ?? n),
  });
}

function isTime(timeMs: number): boolean {
  return timeMs > 0 && timeMs < Infinity;
}

const FIGURES = ['spearman', 'kendall', 'scale', 'medianError', 'p95Error'] as const;
type FigureName = (typeof FIGURES)[number];
type Figures = Readonly<Record<FigureName, number>>;

function forEach<T>(of: (name: FigureName) => T): Readonly<Record<FigureName, T>> {
  return Object.fromEntries(FIGURES.map((name) => [name, of(name)])) as Record<FigureName, T>;
}

function sortedErrors(predicted: Float64Array, measured: Float64Array, scale: number): Float64Array {
  return predicted.map((time, i) => Math.abs((scale * time) / measured[i] - 1)).sort();
}

function computeFigures(predicted: Float64Array, measured: Float64Array): Figures {
  const scale = median(measured.map((time, i) => time / predicted[i]));
  const errors = sortedErrors(predicted, measured, scale);
  return {
    spearman: spearman(predicted, measured),
    kendall: kendall(predicted, measured),
    scale,
    medianError: sortedQuantile(errors, 0.5),
    p95Error: sortedQuantile(errors, 0.95),
  };
}

/** Percentile intervals (Efron 1979, doi:10.1214/aos/1176344552). A figure skips resamples where it is not finite. */
function bootstrap(
  predicted: Float64Array,
  measured: Float64Array,
  uniform: UniformSource,
): Readonly<Record<FigureName, Estimate['interval']>> | null {
  const n = predicted.length;
  if (n < MIN_BOOTSTRAP) return null;
  const resamples = Math.max(MIN_RESAMPLES, Math.min(RESAMPLES, Math.floor(MAX_DRAWN / n)));
  const drawnPredicted = new Float64Array(n);
  const drawnMeasured = new Float64Array(n);
  const all: Figures[] = [];
  for (let r = 0; r < resamples; r += 1) {
    for (let i = 0; i < n; i += 1) {
      const drawn = Math.floor(uniform() * n);
      drawnPredicted[i] = predicted[drawn];
      drawnMeasured[i] = measured[drawn];
    }
    all.push(computeFigures(drawnPredicted, drawnMeasured));
  }
  return forEach((name) => {
    const sorted = Float64Array.from(all.map((figures) => figures[name]).filter(Number.isFinite)).sort();
    return sorted.length < resamples / 2
      ? null
      : { low: sortedQuantile(sorted, 0.025), high: sortedQuantile(sorted, 0.975) };
  });
}

function axisResiduals(axis: string, values: readonly (string | number)[], residuals: Float64Array): AxisResiduals {
  const groups = [...Map.groupBy(values.keys(), (i) => values[i])].map(
    ([value, at]) => [value, Float64Array.from(at, (i) => residuals[i])] as const,
  );
  const grandMean = mean(residuals);
  const total = residuals.reduce((sum, value) => sum + (value - grandMean) ** 2, 0);
  let within = 0;
  for (const [, group] of groups) {
    const groupMean = mean(group);
    for (const value of group) within += (value - groupMean) ** 2;
  }
  const n = residuals.length;
  const k = groups.length;
  // ε² = (SS_between − (k − 1)·MS_within) / SS_total = 1 − (SS_within / (n − k)) / (SS_total / (n − 1)).
  const explained = k < n && total > 0 ? Math.max(0, 1 - (within * (n - 1)) / ((n - k) * total)) : null;
  if (groups.every(([value]) => typeof value === 'number')) groups.sort(([a], [b]) => Number(a) - Number(b));
  return {
    axis,
    explained,
    values: groups.map(([value, group]) => {
      const sorted = group.sort();
      return {
        value,
        designs: sorted.length,
        medianResidual: sortedQuantile(sorted, 0.5),
        lowerQuartile: sortedQuantile(sorted, 0.25),
        upperQuartile: sortedQuantile(sorted, 0.75),
      };
    }),
  };
}

function shortlist(predicted: Float64Array, measured: Float64Array, k: number): Shortlist {
  const sorted = measured.slice().sort();
  const bestMs = bestOfFirst(predicted, measured, k);
  return { k, bestMs, regret: bestMs / sorted[0] - 1, randomMeasurements: randomMeasurements(sorted, bestMs) };
}

function writeNotes(designs: number, designsOfRun: number): string[] {
  const notes: string[] = [];
  if (designs < designsOfRun) {
    notes.push(
      `All figures are for the ${designs} measured designs, of ${designsOfRun.toLocaleString('en')} valid ones. "Best" means the best measured design, and the random search draws from the measured designs. If the designs were chosen by prediction, the correlations of the whole run may differ.`,
    );
  }
  if (designs < MIN_BOOTSTRAP)
    notes.push(`${designs} designs are too few for intervals, which need at least ${MIN_BOOTSTRAP}.`);
  return notes;
}
