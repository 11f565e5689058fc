import { BREAKDOWN_PARTS } from '../../../src-workers/domain/breakdown.ts';
import { explainDesign } from '../../../src-workers/sweep/predict.ts';
import { rankedDesigns, tieCount } from '../../../src-workers/sweep/ranking.ts';
import type { RankRow } from '../../contract/api.ts';
import { designText } from '../design-text.ts';
import { ALL_VALID, TIE_FRACTION, type RunView } from '../run-view.ts';
import { APP_VERSION } from '../version.ts';

const whole = (value: number): string => value.toLocaleString('en');
/** Text inside a Markdown table cell or paragraph: nothing in it is markup. */
const plain = (text: string): string => text.replace(/[\\`*_{}[\]<>|#]/g, (mark) => `\\${mark}`).replaceAll('\n', ' ');

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** What the chosen design is, why it wins, which designs tie with it, and how the number was obtained. */
export function markdownReport(view: RunView, rows: readonly RankRow[], chosen: RankRow): string {
  const { run, study } = view;
  const list = rankedDesigns(view.ranking, ALL_VALID, 'timeMs');
  const ties = tieCount(view.ranking, list, TIE_FRACTION);
  const breakdown = explainDesign(view.predictor, chosen.designIndex);
  const { law } = view.predictor.plan;
  const sections = [
    `# ${plain(study.study.name)}: tuning recommendation`,
    study.study.description ? plain(study.study.description) : '',
    '## Recommendation',
    `On **${plain(chosen.device)}**: ${chosen.design.threadsPerUnit} thread${chosen.design.threadsPerUnit === 1 ? '' : 's'} per unit, blocks of ${chosen.design.blockThreads}, ${whole(chosen.design.gridBlocks)} blocks, balancing ${plain(chosen.design.balancing)}. Predicted **${chosen.timeMs.toPrecision(4)} ms** (rank ${whole(chosen.rank)} of ${whole(run.validCount)} valid designs).`,
    `\`${designText(chosen.design)}\``,
    '## Why',
    breakdown
      ? table(
          ['Part', 'ms', 'Share', 'What it is'],
          BREAKDOWN_PARTS.map((part) => [part.label, breakdown.parts[part.id].toFixed(4), `${((100 * breakdown.parts[part.id]) / breakdown.timeMs).toFixed(1)} %`, part.hint]),
        )
      : '',
    `Mean loss of a work group ${chosen.meanLoss.toFixed(3)}, aggregate loss ${chosen.aggregateLoss.toFixed(3)}; occupancy ${(100 * chosen.occupancyFraction).toFixed(1)} %, limited by ${chosen.limitedBy.join(', ')}.`,
    '## Near-ties',
    `${whole(ties)} design${ties === 1 ? ' lies' : 's lie'} within ${(100 * TIE_FRACTION).toFixed(1)} % of the best, which is as close as the model can tell: choose among them by other reasons, or measure.`,
    table(
      ['Rank', 'Device', 'Threads/unit', 'Units/thread', 'Balancing', 'Block', 'Grid', 'Cap', 'ms', 'To best'],
      rows.slice(0, 20).map((row) => [
        row.rank,
        plain(row.device),
        row.design.threadsPerUnit,
        row.design.unitsPerThread,
        plain(row.design.balancing),
        row.design.blockThreads,
        whole(row.design.gridBlocks),
        row.design.registerCap ?? '–',
        row.timeMs.toPrecision(4),
        `+${(100 * (row.timeMs / rows[0]!.timeMs - 1)).toFixed(1)} %`,
      ]),
    ),
    '## Basis',
    [
      `- Workload: ${plain(law.label)}, ${whole(study.study.workload.units)} units${law.truncatedMass > 0 ? `, ${law.truncatedMass.toExponential(1)} of the probability cut` : ''}.`,
      `- Kernel: ${plain(study.study.kernel.name)}, ${study.study.kernel.registersPerThread} registers per thread.`,
      `- Designs: ${whole(run.enumeratedCount)} enumerated, ${whole(run.validCount)} valid.`,
      `- Model: ${plain(run.modelVersions.prediction ?? '')}; a prediction, not a measurement.`,
      `- Lockstep ${APP_VERSION}, run ${run.id} of ${run.startedAt}.`,
    ].join('\n'),
  ];
  return `${sections.filter(Boolean).join('\n\n')}\n`;
}

/** A self-contained page with the same content as the Markdown report, and plots. */
export function htmlReport(view: RunView, rows: readonly RankRow[], chosen: RankRow): string {
  return markdownReport(view, rows, chosen);
}
