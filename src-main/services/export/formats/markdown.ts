import { BREAKDOWN_PARTS } from '../../../../src-workers/domain/breakdown.ts';
import { coresText } from '../../../../src-workers/domain/terms.ts';
import { timeIn, timeText, timeUnit } from '../../../../src-workers/domain/times.ts';
import { blockText, isCpuDesign, designText } from '../../../../src-workers/domain/design.ts';
import type { ReportFacts } from '../facts.ts';
import { reportFormat } from '../report-format.ts';
import { markdown as escaped, percent, whole } from '../text.ts';

export const markdown = reportFormat({
  id: 'markdown',
  label: 'Markdown report',
  text: 'A report for an issue or README',
  extension: 'md',
  mediaType: 'text/markdown',
  write: markdownReport,
});

type Cell = string | number;

function table(head: readonly string[], words: number, rows: readonly (readonly Cell[])[]): string {
  const line = (cells: readonly Cell[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, at) => (at < words ? ':---' : '---:'))), ...rows.map(line)].join('\n');
}

const sentences = (lines: readonly string[]): string => lines.map(escaped).join(' ');

/** Writes a report: the chosen design, the reasons, the tied designs, each device's best, and the sources. */
function markdownReport(facts: ReportFacts): string {
  const { chosen, breakdown, rows, devices } = facts;
  const best = rows[0].timeMs;
  const unit = timeUnit(best);
  const named = facts.implementations.length > 0;
  const fastest = Math.min(...devices.flatMap((entry) => (entry.best ? [entry.best.timeMs] : [])));
  const sections = [
    `# ${escaped(facts.title)}: tuning recommendation`,
    escaped(facts.description),
    '## Recommendation',
    `**${escaped(facts.recommendation)}**`,
    `\`${designText(chosen.design)}\``,
    '## Why',
    facts.reasons.map((reason, at) => `${at + 1}. ${escaped(reason)}`).join('\n'),
    ...(facts.assumed.length === 0
      ? []
      : [
          '## What is assumed',
          table(
            ['Input', 'Source', 'Value', 'Usual'],
            2,
            facts.assumed.map(({ label, note, value, usual }) => [label, note, value, usual].map(escaped)),
          ),
        ]),
    '## Where the time goes',
    table(
      ['Part', unit.name, 'Share'],
      1,
      BREAKDOWN_PARTS.filter(({ id }) => breakdown.parts[id] > 0).map(({ id, label }) => [
        label,
        timeIn(unit, breakdown.parts[id]),
        percent(breakdown.parts[id] / breakdown.timeMs),
      ]),
    ),
    ...(devices.length > 1
      ? [
          '## Devices',
          sentences(facts.deviceReasons),
          table(
            ['Device', 'Best design', 'Time', 'To fastest'],
            2,
            devices.map(({ device, best: own }) => [
              escaped(device.name),
              own ? `\`${designText(own.design)}\`` : 'no valid design',
              own ? timeText(own.timeMs) : '–',
              own ? `+${percent(own.timeMs / fastest - 1)}` : '–',
            ]),
          ),
        ]
      : []),
    ...(named
      ? [
          '## Implementations',
          sentences(facts.choice),
          table(
            ['Best time', ...devices.map(({ device }) => escaped(device.name))],
            1,
            facts.implementations.map(({ name, cells }) => [escaped(name), ...cells]),
          ),
        ]
      : []),
    '## Designs close to this one',
    escaped(facts.tieSentence),
    table(
      [
        'Device',
        ...(named ? ['Implementation'] : []),
        'Balancing',
        'Loop',
        'Rank',
        'Threads/unit',
        'Units/thread',
        'Block',
        'Grid',
        'Cap',
        unit.name,
        'To best',
      ],
      named ? 4 : 3,
      rows.map((row) => [
        escaped(row.device),
        ...(named ? [escaped(row.design.implementation!)] : []),
        escaped(row.design.balancing),
        row.design.loop,
        row.rank,
        row.design.threadsPerUnit,
        row.design.unitsPerThread,
        isCpuDesign(row.design) ? '–' : blockText(row.design),
        isCpuDesign(row.design) ? coresText(row.design.gridBlocks) : whole(row.design.gridBlocks),
        row.design.registerCap ?? '–',
        timeIn(unit, row.timeMs),
        `+${percent(row.timeMs / best - 1)}`,
      ]),
    ),
    '## Basis',
    facts.basis.map(({ label, text }) => `- ${label}: ${escaped(text.replace(/\.$/, ''))}.`).join('\n'),
  ];
  return `${sections.filter(Boolean).join('\n\n')}\n`;
}
