import { choiceField, textField } from '../../state/location.svelte.ts';
import { MODEL_PAGES } from './pages.ts';

export const modelsAddress = {
  page: choiceField(
    MODEL_PAGES.map(({ id }) => id),
    'imbalance',
  ),
  /** The text to find in the reproduction tables. */
  find: textField(''),
};
