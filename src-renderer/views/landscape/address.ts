import { choiceField, textField } from '../../state/location.svelte.ts';
import { explorationAddress } from '../ranking/address.ts';

export const SHAPES = ['map', 'slices', 'designs', 'roofline'] as const;
export const COLOURS = ['time', 'baseline'] as const;

export const landscapeAddress = {
  ...explorationAddress,
  shape: choiceField(SHAPES, 'map'),
  /** Axes of the map; absent: chosen by the space. */
  x: textField<string | null>(null),
  y: textField<string | null>(null),
  /** Axis of the small maps at the left; `-`: none. */
  facet: textField<string | null>(null),
  colour: choiceField(COLOURS, 'time'),
  /** Axes that are minimised over instead of held at the selection, by id, with commas between. */
  free: textField(''),
};
