import { isAssumed, type Origin } from '../../src-workers/domain/provenance.ts';
import { sentenceCase } from '../../src-workers/domain/terms.ts';
import { NBSP, plain } from './numbers.ts';

export const ORIGIN_WORDS: Readonly<Record<Origin, string>> = {
  measured: 'timed or counted on the device',
  calibrated: 'fitted to measured times',
  imported: 'read from a file or a tool',
  given: 'entered by hand, or from a data sheet',
  example: 'from the example with which this study began, not from this kernel',
  assumed: 'a usual value, because none was given',
};

export const originName = (origin: Origin): string => (origin === 'example' ? 'from the example' : origin);

export function rangeText([low, high]: readonly [number, number], unit = ''): string {
  return `${plain(low)} to ${plain(high)}${unit && `${NBSP}${unit}`}`;
}

export function originText(origin: Origin, usual: readonly [number, number] | null, unit = ''): string {
  const name = sentenceCase(originName(origin));
  const range = isAssumed(origin) && usual ? ` Usual: ${rangeText(usual, unit)}.` : '';
  return `${name}: ${ORIGIN_WORDS[origin]}.${range}`;
}
