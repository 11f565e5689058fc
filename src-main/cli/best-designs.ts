import { isCpuDesign } from '../../src-workers/domain/design.ts';
import { evidenceGaps, tieBandText } from '../../src-workers/domain/evidence.ts';
import { ok, type Result, unwrap } from '../../src-workers/domain/result.ts';
import { ACCURACY_TEXT } from '../contract/accuracy.ts';
import type { BestDesigns, BestRow } from '../contract/api.ts';
import type { ProcedureInput } from '../contract/procedures.ts';
import type { Engine } from '../services/engine.ts';
import { plainRow } from '../services/export/tables.ts';
import { contradictedCell, designColumns, regimeFields, sayContradicted } from './design-columns.ts';
import { type Terminal, timeCells } from './output.ts';

export interface Options {
  readonly json?: boolean;
  readonly verbose?: boolean;
}

export function jsonRow(row: BestRow) {
  return { ...plainRow(row), regime: regimeFields(row.regime), order: row.order };
}

const PAGE_ROWS = 10_000;

interface BestPages extends BestDesigns {
  allRows(): AsyncGenerator<{ readonly row: BestRow; readonly equal?: number }, void>;
}

export async function bestOf(
  engine: Engine,
  input: ProcedureInput<'ranking.best'> & { readonly limit: number },
): Promise<Result<BestPages>> {
  const pageAt = (offset: number): Promise<Result<BestDesigns>> =>
    engine.call('ranking.best', { ...input, page: { offset, count: PAGE_ROWS } });
  const first = await pageAt(0);
  if (!first.ok) return first;
  return ok({
    ...first.value,
    async *allRows() {
      let { rows, equal } = first.value;
      for (let offset = PAGE_ROWS; ; offset += PAGE_ROWS) {
        for (const [at, row] of rows.entries()) yield equal ? { row, equal: equal[at] } : { row };
        if (rows.length < PAGE_ROWS || offset >= input.limit) return;
        ({ rows, equal } = unwrap(await pageAt(offset)));
      }
    },
  });
}

export async function* jsonRows(pages: BestPages): AsyncGenerator<object, void> {
  for await (const { row, ...equal } of pages.allRows()) yield { ...jsonRow(row), ...equal };
}

/** A table needs all rows at once, because the widest cell sets the width of a column. */
export async function allOf(pages: BestPages): Promise<Pick<BestDesigns, 'rows' | 'equal'>> {
  const rows: BestRow[] = [];
  const equal: number[] = [];
  for await (const each of pages.allRows()) {
    rows.push(each.row);
    if (each.equal !== undefined) equal.push(each.equal);
  }
  return { rows, equal: pages.equal && equal };
}

export function evidenceFields({ tieBand, devices, partial }: BestDesigns) {
  return { tieBand, partial, evidence: Object.fromEntries(devices.map(({ id, evidence }) => [id, evidence])) };
}

export const invalidText = (invalid: BestDesigns['invalid']): string =>
  invalid.map(({ text, count }) => `${text} (${count.toLocaleString('en')})`).join('; ');

export function sayUnmeasured(terminal: Terminal, { devices, partial }: BestDesigns, deviceId?: string): void {
  if (partial !== null) terminal.say(partial);
  const gaps = evidenceGaps(devices.filter(({ id }) => (deviceId ?? id) === id));
  if (gaps) terminal.say(gaps.text);
}

type Legend = 'none' | 'marks' | 'whole';

export const legendFor = ({ verbose }: Options): Legend => (verbose ? 'whole' : 'marks');

export function printDesigns(
  terminal: Terminal,
  rows: readonly BestRow[],
  { tieBand, equal }: BestDesigns,
  legend: Legend,
): void {
  const simulated = rows.some((row) => row.simulated);
  const measured = rows.some((row) => row.measured);
  // Predicted times include the time of balancing and measured times do not, so a note explains the difference.
  const balanced = rows.some((row) => row.orderingMs > 0);
  const contradicted = rows.some((row) => contradictedCell(row) !== '');
  const several = rows.some((row) => row.design.implementation !== undefined);
  const { unit, cell } = timeCells(
    rows.flatMap((row) => [row.predictedMs, row.simulated?.meanMs, row.measured?.medianMs]),
  );
  terminal.rows(rows, [
    ['rank', (row) => row.rank],
    equal !== null && equal !== undefined && ['equal', (_, at) => equal[at]],
    ['design', (row) => row.designIndex],
    ['device', (row) => row.device],
    several && ['implementation', (row) => row.design.implementation!],
    ...designColumns<BestRow>(),
    ['cap', (row) => row.design.registerCap ?? '–'],
    [`predicted, ${unit}`, (row) => cell(row.predictedMs)],
    simulated && [`simulated, ${unit}`, (row) => cell(row.simulated?.meanMs)],
    balanced && [`kernel, ${unit}`, (row) => cell(row.predictedMs - row.orderingMs)],
    measured && [`measured, ${unit}`, (row) => cell(row.measured?.medianMs)],
    ['agg. loss', (row) => row.aggregateLoss.toFixed(3)],
    ['occ. %', (row) => (row.occupancyFraction * 100).toFixed(1)],
    ['limited by', (row) => row.limitedBy.join(' ')],
    contradicted && ['', contradictedCell],
  ]);
  if (legend === 'none') return;
  if (balanced)
    terminal.say('The columns "measured" and "kernel" are for the kernel alone; "predicted" also includes balancing.');
  if (rows.length > 1) {
    const within = legend === 'whole' ? tieBandText(tieBand) : `within ${(100 * tieBand.fraction).toFixed(0)} %`;
    terminal.say(`Designs may rank differently when measured if their predicted times are close: ${within}.`);
  }
  if (legend === 'whole' && rows.some(({ design }) => !isCpuDesign(design))) terminal.say(ACCURACY_TEXT);
  sayContradicted(terminal, rows);
}
