import type { MeasuringProposal } from './measuring.ts';
import type { ProcedureInput } from './procedures.ts';

/** Formats an estimated duration: `45 s`, `20 min`, `3 h`. */
export function roughDuration(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 1) return 'a second';
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/**
 * Describes the reductions of a proposal: `All would take about 20 min. Measuring 5,400 of 20,000 units … .` It is
 * empty if nothing is reduced.
 */
export function reducedText({ units, ofUnits, repeats, ofRepeats, estimateMs, fullMs }: MeasuringProposal): string {
  const less = [
    ...(units < ofUnits ? [`${units.toLocaleString('en')} of ${ofUnits.toLocaleString('en')} units`] : []),
    ...(repeats < ofRepeats ? [`${repeats} of ${ofRepeats} repeats`] : []),
  ];
  if (less.length === 0) return '';
  return `A full measurement would take about ${roughDuration(fullMs)}. Measuring ${less.join(' and ')}, in about ${roughDuration(estimateMs)}.`;
}

/** Converts the proposal to arguments of `bench.start`. */
export function startOf({
  units,
  ofUnits,
  repeats,
  ...probe
}: MeasuringProposal): Pick<ProcedureInput<'bench.start'>, 'units' | 'repeats' | 'probe'> {
  return { ...(units < ofUnits && { units }), repeats, probe };
}
