import { timeText } from '../../../src-workers/domain/times.ts';
import { parseBalancing } from '../../../src-workers/domain/balancing.ts';
import { fail, ok, unwrap, type Result } from '../../../src-workers/domain/result.ts';
import { AXIS } from '../../../src-workers/domain/space.ts';
import { axisPosition, rankedDesigns, type RankingFilter } from '../../../src-workers/sweep/ranking.ts';
import type { Device } from '../../../src-workers/domain/device.ts';
import { TUNER_FORMATS, type ExportDocument, type ExportFormat, type RankRow } from '../../contract/api.ts';
import type { ProcedureArguments } from '../../contract/procedures.ts';
import { ALL_VALID, bestRows, checkDesign, deviceFilter, rankRow, tiesIn } from '../ranking/rows.ts';
import { designText } from '../../../src-workers/domain/design.ts';
import { pickRule, recommendedDesign, runInputs, type RecommendedDesign } from '../ranking/recommended.ts';
import { MODEL_VERSION } from '../app/version.ts';
import { weighedDesigns } from '../advice/weigh.ts';
import type { Context } from '../context.ts';
import { tieBand } from '../evidence/tie-band.ts';
import type { Pool } from '../pool.ts';
import type { RunView } from '../runs/run-view.ts';
import { pickText, type CodeSource } from './code.ts';
import { designEvidence, reportFacts, type ReportFacts } from './facts.ts';
import { codeDocument, hasTiles } from './libraries.ts';
import { mapSection } from './map.ts';
import { markdownReport } from './markdown.ts';
import { htmlReport } from './page.ts';
import { chartDrawer } from './plots.ts';
import { rankingCsv, rankingJson, t4Json, type TableList } from './tables.ts';
import { kernelTunerSpace, threadGroupWidth, TUNER_NAMES, tunerDesigns, unitsTable } from './tuner-designs.ts';
import { imageOf } from './tiles.ts';
import { launchTrace } from './trace.ts';
import { kernelTunerScript, optunaModule, tritonModule, type TunerSource } from './tuners.ts';
import { joined } from './text.ts';

/** Media type of a page that is to be printed. */
const PDF = 'application/pdf';

/** A document whose text is made as it is read. */
export interface Rendered extends Omit<ExportDocument, 'text' | 'next'> {
  readonly parts: AsyncIterator<string, void>;
}

