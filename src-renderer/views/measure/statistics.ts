import type { Bounds, MeasuringComparison } from '../../../src-main/contract/measuring.ts';
import { countTiedFirst } from '../../../src-main/contract/counts.ts';
import { NBSP, count, counted, fixed, percent, plain } from '../../format/numbers.ts';

/** The order of two designs can only be right or wrong, so their correlation would be 1 or −1. */
const ORDERED_FROM = 3;

function correlation(value: number): string {
  return Number.isFinite(value) ? fixed(value, 3) : '–';
}
function correlationStat(value: number, designs: number, label: string, hint: string) {
  if (designs < ORDERED_FROM)
    return { value: '–', label, hint: 'Measure at least three designs to compare their order' };
  const equal = 'There is no order: all predicted or all measured times are equal';
  return { value: correlation(value), label, hint: Number.isFinite(value) ? hint : equal };
}

function intervalText(bounds: Bounds | null, write: (value: number) => string): string {
  return bounds === null ? '' : `; 95${NBSP}% interval ${write(bounds.low)} to ${write(bounds.high)}`;
}

/** Returns words for the model's first choice: one design, or the mean over several with equal predictions. */
function firstChoice(tied: number): { readonly label: string; readonly hint: string; readonly words: string } {
  return tied === 1
    ? {
        label: 'first choice',
        hint: 'Measured time of the model’s first choice, against the best measured time',
        words: 'the model’s first choice',
      }
    : {
        label: `mean of ${count(tied)} first choices`,
        hint: `Mean measured time of the ${count(tied)} designs that share the best predicted time, against the best measured time`,
        words: `one of the model’s ${count(tied)} tied first choices`,
      };
}

export function comparisonStats(comparison: MeasuringComparison) {
  const { regret, designs, intervals } = comparison;
  const first = firstChoice(countTiedFirst(designs));
  const random = searchEquivalent(comparison);
  return [
    correlationStat(
      comparison.spearman,
      designs.length,
      'Spearman',
      `Rank correlation of predicted and measured times of ${counted(designs.length, 'design')}: 1 is the same order${intervalText(intervals.spearman, correlation)}`,
    ),
    correlationStat(
      comparison.kendall,
      designs.length,
      'Kendall',
      'Share of pairs in the right order minus the share in the wrong order',
    ),
    {
      value: percent(comparison.medianError),
      label: 'median error, scaled',
      hint: `|measured / (scale · predicted) − 1|; 95th percentile ${percent(comparison.p95Error)}; without the scale ${percent(comparison.unscaledMedianError)}${intervalText(intervals.medianError, percent)}`,
    },
    {
      value: `${plain(comparison.scale, 4)}${NBSP}×`,
      label: 'scale',
      hint: `Median of measured divided by predicted time: the factor by which the device differs from its data sheet${intervalText(intervals.scale, (value) => plain(value, 4))}`,
    },
    ...regret
      .filter(({ k }) => k <= designs.length && [1, 5, 10].includes(k))
      .map(({ k, fraction }) => ({
        value: fraction < 5e-4 ? 'the best' : `+${percent(fraction)}`,
        label: k === 1 ? first.label : `best of ${k}`,
        hint:
          k === 1 ? first.hint : `Best measured time of the model’s first ${k}, against the best measured time of all`,
      })),
    ...(random
      ? [
          {
            value: count(random.measurements),
            label: 'random search',
            hint: `Number of these ${count(designs.length)} designs to measure at random, on average, to match ${random.k === 1 ? first.words : `the best of the model’s first ${random.k}`}`,
          },
        ]
      : []),
  ];
}

/** Returns how many random measurements the model's first k are worth, for k = 5 or the next smaller k with a value. */
function searchEquivalent({ randomEquivalent, designs }: MeasuringComparison) {
  const known = randomEquivalent.filter(({ k, measurements }) => k <= designs.length && Number.isFinite(measurements));
  return known.find(({ k }) => k === 5) ?? known.findLast(({ k }) => k < 5) ?? null;
}

export function comparisonVerdict(comparison: MeasuringComparison): string {
  const { designs, regret } = comparison;
  if (designs.length < ORDERED_FROM)
    return `${count(designs.length)} compared: measure at least three designs to compare their order.`;
  const random = searchEquivalent(comparison);
  const found = random && regret.find(({ k }) => k === random.k);
  if (!random || !found) return '';
  const first = random.k === 1 ? firstChoice(countTiedFirst(designs)).words : `the model’s first ${random.k}`;
  const result =
    found.fraction < 5e-4
      ? 'finds the best measured design'
      : `comes within ${percent(found.fraction)} of the best measured time`;
  return `Measuring ${first} ${result}; random search would need about ${counted(Math.round(random.measurements), 'measurement')}.`;
}
