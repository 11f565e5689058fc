import { stat } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { ok, type Result, unwrap, conflict } from '../../../src-workers/domain/result.ts';
import type { ExportDocument } from '../../contract/api.ts';
import { documentParts } from '../../contract/document.ts';
import type { Engine } from '../../services/engine.ts';
import { EXPORTERS } from '../../services/export/formats.ts';
import { writeFor } from '../../services/files/files.ts';
import { fileKind, readImportFile } from '../../services/imports/file-kind.ts';
import { printedPage } from '../../services/machine/print.ts';
import { command, type CommandLine, type GlobalOptions, positive, whole, call } from '../command-line.ts';
import { runId } from '../follow.ts';
import { plain, printParts, showSeconds, usage, type Terminal, badUsage } from '../output.ts';
import { listText } from '../../../src-workers/domain/text.ts';

const WEIGHING = EXPORTERS.flatMap(({ id, weighs }) => (weighs ? [id] : []));

function formatOption(): Option {
  const option = new Option('--format <format>', 'format of the document, one of the formats below');
  return option.argParser(new Option(option.flags).choices(EXPORTERS.map(({ id }) => id)).parseArg!);
}

export function addExport(program: Command, { terminal, withRuns }: CommandLine): void {
  const formats = EXPORTERS.map(({ id, text }) => `  ${id.padEnd(28)} ${text}`);
  command(program, 'export <run>', 'write a run as a document')
    .addOption(formatOption().makeOptionMandatory())
    .option('-o, --output <file>', 'file to write (default: standard output)')
    .option('--design <number>', 'recommend this design, not the best (its number as sweep and rank print it)', whole)
    .option('--device <id>', 'only designs of this device')
    .option('--top <count>', 'designs to list', positive, 100)
    .option(
      '--weigh',
      `in ${listText(WEIGHING)}: also the expected regret of each design, and its chance of being near the best`,
    )
    .action((run: string, options: ExportOptions) =>
      withRuns(options, (engine) => exportCommand(engine, terminal, run, options), { reads: true }),
    )
    .addHelpText(
      'after',
      `
Formats:
${formats.join('\n')}

The expected regret of --weigh is a natural logarithm of a ratio of times: 0.1548 is 16.7 % slower than the best design,
because e^0.1548 is 1.167.`,
    );
}

interface ExportOptions extends GlobalOptions {
  readonly format: string;
  readonly output?: string;
  readonly design?: number;
  readonly device?: string;
  readonly top: number;
  readonly weigh?: boolean;
}

export function listedText(
  { listed, of, most = Infinity }: NonNullable<ExportDocument['designs']>,
  top: number,
): string {
  const known = `the best ${listed.toLocaleString('en')} of ${of.toLocaleString('en')} designs`;
  if (top >= most && listed === most) return `${known}, which is the limit of this format`;
  return listed < top ? `${known}; the other designs have the same launches` : `${known}; --top lists more`;
}

async function exportCommand(engine: Engine, terminal: Terminal, run: string, options: ExportOptions): Promise<void> {
  const id = usage(runId(run));
  if (options.format === 'pdf' && options.output === undefined)
    throw badUsage('A PDF is not text. Specify a file: -o report.pdf');
  const isTable = EXPORTERS.some(({ id: format, about }) => format === options.format && about === 'table');
  if (options.design !== undefined && isTable)
    throw badUsage(
      `${options.format} is a table of the best designs, so --design does not change it. Specify --top and --device instead, or another format for one design.`,
    );
  if (options.weigh && !WEIGHING.some((id) => id === options.format))
    throw badUsage(
      `${options.format} has no column for the expected regret. Omit --weigh, or specify one of these formats: ${WEIGHING.join(', ')}.`,
    );
  const asked = call(engine, 'export.render', {
    runId: id,
    format: options.format,
    limit: options.top,
    weigh: options.weigh ?? false,
    designIndex: options.design,
    deviceId: options.device,
  });
  const rendered = await showSeconds(terminal, 'Exporting', asked);
  const { mediaType, fileName, designs, note } = rendered;
  const { output } = options;
  const listed = designs && designs.listed < designs.of ? listedText(designs, options.top) : null;
  const parts = documentParts(engine, rendered);
  if (output === undefined && !options.json) {
    await printParts(terminal, parts);
    if (listed !== null) terminal.err(`${listed}.\n`);
    if (note !== undefined) terminal.err(`${plain(note)}\n`);
    return;
  }
  let bytes = 0;
  async function* counted(written: (part: string) => string): AsyncGenerator<string, void> {
    for await (const part of parts) {
      bytes += Buffer.byteLength(part);
      yield written(part);
    }
  }
  const about = {
    runId: id,
    fileName,
    mediaType,
    file: output ?? null,
    ...(designs && { designs }),
    ...(note && { note }),
  };
  if (output === undefined) {
    // A document may exceed the longest string, so its parts are written one by one between the quotes of `text`.
    const empty = JSON.stringify({ ...about, text: '' }, null, 2);
    terminal.out(empty.slice(0, empty.lastIndexOf('"')));
    await printParts(
      terminal,
      counted((part) => JSON.stringify(part).slice(1, -1)),
    );
    terminal.out(`",\n  "bytes": ${bytes}\n}\n`);
    return;
  }
  const replaced = unwrap(await replaceable(output));
  let content: Parameters<typeof writeFor>[1] = counted((part) => part);
  if (options.format === 'pdf') {
    const page: string[] = [];
    for await (const part of parts) page.push(part);
    content = unwrap(await printedPage(page.join('')));
    bytes = content.length;
  }
  unwrap(await writeFor(output, content));
  if (options.json) terminal.json({ ...about, bytes, replaced });
  else {
    const instead = replaced ? ', which replaced the existing file' : '';
    terminal.err(`Wrote ${output}${instead}${listed === null ? '' : `: ${listed}`}.\n`);
    if (note !== undefined) terminal.err(`${plain(note)}\n`);
  }
}

const MAX_OWN_BYTES = 4_000_000;

/** Returns whether a file exists and would be replaced. Fails if that file is a study or a device. */
async function replaceable(path: string): Promise<Result<boolean>> {
  const info = await stat(path).catch(() => null);
  if (!info?.isFile()) return ok(false);
  const bytes = info.size <= MAX_OWN_BYTES ? await readImportFile(path) : null;
  const kind = bytes?.ok ? fileKind(bytes.value).kind : null;
  return kind === 'study' || kind === 'device'
    ? conflict(`${path} holds a ${kind}, which the document would overwrite. Specify another file.`)
    : ok(true);
}
