import { tableText } from '../../../../src-workers/domain/csv.ts';
import type { ExportRow } from '../../../contract/api.ts';
import type { RunView } from '../../runs/run-view.ts';
import { exportRows, fastestInTable, tableFormat, type TableList } from '../tables.ts';
import { joined, oneLine } from '../text.ts';

export const csv = tableFormat({
  id: 'csv',
  label: 'CSV',
  text: 'The best designs, for a spreadsheet',
  words: 'table spreadsheet',
  extension: 'csv',
  mediaType: 'text/csv',
  plain: true,
  weighs: true,
  write: rankingCsv,
});

type Column = readonly [name: string, cell: (row: ExportRow) => string | number | null | undefined];

const columnsIf = (present: boolean, columns: readonly Column[]): readonly Column[] => (present ? columns : []);

const SIMULATED: readonly Column[] = [
  ['simulated_ms', ({ simulated }) => simulated?.meanMs],
  ['simulated_low_ms', ({ simulated }) => simulated?.lowMs],
  ['simulated_high_ms', ({ simulated }) => simulated?.highMs],
  ['simulated_median_ms', ({ simulated }) => simulated?.medianMs],
  ['replications', ({ simulated }) => simulated?.replications],
];

const MEASURED: readonly Column[] = [
  ['measured_ms', ({ measured }) => measured?.medianMs],
  ['measured_low_ms', ({ measured }) => measured?.lowMs],
  ['measured_high_ms', ({ measured }) => measured?.highMs],
  ['repeats', ({ measured }) => measured?.repeats],
  ['measured_on', ({ measured }) => measured && oneLine(measured.measuredOn)],
  ['predicted_kernel_ms', ({ measured, predictedMs, orderingMs }) => measured && predictedMs - orderingMs],
];

/**
 * `time_ms` is the measured time of a row if there is one, else the simulated or predicted one. Measured times and
 * `predicted_kernel_ms` cover only the kernel, but `predicted_ms` includes ordering the units. `evidence` says whether
 * the device has measurements of this kind of implementation.
 */
function rankingCsv(view: RunView, list: TableList): AsyncGenerator<string, void> {
  const fastest = fastestInTable(view, list);
  const simulated = fastest.simulated !== null;
  const measured = fastest.measured !== null;
  const { axes } = view.ranking;
  const regretOf = ({ designIndex }: ExportRow) => {
    const one = list.weighed?.get(designIndex);
    return one && Number.isFinite(one.expectedRegret) ? one : null;
  };
  const columns: readonly Column[] = [
    ['rank', ({ rank }) => rank],
    ['device', ({ deviceId }) => deviceId],
    ...columnsIf(axes.implementations !== undefined, [
      ['implementation', ({ design }) => oneLine(design.implementation!)],
    ]),
    ['threads_per_unit', ({ design }) => design.threadsPerUnit],
    ['units_per_thread', ({ design }) => design.unitsPerThread],
    ['loop', ({ design }) => design.loop],
    ['balancing', ({ design }) => design.balancing],
    ['block_threads', ({ design }) => design.blockThreads],
    ...columnsIf(axes.blockWidth !== undefined, [['block_width', ({ design }) => design.blockWidth]]),
    ['grid_blocks', ({ design }) => design.gridBlocks],
    ['register_cap', ({ design }) => design.registerCap],
    ['time_ms', ({ timeMs }) => timeMs],
    ['mean_loss', ({ meanLoss }) => meanLoss],
    ['aggregate_loss', ({ aggregateLoss }) => aggregateLoss],
    ['occupancy_fraction', ({ occupancyFraction }) => occupancyFraction],
    ['resident_blocks', ({ residentBlocks }) => residentBlocks],
    ['waves', ({ waves }) => waves],
    ['limited_by', ({ limitedBy }) => limitedBy.join(' ')],
    ...columnsIf(simulated || measured, [
      ['fidelity', ({ fidelity }) => fidelity],
      ['predicted_ms', ({ predictedMs }) => predictedMs],
    ]),
    ...columnsIf(simulated, SIMULATED),
    ...columnsIf(measured, MEASURED),
    ['implementation_kind', ({ kind }) => kind],
    ['evidence', ({ hasEvidence }) => (hasEvidence ? 'public' : 'none')],
    ...columnsIf(list.weighed !== undefined, [
      ['expected_regret', (row) => regretOf(row)?.expectedRegret],
      ['chance_best', (row) => regretOf(row)?.chanceBest],
    ]),
  ];
  return joined(lines());

  function* lines(): Generator<string, void> {
    yield `${tableText([columns.map(([name]) => name)])}\n`;
    for (const row of exportRows(view, list)) yield `${tableText([columns.map(([, cell]) => cell(row) ?? null)])}\n`;
  }
}
