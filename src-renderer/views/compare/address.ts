import { choiceField, flagField, numberField, textField } from '../../state/location.svelte.ts';

export const COMPARE_MODES = ['best', 'same', 'measured'] as const;

/** What a link to a comparison reopens. */
export const compareAddress = {
  /** The device that changes are counted against, in earlier links. Now it is the device of the study. */
  reference: textField<string | null>(null),
  mode: choiceField(COMPARE_MODES, 'best'),
  /** The design of mode `same`; absent: the reference's best. */
  design: numberField<number | null>(null),
  /** Ids of devices of the run that are left out, and of further ones that are shown, by comma. */
  without: textField(''),
  also: textField(''),
  /**
   * In mode `measured`, ids of runs by comma, the reference first (absent: the newest two), and the differences that do
   * not count, %.
   */
  runs: textField(''),
  threshold: numberField(2),
  /** Rows whose values are all equal are left out. */
  differing: flagField(),
};

export function idList(text: string): readonly string[] {
  return text === '' ? [] : text.split(',');
}
export function toggled(ids: readonly string[], id: string): string {
  return (ids.includes(id) ? ids.filter((other) => other !== id) : [...ids, id]).join(',');
}
