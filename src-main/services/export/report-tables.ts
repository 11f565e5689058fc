import { BREAKDOWN_PARTS, shownParts } from '../../../src-workers/domain/breakdown.ts';
import { blockText, designText, isCpuDesign } from '../../../src-workers/domain/design.ts';
import { coresText } from '../../../src-workers/domain/terms.ts';
import { timeIn, timeText, timeUnit } from '../../../src-workers/domain/times.ts';
import type { RankRow } from '../../contract/api.ts';
import type { ReportFacts } from './facts.ts';
import { percent, whole } from './text.ts';

export interface ReportColumn {
  readonly head: string;
  readonly isWords?: boolean;
  readonly isForeign?: boolean;
  readonly isLong?: boolean;
  readonly isCode?: boolean;
  readonly isOfPage?: boolean;
}

export interface ReportTable {
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly (readonly string[])[];
}

type Column<Row> = ReportColumn & { readonly cell: (row: Row) => string | number };

function makeTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): ReportTable {
  return { columns, rows: rows.map((row) => columns.map(({ cell }) => String(cell(row)))) };
}

export const NO_DESIGN = 'no valid design';

export function reportTables(facts: ReportFacts) {
  const { breakdown, rows, devices } = facts;
  const parts = shownParts(breakdown);
  const best = rows[0].timeMs;
  const unit = timeUnit(best);
  const fastest = Math.min(...devices.flatMap((entry) => (entry.best ? [entry.best.timeMs] : [])));
  const byImplementation = {
    head: 'Implementation',
    isWords: true,
    isForeign: true,
    cell: ({ design }: RankRow) => design.implementation ?? '',
  };
  return {
    assumed: makeTable(
      [
        { head: 'Input', isWords: true, isForeign: true, cell: ({ label }) => label },
        { head: 'Value', isForeign: true, cell: ({ value }) => value },
        { head: 'Usual', isForeign: true, cell: ({ usual }) => usual },
        { head: 'Source', isWords: true, isForeign: true, isLong: true, cell: ({ note }) => note },
      ],
      facts.assumed,
    ),
    parts: makeTable(
      [
        { head: 'Part', isWords: true, cell: ({ label }) => label },
        { head: unit.name, cell: ({ id }) => timeIn(unit, parts[id]) },
        { head: 'Share', cell: ({ id }) => percent(parts[id] / breakdown.timeMs) },
        { head: 'Meaning', isWords: true, isLong: true, isOfPage: true, cell: ({ hint }) => hint },
      ],
      BREAKDOWN_PARTS.filter(({ id }) => parts[id] > 0),
    ),
    devices: makeTable(
      [
        { head: 'Device', isWords: true, isForeign: true, cell: ({ device }) => device.name },
        {
          head: 'Best design',
          isWords: true,
          isCode: true,
          cell: ({ best: own }) => (own ? designText(own.design) : NO_DESIGN),
        },
        { head: 'Time', cell: ({ best: own }) => (own ? timeText(own.timeMs) : '–') },
        { head: 'To fastest', cell: ({ best: own }) => (own ? `+${percent(own.timeMs / fastest - 1)}` : '–') },
      ],
      devices,
    ),
    implementations: makeTable(
      [
        { head: 'Best time', isWords: true, isForeign: true, cell: ({ name }) => name },
        ...devices.map(({ device }, at) => ({
          head: device.name,
          cell: ({ cells }: ReportFacts['implementations'][number]) => cells[at],
        })),
      ],
      facts.implementations,
    ),
    near: makeTable(
      [
        { head: 'Rank', cell: (row) => whole(row.rank) },
        { head: 'Device', isWords: true, isForeign: true, cell: (row) => row.device },
        ...(facts.implementations.length > 0 ? [byImplementation] : []),
        { head: 'Threads/unit', cell: (row) => row.design.threadsPerUnit },
        { head: 'Units/thread', cell: (row) => row.design.unitsPerThread },
        { head: 'Balancing', isWords: true, isForeign: true, cell: (row) => row.design.balancing },
        { head: 'Loop', isWords: true, cell: (row) => row.design.loop },
        { head: 'Block', cell: (row) => (isCpuDesign(row.design) ? '–' : blockText(row.design)) },
        {
          head: 'Grid',
          cell: (row) => (isCpuDesign(row.design) ? coresText(row.design.gridBlocks) : whole(row.design.gridBlocks)),
        },
        { head: 'Cap', cell: (row) => row.design.registerCap ?? '–' },
        { head: unit.name, cell: (row) => timeIn(unit, row.timeMs) },
        { head: 'To best', cell: (row) => `+${percent(row.timeMs / best - 1)}` },
      ],
      rows,
    ),
  };
}
