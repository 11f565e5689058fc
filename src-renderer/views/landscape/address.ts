import { choiceField, textField } from '../../state/location.svelte.ts';
import { explorationAddress } from '../ranking/address.ts';

export const landscapeAddress = {
  ...explorationAddress,
  shape: choiceField(['map', 'slices', 'designs', 'roofline'], 'map'),
  x: textField<string | null>(null),
  y: textField<string | null>(null),
  /** The axis of the small maps at the left; `-` means none. */
  facet: textField<string | null>(null),
  colour: choiceField(['time', 'baseline'], 'time'),
  /** The ids of the axes over which the map takes the best time, separated by commas. */
  free: textField(''),
};
