import { stat } from 'node:fs/promises';
import { isCpuDesign } from '../../src-workers/domain/design.ts';
import { evidenceGaps, tieBandText } from '../../src-workers/domain/evidence.ts';
import { assumedFacts, assumedPhrase, trafficPhrase } from '../../src-workers/domain/provenance.ts';
import { fail, ok, unwrap, type Result } from '../../src-workers/domain/result.ts';
import { timeText } from '../../src-workers/domain/times.ts';
import { ACCURACY_TEXT } from '../contract/accuracy.ts';
import { countsText } from '../contract/counts.ts';
import type { BestDesigns, BestRow, ExportDocument, RunSummary } from '../contract/api.ts';
import { documentParts } from '../contract/document.ts';
import type { ProcedureInput } from '../contract/procedures.ts';
import { deviceRows } from '../services/devices/compare.ts';
import { MAX_DESIGNS } from '../contract/study.ts';
import type { Engine } from '../services/engine.ts';
import { EXPORTERS } from '../services/export/formats.ts';
import { plainRow } from '../services/export/tables.ts';
import { counted, jsonParts } from '../services/export/text.ts';
import { writeFor } from '../services/files/files.ts';
import { printedPage } from '../services/machine/print.ts';
import { designWords } from '../services/ranking/design-text.ts';
import { fileKind, readImportFile } from '../services/imports/imports.ts';
import { reproduction } from '../services/models/reproduction.ts';
import { readStudyFile } from '../services/studies/studies.ts';
import { checkResumable, reportMeasurement } from './bench.ts';
import { contradictedCell, DESIGN_HEAD, designCells, regimeFields, sayContradicted } from './design-columns.ts';
import { followRun, runId } from './follow.ts';
import { reportSimulations } from './simulate.ts';
import {
  EXIT_FAILED,
  EXIT_OK,
  plain,
  printJson,
  printParts,
  printTable,
  reportFailure,
  say,
  timeCells,
  type Terminal,
} from './output.ts';

interface Options {
  readonly json?: boolean;
  /** Also prints the basis of the answer. */
  readonly verbose?: boolean;
}

/** Returns one row of the `--json` output. */
function jsonRow(row: BestRow) {
  return { ...plainRow(row), regime: regimeFields(row.regime), order: row.order };
}

/** The number of rows that are read at a time. */
const PAGE_ROWS = 10_000;

/** The best designs, read page by page so that memory holds only one page. */
interface BestPages extends BestDesigns {
  /** Yields all rows, each with the number of its equal designs if equal designs are grouped. */
  allRows(): AsyncGenerator<{ readonly row: BestRow; readonly equal?: number }, void>;
}

