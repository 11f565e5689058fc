import { evidenceGaps } from '../../../src-workers/domain/evidence.ts';
import { rankedDesigns, type RankingFilter } from '../../../src-workers/sweep/ranking.ts';
import { isContradicted } from '../../contract/accuracy.ts';
import type { UncertainDesign } from '../../contract/advice.ts';
import type { Design, ExportRow } from '../../contract/api.ts';
import type { RunView } from '../runs/run-view.ts';
import { APP_VERSION, MODEL_VERSION } from '../app/version.ts';
import { deviceEvidence } from '../evidence/tie-band.ts';
import { timedDevices } from '../evidence/timed-devices.ts';
import { bestFidelityRows } from '../ranking/best.ts';
import { inputsByDevice } from '../ranking/recommended.ts';
import { fastestOf, type FastestFound } from '../ranking/fidelity.ts';
import { ALL_VALID, bestRows, tiesIn } from '../ranking/rows.ts';
import { joined, jsonParts } from './text.ts';
import { tableText } from '../../../src-workers/domain/csv.ts';

/** A design as the command line and exports print it. */
export function designFields(design: Design) {
  return {
    ...(design.implementation !== undefined && { implementation: design.implementation }),
    threadsPerUnit: design.threadsPerUnit,
    unitsPerThread: design.unitsPerThread,
    balancing: design.balancing,
    blockThreads: design.blockThreads,
    ...(design.blockWidth !== undefined && { blockWidth: design.blockWidth }),
    gridBlocks: design.gridBlocks,
    loop: design.loop,
    registerCap: design.registerCap,
    ...(design.classes && { classes: design.classes }),
  };
}

/** A row as the command line and exports print it. */
export function plainRow(row: ExportRow, weighed?: UncertainDesign) {
  return {
    rank: row.rank,
    device: row.deviceId,
    design: designFields(row.design),
    timeMs: row.timeMs,
    fidelity: row.fidelity,
    predictedMs: row.predictedMs,
    simulatedMs: row.simulated && {
      mean: row.simulated.meanMs,
      low: row.simulated.lowMs,
      high: row.simulated.highMs,
      median: row.simulated.medianMs,
      standardDeviation: row.simulated.standardDeviationMs,
      replications: row.simulated.replications,
    },
    contradicted: row.simulated ? isContradicted(row.predictedMs, row.simulated) : null,
    measuredMs: row.measured && {
      median: row.measured.medianMs,
      low: row.measured.lowMs,
      high: row.measured.highMs,
      repeats: row.measured.repeats,
      device: row.measured.measuredOn,
      // The kernel alone was timed, so this is its prediction; `predictedMs` includes balancing.
      predicted: row.predictedMs - row.orderingMs,
    },
    tied: row.tied,
    implementationKind: row.kind,
    hasEvidence: row.hasEvidence,
    meanLoss: row.meanLoss,
    aggregateLoss: row.aggregateLoss,
    occupancyFraction: row.occupancyFraction,
    residentBlocks: row.residentBlocks,
    waves: row.waves,
    limitedBy: row.limitedBy,
    ...(weighed && { expectedRegret: weighed.expectedRegret, chanceBest: weighed.chanceBest }),
    designIndex: row.designIndex,
  };
}

/** The designs that a table lists: the best within a filter. Tables are written row by row, since lists may be long. */
export interface TableList {
  readonly within: RankingFilter;
  readonly limit: number;
  /** The expected loss of each, if it was asked for. */
  readonly weighed?: ReadonlyMap<number, UncertainDesign> | undefined;
}

function exportRows(view: RunView, { within, limit }: TableList): Generator<ExportRow, void> {
  return bestFidelityRows(view, bestRows(view, within, limit), fastestInTable(view, { within, limit }));
}

function fastestInTable(view: RunView, { within, limit }: TableList): FastestFound {
  return fastestOf(view, rankedDesigns(view.ranking, within, 'timeMs').subarray(0, limit));
}

function* mapped<T, U>(values: Iterable<T>, of: (value: T) => U): Generator<U, void> {
  for (const value of values) yield of(value);
}

