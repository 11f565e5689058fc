import { BENCH_SUITES } from '../../../src-main/contract/measuring.ts';
import { choiceField, flagField, numberField, textField, type Address } from '../../state/location.svelte.ts';
import { MEASURED_COLUMNS } from './rows.ts';
import { CHOICES } from './setup.ts';

/** `setup` is a tab only in a narrow window. A wide window shows the set-up beside the other tabs. */
const MEASURE_TABS = ['result', 'calibrate', 'tune', 'setup'] as const;

/** The shown measurement is `measured`, because `run` in an address is the sweep that all views show. */
export const measureAddress = {
  measured: numberField<number | null>(null),
  tab: choiceField(MEASURE_TABS, 'result'),
  design: numberField<number | null>(null),
  profile: numberField<number | null>(null),
  sort: choiceField(MEASURED_COLUMNS, 'predictedRank'),
  descending: flagField(),

  target: textField<string | null>(null),
  suite: choiceField(BENCH_SUITES, 'designs'),
  choose: choiceField(CHOICES, 'best'),
  count: numberField(20),
  designs: textField(''),
  device: textField<string | null>(null),
  repeats: numberField(15),
  warmUps: numberField(3),
  limit: numberField(60),
  time: numberField(120),
  budget: numberField(40),
  within: numberField(3),
};

export type MeasureChange = Partial<Address<typeof measureAddress>>;

export function designList(text: string): readonly number[] {
  const numbers = text.split(',').map((part) => (/^\d{1,15}$/.test(part) ? Number(part) : NaN));
  return [...new Set(numbers.filter((value) => Number.isSafeInteger(value)))];
}
