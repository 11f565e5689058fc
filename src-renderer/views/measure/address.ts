import { BENCH_SUITES } from '../../../src-main/contract/measuring.ts';
import { choiceField, flagField, numberField, textField } from '../../state/location.svelte.ts';
import { MEASURED_COLUMNS } from './rows.ts';
import { CHOICES } from './setup.ts';

/** `setup` is a tab of its own in a narrow window only; else it stands next to the others. */
export const MEASURE_TABS = ['result', 'calibrate', 'tune', 'setup'] as const;

/** What a link to a measurement reopens. `run` names the sweep, so the measurement has a name of its own. */
export const measureAddress = {
  /** The measuring run on screen; absent: the newest of the study. */
  measured: numberField<number | null>(null),
  tab: choiceField(MEASURE_TABS, 'result'),
  /** Index of the selected design, in the sweep. */
  design: numberField<number | null>(null),
  /** Calibration profile that predicts instead of the sweep's saved prediction. */
  profile: numberField<number | null>(null),
  sort: choiceField(MEASURED_COLUMNS, 'predictedRank'),
  descending: flagField(),

  /** Where to measure; absent: as last time. */
  target: textField<string | null>(null),
  suite: choiceField(BENCH_SUITES, 'designs'),
  choose: choiceField(CHOICES, 'best'),
  count: numberField(20),
  /** Design indices handed over by another view, by comma. */
  designs: textField(''),
  /** Device of the sweep whose designs are measured; absent: the first. */
  device: textField<string | null>(null),
  repeats: numberField(15),
  warmUps: numberField(3),
  /** Limit of one design, seconds. */
  limit: numberField(60),
  /** Time that all designs may take together, seconds. */
  time: numberField(120),
  /** When a tuning ends: designs in all, and expected regret, %. */
  budget: numberField(40),
  within: numberField(3),
};

/** Design indices of an address: whole numbers from 0, each once; anything else is left out. */
export function designList(text: string): readonly number[] {
  const numbers = text.split(',').map((part) => (/^\d{1,15}$/.test(part) ? Number(part) : NaN));
  return [...new Set(numbers.filter((value) => Number.isSafeInteger(value)))];
}
