import { RUN_STATES } from './filter.ts';
import { choiceField, flagField, numberField, textField } from '../../state/location.svelte.ts';

/** The address of the history. `run` is the run that all views show, so the selection has another name. */
export const runsAddress = {
  find: textField(''),
  state: choiceField(['any', ...RUN_STATES], 'any'),
  tag: textField(''),
  all: flagField(),
  selected: numberField<number | null>(null),
  against: numberField<number | null>(null),
};
