import type { DesignSlice } from '../../../src-main/contract/api.ts';
import type { ProcedureOutput } from '../../../src-main/contract/procedures.ts';
import { shortNames } from '../../format/devices.ts';
import { count } from '../../format/numbers.ts';
import { shortBalancing } from '../ranking/columns.ts';

export interface Slice extends DesignSlice {
  readonly title: string;
}

export function launchUnit(text: string): 'SM' | 'slot' | 'grid' | 'cores' | '' {
  if (text.endsWith(' per SM')) return 'SM';
  if (text.endsWith(' per slot')) return 'slot';
  if (text.startsWith('grid ')) return 'grid';
  return / cores?$/.test(text) ? 'cores' : '';
}

/** Returns the values of an axis as labels: `16`, `3,584`, `A100`; with units if they differ: `16/SM`, `72 cores`. */
export function axisLabels(axis: string, texts: readonly string[]): readonly string[] {
  if (axis === 'device') return shortNames(texts);
  if (axis === 'balancing') return texts.map(shortBalancing);
  const isMixed = new Set(texts.map(launchUnit)).size > 1;
  return texts.map((text) => {
    const unit = launchUnit(text);
    const number = unit === '' || unit === 'grid' ? text.replace('grid ', '') : text.replace(/ .*/, '');
    const value = Number(number);
    const bare = Number.isFinite(value) ? count(value) : number;
    if (!isMixed || unit === '') return bare;
    return unit === 'grid' ? bare : unit === 'cores' ? text : `${bare}/${unit}`;
  });
}

/**
 * Sorts slices by the place of their axis in `order`, and the numbers of a slice in ascending order, except launches.
 */
export function prepareSlices(
  slices: ProcedureOutput<'ranking.slices'>,
  order: readonly (string | null)[],
  title: (axis: string, values: readonly string[]) => string,
): readonly Slice[] {
  const place = (axis: string) => (order.includes(axis) ? order.indexOf(axis) : order.length);
  return [...slices]
    .sort((a, b) => place(a.axis) - place(b.axis))
    .map(({ axis, values, timeMs, designIndex, at }) => {
      const texts = axisLabels(axis, values);
      const numbers = values.map((text) => (text === 'none' ? Infinity : Number(text)));
      const ascending = axis !== 'launch' && numbers.every((value) => !Number.isNaN(value));
      const by = values.map((_, i) => i);
      if (ascending) by.sort((a, b) => numbers[a] - numbers[b]);
      return {
        axis,
        title: title(axis, values),
        values: by.map((i) => texts[i]),
        timeMs: Float64Array.from(by, (i) => timeMs[i]),
        designIndex: Float64Array.from(by, (i) => designIndex[i]),
        at: by.indexOf(at),
      };
    });
}
