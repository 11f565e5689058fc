import { RUN_STATES } from './filter.ts';
import { choiceField, flagField, numberField, textField } from '../../state/location.svelte.ts';

/** The address of the history. `run` is the run that all views show, so the selected run is `selected`. */
export const runsAddress = {
  find: textField(''),
  state: choiceField(['any', ...RUN_STATES], 'any'),
  tag: textField(''),
  all: flagField(),
  selected: numberField<number | null>(null),
  against: numberField<number | null>(null),
};
