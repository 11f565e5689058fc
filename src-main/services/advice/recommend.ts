import { makeFigures, pickDesign } from '../../../src-workers/advise/pick.ts';
import { plainDesign, plainText } from '../../../src-workers/advise/plain.ts';
import { unknownPaths } from '../../../src-workers/advise/unknown.ts';
import { BREAKDOWN_PARTS, shownParts, type Breakdown } from '../../../src-workers/domain/breakdown.ts';
import type { ImplementationKind } from '../../../src-workers/domain/evidence.ts';
import type { InputFact } from '../../../src-workers/domain/provenance.ts';
import { ok, type Result, notFound, conflict } from '../../../src-workers/domain/result.ts';
import { makeCellFinder, mapShape } from '../../../src-workers/advise/maps.ts';
import { AGREEMENT_FRACTION, tieFraction } from '../../../src-workers/sweep/ties.ts';
import { countWaves } from '../../../src-workers/advise/survey.ts';
import type { Recommendation } from '../../contract/advice.ts';
import type { Context } from '../context.ts';
import { deviceEvidence, tieBand } from '../evidence/tie-band.ts';
import { expectedTimes } from '../evidence/time-errors.ts';
import { listText } from '../../../src-workers/domain/text.ts';
import { timeText } from '../../../src-workers/domain/times.ts';
import { percent } from '../export/text.ts';
import { designText, invalidDesign, noneValidText } from '../../../src-workers/domain/design.ts';
import { pickRule } from '../ranking/recommended.ts';
import { predictedRow } from '../ranking/rows.ts';
import { advisedDevices, type AdvisedDevice, type AdvisedStudy } from './prepare.ts';
import type { DevicePrediction, Look, Predictions } from './predictions.ts';
import { timeIntervals } from './interval.ts';
import { unknownIn, unknownInput } from './unknown.ts';
import { axisCounts } from '../../../src-workers/domain/space.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';

export interface RecommendOptions {
  readonly deviceId?: string | undefined;
  /** Number of the design to compare with. It is compared on the recommended device, whatever its own device is. */
  readonly baseline?: number | null | undefined;
  readonly design?: number | undefined;
  readonly look?: Look | undefined;
}

interface Advised {
  readonly device: AdvisedDevice;
  readonly prediction: DevicePrediction;
  /** The number of the picked design, counted from 0 among the designs of the device. */
  readonly picked: number;
  readonly all: ReadonlyMap<AdvisedDevice, DevicePrediction>;
}

export function pickOf({ plan }: AdvisedDevice, { equal, columns }: DevicePrediction): number | undefined {
  return pickDesign(plan.axes, makeFigures(equal, columns), equal);
}

export function studyDesign(
  study: AdvisedStudy,
  designIndex: number,
  deviceId: string | undefined,
): Result<{ readonly device: AdvisedDevice; readonly design: number }> {
  const asked = advisedDevices(study, deviceId);
  if (!asked.ok) return asked;
  const { size } = study.devices[0];
  const device = study.devices[Math.floor(designIndex / size)];
  if (!device)
    return notFound(`The study has no design ${designIndex}: its designs are 0 to ${size * study.devices.length - 1}.`);
  if (!asked.value.includes(device))
    return conflict(`Design ${designIndex} belongs to ${device.device.id}. Specify a design of ${deviceId}.`);
  const design = designIndex - device.firstDesign;
  const { invalid } = describeDesign(device.predictor(), design);
  return invalid === null ? ok({ device, design }) : invalidDesign(designIndex, invalid);
}

export async function advise(
  predictions: Predictions,
  study: AdvisedStudy,
  options: RecommendOptions,
  turn: AbortSignal,
): Promise<Result<Advised>> {
  const devices = advisedDevices(study, options.deviceId);
  if (!devices.ok) return devices;
  const all = new Map<AdvisedDevice, DevicePrediction>();
  const look = options.look ?? 'all';
  // A coarse answer has a landscape only for the fastest device, which must first be found among several.
  const isMapped = look === 'coarse' && devices.value.length === 1;
  const predicted = await predictions.of(devices.value, isMapped ? 'whole-coarse' : look, turn);
  let fastest: AdvisedDevice | null = null;
  for (const [at, prediction] of predicted.entries()) {
    const device = devices.value[at];
    all.set(device, prediction);
    const timeMs = bestMs(prediction);
    if (timeMs !== null && (fastest === null || timeMs < bestMs(all.get(fastest)!)!)) fastest = device;
  }
  if (fastest && look === 'coarse' && !isMapped)
    all.set(fastest, (await predictions.of([fastest], 'whole-coarse', turn))[0]);
  const prediction = fastest && all.get(fastest);
  const picked = fastest && prediction && pickOf(fastest, prediction);
  if (!fastest || !prediction || typeof picked !== 'number') {
    const names = devices.value.map(({ device }) => device.name);
    return conflict(noneValidText(listText(names), await predictions.reasons(devices.value, turn)));
  }
  return ok({ device: fastest, prediction, picked, all });
}