/** A run as a document to hand over. File names are safe on every system. */
export async function renderExport(
  context: Context,
  view: RunView,
  input: ProcedureArguments<'export.render'>,
): Promise<Result<Rendered>> {
  const { pool } = context;
  const { format, designIndex, deviceId, limit, weigh } = input;
  const known = designIndex === undefined ? ok(null) : checkDesign(view, designIndex);
  if (!known.ok) return known;
  const filter = deviceId === undefined ? ok(ALL_VALID) : deviceFilter(view, deviceId);
  if (!filter.ok) return filter;
  const within = filter.value;
  const recommended = designIndex === undefined ? recommendedDesign(view, within) : null;
  const chosen = chosenRow(view, within, designIndex ?? recommended?.designIndex);
  const where = deviceId === undefined ? '' : ` on ${deviceId}`;
  if (!chosen) return fail('conflict', `Run ${view.run.id} has no valid design${where} to export.`);
  if (deviceId !== undefined && chosen.deviceId !== deviceId)
    return fail('conflict', `Design ${chosen.designIndex} is of ${chosen.deviceId}. Specify one of ${deviceId}.`);
  if (chosen.invalid !== null)
    return fail('conflict', `Design ${chosen.designIndex} is invalid (${chosen.invalid}). Specify a valid one.`);
  const base = `${fileStem(view.study.study.name)}-run-${view.run.id}`;
  const document = (extension: string, mediaType: string, text: string): Result<Rendered> =>
    ok({ fileName: `${base}.${extension}`, mediaType, parts: joined([text]) });
  const table = async (
    extension: string,
    mediaType: string,
    write: (view: RunView, list: TableList) => AsyncGenerator<string, void>,
  ): Promise<Result<Rendered>> => {
    const ranked = rankedDesigns(view.ranking, within, 'timeMs');
    const designs = { listed: Math.min(limit, ranked.length), of: ranked.length };
    const weighed = weigh ? await weighedDesigns(context, view, Array.from(ranked.subarray(0, limit))) : ok(undefined);
    if (!weighed.ok) return weighed;
    const parts = write(view, { within, limit, weighed: weighed.value });
    return ok({ fileName: `${base}.${extension}`, mediaType, parts, designs });
  };
  const report = (extension: string, mediaType: string, write: (facts: ReportFacts) => string): Result<Rendered> => {
    const facts = reportFacts(view, [...bestRows(view, within, limit)], chosen, recommended, within);
    return facts.ok ? document(extension, mediaType, write(facts.value)) : facts;
  };
  switch (format) {
    case 'json':
      return table('json', 'application/json', rankingJson);
    case 'csv':
      return table('csv', 'text/csv', rankingCsv);
    case 't4':
      return table('t4.json', 'application/json', t4Json);
    case 'markdown':
      return report('md', 'text/markdown', markdownReport);
    case 'html':
    case 'pdf': {
      const draw = await chartDrawer();
      return report(format, format === 'html' ? 'text/html' : PDF, (facts) =>
        htmlReport(facts, draw, mapSection(view, chosen)),
      );
    }
    case 'cuda':
    case 'cuda-kernel':
    case 'wgsl':
    case 'wgsl-kernel':
    case 'python':
    case 'kokkos':
    case 'sycl':
    case 'cub':
    case 'trace':
    case 'triton':
    case 'kernel-tuner':
    case 'optuna': {
      const gpu = onGpu(view, chosen, recommended, deviceId !== undefined);
      if (!gpu.ok) return gpu;
      const device = view.devices.find(({ id }) => id === gpu.value.row.deviceId)!;
      const own = hasTiles(format) ? gpu.value : rowDesign(view, device, gpu.value);
      const segmented = format === 'cub' ? segmentedDesign(view, device, own) : ok(own);
      if (!segmented.ok) return segmented;
      const { row, picked } = segmented.value;
      const { ranking } = view;
      const note = fasterText(chosen, row, format);
      const launch = ranking.axes.launch[axisPosition(ranking, AXIS.launch, row.designIndex)];
      const source: CodeSource = {
        study: view.study.study,
        from: `run ${view.run.id}`,
        model: view.run.modelVersions.prediction ?? MODEL_VERSION,
        inputs: runInputs(view, device, row.design.implementation),
        pick: [note, picked ? pickText(picked.ties, picked.band, pickRule(device)) : ''].filter(Boolean).join(' '),
        evidence: designEvidence(view, device, row),
        law: view.predictor.plan.law,
        isGridFixed: launch.kind !== 'units-per-thread',
        image: imageOf(view.predictor.plan),
      };
      if (format === 'trace') {
        const { plan } = view.predictor;
        const seed = view.run.seed ?? 0;
        const drawn = await pool.run('timeline', { plan, design: row.designIndex, seed, replication: 0 });
        if (!drawn.ok) return drawn;
        const parts = launchTrace(source, row, drawn.value, view.measured.times.get(row.designIndex));
        return ok({ fileName: `${base}.trace.json`, mediaType: 'application/json', parts, ...(note && { note }) });
      }
      if (isTuner(format)) return renderTuner(pool, view, format, base, source, device, chosen, row, limit);
      const code = codeDocument(base, format, source, row, threadGroupWidth(device));
      return code.ok ? ok({ ...code.value, parts: joined([code.value.text]), ...(note && { note }) }) : code;
    }
  }
}

/** A design, and how it was picked; null where a person chose it. */
interface PickedRow {
  readonly row: RankRow;
  readonly picked: RecommendedDesign | null;
}

const rowsOnly = ({ ranking: { axes } }: RunView): ReadonlySet<number> =>
  new Set((axes.blockWidth ?? [null]).flatMap((width, at) => (width === null ? [at] : [])));

/** The design for code whose blocks are one row: the fastest such design, unless a person chose one. */
function rowDesign(view: RunView, device: Device, chosen: PickedRow): PickedRow {
  if (chosen.row.design.blockWidth === undefined || chosen.picked === null) return chosen;
  const positions = { [AXIS.device]: new Set([view.devices.indexOf(device)]), [AXIS.blockWidth]: rowsOnly(view) };
  const [best] = rankedDesigns(view.ranking, { ...ALL_VALID, positions }, 'timeMs');
  return best === undefined ? chosen : { row: chosenRow(view, ALL_VALID, best)!, picked: null };
}

/** The design for a segmented algorithm, which takes segments in order, with one or more threads each. */
function segmentedDesign(view: RunView, device: Device, { row, picked }: PickedRow): Result<PickedRow> {
  const isSegmented =
    row.design.loop === 'nested' && (row.design.classes !== undefined || row.design.balancing === 'none');
  if (picked === null)
    return isSegmented
      ? ok({ row, picked })
      : fail(
          'unsupported',
          `Design ${row.designIndex} has the order ${row.design.balancing} and a ${row.design.loop} loop. Specify one with the order none or mixed and a nested loop.`,
        );
  const { axes } = view.ranking;
  const kinds = axes.balancing.map((text) => unwrap(parseBalancing(text)).kind);
  const positions = {
    [AXIS.device]: new Set([view.devices.indexOf(device)]),
    [AXIS.blockWidth]: rowsOnly(view),
    [AXIS.loop]: new Set([axes.loop.indexOf('nested')]),
    [AXIS.balancing]: new Set(kinds.flatMap((kind, at) => (kind === 'mixed' || kind === 'none' ? [at] : []))),
  };
  const best = rankedDesigns(view.ranking, { ...ALL_VALID, positions }, 'timeMs')[0];
  return best === undefined
    ? fail(
        'conflict',
        `Run ${view.run.id} has no valid design with the order none or mixed and a nested loop on ${device.name}.`,
      )
    : ok({ row: chosenRow(view, ALL_VALID, best)!, picked: null });
}

