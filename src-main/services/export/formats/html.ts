import { BREAKDOWN_PARTS } from '../../../../src-workers/domain/breakdown.ts';
import { timeText } from '../../../../src-workers/domain/times.ts';
import { designText } from '../../../../src-workers/domain/design.ts';
import type { Histogram } from '../../../contract/api.ts';
import type { ExportJob } from '../exporter.ts';
import type { ReportFacts } from '../facts.ts';
import { MAP_SCRIPT_HASH, MAP_STYLE, mapSection } from '../map.ts';
import {
  chartDrawer,
  compositionLegend,
  compositionPlot,
  distributionPlot,
  granularityPlot,
  type DrawChart,
} from '../plots.ts';
import { reportFormat } from '../report-format.ts';
import { reportTables, type ReportTable } from '../report-tables.ts';
import { html as escaped, whole } from '../text.ts';

export const html = reportFormat({
  id: 'html',
  label: 'HTML report',
  text: 'One file with plots and reasons',
  words: 'send share landscape',
  extension: 'html',
  mediaType: 'text/html',
  write: reportPage,
});

export async function reportPage(facts: ReportFacts, { view, chosen }: ExportJob): Promise<string> {
  return htmlReport(facts, await chartDrawer(), mapSection(view, chosen));
}

/** The colours are those of the application's design tokens. */
const STYLE = `
:root{color-scheme:light dark;scrollbar-width:thin;scrollbar-color:var(--line-2) transparent;--bg:#fff;--sunken:#f7f8f9;--line:#e4e6ea;--line-2:#c9cdd4;--text:#17191e;--text-2:#4a505c;--text-3:#666c78;--accent:#2b50c4;--grid:#eceef1;--tie:#f4f6fa;
--s1:#4259a9;--s2:#c87a00;--s3:#009ba3;--s4:#660345;--s5:#705300;
--idealWork:#3a404b;--cooperation:#6e86c4;--imbalance:#c87a00;--registerCap:#6f7683;--latency:#009ba3;--blockTail:#a3527f;--lastWave:#660345;--divergence:#5c7a14;--balancing:#705300}
@media (prefers-color-scheme:dark){:root{--bg:#191b20;--sunken:#15171b;--line:#2a2d34;--line-2:#434954;--text:#e7e9ed;--text-2:#adb3be;--text-3:#949ba7;--accent:#93abf6;--grid:#23262c;--tie:#1e2129;
--s1:#7faefa;--s2:#d59d6e;--s3:#86ebea;--s4:#a46b8d;--s5:#f4e06a;
--idealWork:#c9ced8;--cooperation:#7faefa;--imbalance:#d59d6e;--registerCap:#6f7784;--latency:#86ebea;--blockTail:#cf9bbb;--lastWave:#a46b8d;--divergence:#b9cf6e;--balancing:#f4e06a}}
*{box-sizing:border-box}
body{max-width:800px;margin:0 auto;padding:32px 16px 48px;background:var(--bg);color:var(--text);font:400 13px/20px 'Inter Variable',Inter,system-ui,sans-serif;font-variant-numeric:tabular-nums slashed-zero}
h1{margin:0;font-size:15px;line-height:20px;font-weight:600}
h2{margin:28px 0 6px;padding-top:12px;border-top:1px solid var(--line);font-size:13px;line-height:20px;font-weight:600}
h3{margin:16px 0 4px;font-size:12px;font-weight:600}
p{margin:4px 0 8px;max-width:640px}ol{margin:4px 0 8px;padding-left:20px;max-width:640px}li+li{margin-top:4px}
.lead{color:var(--text-2)}
.recommendation{margin:12px 0 8px;font-size:18px;line-height:26px;font-weight:550}
code{padding:2px 6px;border-radius:4px;background:var(--sunken);font:11.5px/18px 'JetBrains Mono Variable','JetBrains Mono',ui-monospace,monospace;overflow-wrap:anywhere}
svg{display:block;width:100%;height:auto;margin:8px 0;font-size:11px}
${BREAKDOWN_PARTS.map(({ id }) => `.part-${id}{background:var(--${id})}`).join('')}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;margin:4px 0 8px;padding:0;list-style:none;color:var(--text-2);font-size:11px}
.legend i{display:inline-block;width:9px;height:9px;margin-right:6px}
.wide{overflow-x:auto}
table{width:100%;border-collapse:collapse;font-size:12px;line-height:16px}
th,td{padding:4px 7px;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap;vertical-align:baseline}
thead th{border-color:var(--line-2);color:var(--text-2);font-size:11px;font-weight:450}
.word{text-align:left}.wrap{white-space:normal}
tr.tied td{background:var(--tie)}tr.here td{font-weight:600}
.note{color:var(--text-3);font-size:11px;line-height:16px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:4px 0}dt{color:var(--text-3)}dd{margin:0;overflow-wrap:anywhere}
@media print{@page{margin:16mm}:root{color-scheme:light}body{max-width:none;padding:0;font-size:10.5pt}h2{break-after:avoid}svg,table,.legend{break-inside:avoid}.wide{overflow:visible}tr.tied td,.legend i,svg *{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
`;

