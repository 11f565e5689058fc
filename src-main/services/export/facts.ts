import {
  BREAKDOWN_PARTS,
  longestUnitText,
  orderText,
  regimeText,
  shownParts,
  type Breakdown,
} from '../../../src-workers/domain/breakdown.ts';
import { plainText } from '../../../src-workers/advise/plain.ts';
import { blockText, designText, LIMITING_FACTORS } from '../../../src-workers/domain/design.ts';
import type { CpuDevice, Device } from '../../../src-workers/domain/device.ts';
import { assumedFacts, selectKernel, trafficPhrase } from '../../../src-workers/domain/provenance.ts';
import { evidenceGaps, evidenceText, tieBandText, type TieBand } from '../../../src-workers/domain/evidence.ts';
import { sentenceCase } from '../../../src-workers/domain/terms.ts';
import { timeRange, timeText } from '../../../src-workers/domain/times.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { AXIS } from '../../../src-workers/domain/space.ts';
import { saturatingCores } from '../../../src-workers/models/contention/bandwidth.ts';
import { moments } from '../../../src-workers/models/workload/laws.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import { explainDesign } from '../../../src-workers/predict/explain.ts';
import { rankedDesigns, type RankingFilter } from '../../../src-workers/sweep/ranking.ts';
import { AGREEMENT_FRACTION } from '../../../src-workers/sweep/ties.ts';
import { contradictionText, isContradicted } from '../../contract/accuracy.ts';
import type { DesignRange, DeviceBest, Histogram, RankRow } from '../../contract/api.ts';
import { countsText, partialText } from '../../contract/counts.ts';
import { compareDevices } from '../ranking/compare.ts';
import { layoutSentences } from '../ranking/design-text.ts';
import { plainOf, rankHistogram } from '../ranking/pages.ts';
import { fastestMeasured, runInputs, type RecommendedDesign } from '../ranking/recommended.ts';
import { alongAxis, predictedMs, tiesIn } from '../ranking/rows.ts';
import { deviceEvidence } from '../evidence/tie-band.ts';
import { timedDevices } from '../evidence/timed-devices.ts';
import type { RunView } from '../runs/run-view.ts';
import { runSummary } from '../runs/runs.ts';
import { APP_VERSION, MODEL_VERSION } from '../version.ts';
import { pickText } from './code.ts';
import { counted, percent, whole } from './text.ts';

export interface ReportFacts {
  readonly title: string;
  readonly description: string;
  readonly chosen: RankRow;
  readonly recommendation: string;
  readonly reasons: readonly string[];
  readonly assumed: readonly Readonly<Record<'label' | 'value' | 'usual' | 'note', string>>[];
  readonly deviceReasons: readonly string[];
  readonly breakdown: Breakdown;
  readonly tieSentence: string;
  readonly rows: readonly RankRow[];
  readonly devices: readonly DeviceBest[];
  readonly choice: readonly string[];
  readonly implementations: readonly { readonly name: string; readonly cells: readonly string[] }[];
  readonly histogram: Histogram;
  readonly basis: readonly { readonly label: string; readonly text: string }[];
}

const MAX_REASONS = 3;

const MAX_ROWS = 20;

/**
 * @param within the designs that the report covers: all valid designs, or the valid designs of one device
 * @param changed the number of inputs in which the study now differs from the run
 * @param range the 90 % range of the time of the chosen design
 */