const bestMs = ({ columns }: DevicePrediction): number | null => columns.timeMs[0] ?? null;

export async function recommend(
  { pool }: Context,
  predictions: Predictions,
  study: AdvisedStudy,
  options: RecommendOptions,
  turn: AbortSignal,
): Promise<Result<Recommendation>> {
  const start = performance.now();
  const size = study.devices[0].size;
  const total = size * study.devices.length;
  if (typeof options.baseline === 'number' && options.baseline >= total)
    return notFound(`The study has no design ${options.baseline}: its designs are 0 to ${total - 1}.`);
  const chosenDesign = options.design === undefined ? ok(null) : studyDesign(study, options.design, options.deviceId);
  if (!chosenDesign.ok) return chosenDesign;
  const advised = await advise(predictions, study, options, turn);
  if (!advised.ok) return advised;
  const { all } = advised.value;
  const own = chosenDesign.value?.device ?? advised.value.device;
  const prediction = all.get(own)!;
  const picked = chosenDesign.value?.design ?? advised.value.picked;
  const { device, plan, key, firstDesign } = own;
  const predictor = own.predictor();
  const at = prediction.equal.indexOf(picked);
  const columns =
    at < 0
      ? (await pool.run('survey', { plan, key, part: Uint32Array.of(picked), ties: own.ties })).columns
      : prediction.columns;
  const row = {
    ...predictedRow(predictor, picked, columns, Math.max(0, at), at + 1, at >= 0),
    designIndex: firstDesign + picked,
  };

  const asked = typeof options.baseline === 'number' ? options.baseline % size : null;
  const chosen = asked !== null && describeDesign(predictor, asked).invalid === null;
  const baseline = chosen ? asked : plainDesign(plan.axes, 0, (design) => countWaves(predictor, design));
  const explained = await pool.run('explain', {
    plan,
    key,
    designs: baseline === null ? [picked] : [picked, baseline],
  });
  const breakdown = explained[0]!;
  const before = explained[1] ?? null;
  const facts = study.facts(device, row.design.implementation);
  const interval = await timeInterval(pool, study, own, picked, row.kind, breakdown, facts);
  const band = tieBand(device);

  const causes = before ? differences(breakdown, before) : [];
  const baselineDesign = describeDesign(predictor, baseline ?? picked).design;
  const compared =
    baseline !== null && before
      ? {
          designIndex: firstDesign + baseline,
          threadsPerUnit: baselineDesign.threadsPerUnit,
          text: chosen
            ? designText(baselineDesign)
            : `plain: ${plainText(baselineDesign, device.kind)} (${designText(baselineDesign)})`,
          ms: before.timeMs,
          change: breakdown.timeMs / before.timeMs - 1,
          chosen,
        }
      : null;
  const measured = study.measuredBeside?.(row) ?? null;
  return ok({
    device: { id: device.id, name: device.name, evidence: deviceEvidence(device) },
    devices: study.devices.map((one) => {
      const known = all.get(one);
      return { id: one.device.id, name: one.device.name, bestMs: known ? bestMs(known) : null };
    }),
    row: { ...row, breakdown },
    designIndex: row.designIndex,
    time: { ms: breakdown.timeMs, ...interval },
    ties: {
      count: prediction.others?.ties.count ?? null,
      atLeast: countTies(own, prediction),
      fraction: band.fraction,
      band,
      rule: pickRule(device),
      designs: prediction.others?.ties.first.map((design) => firstDesign + design) ?? [],
    },
    baseline: compared,
    causes,
    why: whySentence(breakdown, compared, causes, picked === baseline),
    inputs: facts,
    landscape: makeLandscape(own, prediction, picked),
    predicted: [...all.values()].reduce((sum, { predicted }) => sum + predicted, 0),
    of: size * all.size,
    invalid: [...all.values()].reduce((sum, { invalid }) => sum + invalid, 0),
    elapsedMs: performance.now() - start,
    ...(measured && { measured }),
  });
}

/** Counts the designs tied with the fastest. Until all are predicted, only designs about as fast are counted. */
export function countTies({ ties }: AdvisedDevice, { equal, columns: { timeMs }, others }: DevicePrediction): number {
  if (others) return others.ties.count;
  return equal.filter((design, at) => timeMs[at] <= timeMs[0] * (1 + tieFraction(ties, equal[0], design))).length;
}

