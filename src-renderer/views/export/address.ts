import { MAX_LISTED } from '../../../src-main/contract/api.ts';
import { choiceField, flagField, numberField, textField } from '../../state/location.svelte.ts';

/** How many of the best designs go into a table. */
export const ROW_LIMITS = ['20', '100', '1000', '10000', '100000', 'all'] as const;

/** Rows of a table. Saving streams all of them; the preview makes only the first part. */
export const rowLimit = (rows: (typeof ROW_LIMITS)[number]): number => (rows === 'all' ? MAX_LISTED : Number(rows));

export const exportAddress = {
  format: textField('html'),
  /** The design that is exported; absent: the recommended one of the device. */
  design: numberField<number | null>(null),
  rows: choiceField(ROW_LIMITS, '100'),
  /** Markdown as its source. */
  source: flagField(),
};
