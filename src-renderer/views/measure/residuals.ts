import type { MeasuringComparison } from '../../../src-main/contract/measuring.ts';
import type { Design } from '../../../src-workers/domain/design.ts';

type AxisResiduals = MeasuringComparison['axes'][number];

export type ResidualAxis = ReturnType<typeof residualAxes>[number];

function valueOf(design: Design, axis: string): string | null {
  const value = (design as unknown as Readonly<Record<string, unknown>>)[axis];
  if (value === undefined) return null;
  return value === null ? 'none' : String(value);
}

function inOrder(values: AxisResiduals['values']): AxisResiduals['values'] {
  const number = ({ value }: { readonly value: string }) => Number.parseFloat(value);
  return values.some((value) => Number.isNaN(number(value)))
    ? values
    : [...values].sort((a, b) => number(a) - number(b));
}

/** Returns the axes with several values. The axis that explains most of the variance is first. */
export function residualAxes(comparison: MeasuringComparison) {
  const read = (axis: AxisResiduals) => ({
    axis: axis.axis,
    explained: axis.explained,
    rows: inOrder(axis.values).map(({ value, medianResidual, lowResidual, highResidual, count }) => ({
      value,
      median: medianResidual,
      low: lowResidual,
      high: highResidual,
      count,
      dots: comparison.designs
        .filter(({ design }) => valueOf(design, axis.axis) === value)
        .map(({ designIndex, residual }) => ({ designIndex, residual })),
    })),
  });
  return comparison.axes
    .filter(({ values }) => values.length > 1)
    .map(read)
    .sort((a, b) => (b.explained || 0) - (a.explained || 0));
}

const ROUND_PERCENT = [1, 2, 5, 10, 20, 50, 100, 200, 400, 900];

/** Returns a scale symmetric about 0 in log ratio, with ticks at round percentages. */
export function residualScale(axes: readonly ResidualAxis[]) {
  let most = 0.01;
  for (const { rows } of axes)
    for (const { low, high, dots } of rows)
      for (const at of [low, high, ...dots.map(({ residual }) => residual)]) most = Math.max(most, Math.abs(at));
  const reach = most * 1.08;
  // The widest tick on the right, +p %, is at ln(1 + p/100). On the left, −p % is farther from 0, so it may not fit.
  const fitting = ROUND_PERCENT.filter((percent) => Math.log1p(percent / 100) <= reach * 0.92);
  const widest = fitting.at(-1);
  if (widest === undefined) return { reach, ticks: [{ at: 0, percent: 0 }] };
  const up = Math.log1p(widest / 100);
  // If −p % does not fit, the left tick is at the reciprocal ratio, as far from 0 as +p %.
  const down = widest < 100 && -Math.log1p(-widest / 100) <= reach ? -widest : -(1 - 1 / (1 + widest / 100)) * 100;
  return {
    reach,
    ticks: [
      { at: Math.log1p(down / 100), percent: down },
      { at: 0, percent: 0 },
      { at: up, percent: widest },
    ],
  };
}

/** Converts a residual to the percentage by which the measurement is above (+) the scaled prediction. */
export function residualPercent(residual: number): number {
  return Math.expm1(residual) * 100;
}
