import type { UncertainDesign } from '../../../src-main/contract/advice.ts';
import type { RankColumn, RankRow } from '../../../src-main/contract/api.ts';
import { blockText, isCpuDesign, reasonText } from '../../../src-workers/domain/design.ts';
import { type Term, sentenceCase } from '../../../src-workers/domain/terms.ts';
import { shortDeviceName } from '../../format/devices.ts';
import { change, count, counted, fixed, signed, widthPx, inColumn, type TimeColumn } from '../../format/numbers.ts';
import type { Mode } from './address.ts';
import type { SimulatedTimes, StripScale } from './simulated.ts';

export type ColumnId =
  | 'rank' | 'equal' | 'device' | 'implementation' | 'threadsPerUnit' | 'unitsPerThread' | 'loop' | 'balancing' | 'blockThreads' | 'gridBlocks'
  | 'residentBlocks' | 'registerCap' | 'timeMs' | 'timeChange' | 'meanLoss' | 'aggregateLoss' | 'waves' | 'occupancyFraction'
  | 'occupancyChange' | 'split' | 'alongBlock' | 'reason' | 'simulatedMs' | 'simulatedChange' | 'replications' | 'measuredMs'
  | 'measuredChange' | 'regret' | 'chance'; // prettier-ignore

export interface CellContext {
  readonly baseline: RankRow | null;
  readonly times: TimeColumn;
  readonly simulated: SimulatedTimes;
  readonly uncertain?: ReadonlyMap<number, UncertainDesign>;
  readonly stripScale: StripScale | null;
}

export interface Column {
  readonly id: ColumnId;
  readonly head: string;
  readonly name?: string;
  readonly title: string;
  readonly width: number;
  /** The width of a sorted column, whose arrow and bold head need more room. */
  readonly sortedWidth?: number;
  readonly sort: RankColumn | null;
  readonly kind: 'value' | 'difference' | 'mark';
  readonly align: 'right' | 'left';
  /** The column with the highest number is removed first, and a column with 0 never. */
  readonly drop: number;
  readonly text: (row: RankRow, context: CellContext) => string;
}

export interface ColumnWorld {
  readonly term: Term;
  readonly varies: ReadonlySet<string>;
  readonly validity: 'valid' | 'invalid' | 'all';
  readonly replications: string | null;
  /** Whether any design was measured on the device of its row. */
  readonly measured: boolean;
  readonly grouped?: boolean;
  /** The numbers of designs and of units, for which the columns of ranks and blocks must be wide enough. */
  readonly ranked?: number;
  readonly units?: number;
  /** Whether any device is a CPU. Its designs have cores instead of blocks. */
  readonly cores?: boolean;
  readonly implementations?: readonly string[];
  readonly uncertain?: boolean;
}

const QUIET: ReadonlySet<ColumnId> = new Set(['meanLoss', 'aggregateLoss', 'waves']);

const WITH_DIFFERENCE: ReadonlySet<ColumnId> = new Set(['timeMs', 'occupancyFraction', 'simulatedMs', 'measuredMs']);

const onGpu = (write: (row: RankRow) => string) => (row: RankRow) => (isCpuDesign(row.design) ? '–' : write(row));

const EMPTY = '';
const number = (read: (row: RankRow) => number, write: (value: number) => string) => (row: RankRow) =>
  row.invalid === null ? write(read(row)) : '–';

const roomFor = (value: number): number => 14 + widthPx(count(value));

const LETTER_PX = 6.4;
function roomForNames(names: readonly string[]): number {
  const longest = Math.max(0, ...names.map(({ length }) => length));
  return Math.max(96, Math.min(240, Math.ceil(14 + LETTER_PX * longest)));
}

