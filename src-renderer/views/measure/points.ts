import type {
  ComparedDesign,
  MeasuredCase,
  MeasuringComparison,
  MeasuringDetail,
} from '../../../src-main/contract/measuring.ts';
import { median, ordinalRanks } from '../../../src-workers/numeric/statistics.ts';

export interface MeasuredPoint extends ComparedDesign {
  readonly measured: MeasuredCase;
}

export interface MeasuredPoints {
  readonly points: readonly MeasuredPoint[];
  readonly scale: number;
}

/**
 * Returns the designs with a predicted and a measured time. Ranks, scale and predictions come from the comparison,
 * because a calibration profile changes them. Before there is a comparison, they follow from the times so far.
 */
export function measuredPoints(detail: MeasuringDetail, comparison: MeasuringComparison | null): MeasuredPoints {
  const byDesign = new Map<number, MeasuredCase>();
  for (const each of detail.cases) if (each.designIndex !== null) byDesign.set(each.designIndex, each);
  if (comparison && comparison.runId === detail.runId)
    return {
      scale: comparison.scale,
      points: comparison.designs.flatMap((compared) => {
        const measured = byDesign.get(compared.designIndex);
        return measured ? [{ ...compared, measured }] : [];
      }),
    };
  const cases = detail.cases.filter(
    (each) =>
      each.measured !== null &&
      each.measured.medianMs > 0 &&
      each.predictedMs !== null &&
      each.predictedMs > 0 &&
      each.design !== null &&
      each.designIndex !== null &&
      each.correct !== false,
  );
  const ratios = Float64Array.from(cases, ({ measured, predictedMs }) => measured!.medianMs / predictedMs!);
  const scale = median(ratios);
  const predictedRank = ordinalRanks(cases.map(({ predictedMs }) => predictedMs!));
  const measuredRank = ordinalRanks(cases.map(({ measured }) => measured!.medianMs));
  return {
    scale,
    points: cases.map((each, i) => ({
      designIndex: each.designIndex!,
      design: each.design!,
      predictedMs: each.predictedMs!,
      medianMs: each.measured!.medianMs,
      lowMs: each.measured!.lowMs,
      highMs: each.measured!.highMs,
      predictedRank: predictedRank[i],
      measuredRank: measuredRank[i],
      residual: Math.log(each.measured!.medianMs / (scale * each.predictedMs!)),
      measured: each,
    })),
  };
}

export type Flag = 'failed' | 'wrong' | 'drift' | 'outliers' | 'few';
export const FLAG_WORDS: Readonly<Record<Flag, { readonly short: string; readonly text: string }>> = {
  failed: { short: 'failed', text: 'no time was measured; the inspector says why' },
  wrong: { short: 'wrong', text: 'the result differs from the CPU’s, so the time does not count' },
  drift: {
    short: 'drift',
    text: 'later repeats take more or less time than the first, because the clock or the temperature changed',
  },
  outliers: { short: 'outliers', text: 'some repeats lie far from the rest' },
  few: { short: 'no interval', text: 'too few repeats for a 95 % interval of the median' },
};

export function flagsOf(each: MeasuredCase): readonly Flag[] {
  if (each.failure !== null) return ['failed'];
  const out: Flag[] = [];
  if (each.correct === false) out.push('wrong');
  if (each.measured) {
    if (each.measured.driftFraction !== null) out.push('drift');
    if (each.measured.outliers > 0) out.push('outliers');
    if (each.measured.lowMs === null) out.push('few');
  }
  return out;
}
