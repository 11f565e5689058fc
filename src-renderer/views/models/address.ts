import { choiceField, textField } from '../../state/location.svelte.ts';
import { MODEL_PAGES } from './pages.ts';

export const modelsAddress = {
  page: choiceField(
    MODEL_PAGES.map(({ id }) => id),
    'imbalance',
  ),
  find: textField(''),
};
