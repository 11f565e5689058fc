import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..', '..');
export const WORKERS = 2;

/**
 * Prints a line of a benchmark's table: what, its target, its figure and the ratio of both, above 1 where the target is
 * met.
 */
export function report(what: string, target: number, value: number, unit: string, more = false): void {
  const ratio = more ? value / target : target / value;
  const cells = [
    what.padEnd(58),
    `${target} ${unit}`.padStart(16),
    `${Number(value.toPrecision(4))} ${unit}`.padStart(20),
    ratio.toFixed(2).padStart(8),
  ];
  process.stdout.write(`${cells.join('  ')}\n`);
}
