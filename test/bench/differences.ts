/** Difference of a prediction from its simulation: their ratio minus 1. */
interface Compared {
  readonly difference: number;
}

export function percent(fraction: number): string {
  return `${(100 * fraction).toFixed(2)} %`;
}

/** Prints the median, 95th percentile and maximum of the absolute differences, and the median of the signed ones. */
export function summarise(name: string, rows: readonly Compared[]): void {
  if (rows.length === 0) return;
  const signed = rows.map(({ difference }) => difference).sort((a, b) => a - b);
  const size = signed.map(Math.abs).sort((a, b) => a - b);
  const at = (sorted: readonly number[], q: number): string =>
    percent(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]).padStart(9);
  process.stdout.write(
    `${name.padEnd(22)} ${String(rows.length).padStart(4)} designs  median ${at(size, 0.5)}  p95 ${at(size, 0.95)}  max ${at(size, 1)}  middle ${at(signed, 0.5)}\n`,
  );
}

/** Prints the rows with the largest differences, each with its description. */
export function printWorst<Row extends Compared>(
  rows: readonly Row[],
  count: number,
  text: (row: Row) => string,
): void {
  const worst = [...rows].sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
  for (const row of worst.slice(0, count))
    process.stdout.write(`${percent(row.difference).padStart(9)} ${text(row)}\n`);
}