async function bestOf(
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

async function* jsonRows(pages: BestPages): AsyncGenerator<object, void> {
  for await (const { row, ...equal } of pages.allRows()) yield { ...jsonRow(row), ...equal };
}

/** Reads all rows at once, because a column of a table is as wide as its widest cell. */
async function allOf(pages: BestPages): Promise<Pick<BestDesigns, 'rows' | 'equal'>> {
  const rows: BestRow[] = [];
  const equal: number[] = [];
  for await (const each of pages.allRows()) {
    rows.push(each.row);
    if (each.equal !== undefined) equal.push(each.equal);
  }
  return { rows, equal: pages.equal && equal };
}

/**
 * Returns the JSON fields about certainty: the tie band, the evidence for each device, and whether designs are missing.
 */
function evidenceFields({ tieBand, devices, partial }: BestDesigns) {
  return { tieBand, partial, evidence: Object.fromEntries(devices.map(({ id, evidence }) => [id, evidence])) };
}

/** Says whether designs are missing, and which devices and kinds of implementations have no public measurements. */
function sayUnmeasured(terminal: Terminal, { devices, partial }: BestDesigns, deviceId?: string): void {
  if (partial !== null) say(terminal, partial);
  const gaps = evidenceGaps(devices.filter(({ id }) => (deviceId ?? id) === id));
  if (gaps) say(terminal, gaps.text);
}

/** The lines under a table: none, the meaning of its marks, or also the accuracy of its times. */
type Legend = 'none' | 'marks' | 'whole';
const legendFor = ({ verbose }: Options): Legend => (verbose ? 'whole' : 'marks');

function printDesigns(
  terminal: Terminal,
  rows: readonly BestRow[],
  { tieBand, equal }: BestDesigns,
  legend: Legend,
): void {
  const simulated = rows.some((row) => row.simulated);
  const measured = rows.some((row) => row.measured);
  // Only predictions include the time of balancing, so a note explains the difference.
  const balanced = rows.some((row) => row.orderingMs > 0);
  const contradicted = rows.some((row) => contradictedCell(row) !== '');
  const several = rows.some((row) => row.design.implementation !== undefined);
  const { unit, cell } = timeCells(
    rows.flatMap((row) => [row.predictedMs, row.simulated?.meanMs, row.measured?.medianMs]),
  );
  const head = [
    'rank',
    ...(equal ? ['equal'] : []),
    'design',
    'device',
    ...(several ? ['implementation'] : []),
    ...DESIGN_HEAD,
    'cap',
    `predicted, ${unit}`,
    ...(simulated ? [`simulated, ${unit}`] : []),
    ...(balanced ? [`kernel, ${unit}`] : []),
    ...(measured ? [`measured, ${unit}`] : []),
    'agg. loss',
    'occ. %',
    'limited by',
    ...(contradicted ? [''] : []),
  ];
  const cells = rows.map((row, at) => [
    row.rank,
    ...(equal ? [equal[at]] : []),
    row.designIndex,
    row.device,
    ...(several ? [row.design.implementation!] : []),
    ...designCells(row.design),
    row.design.registerCap ?? '–',
    cell(row.predictedMs),
    ...(simulated ? [cell(row.simulated?.meanMs)] : []),
    ...(balanced ? [cell(row.predictedMs - row.orderingMs)] : []),
    ...(measured ? [cell(row.measured?.medianMs)] : []),
    row.aggregateLoss.toFixed(3),
    (row.occupancyFraction * 100).toFixed(1),
    row.limitedBy.join(' '),
    ...(contradicted ? [contradictedCell(row)] : []),
  ]);
  printTable(terminal, head, cells);
  if (legend === 'none') return;
  if (balanced)
    say(
      terminal,
      'Measured is the kernel alone, as is the prediction under kernel; predicted includes the time that balancing takes.',
    );
  if (rows.length > 1) {
    const within = legend === 'whole' ? tieBandText(tieBand) : `within ${(100 * tieBand.fraction).toFixed(0)} %`;
    say(terminal, `Predicted times ${within} of one another may be measured in another order.`);
  }
  if (legend === 'whole' && rows.some(({ design }) => !isCpuDesign(design))) say(terminal, ACCURACY_TEXT);
  sayContradicted(terminal, rows);
}

/** Prints a finished sweep: its counts and its best designs. `elapsedMs` is the time of this execution. */
async function reportSweep(
  engine: Engine,
  terminal: Terminal,
  { id: runId, enumerated, valid, invalid, kept }: RunSummary,
  elapsedMs: number,
  options: Options & { readonly top: number },
): Promise<number> {
  const found = await bestOf(engine, { runId, limit: Math.min(options.top, MAX_DESIGNS) });
  if (!found.ok) return reportFailure(terminal, found.error);
  const { study, devices, ofDevices, ofImplementations, recommended, inputs } = found.value;
  if (options.json) {
    const document = jsonParts({
      runId,
      study,
      designs: { enumerated, valid, invalid, ...(kept && { kept: valid, predicted: kept.predicted }) },
      elapsedMs,
      best: jsonRows(found.value),
      bestOfDevices: ofDevices.map(jsonRow),
      ...(ofImplementations.length > 0 && { bestOfImplementations: ofImplementations.map(jsonRow) }),
      recommended: recommended && { ...jsonRow(recommended.row), ties: recommended.ties, rule: recommended.rule },
      inputs,
      ...evidenceFields(found.value),
    });
    await printParts(terminal, document);
    return EXIT_OK;
  }
  const { rows, equal } = await allOf(found.value);
  if (recommended) sayRecommended(terminal, recommended.row);
  say(
    terminal,
    `Run ${runId}, ${study}: ${countsText({ enumerated, valid, kept })}, in ${(elapsedMs / 1000).toFixed(2)} s.`,
  );
  if (invalid > 0 && (options.verbose || valid === 0)) {
    const reasons = found.value.invalid.map(({ text, count }) => `${count.toLocaleString('en')} ${text}`);
    say(terminal, `Not valid: ${reasons.join('; ')}.`);
  }
  if (rows.length > 0) {
    say(terminal, '');
    printDesigns(terminal, rows, { ...found.value, equal }, legendFor(options));
  }
  if (ofImplementations.length > 0) {
    say(terminal, '');
    say(terminal, 'The best design of each implementation:');
    printDesigns(terminal, ofImplementations, found.value, 'none');
  }
  if (devices.length > 1 && rows.length > 0) {
    say(terminal, '');
    say(terminal, 'The best design of each device:');
    printDesigns(terminal, ofDevices, found.value, 'none');
    const without = devices.filter(({ id }) => ofDevices.every(({ deviceId }) => deviceId !== id));
    const what = kept ? 'Without a design among the best' : 'Without a valid design';
    if (without.length > 0) say(terminal, `${what}: ${without.map(({ name }) => name).join(', ')}.`);
  }
  if (rows.length > 0) {
    say(terminal, '');
    sayUnmeasured(terminal, found.value);
  }
  if (!recommended) return EXIT_OK;
  const assumed = assumedFacts(recommended.inputs);
  if (!options.verbose) {
    if (assumed.length > 0)
      say(
        terminal,
        `${counted(assumed.length, 'input is', 'inputs are')} assumed. lockstep recommend STUDY says which design holds whatever they are; --verbose lists them.`,
      );
    return EXIT_OK;
  }
  if (recommended.ties > 1) say(terminal, recommended.rule);
  const traffic = trafficPhrase(recommended.inputs, recommended.row);
  if (traffic !== null) say(terminal, `Traffic: ${traffic}.`);
  say(terminal, `Assumed for ${recommended.row.device}: ${assumedPhrase(recommended.inputs)}.`);
  return EXIT_OK;
}

/** Prints the answer in one line, before its basis. */
function sayRecommended(terminal: Terminal, row: BestRow): void {
  say(
    terminal,
    `Recommended on ${row.device}: ${designWords(row.design)} (design ${row.designIndex}), predicted ${timeText(row.predictedMs)}.`,
  );
}

export async function sweepCommand(
  engine: Engine,
  terminal: Terminal,
  file: string,
  options: Options & { readonly top: number; readonly device?: readonly string[]; readonly best?: number },
): Promise<number> {
  const located = await readStudyFile(file);
  if (!located.ok) return reportFailure(terminal, located.error);
  const { baseFolder } = located.value;
  const study = { ...located.value.study, ...(options.device && { devices: [...options.device] }) };
  const start = performance.now();
  const run = await followRun(engine, terminal, 'Predicting', () =>
    engine.call('runs.start', {
      study,
      ...(baseFolder === null ? {} : { folder: baseFolder }),
      ...(options.best !== undefined && { best: options.best }),
    }),
  );
  return run.ok
    ? reportSweep(engine, terminal, run.value, performance.now() - start, options)
    : reportFailure(terminal, run.error);
}

export async function resumeCommand(
  engine: Engine,
  terminal: Terminal,
  run: string,
  options: Options & { readonly top: number },
): Promise<number> {
  const id = runId(run);
  if (!id.ok) return reportFailure(terminal, id.error, true);
  const resumable = await checkResumable(engine, terminal, id.value);
  if (!resumable.ok) return reportFailure(terminal, resumable.error);
  const start = performance.now();
  const done = await followRun(engine, terminal, 'Going on', () => engine.call('runs.resume', { id: id.value }));
  if (done.ok && done.value.kind === 'bench') return reportMeasurement(engine, terminal, done.value.id, options);
  if (done.ok && done.value.kind === 'simulate') return reportSimulations(engine, terminal, done.value, options);
  return done.ok
    ? reportSweep(engine, terminal, done.value, performance.now() - start, options)
    : reportFailure(terminal, done.error);
}

export async function rankCommand(
  engine: Engine,
  terminal: Terminal,
  run: string,
  options: Options & {
    readonly top: number;
    readonly device?: string;
    readonly groups: boolean;
    readonly bestOf?: string;
  },
): Promise<number> {
  const id = runId(run);
  if (!id.ok) return reportFailure(terminal, id.error, true);
  const found = await bestOf(engine, {
    runId: id.value,
    limit: Math.min(options.top, MAX_DESIGNS),
    groups: options.groups,
    ...(options.device === undefined ? {} : { deviceId: options.device }),
  });
  if (!found.ok) return reportFailure(terminal, found.error);
  if (options.bestOf !== undefined) {
    const { ofDevices, ofImplementations } = found.value;
    const rows = options.bestOf === 'device' ? ofDevices : ofImplementations;
    if (options.bestOf === 'implementation' && rows.length === 0)
      return reportFailure(terminal, {
        code: 'unsupported',
        message: `The study of run ${id.value} names no implementations. Use --best-of device, or leave --best-of out.`,
      });
    if (options.json)
      printJson(terminal, {
        runId: id.value,
        bestOf: options.bestOf,
        rows: rows.map(jsonRow),
        ...evidenceFields(found.value),
      });
    else {
      printDesigns(terminal, rows, { ...found.value, equal: null }, 'whole');
      sayUnmeasured(terminal, found.value, options.device);
    }
    return EXIT_OK;
  }
  if (options.json)
    await printParts(
      terminal,
      jsonParts({ runId: id.value, rows: jsonRows(found.value), ...evidenceFields(found.value) }),
    );
  else {
    const { rows, equal } = await allOf(found.value);
    printDesigns(terminal, rows, { ...found.value, equal }, 'whole');
    sayUnmeasured(terminal, found.value, options.device);
  }
  return EXIT_OK;
}

export async function runsList(engine: Engine, terminal: Terminal, options: Options): Promise<number> {
  const runs = await engine.call('runs.list', {});
  if (!runs.ok) return reportFailure(terminal, runs.error);
  if (options.json) printJson(terminal, { runs: runs.value });
  else if (runs.value.length === 0) say(terminal, 'No runs yet: lockstep sweep STUDY.json makes one.');
  else {
    const { unit, cell } = timeCells(runs.value.map(({ bestTimeMs }) => bestTimeMs));
    printTable(
      terminal,
      ['run', 'kind', 'state', 'name', 'started', 'designs', 'valid', `best, ${unit}`, 'best design'],
      runs.value.map((row) => [
        row.id,
        row.kind,
        row.state,
        row.name,
        row.startedAt,
        row.enumerated,
        row.valid,
        cell(row.bestTimeMs),
        row.bestDesign ?? '',
      ]),
    );
  }
  return EXIT_OK;
}

export async function runsShow(engine: Engine, terminal: Terminal, run: string, options: Options): Promise<number> {
  const id = runId(run);
  if (!id.ok) return reportFailure(terminal, id.error, true);
  const detail = await engine.call('runs.get', { id: id.value });
  if (!detail.ok) return reportFailure(terminal, detail.error);
  const value = detail.value;
  if (options.json) {
    printJson(terminal, value);
    return EXIT_OK;
  }
  const lines: [string, string][] = [
    ['Run', `${value.id}, ${value.name}`],
    ...(value.study ? [['Study', value.study.name] as [string, string]] : []),
    ['Kind', value.sourceRunId === null ? value.kind : `${value.kind} of run ${value.sourceRunId}`],
    ['State', value.error ? `${value.state}: ${value.error}` : value.state],
    ['Started', value.startedAt],
    ['Took', `${(value.elapsedMs / 1000).toFixed(2)} s`],
    [
      value.kind === 'bench' || value.kind === 'import' ? 'Cases' : 'Designs',
      value.kept
        ? countsText(value)
        : `${value.enumerated.toLocaleString('en')}, ${value.valid.toLocaleString('en')} valid, ${value.invalid.toLocaleString('en')} invalid`,
    ],
    ['Devices', value.devices.map((device) => device.name).join(', ') || '–'],
    ['Versions', [`Lockstep ${value.appVersion}`, value.modelVersion, `seed ${value.seed}`].filter(Boolean).join(', ')],
    ['Machine', value.machine || '–'],
    ['Tags', value.tags.join(', ') || '–'],
    ['Note', value.note || '–'],
    ['Size', `${(value.bytes / 1e6).toFixed(1)} MB`],
  ];
  for (const [label, text] of lines) say(terminal, `${label.padEnd(9)} ${text}`);
  return EXIT_OK;
}

export async function devicesList(engine: Engine, terminal: Terminal, options: Options): Promise<number> {
  const devices = await engine.call('devices.list', {});
  if (!devices.ok) return reportFailure(terminal, devices.error);
  const evidence = await engine.call('evidence.devices', {});
  if (!evidence.ok) return reportFailure(terminal, evidence.error);
  const timesOf = (id: string): string => {
    const count = evidence.value[id]?.agreement.reduce((sum, one) => sum + one.count, 0);
    return count === undefined ? 'none' : `${count.toLocaleString('en')} times`;
  };
  if (options.json)
    printJson(terminal, {
      devices: devices.value.map((device) => ({ ...device, evidence: evidence.value[device.id] ?? null })),
    });
  else
    printTable(
      terminal,
      ['id', 'name', 'kind', 'architecture', 'SMs', 'GHz', 'GB/s', 'width', 'evidence'],
      devices.value.map((device) =>
        device.kind === 'gpu'
          ? [
              device.id,
              device.name,
              'gpu',
              device.architecture,
              device.multiprocessors,
              (device.clockMhz / 1000).toFixed(2),
              device.memoryBandwidthGbS,
              device.threadGroupWidth,
              timesOf(device.id),
            ]
          : [
              ...[device.id, device.name, 'cpu', device.vendor, device.cores, '–', device.fullBandwidthGbS, '–'],
              timesOf(device.id),
            ],
      ),
    );
  return EXIT_OK;
}

/** Compares devices side by side, either GPUs or CPUs. */
export async function compareCommand(
  engine: Engine,
  terminal: Terminal,
  ids: readonly string[],
  options: Options,
): Promise<number> {
  if (ids.length < 2)
    return reportFailure(terminal, { code: 'bad-input', message: 'Specify at least 2 devices to compare.' }, true);
  const chosen = await engine.call('devices.get', { ids: [...ids] });
  const table = chosen.ok ? deviceRows(chosen.value) : chosen;
  if (!table.ok) return reportFailure(terminal, table.error);
  if (options.json) printJson(terminal, table.value);
  else
    printTable(
      terminal,
      ['', ...table.value.names],
      table.value.rows.map((row) => [
        row.label + (row.unit ? `, ${row.unit}` : ''),
        ...row.values.map((value) => Number(value.toPrecision(6))),
      ]),
    );
  return EXIT_OK;
}

/** Says how many designs a document lists, and why it lists no more. */
export function listedText(
  { listed, of, most = Infinity }: NonNullable<ExportDocument['designs']>,
  top: number,
): string {
  const known = `${listed.toLocaleString('en')} of ${of.toLocaleString('en')} designs, the best`;
  if (top >= most && listed === most) return `${known}, which is the limit of this format`;
  return listed < top ? `${known}; the other designs have the same launches` : `${known}; --top lists more`;
}

export async function exportCommand(
  engine: Engine,
  terminal: Terminal,
  run: string,
  options: Options & {
    readonly format: string;
    readonly output?: string;
    readonly design?: number;
    readonly device?: string;
    readonly top: number;
    readonly weigh?: boolean;
  },
): Promise<number> {
  const id = runId(run);
  if (!id.ok) return reportFailure(terminal, id.error, true);
  if (options.format === 'pdf' && options.output === undefined)
    return reportFailure(
      terminal,
      { code: 'bad-input', message: 'A PDF is not text. Specify a file: -o report.pdf' },
      true,
    );
  const isTable = EXPORTERS.some(({ id: format, about }) => format === options.format && about === 'table');
  if (options.design !== undefined && isTable)
    return reportFailure(
      terminal,
      {
        code: 'bad-input',
        message: `${options.format} is a table of the best designs, so --design does not change it. Specify --top and --device instead, or another format for one design.`,
      },
      true,
    );
  const rendered = await engine.call('export.render', {
    runId: id.value,
    format: options.format,
    limit: options.top,
    weigh: options.weigh ?? false,
    ...(options.design === undefined ? {} : { designIndex: options.design }),
    ...(options.device === undefined ? {} : { deviceId: options.device }),
  });
  if (!rendered.ok) return reportFailure(terminal, rendered.error);
  const { mediaType, fileName, designs, note } = rendered.value;
  const { output } = options;
  const listed = designs && designs.listed < designs.of ? listedText(designs, options.top) : null;
  const parts = documentParts(engine, rendered.value);
  if (output === undefined && !options.json) {
    await printParts(terminal, parts);
    if (listed !== null) terminal.err(`${listed}.\n`);
    if (note !== undefined) terminal.err(`${plain(note)}\n`);
    return EXIT_OK;
  }
  let bytes = 0;
  async function* counted(written: (part: string) => string): AsyncGenerator<string, void> {
    for await (const part of parts) {
      bytes += Buffer.byteLength(part);
      yield written(part);
    }
  }
  const about = {
    runId: id.value,
    fileName,
    mediaType,
    file: output ?? null,
    ...(designs && { designs }),
    ...(note && { note }),
  };
  if (output === undefined) {
    terminal.out(`${JSON.stringify(about, null, 2).slice(0, -2)},\n  "text": "`);
    await printParts(
      terminal,
      counted((part) => JSON.stringify(part).slice(1, -1)),
    );
    terminal.out(`",\n  "bytes": ${bytes}\n}\n`);
    return EXIT_OK;
  }
  const replaced = await replaceable(output);
  if (!replaced.ok) return reportFailure(terminal, replaced.error);
  let content: Parameters<typeof writeFor>[1] = counted((part) => part);
  if (options.format === 'pdf') {
    const page: string[] = [];
    for await (const part of parts) page.push(part);
    const printed = await printedPage(page.join(''));
    if (!printed.ok) return reportFailure(terminal, printed.error);
    content = printed.value;
    bytes = content.length;
  }
  const written = await writeFor(output, content);
  if (!written.ok) return reportFailure(terminal, written.error);
  if (options.json) printJson(terminal, { ...about, bytes, replaced: replaced.value });
  else {
    const instead = replaced.value ? ', which replaced the existing file' : '';
    terminal.err(`Wrote ${output}${instead}${listed === null ? '' : `: ${listed}`}.\n`);
    if (note !== undefined) terminal.err(`${plain(note)}\n`);
  }
  return EXIT_OK;
}

/** A larger file is neither a study nor a device. */
const MAX_OWN_BYTES = 4_000_000;

/** Returns whether an existing file would be replaced. Fails if that file is a study or a device. */
async function replaceable(path: string): Promise<Result<boolean>> {
  const info = await stat(path).catch(() => null);
  if (!info?.isFile()) return ok(false);
  const bytes = info.size <= MAX_OWN_BYTES ? await readImportFile(path) : null;
  const kind = bytes?.ok ? fileKind(bytes.value).kind : null;
  return kind === 'study' || kind === 'device'
    ? fail('conflict', `${path} holds a ${kind}, which the document would overwrite. Specify another file.`)
    : ok(true);
}

export async function reproduceCommand(
  terminal: Terminal,
  paper: string | undefined,
  options: Options,
): Promise<number> {
  const tables = reproduction(paper);
  if (!tables.ok) return reportFailure(terminal, tables.error, true);
  const passed = tables.value.every((table) => table.passed);
  if (options.json) printJson(terminal, { tables: tables.value });
  else
    for (const table of tables.value) {
      const unit = table.unit === '1' ? '' : `, ${table.unit}`;
      say(terminal, table.citation);
      say(terminal, `${table.table}${unit}: ${table.passed ? 'reproduced' : 'NOT reproduced'}`);
      printTable(
        terminal,
        ['', 'paper', 'ours', 'error', 'tolerance', ''],
        table.rows.map((row) => [
          row.label,
          row.paper,
          Number(row.ours.toPrecision(7)),
          row.errorKind === 'relative' ? `${(row.error * 100).toFixed(3)} %` : row.error.toPrecision(3),
          row.errorKind === 'relative' ? `${(row.tolerance * 100).toFixed(3)} %` : row.tolerance,
          row.passed ? 'ok' : 'FAILED',
        ]),
      );
      for (const note of table.notes) say(terminal, `  ${note}`);
      say(terminal, '');
    }
  if (passed) return EXIT_OK;
  const failed = fail(
    'conflict',
    `${tables.value
      .filter((table) => !table.passed)
      .map((table) => `${table.paper} ${table.table}`)
      .join(', ')}: outside tolerance`,
  );
  return failed.ok ? EXIT_FAILED : reportFailure(terminal, failed.error);
}
