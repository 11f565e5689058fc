import { designText } from '../../../../src-workers/domain/design.ts';
import type { ReportFacts } from '../facts.ts';
import { reportFormat } from '../report-format.ts';
import { NO_DESIGN, reportTables, type ReportColumn, type ReportTable } from '../report-tables.ts';
import { markdown as escaped, markdownCode } from '../text.ts';

export const markdown = reportFormat({
  id: 'markdown',
  label: 'Markdown report',
  text: 'A report for an issue or README',
  extension: 'md',
  mediaType: 'text/markdown',
  plain: true,
  write: markdownReport,
});

function cell({ isForeign, isCode }: ReportColumn, text: string): string {
  if (isCode && text !== NO_DESIGN) return markdownCode(text);
  return isForeign ? escaped(text) : text;
}

function table({ columns, rows }: ReportTable): string {
  const shown = [...columns.keys()].filter((at) => !columns[at].isOfPage);
  const order = shown.toSorted((a, b) => Number(columns[b].isWords ?? false) - Number(columns[a].isWords ?? false));
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(order.map((at) => escaped(columns[at].head))),
    line(order.map((at) => (columns[at].isWords ? ':---' : '---:'))),
    ...rows.map((row) => line(order.map((at) => cell(columns[at], row[at])))),
  ].join('\n');
}

const sentences = (lines: readonly string[]): string => lines.map(escaped).join(' ');

function markdownReport(facts: ReportFacts): string {
  const tables = reportTables(facts);
  const sections = [
    `# ${escaped(facts.title)}: tuning recommendation`,
    escaped(facts.description),
    '## Recommendation',
    `**${escaped(facts.recommendation)}**`,
    markdownCode(designText(facts.chosen.design)),
    '## Why',
    facts.reasons.map((reason, at) => `${at + 1}. ${escaped(reason)}`).join('\n'),
    ...(facts.assumed.length === 0 ? [] : ['## What is assumed', table(tables.assumed)]),
    '## Where the time goes',
    table(tables.parts),
    ...(facts.devices.length > 1 ? ['## Devices', sentences(facts.deviceReasons), table(tables.devices)] : []),
    ...(facts.implementations.length === 0
      ? []
      : ['## Implementations', sentences(facts.choice), table(tables.implementations)]),
    '## Designs close to this one',
    escaped(facts.tieSentence),
    table(tables.near),
    '## Basis',
    facts.basis.map(({ label, text }) => `- ${label}: ${escaped(text.replace(/\.$/, ''))}.`).join('\n'),
  ];
  return `${sections.filter(Boolean).join('\n\n')}\n`;
}
