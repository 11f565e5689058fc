import { choiceField, flagField, numberField, textField } from '../../state/location.svelte.ts';

export const COMPARE_MODES = ['best', 'same', 'measured'] as const;

/** The address of a comparison. */
export const compareAddress = {
  /** The reference device in earlier links. It is now the device of the study. */
  reference: textField<string | null>(null),
  mode: choiceField(COMPARE_MODES, 'best'),
  /** The design of mode `same`. The default is the reference's best. */
  design: numberField<number | null>(null),
  /** The ids of hidden devices of the run, and of additional shown devices, separated by commas. */
  without: textField(''),
  also: textField(''),
  /** In mode `measured`: the ids of runs, the reference first, and the ignored differences, %. */
  runs: textField(''),
  threshold: numberField(2),
  /** Whether rows with only equal values are hidden. */
  differing: flagField(),
};

export function idList(text: string): readonly string[] {
  return text === '' ? [] : text.split(',');
}
export function toggled(ids: readonly string[], id: string): string {
  return (ids.includes(id) ? ids.filter((other) => other !== id) : [...ids, id]).join(',');
}
