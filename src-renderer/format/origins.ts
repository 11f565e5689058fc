import type { Origin } from '../../src-workers/domain/provenance.ts';
import { NBSP, plain } from './numbers.ts';

/** What each origin means, in words that follow the value's name: `Serial fraction: assumed`. */
export const ORIGIN_WORDS: Readonly<Record<Origin, string>> = {
  measured: 'timed or counted on the device',
  calibrated: 'fitted to measured times',
  imported: 'read from a file or a tool',
  given: 'entered by hand, or from a data sheet',
  assumed: 'a plausible value; nobody gave one',
};

/** `0.01 to 0.25`, with the unit once. */
export function rangeText([low, high]: readonly [number, number], unit = ''): string {
  return `${plain(low)} to ${plain(high)}${unit && `${NBSP}${unit}`}`;
}

/** The tooltip of a mark: `Assumed: a plausible value; nobody gave one. Usual: 0.01 to 0.25.` */
export function originText(origin: Origin, usual: readonly [number, number] | null, unit = ''): string {
  const name = `${origin.charAt(0).toUpperCase()}${origin.slice(1)}`;
  const range = origin === 'assumed' && usual ? ` Usual: ${rangeText(usual, unit)}.` : '';
  return `${name}: ${ORIGIN_WORDS[origin]}.${range}`;
}
