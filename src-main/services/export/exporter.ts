import type { MeasurementRecord, RunRecord } from '../../../db/records.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import type { Result } from '../../../src-workers/domain/result.ts';
import { rankedDesigns, type RankingFilter } from '../../../src-workers/sweep/ranking.ts';
import type { ExportDocument, ExportFormat, RankRow } from '../../contract/api.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import type { Context } from '../context.ts';
import type { RecommendedDesign } from '../ranking/recommended.ts';
import { rankRow, tiesIn } from '../ranking/rows.ts';
import type { RunView } from '../runs/run-view.ts';
import type { CodeSource } from './code.ts';

/**
 * A format of exports is one file in `formats/` with a value of this type, and an entry in the list of `formats.ts`.
 * The interface and the command line show its texts.
 */
export interface Exporter extends ExportFormat, Pick<ExportDocument, 'plain'> {
  /** Writes a sweep, or one of its designs. */
  write(job: ExportJob): Promise<Result<Rendered>>;
  /** Writes a measurement. Absent if the format cannot express measurements. */
  readonly writeMeasured?: ((job: MeasuredJob) => Result<Rendered>) | undefined;
  /** A name for what `writeMeasured` writes. It is set if the name of the format does not fit. */
  readonly measuredAs?: string | undefined;
  /** Writes the code of one design, also for an unsaved study. Absent if the format is no code. */
  readonly code?: CodeForm;
}

/** The texts that each format supplies itself. */
export type FormatWords = Pick<ExportFormat, 'id' | 'label' | 'text' | 'words'>;

export interface CodeForm {
  /**
   * Present if the code cannot express every design. Returns the picked design, or else the fastest design that the
   * code can express. Fails if the user chose a design that the code cannot express.
   */
  readonly narrow?: ((view: RunView, device: Device, picked: PickedRow) => Result<PickedRow>) | undefined;
  /**
   * Writes a design as code. Fails if the code lacks a feature of the design, or cannot hold one of its numbers.
   *
   * @param width threads of a thread group of the device
   */
  document(base: string, source: CodeSource, row: RankRow, width: number): Result<ExportDocument>;
}

export interface CodeExporter extends Exporter {
  readonly code: CodeForm;
}

/** A row, and how it was picked. `picked` is null if the user chose it. */
export interface PickedRow {
  readonly row: RankRow;
  readonly picked: RecommendedDesign | null;
}

/** The input of every exporter: the run, the designs in the document, and the chosen one. */
export interface ExportJob {
  readonly context: Context;
  readonly view: RunView;
  readonly input: ProcedureArguments<'export.render'>;
  /** The start of the file name. */
  readonly base: string;
  readonly within: RankingFilter;
  readonly chosen: RankRow;
  /** How the chosen design was picked. Null if the user chose it. */
  readonly recommended: RecommendedDesign | null;
}

/** A measured configuration, as the parameters of Kernel Tuner. */
export interface MeasuredConfiguration {
  readonly configuration: Readonly<Record<string, number | string | boolean>>;
  readonly record: MeasurementRecord;
}

/** A measurement to export. It has at least one configuration. */
export interface MeasuredJob {
  readonly run: RunRecord;
  readonly measured: readonly MeasuredConfiguration[];
  /** The start of the file name. */
  readonly base: string;
  /** The metadata of the document, about the measurement and its device. */
  readonly metadata: Readonly<Record<string, unknown>> & { readonly device_name: string };
}

/** A document whose text is made only while it is read. */
export interface Rendered extends Omit<ExportDocument, 'plain' | 'text' | 'next'> {
  readonly parts: AsyncIterator<string, void>;
}

/** Returns a study's name as the start of a file name that is safe on every system. */
export function fileStem(name: string): string {
  const words = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 60);
  return words.replace(/^-+|-+$/g, '') || 'run';
}

/** Returns a design as a row of the ranking within a filter. The rank is 0 if the design does not pass the filter. */
export function chosenRow(view: RunView, within: RankingFilter, designIndex: number): RankRow {
  const list = rankedDesigns(view.ranking, within, 'timeMs');
  const rank = list.indexOf(designIndex) + 1;
  return rankRow(view, designIndex, rank, rank > 0 && tiesIn(view, list).isTied(designIndex));
}