export function reportFacts(
  view: RunView,
  rows: readonly RankRow[],
  chosen: RankRow,
  recommended: RecommendedDesign | null,
  within: RankingFilter,
  { changed, range }: { readonly changed: number; readonly range: DesignRange | undefined },
): Result<ReportFacts> {
  const { run, study } = view;
  const compared = compareDevices(view);
  if (!compared.ok) return compared;
  const histogram = rankHistogram(view, {
    runId: run.id,
    filter: { validity: 'valid', deviceId: chosen.deviceId },
    bins: 48,
  });
  if (!histogram.ok) return histogram;
  const list = rankedDesigns(view.ranking, within, 'timeMs');
  const { count: ties, band } = tiesIn(view, list);
  const breakdown = explainDesign(view.predictor, chosen.designIndex)!;
  const device = view.devices.find(({ id }) => id === chosen.deviceId)!;
  const cpu = device.kind === 'cpu' ? device : null;
  const pick = recommended && pickText({ ...recommended, weighed: '' }, device);
  const { law } = view.predictor.plan;
  const { mean, standardDeviation } = moments(law);
  const kernel = selectKernel(study.study, chosen.design);
  const inputs = runInputs(view, device, chosen.design.implementation);
  const traffic = trafficPhrase(inputs, chosen);
  const gap = evidenceGaps(timedDevices(view));
  const gaps = gap ? [gap.text] : [];
  const entry = compared.value.devices.find(({ device: { id } }) => id === device.id)!;
  const plain = findPlain(view, device);
  const predicted = predictedText(chosen, range, list.length);
  const layout = layoutSentences(chosen.design);
  const cut = law.truncatedMass > 0 ? `; ${law.truncatedMass.toExponential(1)} of the probability cut` : '';
  return ok({
    title: study.study.name,
    description: study.study.description,
    chosen,
    recommendation: cpu ? coresSentence(chosen, cpu, predicted) : designSentence(chosen, plain, predicted),
    reasons: [
      ...(recommended?.weighed ? [recommended.weighed] : []),
      ...simulationReasons(view, chosen),
      ...(cpu ? coresReasons(view, chosen, cpu, breakdown) : designReasons(chosen, breakdown, entry)),
    ].slice(0, MAX_REASONS),
    assumed: assumedFacts(inputs).map(({ label, value, unit, usual, note }) => ({
      label,
      value: `${typeof value === 'number' ? Number(value.toPrecision(4)) : value}${unit && ` ${unit}`}`,
      usual: usual ? usual.map((end) => end.toLocaleString('en')).join(' to ') : '–',
      note,
    })),
    deviceReasons: [...compared.value.reasons, ...(view.devices.length > 1 ? gaps : [])],
    breakdown,
    tieSentence: [tieSentence(ties, band, cpu !== null), ...gaps].join(' '),
    rows: rows.slice(0, MAX_ROWS),
    devices: compared.value.devices,
    choice: compared.value.choice,
    implementations: (study.study.implementations ?? []).map(({ name }) => ({
      name,
      cells: compared.value.devices.map(({ byImplementation }) => implementationCell(name, byImplementation)),
    })),
    histogram: histogram.value,
    basis: [
      {
        label: 'Workload',
        text: `${law.label}, ${counted(study.study.workload.units, 'unit')}, ${mean.toPrecision(4)} ± ${standardDeviation.toPrecision(3)} iterations each${cut}`,
      },
      { label: 'Kernel', text: `${kernel.name}, ${counted(kernel.registersPerThread, 'register')} per thread` },
      ...(traffic === null ? [] : [{ label: 'Traffic', text: traffic }]),
      {
        label: 'Designs',
        text: run.kept
          ? countsText(runSummary(run, 0))
          : `${whole(run.enumeratedCount)} enumerated, ${whole(run.validCount)} valid`,
      },
      ...(layout.length === 0 ? [] : [{ label: 'Layout', text: layout.join(' ') }]),
      ...(cpu ? [] : [{ label: 'Lockstep', text: lockstepText(chosen) }]),
      { label: 'Method', text: [regimeText(breakdown.regime), orderText(breakdown)].filter(Boolean).join(' ') },
      ...(pick ? [{ label: 'Choice', text: pick }] : []),
      ...(plain ? [{ label: 'Plain design', text: plain.text }] : []),
      { label: 'Evidence', text: designEvidence(view, device, chosen) },
      { label: 'Model', text: `${run.modelVersions.prediction ?? MODEL_VERSION}; a prediction, not a measurement` },
      { label: 'Made by', text: `Lockstep ${APP_VERSION}, run ${run.id} of ${run.startedAt}.${changedText(changed)}` },
    ],
  });
}

interface PlainDesign {
  readonly timeMs: number;
  readonly text: string;
}

function findPlain(view: RunView, { id, kind }: Device): PlainDesign | null {
  const found = plainOf(view, id);
  if (!found.ok || found.value.designIndex === null) return null;
  const { designIndex } = found.value;
  const timeMs = predictedMs(view, designIndex);
  const { design } = describeDesign(view.predictor, designIndex);
  return { timeMs, text: `${sentenceCase(plainText(design, kind))} (${designText(design)}), ${timeText(timeMs)}` };
}

function changedText(changed: number): string {
  const inputs = counted(changed, 'input of the study has', 'inputs of the study have');
  return changed === 0 ? '' : ` Since then, ${inputs} changed, so the study may recommend another design now.`;
}

