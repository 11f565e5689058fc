import { blockText, isCpuDesign, type Design } from '../../src-workers/domain/design.ts';
import type { RegimeInfo } from '../../src-workers/domain/regime.ts';
import { coresText } from '../../src-workers/domain/terms.ts';
import { contradictionText, isContradicted } from '../contract/accuracy.ts';
import type { SimulatedTime } from '../contract/api.ts';
import { say, type Terminal } from './output.ts';

/** Columns that every table of designs has, and a design's cells in them. */
export const DESIGN_HEAD = ['threads/unit', 'units/thread', 'balancing', 'block', 'grid'] as const;

/** A CPU's design shows its partition and cores: it has no blocks. */
export function designCells(design: Design): readonly (string | number)[] {
  const { threadsPerUnit, unitsPerThread, balancing, loop, gridBlocks } = design;
  if (isCpuDesign(design)) return ['–', '–', balancing, '–', coresText(gridBlocks)];
  const order = loop === 'flattened' ? `${balancing}, flattened` : balancing;
  return [threadsPerUnit, unitsPerThread, order, blockText(design), gridBlocks];
}

/** How a prediction was computed, as `--json` prints it. */
export function regimeFields(regime: RegimeInfo | null): Omit<RegimeInfo, 'method'> | null {
  return regime && { id: regime.id, label: regime.label, accuracy: regime.accuracy };
}

interface Found {
  readonly predictedMs: number;
  readonly simulated: SimulatedTime | null;
}

/** The simulated time if it contradicts the prediction; else empty. */
export function contradictedCell({ predictedMs, simulated }: Found): string {
  if (!simulated || !isContradicted(predictedMs, simulated)) return '';
  return `simulated ${contradictionText(predictedMs, simulated)}`;
}

/** Says how many predictions their simulations contradict, where any does. */
export function sayContradicted(terminal: Terminal, rows: readonly Found[]): void {
  const simulated = rows.filter((row) => row.simulated).length;
  const contradicted = rows.filter((row) => contradictedCell(row) !== '').length;
  if (contradicted === 0) return;
  say(
    terminal,
    `The simulation contradicts ${contradicted} of ${simulated} predictions, by more than 10 % beyond its own interval: trust the simulation more, or measure.`,
  );
}
