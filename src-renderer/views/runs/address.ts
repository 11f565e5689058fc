import { RUN_STATES } from './filter.ts';
import { choiceField, flagField, numberField, textField } from '../../state/location.svelte.ts';

/** The address of the history. `run` belongs to the shell, so the selection has other names. */
export const runsAddress = {
  find: textField(''),
  state: choiceField(['any', ...RUN_STATES], 'any'),
  tag: textField(''),
  /** Whether runs of every study are listed, not only of the open one. */
  all: flagField(),
  selected: numberField<number | null>(null),
  /** The run to compare the selected one with. */
  against: numberField<number | null>(null),
};