export function designEvidence(view: RunView, device: Device, row: RankRow): string {
  const { designIndex, kind } = row;
  const measured = view.measured.times.get(designIndex);
  return [
    evidenceText(deviceEvidence(device), [kind]),
    measured &&
      `Run ${measured.runId} measured ${timeText(measured.medianMs)} for the kernel of this design, on ${measured.measuredOn}.`,
    fastestMeasured(view, row)?.sentence,
    partialText(runSummary(view.run, 0)),
  ]
    .filter(Boolean)
    .join(' ');
}

function implementationCell(name: string, [fastest, ...others]: readonly RankRow[]): string {
  if (fastest?.design.implementation === name) return `${timeText(fastest.timeMs)}, fastest`;
  const own = others.find(({ design }) => design.implementation === name);
  if (!own) return '–';
  return `${timeText(own.timeMs)}, ${own.tied ? 'tied' : `+${percent(own.timeMs / fastest.timeMs - 1, 0)}`}`;
}

function tieSentence(ties: number, tieBand: TieBand, isCpu: boolean): string {
  if (ties === 1) return `No other design is tied with the best. Tied times are ${tieBandText(tieBand)}.`;
  return `${whole(ties)} designs are tied for the best: their predicted times are ${tieBandText(tieBand)}. Choose among them for other reasons, or ${isCpu ? 'measure' : 'simulate or measure'} them.`;
}

function simulationReasons(view: RunView, { designIndex, predictedMs }: RankRow): readonly string[] {
  const simulated = view.simulated.times.get(designIndex);
  if (!simulated || !isContradicted(predictedMs, simulated)) return [];
  const text = contradictionText(predictedMs, simulated);
  return [
    `Simulated event by event, it takes ${timeText(simulated.meanMs)}, ${text}. Trust the simulation more, or measure.`,
  ];
}

function designSentence({ design, device, timeMs }: RankRow, plain: PlainDesign | null, predicted: string): string {
  const shared =
    design.threadsPerUnit === 1 ? 'one thread per unit' : `${design.threadsPerUnit} threads share each unit`;
  const cap = design.registerCap === null ? '' : `, registers capped at ${design.registerCap}`;
  const order = design.balancing === 'none' ? 'units in their own order' : `balancing by ${design.balancing}`;
  const flattened = design.loop === 'flattened' ? ', loops flattened' : '';
  const written = design.implementation === undefined ? '' : `${design.implementation}, `;
  const gain =
    plain && plain.timeMs > timeMs ? `${(plain.timeMs / timeMs).toFixed(2)}\u00a0× as fast as the plain design: ` : '';
  return `On ${device}: ${written}${shared}, blocks of ${blockText(design)} threads, ${counted(design.gridBlocks, 'block')}, ${order}${flattened}${cap}. Predicted ${gain}${predicted}.`;
}

function predictedText({ timeMs, rank }: RankRow, range: DesignRange | undefined, valid: number): string {
  const within = range ? ` (90\u00a0% range ${timeRange(range.lowMs, range.highMs)})` : '';
  const place = rank > 0 ? `, rank ${whole(rank)} of ${counted(valid, 'valid design')}` : '';
  return `${timeText(timeMs)}${within}${place}`;
}

function coresSentence({ design, device }: RankRow, cpu: CpuDevice, predicted: string): string {
  return `On ${device}: ${whole(design.gridBlocks)} of ${counted(cpu.cores, 'core')}, units shared out by ${design.balancing}. Predicted ${predicted}.`;
}

const WORTH_TELLING = 1e-3;

function coresReasons(view: RunView, row: RankRow, cpu: CpuDevice, breakdown: Breakdown): readonly string[] {
  const { timeMs } = breakdown;
  const shown = shownParts(breakdown);
  const { gridBlocks: cores, balancing } = row.design;
  const sentences = [
    `${percent(shown.idealWork / timeMs)} of the time is needed to transfer all bytes at the full bandwidth. ${percent(shown.latency / timeMs)} comes from too few cores to use this bandwidth, and ${percent(shown.imbalance / timeMs)} from cores that wait for the core with the largest transfer.`,
    `That core transfers ${row.aggregateLoss.toFixed(3)} times as much as the average core. ${counted(saturatingCores(cpu), 'core')} can use the full bandwidth if each is busy to the end.`,
  ];
  const along = alongAxis(view, row.designIndex, AXIS.launch);
  const others = view.ranking.axes.launch.flatMap(({ kind, value }, at) =>
    kind === 'cores' && value <= cpu.cores ? [{ cores: value, timeMs: along.timeMs[at] }] : [],
  );
  const enough = others.find((other) => other.timeMs <= timeMs * (1 + AGREEMENT_FRACTION));
  if (enough && enough.cores < cores)
    sentences.push(
      `${counted(enough.cores, 'core')} would be enough: with ${balancing}, the time differs by at most ${percent(AGREEMENT_FRACTION)}.`,
    );
  const most = others.at(-1);
  if (most && most.cores > cores && most.timeMs > timeMs * (1 + WORTH_TELLING))
    sentences.push(`With ${whole(most.cores)} cores it would take ${percent(most.timeMs / timeMs - 1)} longer.`);
  return sentences;
}