function makeLandscape(
  { plan, firstDesign }: AdvisedDevice,
  { others }: DevicePrediction,
  picked: number,
): Recommendation['landscape'] {
  const counts = axisCounts(plan.axes);
  const { rows, columns } = mapShape(counts);
  const cell = makeCellFinder(counts)(picked);
  const maps = others?.landscape.maps.map(({ timeMs, best, bestMs }, at) => ({
    threadsPerUnit: plan.axes.threadsPerUnit[at],
    timeMs,
    bestMs,
    bestDesign: best < 0 ? null : firstDesign + best,
  }));
  return {
    rows,
    columns,
    maps: maps ?? null,
    picked: { map: Math.floor(cell / (rows * columns)), cell: cell % (rows * columns) },
  };
}

const ROUNDING = 1e-12;

function differences(picked: Breakdown, baseline: Breakdown): Recommendation['causes'] {
  const [own, other] = [shownParts(picked), shownParts(baseline)];
  return BREAKDOWN_PARTS.map(({ id, label }) => ({ part: id, label, ms: own[id] - other[id] }))
    .filter((cause) => Math.abs(cause.ms) > ROUNDING * picked.timeMs)
    .sort((a, b) => Math.abs(b.ms) - Math.abs(a.ms));
}

const WORTH_SAYING = 0.1;
const MAX_CAUSES = 3;

function whySentence(
  breakdown: Breakdown,
  baseline: Recommendation['baseline'],
  causes: Recommendation['causes'],
  isBaseline: boolean,
): string {
  if (!baseline) {
    const shown = shownParts(breakdown);
    const [part] = BREAKDOWN_PARTS.slice(1).sort((a, b) => shown[b.id] - shown[a.id]);
    return `The work itself takes ${percent(shown.idealWork / breakdown.timeMs)} of the time; the largest loss is ${part.label.toLowerCase()}, ${percent(shown[part.id] / breakdown.timeMs)}.`;
  }
  const name = baseline.chosen ? 'the baseline' : 'the plain design';
  if (isBaseline)
    return `The recommended design is ${name} itself: no design is faster by more than ${percent(AGREEMENT_FRACTION)}.`;
  const gap = Math.abs(baseline.ms * baseline.change);
  const said = causes.filter((cause) => Math.abs(cause.ms) >= WORTH_SAYING * gap).slice(0, MAX_CAUSES);
  const text = said
    .map((cause) => `${timeText(Math.abs(cause.ms))} ${cause.ms < 0 ? 'less' : 'more'} ${cause.label.toLowerCase()}`)
    .join(', ');
  const change =
    Math.abs(baseline.change) < 0.0005
      ? `It takes as long as ${name}`
      : `It takes ${percent(Math.abs(baseline.change))} ${baseline.change < 0 ? 'less' : 'more'} time than ${name}`;
  return text === '' ? `${change}.` : `${change}: ${text}.`;
}

async function timeInterval(
  pool: Context['pool'],
  study: AdvisedStudy,
  own: AdvisedDevice,
  picked: number,
  kind: ImplementationKind,
  { timeMs, regime }: Breakdown,
  facts: readonly InputFact[],
): Promise<Omit<Recommendation['time'], 'ms'>> {
  const { device, plan } = own;
  const unknown = unknownIn(study, own);
  const paths = unknownPaths(unknown);
  const [range] = await timeIntervals(pool, study, own, [{ design: picked, timeMs, kind }]);
  const { accuracy } = regime;
  const model = accuracy
    ? `95 % of predictions by this method (${regime.label.toLowerCase()}) are within ${percent(accuracy.p95)} of the event simulation`
    : `No comparison of this method (${regime.label.toLowerCase()}) with a simulation is known`;
  const held = expectedTimes(device, kind);
  const labels = paths.map((path) => unknownInput(study, own, unknown, path).input.label);
  const ranges = labels.length === 0 ? '' : `, with usual values for unstated inputs: ${labels.join(', ')}`;
  const measured = plan.pipeline[device.id];
  const estimates = facts.flatMap(({ field, origin, label }) =>
    origin === 'assumed' && field.startsWith('device.') ? [label] : [],
  );
  const taken = estimates.length === 0 ? '' : `, including its estimated values (${estimates.join(', ')})`;
  const stands = measured
    ? `The study states how many cycles an iteration takes on this device${measured.transferScale === undefined ? '' : ', and a factor on its memory traffic'}, so the cycles do not come from the data sheet.`
    : `The time is computed from the properties of ${device.name}${taken}, without a measured run.`;
  return {
    ...range,
    basis: `${model}${ranges}. ${held.text}. ${stands}`,
  };
}
