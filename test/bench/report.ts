import { sortedQuantile, spearman } from '../../src-workers/numeric/statistics.ts';

export const say = (line: string): void => void process.stdout.write(`${line}\n`);
export const percent = (fraction: number, digits = 1): string => `${(100 * fraction).toFixed(digits)} %`;

/** A predicted time, and the simulated or measured time of the same launch, in the same unit. */
export interface Compared {
  readonly predicted: number;
  readonly actual: number;
}
const differenceOf = ({ predicted, actual }: Compared): number => predicted / actual - 1;

/**
 * Prints the rank correlation, and the median, 95th percentile and maximum of the errors.
 * @param isOneSpace true if the launches are designs for the same work. Then the cost of the choice is also printed: the
 *   actual time of the design that is predicted to be fastest, over the fastest actual time.
 */
export function reportErrors(title: string, rows: readonly Compared[], isOneSpace = false): void {
  if (rows.length === 0) return;
  const predicted = Float64Array.from(rows, (row) => row.predicted);
  const actual = Float64Array.from(rows, (row) => row.actual);
  const signed = Float64Array.from(rows, differenceOf).sort();
  const sizes = signed.map(Math.abs).sort();
  const at = (sorted: Float64Array, part: number): string => percent(sortedQuantile(sorted, part), 2).padStart(8);
  const chosen = actual[predicted.indexOf(Math.min(...predicted))] / Math.min(...actual);
  const figures = [
    `rank ${spearman(predicted, actual).toFixed(5)}`,
    `median ${at(sizes, 0.5)}`,
    `95 % ${at(sizes, 0.95)}`,
    `largest ${at(sizes, 1)}`,
    isOneSpace ? `choice ${chosen.toFixed(3)}` : `signed median ${at(signed, 0.5)}`,
  ];
  say(`${title.padEnd(42)} ${String(rows.length).padStart(4)}  ${figures.join('  ')}`);
}

export function printWorst<Row extends Compared>(
  rows: readonly Row[],
  count: number,
  text: (row: Row) => string,
): void {
  const worst = rows.toSorted((a, b) => Math.abs(differenceOf(b)) - Math.abs(differenceOf(a)));
  for (const row of worst.slice(0, count)) say(`${percent(differenceOf(row), 2).padStart(9)} ${text(row)}`);
}
