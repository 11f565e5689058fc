import { choiceField, flagField, numberField, textField } from '../../state/location.svelte.ts';

export const compareAddress = {
  /** The reference device of old links. Newer links have it in `device`, which all views of the study share. */
  reference: textField<string | null>(null),
  mode: choiceField(['best', 'same', 'measured'], 'best'),
  design: numberField<number | null>(null),
  /** The ids of hidden devices of the run (`without`) and of added devices (`also`), separated by commas. */
  without: textField(''),
  also: textField(''),
  runs: textField(''),
  threshold: numberField(2),
  differing: flagField(),
};

export function idList(text: string): readonly string[] {
  return text === '' ? [] : text.split(',');
}
export function toggled(ids: readonly string[], id: string): string {
  return (ids.includes(id) ? ids.filter((other) => other !== id) : [...ids, id]).join(',');
}
