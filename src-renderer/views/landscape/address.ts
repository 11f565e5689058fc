import { choiceField, textField } from '../../state/location.svelte.ts';
import { explorationAddress } from '../ranking/address.ts';

export const SHAPES = ['map', 'slices', 'designs', 'roofline'] as const;
export const COLOURS = ['time', 'baseline'] as const;

export const landscapeAddress = {
  ...explorationAddress,
  shape: choiceField(SHAPES, 'map'),
  /** The axes of the map. The default depends on the space. */
  x: textField<string | null>(null),
  y: textField<string | null>(null),
  /** The axis of the small maps at the left; `-` means none. */
  facet: textField<string | null>(null),
  colour: choiceField(COLOURS, 'time'),
  /** The ids of axes that are minimised over instead of held at the selection, separated by commas. */
  free: textField(''),
};
