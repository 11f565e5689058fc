import { choiceField, textField } from '../../state/location.svelte.ts';
import { MODEL_NAMES } from './names.ts';

export const modelsAddress = {
  page: choiceField(
    MODEL_NAMES.map(({ id }) => id),
    'imbalance',
  ),
  find: textField(''),
};