export function rankingJson(view: RunView, list: TableList): AsyncGenerator<string, void> {
  return jsonParts({
    lockstep: APP_VERSION,
    model: view.run.modelVersions.prediction ?? MODEL_VERSION,
    runId: view.run.id,
    startedAt: view.run.startedAt,
    study: view.study.study,
    inputs: inputsByDevice(view),
    evidence: Object.fromEntries(view.devices.map((device) => [device.id, deviceEvidence(device)])),
    tieBand: tiesIn(view, rankedDesigns(view.ranking, ALL_VALID, 'timeMs')).band,
    designs: { enumerated: view.run.enumeratedCount, valid: view.run.validCount, invalid: view.run.invalidCount },
    rows: mapped(exportRows(view, list), (row) => plainRow(row, list.weighed?.get(row.designIndex))),
  });
}

/**
 * The ranking as CSV. `time_ms` is at the best fidelity of each row; the columns of another fidelity are present if any
 * row has it. Measured times and `predicted_kernel_ms` are of the kernel alone; `predicted_ms` includes balancing.
 * `evidence` says whether there are public measurements of the device and the kind of implementation.
 */
export function rankingCsv(view: RunView, list: TableList): AsyncGenerator<string, void> {
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
    ...(several ? [row.design.implementation!] : []),
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
          row.measured?.measuredOn ?? null,
          row.measured && row.predictedMs - row.orderingMs,
        ]
      : []),
    ...[row.kind, row.hasEvidence ? 'public' : 'none'],
    ...(list.weighed ? regretOf(row.designIndex) : []),
  ];
  return joined(lines());

  function regretOf(design: number): readonly (number | null)[] {
    const one = list.weighed?.get(design);
    return [one?.expectedRegret ?? null, one?.chanceBest ?? null];
  }

  function* lines(): Generator<string, void> {
    yield `${tableText([head])}\n`;
    for (const row of exportRows(view, list)) yield `${tableText([line(row)])}\n`;
  }
}

/** A design as the parameters of Kernel Tuner. */
export function t4Configuration(device: string, design: Design) {
  return {
    device,
    ...(design.implementation !== undefined && { implementation: design.implementation }),
    threads_per_unit: design.threadsPerUnit,
    units_per_thread: design.unitsPerThread,
    loop: design.loop,
    balancing: design.balancing,
    block_size_x: design.blockThreads,
    ...(design.blockWidth !== undefined && { block_width: design.blockWidth }),
    grid_size_x: design.gridBlocks,
    register_cap: design.registerCap ?? 0,
  };
}

/**
 * Kernel Tuner's T4 results format, schema version 1.0.0 (results-schema.json of KernelTuner/kernel_tuner, after
 * odgaard/TuningSchema). Configuration values are numbers and strings; the time stands under `measurements`, as the
 * objective. Nothing was run, so no compilation, framework or run times are claimed.
 */
export function t4Json(view: RunView, { within, limit }: TableList): AsyncGenerator<string, void> {
  const model = view.run.modelVersions.prediction ?? MODEL_VERSION;
  const results = mapped(bestRows(view, within, limit), (row) => ({
    timestamp: view.run.finishedAt ?? view.run.startedAt,
    configuration: t4Configuration(row.deviceId, row.design),
    objectives: ['time'],
    times: { compilation_time: 0, runtimes: [], framework: 0, search_algorithm: 0, validation: 0 },
    invalidity: 'correct',
    correctness: 1,
    measurements: [{ name: 'time', value: row.timeMs, unit: 'ms' }],
  }));
  const metadata = {
    source: `Lockstep ${APP_VERSION}, model ${model}: predicted times, nothing was measured`,
    study: view.study.study.name,
    run: view.run.id,
    seed: view.run.seed,
    evidence:
      evidenceGaps(timedDevices(view))?.text ?? 'Public measurements of all devices and implementations are known.',
  };
  return jsonParts({ schema_version: '1.0.0', metadata, results });
}
