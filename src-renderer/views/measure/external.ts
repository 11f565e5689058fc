import type { MeasuringDetail } from '../../../src-main/contract/measuring.ts';
import { halfWidthFraction } from './rows.ts';

export type ExternalTable = ReturnType<typeof externalTable>;

/** Returns the designs of imported kernels, fastest first, untimed ones last. `keys`: the parameters that differ. */
export function externalTable({ cases }: Pick<MeasuringDetail, 'cases'>) {
  const read = cases.flatMap((each) => (each.case.benchmark === 'external' ? [{ each, ...each.case.parameters }] : []));
  const names = [...new Set(read.flatMap(({ configuration }) => Object.keys(configuration)))];
  const keys = names.filter((name) => new Set(read.map(({ configuration }) => configuration[name])).size > 1);
  const timed = read
    .filter(({ each }) => each.measured !== null)
    .sort((a, b) => a.each.measured!.medianMs - b.each.measured!.medianMs || a.each.position - b.each.position);
  const best = timed[0]?.each.measured?.medianMs ?? NaN;
  const failed = read.filter(({ each }) => each.measured === null);
  return {
    kernel: [...new Set(read.map(({ kernel }) => kernel))].join(', '),
    keys,
    rows: [...timed, ...failed].map(({ each, configuration }, i) => ({
      position: each.position,
      rank: each.measured ? i + 1 : null,
      each,
      values: keys.map((key) => String(configuration[key] ?? '')),
      toBest: each.measured ? each.measured.medianMs / best - 1 : null,
      halfWidth: halfWidthFraction(each),
    })),
  };
}

/** Converts a numeric text to a number. As a text, a negative number would be escaped in the CSV like a formula. */
function cell(text: string): string | number {
  const value = Number(text);
  return String(value) === text && Number.isFinite(value) ? value : text;
}

export function externalFile({ keys, rows }: ExternalTable): readonly (readonly (string | number)[])[] {
  return [
    ['rank', ...keys, 'median ms', 'low ms', 'high ms', 'repeats', 'failure'],
    ...rows.map(({ rank, values, each }) => [
      rank ?? '',
      ...values.map(cell),
      each.measured?.medianMs ?? '',
      each.measured?.lowMs ?? '',
      each.measured?.highMs ?? '',
      each.measured?.repeats ?? '',
      each.failure ?? '',
    ]),
  ];
}
