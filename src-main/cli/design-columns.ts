import { blockText, type Design, isCpuDesign } from '../../src-workers/domain/design.ts';
import { evidenceGaps } from '../../src-workers/domain/evidence.ts';
import type { RegimeInfo } from '../../src-workers/domain/regime.ts';
import { coresText } from '../../src-workers/domain/terms.ts';
import { contradictionText, isContradicted } from '../contract/accuracy.ts';
import type { SimulatedTime } from '../contract/api.ts';
import type { Engine } from '../services/engine.ts';
import type { Column, Terminal } from './output.ts';

const DESIGN_HEAD = ['threads/unit', 'units/thread', 'balancing', 'block', 'grid'];

export const designColumns = <Row extends { readonly design: Design }>(): readonly Column<Row>[] =>
  DESIGN_HEAD.map((head, at) => [head, ({ design }) => designCells(design)[at]]);

/** A CPU has no blocks, so the cells of a CPU's design are its partition and its cores. */
export function designCells(design: Design): readonly (string | number)[] {
  const { threadsPerUnit, unitsPerThread, balancing, loop, gridBlocks } = design;
  if (isCpuDesign(design)) return ['–', '–', balancing, '–', coresText(gridBlocks)];
  const order = loop === 'flattened' ? `${balancing}, flattened` : balancing;
  return [threadsPerUnit, unitsPerThread, order, blockText(design), gridBlocks];
}

export function regimeFields(regime: RegimeInfo | null): Omit<RegimeInfo, 'method'> | null {
  return regime && { id: regime.id, label: regime.label, accuracy: regime.accuracy };
}

interface Found {
  readonly predictedMs: number;
  readonly simulated: SimulatedTime | null;
}

export function contradictedCell({ predictedMs, simulated }: Found): string {
  if (!simulated || !isContradicted(predictedMs, simulated)) return '';
  return `simulated ${contradictionText(predictedMs, simulated)}`;
}

export function sayContradicted(terminal: Terminal, rows: readonly Found[]): void {
  const simulated = rows.filter((row) => row.simulated).length;
  const contradicted = rows.filter((row) => contradictedCell(row) !== '').length;
  if (contradicted === 0) return;
  terminal.say(
    `The simulation contradicts ${contradicted} of ${simulated} predictions: they are more than 10 % outside its interval. Trust the simulation more, or measure.`,
  );
}

/** Says which devices and kinds of implementations lack evidence; `null` if none do, or if the sweep is gone. */
export async function evidenceGapsOf(
  engine: Engine,
  sweep: number | null,
  designs: readonly { readonly deviceId: string }[],
): Promise<string | null> {
  const found = sweep === null ? null : await engine.call('evidence.run', { runId: sweep });
  if (!found?.ok) return null;
  const shown = found.value.filter(({ id }) => designs.some(({ deviceId }) => deviceId === id));
  return evidenceGaps(shown)?.text ?? null;
}