export function availableColumns({
  term,
  varies,
  validity,
  replications,
  measured,
  grouped = false,
  ranked = 0,
  units = 0,
  cores = false,
  implementations = [],
  uncertain = false,
}: ColumnWorld): readonly Column[] {
  const columns: (Column & { readonly when?: boolean })[] = [
    { id: 'rank', head: 'Rank', title: 'Rank by predicted time among all designs of the device, or of all devices if all are shown', width: Math.max(60, roomFor(ranked)), sort: null, kind: 'value', align: 'right', drop: 0, text: (row) => (row.rank > 0 ? count(row.rank) : '–') },
    { id: 'equal', head: 'Equal', title: `Number of designs with the same time and, in effect, the same launch. The right arrow lists them`, width: Math.max(58, roomFor(ranked) - 8), sort: null, kind: 'value', align: 'left', drop: 1, when: grouped, text: () => EMPTY },
    { id: 'device', head: 'Device', title: 'Device', width: 130, sort: 'device', kind: 'value', align: 'left', drop: 2, when: varies.has('device'), text: (row) => shortDeviceName(row.device) },
    { id: 'implementation', head: 'Implementation', title: 'The implementation of the study that the design uses', width: roomForNames(implementations), sort: 'implementation', kind: 'value', align: 'left', drop: 0, when: varies.has('implementation'), text: (row) => row.design.implementation ?? EMPTY },
    { id: 'threadsPerUnit', head: sentenceCase(term('thread', 'many')), name: `${sentenceCase(term('thread', 'many'))} per unit, u`, title: `${sentenceCase(term('thread', 'many'))} that share one unit of work`, width: term('thread', 'many').length > 7 ? 76 : 58, sort: 'threadsPerUnit', kind: 'value', align: 'right', drop: 0, text: onGpu((row) => count(row.design.threadsPerUnit)) },
    { id: 'unitsPerThread', head: 'Units', name: 'Units per slot', title: `Units that each slot of u ${term('thread', 'many')} processes, one after another`, width: Math.max(48, Math.min(roomFor(units), 66)), sort: 'unitsPerThread', kind: 'value', align: 'right', drop: 16, text: onGpu((row) => (row.design.unitsPerThread > 0 ? count(row.design.unitsPerThread) : '–')) },
    { id: 'loop', head: 'Loop', title: 'Whether a lane’s units run as nested loops or as one flattened loop', width: 66, sort: 'loop', kind: 'value', align: 'left', drop: 4, when: varies.has('loop'), text: (row) => row.design.loop },
    { id: 'balancing', head: 'Balancing', title: 'How units are ordered or partitioned before launch', width: 96, sort: 'balancing', kind: 'value', align: 'left', drop: 3, when: varies.has('balancing'), text: (row) => shortBalancing(row.design.balancing) },
    { id: 'blockThreads', head: sentenceCase(term('block', 'short').length > 2 ? term('block', 'short') : term('block')), name: `${sentenceCase(term('block'))} size`, title: `${sentenceCase(term('thread', 'many'))} in one ${term('block')}`, width: varies.has('blockWidth') ? 72 : 50, sort: 'blockThreads', kind: 'value', align: 'right', drop: 0, text: onGpu(({ design }) => (design.blockWidth === undefined ? count(design.blockThreads) : blockText(design))) },
    { id: 'gridBlocks', head: sentenceCase(term('grid')), title: `${sentenceCase(term('block', 'many'))} launched${cores ? ', or the cores in use on a CPU' : ''}`, width: Math.max(cores ? 76 : 56, roomFor(units)), sort: 'gridBlocks', kind: 'value', align: 'right', drop: 6, text: (row) => (row.design.gridBlocks > 0 ? (isCpuDesign(row.design) ? counted(row.design.gridBlocks, 'core') : count(row.design.gridBlocks)) : '–') },
    { id: 'residentBlocks', head: 'Resident', name: `Resident ${term('block', 'many')} per ${term('multiprocessor', 'short')}`, title: `${sentenceCase(term('block', 'many'))} that fit on one ${term('multiprocessor')} at a time`, width: 60, sort: 'residentBlocks', kind: 'value', align: 'right', drop: 5, text: onGpu((row) => (row.residentBlocks > 0 ? count(row.residentBlocks) : '–')) },
    { id: 'registerCap', head: 'Cap', name: 'Register cap', title: `${sentenceCase(term('register', 'many'))} per ${term('thread')} that the compiler may use`, width: 46, sort: 'registerCap', kind: 'value', align: 'right', drop: 1, when: varies.has('registerCap'), text: (row) => (row.design.registerCap === null ? 'none' : count(row.design.registerCap)) },
    { id: 'timeMs', head: 'Predicted', title: 'Predicted time', width: 78, sort: 'timeMs', kind: 'value', align: 'right', drop: 0, text: (row, { times }) => (row.invalid === null ? inColumn(row.predictedMs, times) : EMPTY) },
    { id: 'timeChange', head: 'Δ %', name: 'Δ % of predicted time', title: 'Predicted time against the baseline, %', width: 54, sort: 'timeMs', kind: 'difference', align: 'right', drop: 0, text: (row, { baseline }) => (row.invalid === null && baseline ? change(row.predictedMs, baseline.predictedMs) : '–') },
    { id: 'regret', head: 'Regret %', name: 'Expected regret', title: 'Expected excess over the best time, as an average over the unknown inputs, %; – if it was not computed', width: 58, sort: null, kind: 'value', align: 'right', drop: 8, when: uncertain, text: (row, context) => { const known = context.uncertain?.get(row.designIndex); return known ? fixed(100 * Math.expm1(known.expectedRegret), 1) : '–'; } },
    { id: 'chance', head: 'Best %', name: 'Chance to be the best', title: 'Chance of being within 3 % of the best, %; – if it was not computed', width: 50, sort: null, kind: 'value', align: 'right', drop: 7, when: uncertain, text: (row, context) => { const known = context.uncertain?.get(row.designIndex); return known ? (known.chanceBest > 0.99 ? '> 99' : fixed(100 * known.chanceBest, 0)) : '–'; } },
    { id: 'simulatedMs', head: 'Simulated', title: 'Simulated time: mean of the replications; empty if it was not simulated. “off” means that its 95 % interval is more than 10 % away from the prediction', width: 68, sortedWidth: 84, sort: 'simulatedMs', kind: 'value', align: 'right', drop: 17, when: replications !== null, text: (row, { times, simulated }) => (row.invalid === null ? (simulated.has(row.designIndex) ? inColumn(simulated.get(row.designIndex)!.meanMs, times) : EMPTY) : EMPTY) },
    { id: 'simulatedChange', head: 'Δ %', name: 'Δ % of simulated time', title: 'Simulated time against the baseline’s, %', width: 54, sort: 'simulatedMs', kind: 'difference', align: 'right', drop: 22, when: replications !== null, text: (row, { baseline, simulated }) => { const [here, base] = [simulated.get(row.designIndex), baseline && simulated.get(baseline.designIndex)]; return here ? (base ? change(here.meanMs, base.meanMs) : '–') : EMPTY; } },
    { id: 'replications', head: replications ?? EMPTY, title: 'Times of the replications, each with a seed of its own; bar: median, triangle: prediction; one scale in the column', width: 64, sort: 'simulatedMs', kind: 'mark', align: 'left', drop: 21, when: replications !== null, text: () => EMPTY },
    { id: 'measuredMs', head: 'Measured', title: 'Measured time: median of the repeats on the device of the row; empty if it was not measured', width: 86, sort: 'measuredMs', kind: 'value', align: 'right', drop: 9, when: measured, text: (row, { times }) => (row.invalid === null ? (row.measured ? inColumn(row.measured.medianMs, times) : EMPTY) : EMPTY) },
    { id: 'measuredChange', head: 'Δ %', name: 'Δ % of measured time', title: 'Measured time against the baseline’s, %', width: 54, sort: 'measuredMs', kind: 'difference', align: 'right', drop: 9, when: measured, text: (row, { baseline }) => (row.measured ? (baseline?.measured ? change(row.measured.medianMs, baseline.measured.medianMs) : '–') : EMPTY) },
    { id: 'aggregateLoss', head: 'Agg. loss', name: 'Aggregate loss', title: 'Aggregate loss: total lockstep time divided by total work', width: 66, sort: 'aggregateLoss', kind: 'value', align: 'right', drop: 11, text: number((row) => row.aggregateLoss, (value) => fixed(value, 3)) },
    { id: 'meanLoss', head: 'Mean loss', title: 'Mean loss: the ratio of lockstep cost to ideal cost, averaged over the work groups', width: 66, sort: 'meanLoss', kind: 'value', align: 'right', drop: 12, text: number((row) => row.meanLoss, (value) => fixed(value, 3)) },
    { id: 'waves', head: 'Waves', title: `${sentenceCase(term('block', 'many'))} of the launch, divided by the ${term('block', 'many')} that are resident at the same time`, width: 54, sort: 'waves', kind: 'value', align: 'right', drop: 10, text: onGpu(number((row) => row.waves, (value) => fixed(value, 2))) },
    { id: 'occupancyFraction', head: 'Occ. %', name: 'Occupancy, %', title: `Occupancy: resident ${term('threadGroup', 'many')}, as a share of the largest number that the device can hold, %`, width: 52, sort: 'occupancyFraction', kind: 'value', align: 'right', drop: 14, text: number((row) => row.occupancyFraction, (value) => fixed(value * 100, 1)) },
    { id: 'occupancyChange', head: 'Δ pp', name: 'Δ pp of occupancy', title: 'Occupancy against the baseline, percentage points', width: 50, sort: 'occupancyFraction', kind: 'difference', align: 'right', drop: 15, text: (row, { baseline }) => (row.invalid === null && baseline?.invalid === null ? signed((row.occupancyFraction - baseline.occupancyFraction) * 100) : '–') },
    { id: 'split', head: 'Time split', title: 'Where the predicted time goes', width: 84, sort: null, kind: 'mark', align: 'left', drop: 8, text: () => EMPTY },
    { id: 'alongBlock', head: `By ${term('block')}`, name: `Time by ${term('block')} size`, title: `Predicted time at each ${term('block')} size, with everything else equal; this design is marked`, width: 66, sort: null, kind: 'mark', align: 'left', drop: 20, when: varies.has('blockThreads'), text: () => EMPTY },
    { id: 'reason', head: 'Why it cannot run', title: 'Why the design is invalid', width: 280, sort: null, kind: 'value', align: 'left', drop: 0, when: validity !== 'valid', text: (row) => (row.invalid === null ? EMPTY : reasonText(row.invalid)) },
  ]; // prettier-ignore
  const empty: ReadonlySet<ColumnId> =
    validity === 'invalid'
      ? new Set(['rank', 'timeMs', 'timeChange', 'aggregateLoss', 'meanLoss', 'waves', 'occupancyFraction', 'occupancyChange', 'split', 'alongBlock', 'simulatedMs', 'simulatedChange', 'replications', 'measuredMs', 'measuredChange']) // prettier-ignore
      : validity === 'all'
        ? new Set(['alongBlock', 'occupancyChange'])
        : new Set();
  return columns.filter(({ id, when }) => when !== false && !empty.has(id));
}

