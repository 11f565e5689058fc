import { RUN_STATES } from './filter.ts';
import { choiceField, flagField, numberField, textField } from '../../state/location.svelte.ts';

/** What a link to the history reopens. `run` belongs to the shell, so the selection has its own names. */
export const runsAddress = {
  find: textField(''),
  state: choiceField(['any', ...RUN_STATES], 'any'),
  tag: textField(''),
  /** Runs of every study, not only of the open one. */
  all: flagField(),
  selected: numberField<number | null>(null),
  /** The run that the selected one is compared with. */
  against: numberField<number | null>(null),
};
