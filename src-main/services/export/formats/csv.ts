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

/**
 * Writes the ranking as CSV. `time_ms` is at the best fidelity of each row; the columns of another fidelity are present
 * if any row has it. Measured times and `predicted_kernel_ms` cover only the kernel; `predicted_ms` includes balancing.
 * `evidence` says whether there are measurements of the device and the kind of implementation.
 */
function rankingCsv(view: RunView, list: TableList): AsyncGenerator<string, void> {
  const fastest = fastestInTable(view, list);
  const simulated = fastest.simulated !== null;
  const measured = fastest.measured !== null;
  const several = view.ranking.axes.implementations !== undefined;
  const tiles = view.ranking.axes.blockWidth !== undefined;
  const head = [
    ...[
      'rank',
      'device',
      ...(several ? ['implementation'] : []),
      'threads_per_unit',
      'units_per_thread',
      'loop',
      'balancing',
      'block_threads',
      ...(tiles ? ['block_width'] : []),
      'grid_blocks',
    ],
    ...['register_cap', 'time_ms', 'mean_loss', 'aggregate_loss', 'occupancy_fraction', 'resident_blocks', 'waves'],
    'limited_by',
    ...(simulated || measured ? ['fidelity', 'predicted_ms'] : []),
    ...(simulated
      ? ['simulated_ms', 'simulated_low_ms', 'simulated_high_ms', 'simulated_median_ms', 'replications']
      : []),
    ...(measured
      ? ['measured_ms', 'measured_low_ms', 'measured_high_ms', 'repeats', 'measured_on', 'predicted_kernel_ms']
      : []),
    ...['implementation_kind', 'evidence'],
    ...(list.weighed ? ['expected_regret', 'chance_best'] : []),
  ];
  const line = (row: ExportRow) => [
    row.rank,
    row.deviceId,
    ...(several ? [oneLine(row.design.implementation!)] : []),
    row.design.threadsPerUnit,
    row.design.unitsPerThread,
    row.design.loop,
    row.design.balancing,
    row.design.blockThreads,
    ...(tiles ? [row.design.blockWidth ?? null] : []),
    row.design.gridBlocks,
    row.design.registerCap,
    row.timeMs,
    row.meanLoss,
    row.aggregateLoss,
    row.occupancyFraction,
    row.residentBlocks,
    row.waves,
    row.limitedBy.join(' '),
    ...(simulated || measured ? [row.fidelity, row.predictedMs] : []),
    ...(simulated
      ? [
          row.simulated?.meanMs ?? null,
          row.simulated?.lowMs ?? null,
          row.simulated?.highMs ?? null,
          row.simulated?.medianMs ?? null,
          row.simulated?.replications ?? null,
        ]
      : []),
    ...(measured
      ? [
          row.measured?.medianMs ?? null,
          row.measured?.lowMs ?? null,
          row.measured?.highMs ?? null,
          row.measured?.repeats ?? null,
          row.measured ? oneLine(row.measured.measuredOn) : null,
          row.measured && row.predictedMs - row.orderingMs,
        ]
      : []),
    ...[row.kind, row.hasEvidence ? 'public' : 'none'],
    ...(list.weighed ? regretOf(row.designIndex) : []),
  ];
  return joined(lines());

  function regretOf(design: number): readonly (number | null)[] {
    const one = list.weighed?.get(design);
    return one && Number.isFinite(one.expectedRegret) ? [one.expectedRegret, one.chanceBest] : [null, null];
  }

  function* lines(): Generator<string, void> {
    yield `${tableText([head])}\n`;
    for (const row of exportRows(view, list)) yield `${tableText([line(row)])}\n`;
  }
}