const SHORT_BALANCING: Readonly<Record<string, string>> = {
  'dynamic-fetch': 'fetch',
  'window-sort': 'window',
  'quantile-buckets': 'buckets',
  'best-buckets': 'best',
};
export function shortBalancing(text: string): string {
  return text.replace(/^[a-z-]+/, (name) => SHORT_BALANCING[name] ?? name);
}

export function isShownAtFirst(id: ColumnId): boolean {
  return !QUIET.has(id);
}

export interface Placed {
  readonly column: Column;
  readonly widthPx: number;
}

/** Returns the columns of `mode` that fit, in order. They share the spare width. */
export function placeColumns(
  columns: readonly Column[],
  mode: Mode,
  availablePx: number,
  sorted: RankColumn,
): readonly Placed[] {
  let kept = columns.filter(({ id, kind }) => {
    if (kind === 'difference') return mode !== 'values';
    return mode !== 'differences' || !WITH_DIFFERENCE.has(id);
  });
  const widthOf = ({ width, sortedWidth = width, sort }: Column): number => (sort === sorted ? sortedWidth : width);
  const total = () => kept.reduce((sum, column) => sum + widthOf(column), 0);
  const dropOf = ({ sort, kind, drop }: Column): number => (sort === sorted && kind === 'value' ? 0 : drop);
  while (total() > availablePx) {
    const most = Math.max(...kept.map(dropOf));
    if (most === 0) break;
    const at = kept.findLastIndex((column) => dropOf(column) === most);
    kept = kept.filter((_, i) => i !== at);
  }
  const spare = Math.max(0, availablePx - total());
  const sum = Math.max(1, total());
  return kept.map((column) => ({ column, widthPx: widthOf(column) + Math.floor((spare * widthOf(column)) / sum) }));
}