const WORTH_SAYING = 0.03;

function designReasons(
  row: RankRow,
  breakdown: Breakdown,
  { byThreadsPerUnit, byImplementation }: DeviceBest,
): readonly string[] {
  const { design } = row;
  const sentences: string[] = [];
  const shown = shownParts(breakdown);
  const parts = BREAKDOWN_PARTS.map(({ id, label, hint }) => ({
    label,
    hint,
    share: shown[id] / breakdown.timeMs,
  }));
  const ideal = parts[0].share;
  const losses = parts
    .slice(1)
    .filter(({ share }) => share > WORTH_SAYING)
    .sort((a, b) => b.share - a.share);
  sentences.push(
    losses.length === 0
      ? `${percent(ideal)} of the time is the work itself: almost nothing is lost.`
      : `${percent(ideal)} of the time is the work itself. The largest loss is ${losses
          .map(
            ({ label, hint, share }, at) => `${label.toLowerCase()}, ${percent(share)}${at === 0 ? ` (${hint})` : ''}`,
          )
          .join(', then ')}.`,
  );
  // The best designs are compared with one another, as in a comparison of devices. The chosen design may be slower.
  const against = (timeMs: number, ownMs = row.timeMs): string =>
    timeMs >= ownMs ? `${percent(timeMs / ownMs - 1)} slower` : `${percent(1 - timeMs / ownMs)} faster`;
  const isOwn = (other: RankRow): boolean => other.design.implementation === design.implementation;
  const written = byImplementation.find((other) => !isOwn(other));
  const finite = byThreadsPerUnit.filter(({ timeMs }) => Number.isFinite(timeMs));
  const shared = finite.find(({ threadsPerUnit }) => threadsPerUnit === design.threadsPerUnit)?.timeMs;
  const others = finite.filter(({ threadsPerUnit }) => threadsPerUnit !== design.threadsPerUnit);
  if (written)
    sentences.push(
      `The best design written as ${written.design.implementation} is ${against(written.timeMs, byImplementation.find(isOwn)?.timeMs)} than the best written as ${design.implementation}.`,
    );
  else if (others.length > 0) {
    const next = others.reduce((a, b) => (b.timeMs < a.timeMs ? b : a));
    const one = others.find(({ threadsPerUnit }) => threadsPerUnit === 1);
    sentences.push(
      `The best design with ${counted(next.threadsPerUnit, 'thread')} per unit is ${against(next.timeMs, shared)} than the best with ${design.threadsPerUnit}${one && one !== next ? `; the best with one thread per unit is ${against(one.timeMs, shared)}` : ''}.`,
    );
  }
  const longest = longestUnitText(breakdown);
  if (longest !== '') sentences.push(longest);
  const limits = LIMITING_FACTORS.filter(({ code }) => row.limitedBy.includes(code)).map(({ text }) => text);
  sentences.push(
    `${counted(row.residentBlocks, 'block')} ${row.residentBlocks === 1 ? 'is resident on a multiprocessor and takes' : 'are resident on a multiprocessor and take'} ${percent(row.occupancyFraction)} of its thread-group slots${limits.length > 0 ? `; ${limits.join(' and ')} ${limits.length > 1 || limits[0] !== 'shared memory' ? 'allow' : 'allows'} no more` : ''}. The launch takes ${row.waves.toFixed(2)} waves.`,
  );
  return sentences;
}

function lockstepText({ aggregateLoss, meanLoss }: RankRow): string {
  return `A group of units in lockstep takes ${aggregateLoss.toFixed(3)} times as long as its work alone (aggregate loss; the mean over groups is ${meanLoss.toFixed(3)}).`;
}
