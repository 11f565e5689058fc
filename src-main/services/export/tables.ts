import { ok } from '../../../src-workers/domain/result.ts';
import { rankedDesigns, type RankingFilter } from '../../../src-workers/sweep/ranking.ts';
import { isContradicted } from '../../contract/accuracy.ts';
import type { UncertainDesign } from '../../contract/advice.ts';
import type { Design, ExportRow } from '../../contract/api.ts';
import { weighedDesigns } from '../advice/weigh.ts';
import { bestFidelityRows } from '../ranking/best.ts';
import { fastestOf, type FastestFound } from '../ranking/fidelity.ts';
import { bestRows } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';
import type { Exporter, FormatWords } from './exporter.ts';

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
      // Only the kernel was measured, so its prediction is given without the time of ordering.
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

export interface TableList {
  readonly within: RankingFilter;
  readonly limit: number;
  readonly weighed?: ReadonlyMap<number, UncertainDesign> | undefined;
}

export function exportRows(view: RunView, { within, limit }: TableList): Generator<ExportRow, void> {
  return bestFidelityRows(view, bestRows(view, within, limit), fastestInTable(view, { within, limit }));
}

export function fastestInTable(view: RunView, { within, limit }: TableList): FastestFound {
  return fastestOf(view, rankedDesigns(view.ranking, within, 'timeMs').subarray(0, limit));
}

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

/** Kernel Tuner uses the mean of measured times as the time. */
export const meanTime = (timesMs: readonly number[]): number =>
  timesMs.reduce((sum, time) => sum + time, 0) / timesMs.length;

interface TableOptions extends FormatWords, Pick<Exporter, 'plain' | 'weighs' | 'writeMeasured'> {
  readonly extension: string;
  readonly mediaType: string;
  readonly most?: number;
  write(view: RunView, list: TableList): AsyncGenerator<string, void>;
}

export function tableFormat({ extension, mediaType, most = Infinity, write, ...entry }: TableOptions): Exporter {
  return {
    ...entry,
    about: 'table',
    rows: true,
    gpus: false,
    async write({ context, view, base, within, input }) {
      const limit = Math.min(input.limit, most);
      const ranked = rankedDesigns(view.ranking, within, 'timeMs');
      const designs = { listed: Math.min(limit, ranked.length), of: ranked.length, ...(most < Infinity && { most }) };
      const weighed =
        entry.weighs && input.weigh
          ? await weighedDesigns(context, view, Array.from(ranked.subarray(0, limit)))
          : ok(undefined);
      if (!weighed.ok) return weighed;
      const parts = write(view, { within, limit, weighed: weighed.value });
      return ok({ fileName: `${base}.${extension}`, mediaType, parts, designs });
    },
  };
}