/** Says that the chosen design is faster than the one that the format can express; empty where it is not. */
function fasterText(asked: RankRow, { timeMs }: RankRow, format: ExportFormat): string {
  if (asked.timeMs >= timeMs) return '';
  const form =
    format === 'cub'
      ? "CUB's segmented reduction"
      : format === 'kokkos'
        ? 'Kokkos'
        : format === 'sycl'
          ? 'SYCL'
          : isTuner(format)
            ? TUNER_NAMES[format]
            : 'Code for GPUs';
  return `${form} cannot express the faster design ${asked.designIndex} (${designText(asked.design)}, on ${asked.device}): ${timeText(asked.timeMs)}, against ${timeText(timeMs)} here.`;
}

const isTuner = (format: ExportFormat): format is (typeof TUNER_FORMATS)[number] =>
  TUNER_FORMATS.some((tuner) => tuner === format);

/** The best designs of a device for a tuner. */
async function renderTuner(
  pool: Pool,
  view: RunView,
  format: (typeof TUNER_FORMATS)[number],
  base: string,
  code: CodeSource,
  device: Device,
  asked: RankRow,
  chosen: RankRow,
  limit: number,
): Promise<Result<Rendered>> {
  const found = tunerDesigns(view, format, device, chosen, limit);
  if (!found.ok) return found;
  const { of } = found.value;
  const note = fasterText(asked, found.value.designs[0].row, format);
  const written = ({ designs }: Pick<TunerSource, 'designs'>, text: string): Result<Rendered> =>
    ok({
      // A name that Python can import.
      fileName: `${base}-${format}.py`.replaceAll('-', '_'),
      mediaType: 'text/x-python',
      parts: joined([text]),
      designs: { listed: designs.length, of, most: found.value.most },
      ...(note && { note }),
    });
  const source: TunerSource = { ...code, pick: note, ...found.value };
  const { run, study } = view;
  const sweep = { run: run.id, study: study.study.name, seed: run.seed };
  switch (format) {
    case 'triton': {
      const { designs, table } = await unitsTable(pool, view, source.designs, limit);
      const own = { ...source, model: MODEL_VERSION, designs };
      return written(own, tritonModule(own, table, threadGroupWidth(device), tieBand(device).fraction));
    }
    case 'kernel-tuner':
      return written(
        source,
        kernelTunerScript(
          source,
          run.finishedAt ?? run.startedAt,
          sweep,
          view.ranking.axes,
          kernelTunerSpace(view, device),
        ),
      );
    case 'optuna':
      return written(source, optunaModule(source, sweep, view.ranking.axes));
  }
}

/**
 * The row that code is written for, with how it was picked (`null` if a person chose it). This is the chosen row, or
 * the recommended one of a GPU if a CPU's row was picked without being asked for.
 */
function onGpu(
  view: RunView,
  chosen: RankRow,
  recommended: RecommendedDesign | null,
  isDeviceAsked: boolean,
): Result<PickedRow> {
  const gpus = view.devices.flatMap(({ kind }, at) => (kind === 'gpu' ? [at] : []));
  const isGpus = view.devices.some(({ id, kind }) => id === chosen.deviceId && kind === 'gpu');
  if (isGpus) return ok({ row: chosen, picked: recommended });
  const onGpus = { ...ALL_VALID, positions: { [AXIS.device]: new Set(gpus) } };
  const best = recommended === null || isDeviceAsked ? null : recommendedDesign(view, onGpus);
  const row = best && chosenRow(view, ALL_VALID, best.designIndex);
  return row ? ok({ row, picked: best }) : cpuHasNoCode(chosen);
}

export function cpuHasNoCode({ designIndex, device }: Pick<RankRow, 'designIndex' | 'device'>): Result<never> {
  return fail(
    'unsupported',
    `Design ${designIndex} is of the CPU ${device}, and launch code is for GPUs. Specify a design of a GPU.`,
  );
}

/** A study's name as the start of a file name. */
export function fileStem(name: string): string {
  const words = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 60);
  return words.replace(/^-+|-+$/g, '') || 'run';
}

function chosenRow(view: RunView, within: RankingFilter, designIndex: number | undefined): RankRow | null {
  if (designIndex === undefined) return null;
  const list = rankedDesigns(view.ranking, within, 'timeMs');
  const rank = list.indexOf(designIndex) + 1;
  return rankRow(view, designIndex, rank, rank > 0 && tiesIn(view, list).isTied(designIndex));
}