function table({ columns, rows }: ReportTable, rowClass: (at: number) => string = () => ''): string {
  const names = columns.map(({ isWords, isLong }) => (isWords ? ` class="word${isLong ? ' wrap' : ''}"` : ''));
  const head = columns.map((column, i) => `<th scope="col"${names[i]}>${escaped(column.head)}</th>`).join('');
  const body = rows.map((row, at) => {
    const cells = row.map((cell, i) => `<td${names[i]}>${escaped(cell)}</td>`).join('');
    return `<tr${rowClass(at) ? ` class="${rowClass(at)}"` : ''}>${cells}</tr>`;
  });
  return `<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table></div>`;
}

const paragraph = (sentences: readonly string[]): string =>
  sentences.length === 0 ? '' : `<p>${sentences.map(escaped).join(' ')}</p>`;

/**
 * The page loads nothing, and its only script is that of the map.
 * @param map the section of `mapSection`, already escaped
 */
function htmlReport(facts: ReportFacts, draw: DrawChart, map: string): string {
  const { chosen, rows, devices } = facts;
  const tables = reportTables(facts);
  const body = [
    `<h1>${escaped(facts.title)}</h1>`,
    `<p class="recommendation">${escaped(facts.recommendation)}</p>`,
    `<p><code>${escaped(designText(chosen.design))}</code></p>`,
    facts.description ? `<p class="lead">${escaped(facts.description)}</p>` : '',
    '<h2>Why</h2>',
    `<ol>${facts.reasons.map((reason) => `<li>${escaped(reason)}</li>`).join('')}</ol>`,
    facts.assumed.length === 0 ? '' : `<h2>What is assumed</h2>${table(tables.assumed)}`,
    '<h2>Where the time goes</h2>',
    table(tables.parts),
    map,
    `<h2>All designs on ${escaped(chosen.device)}</h2>`,
    draw(distributionPlot(facts.histogram, chosen.timeMs)),
    notDrawn(facts.histogram),
    devices.length > 1 ? '<h2>Devices</h2>' : '',
    paragraph(facts.deviceReasons),
    draw(compositionPlot(devices)),
    compositionLegend(devices),
    devices.length > 1 ? table(tables.devices) : '',
    granularitySection(facts, draw),
    ...(facts.implementations.length === 0
      ? []
      : ['<h2>Implementations</h2>', paragraph(facts.choice), table(tables.implementations)]),
    '<h2>Designs close to this one</h2>',
    `<p>${escaped(facts.tieSentence)}</p>`,
    table(tables.near, (at) =>
      [rows[at].tied ? 'tied' : '', rows[at].designIndex === chosen.designIndex ? 'here' : '']
        .filter(Boolean)
        .join(' '),
    ),
    '<h2>Basis</h2>',
    `<dl>${facts.basis.map(({ label, text }) => `<dt>${escaped(label)}</dt><dd>${escaped(text)}</dd>`).join('')}</dl>`,
  ];
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    // The policy forbids all loading, and all scripts but that of the map, even if a name in the study contains markup.
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src ${MAP_SCRIPT_HASH}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">`,
    `<title>${escaped(facts.title)}</title>`,
    `<style>${STYLE}${MAP_STYLE}</style>`,
    '</head>',
    `<body>${body.filter(Boolean).join('\n')}</body>`,
    '</html>',
    '',
  ].join('\n');
}

function notDrawn({ beyond, edgesMs }: Histogram): string {
  const last = edgesMs[edgesMs.length - 1];
  return beyond > 0
    ? `<p class="note">Designs slower than ${timeText(last)} are not drawn (${whole(beyond)}).</p>`
    : '';
}

function granularitySection({ devices }: ReportFacts, draw: DrawChart): string {
  const plot = granularityPlot(devices);
  return plot === null
    ? ''
    : `<h2>Threads per unit</h2><p>Best predicted time for each number of threads per unit. A ring marks the fastest of a device.</p>${draw(plot)}`;
}
