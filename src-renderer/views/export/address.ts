import { MAX_LISTED } from '../../../src-main/contract/api.ts';
import { choiceField, flagField, numberField, textField } from '../../state/location.svelte.ts';

export const ROW_LIMITS = ['20', '100', '1000', '10000', '100000', 'all'] as const;

export const rowLimit = (rows: (typeof ROW_LIMITS)[number]): number => (rows === 'all' ? MAX_LISTED : Number(rows));

export const exportAddress = {
  format: textField('html'),
  design: numberField<number | null>(null),
  rows: choiceField(ROW_LIMITS, '100'),
  weigh: flagField(),
  source: flagField(),
};
