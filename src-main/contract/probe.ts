import type { MeasuringProposal, MeasuringRequest } from './measuring.ts';
import type { ProcedureInput } from './procedures.ts';
import { listText } from '../../src-workers/domain/text.ts';

export function roughDuration(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 1) return 'a second';
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

export function reducedText(proposal: MeasuringProposal): string {
  const { units, ofUnits, designs, ofDesigns, repeats, ofRepeats, estimateMs, fullMs } = proposal;
  const less = [
    ...(designs < ofDesigns ? [fewerDesignsText(designs, ofDesigns)] : []),
    ...(units < ofUnits ? [`${units.toLocaleString('en')} of ${ofUnits.toLocaleString('en')} units`] : []),
    ...(repeats < ofRepeats ? [`${repeats} of ${ofRepeats} repeats`] : []),
  ];
  if (less.length === 0) return '';
  return `A full measurement would take about ${roughDuration(fullMs)}. Measuring ${listText(less)}, in about ${roughDuration(estimateMs)}.`;
}

export function fewerDesignsText(designs: number, ofDesigns: number): string {
  return `${designs} of the ${ofDesigns} chosen designs (spread evenly over them)`;
}

export function isReduced({ part, probe, repeats, cases }: MeasuringRequest): boolean {
  if (part) return true;
  return probe !== undefined && (repeats < probe.ofRepeats || cases < (probe.ofDesigns ?? cases));
}

export function startOf({
  units,
  ofUnits,
  designs,
  repeats,
  ...probe
}: MeasuringProposal): Pick<ProcedureInput<'bench.start'>, 'units' | 'spreadDesigns' | 'repeats' | 'probe'> {
  return {
    ...(units < ofUnits && { units }),
    ...(designs < probe.ofDesigns && { spreadDesigns: designs }),
    repeats,
    probe,
  };
}
