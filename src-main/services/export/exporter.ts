import type { MeasurementRecord, RunRecord } from '../../../db/records.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import type { Result } from '../../../src-workers/domain/result.ts';
import { fileStem } from '../../../src-workers/domain/text.ts';
import { rankedDesigns, type RankingFilter } from '../../../src-workers/sweep/ranking.ts';
import type { ExportDocument, ExportFormat, RankRow } from '../../contract/api.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import type { Context } from '../context.ts';
import type { RecommendedDesign } from '../ranking/recommended.ts';
import { rankRow, tiesIn } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';
import type { CodeSource } from './code.ts';

/** An export format is one file in `formats/` with a value of this type, and an entry in the list of `formats.ts`. */
export interface Exporter extends ExportFormat, Pick<ExportDocument, 'plain'> {
  write(job: ExportJob): Promise<Result<Rendered>>;
  readonly writeMeasured?: ((job: MeasuredJob) => Result<Rendered>) | undefined;
  /** A name for what `writeMeasured` writes, if the name of the format does not fit. */
  readonly measuredAs?: string | undefined;
  readonly code?: CodeForm;
}

export type FormatWords = Pick<ExportFormat, 'id' | 'label' | 'text' | 'words'>;

export interface CodeForm {
  /**
   * Present if the code cannot express every design. Returns the given design if it can be expressed. Otherwise, it
   * replaces a recommendation by the fastest design that the code can express, and fails for the user's own choice.
   */
  readonly narrow?: ((view: RunView, device: Device, picked: PickedRow) => Result<PickedRow>) | undefined;
  /**
   * Fails if the code lacks a feature of the design, or cannot hold one of its numbers.
   * @param width threads of a thread group of the device
   */
  document(base: string, source: CodeSource, row: RankRow, width: number): Result<ExportDocument>;
}

export interface CodeExporter extends Exporter {
  readonly code: CodeForm;
}

export interface PickedRow {
  readonly row: RankRow;
  readonly picked: RecommendedDesign | null;
}

export interface ExportJob {
  readonly context: Context;
  readonly view: RunView;
  readonly input: ProcedureArguments<'export.render'>;
  readonly base: string;
  readonly within: RankingFilter;
  readonly chosen: RankRow;
  readonly recommended: RecommendedDesign | null;
}

export interface MeasuredConfiguration {
  readonly configuration: Readonly<Record<string, number | string | boolean>>;
  readonly record: MeasurementRecord;
}

export interface MeasuredJob {
  readonly run: RunRecord;
  readonly measured: readonly MeasuredConfiguration[];
  readonly base: string;
  readonly metadata: Readonly<Record<string, unknown>> & { readonly device_name: string };
}

export interface Rendered extends Omit<ExportDocument, 'plain' | 'text' | 'next'> {
  readonly parts: AsyncIterator<string, void>;
}

export const runStem = (name: string): string => fileStem(name, 'run');

/** The rank is 0 if the design does not pass the filter. */
export function chosenRow(view: RunView, within: RankingFilter, designIndex: number): RankRow {
  const list = rankedDesigns(view.ranking, within, 'timeMs');
  const rank = list.indexOf(designIndex) + 1;
  return rankRow(view, designIndex, rank, rank > 0 && tiesIn(view, list).isTied(designIndex));
}
