import { changesLengths, type InputChange } from '../../../src-workers/advise/change.ts';
import {
  CANDIDATES_PER_VALUE,
  type InputTrial,
  type TakenOver,
  type TrialOptions,
} from '../../../src-workers/advise/sensitivity.ts';
import {
  decidingFields,
  kernelInput,
  kernelValue,
  type InputFact,
  type KernelField,
  type KernelNumber,
  type VariedInput,
} from '../../../src-workers/domain/provenance.ts';
import { ok, type Result } from '../../../src-workers/domain/result.ts';
import { describeDesign } from '../../../src-workers/predict/designs.ts';
import type { InputSensitivity, Sensitivity, Takeover } from '../../contract/advice.ts';
import type { Context } from '../context.ts';
import { deviceEvidence, tieBand } from '../evidence/tie-band.ts';
import { designText } from '../../../src-workers/domain/design.ts';
import { differenceText } from '../ranking/design-text.ts';
import { predictionInputs } from '../studies/plan.ts';
import type { DevicePrediction, Predictions } from './predictions.ts';
import type { AdvisedDevice, AdvisedStudy } from './prepare.ts';
import { advise, pickOf, studyDesign } from './recommend.ts';
import { inputLabel } from './robust.ts';

export interface SensitivityOptions {
  readonly deviceId?: string | undefined;
  readonly designIndex?: number | undefined;
  readonly inputs?: readonly VariedInput[] | undefined;
}

/** Maximum number of values to try besides an input's present value; `MORE_VALUES` for the inputs in `FINE`. */
const VALUES = 4;
const MORE_VALUES = 7;
const FINE: ReadonlySet<KernelField> = new Set(['registersPerThread', 'serialFraction', 'cooperationCost']);
/** The number of units varies up and down by this factor, and the spread of lengths by `SPREAD_FACTOR`. */
const UNITS_FACTOR = 8;
const SPREAD_FACTOR = 2;
/** Fields that are tried only on request, because few studies depend on them. */
const EXPERT: ReadonlySet<KernelNumber> = new Set([
  'kneeSoftness',
  'sharedMemoryBytesPerBlock',
  'spillInstructionsPerRegister',
]);
const WHOLE: ReadonlySet<KernelField> = new Set(['registersPerThread', 'sharedMemoryBytesPerBlock']);

interface Varied {
  readonly input: InputChange['input'];
  readonly fact: InputFact;
  readonly value: number;
  readonly range: readonly [number, number];
}

export async function sensitivity(
  { pool }: Context,
  predictions: Predictions,
  study: AdvisedStudy,
  options: SensitivityOptions,
  turn: AbortSignal,
): Promise<Result<Sensitivity>> {
  const start = performance.now();
  const chosen = await chosenDesign(predictions, study, options, turn);
  if (!chosen.ok) return chosen;
  const { device, recommended } = chosen.value;
  const [known] = await predictions.of([device], 'fastest', turn);
  const { design } = describeDesign(device.predictor(), recommended);
  const varied = variedInputs(study, device, design.implementation, options.inputs);
  const present = presentOf(device, known, recommended);
  const results = new Map<Varied, InputTrial>();
  // Inputs that change the laws take longest, so they come first. The workers then end at about the same time.
  const queue = [...varied].sort((a, b) => Number(changesLengths(b)) - Number(changesLengths(a)));
  const trials = new Map(varied.map((one) => [one, makeTrial(one, present)]));
  const lane = async (): Promise<void> => {
    for (let one = queue.shift(); one; one = queue.shift()) {
      const task = { plan: device.plan, key: device.key, trial: trials.get(one)! };
      results.set(one, await pool.run('tryInputs', task, { signal: turn }));
    }
  };
  await Promise.all(Array.from({ length: pool.workers }, lane));
  const band = tieBand(device.device);
  const inputs = varied.map((one) => computeSensitivity(one, trials.get(one)!, results.get(one)!, device, recommended));
  const decides = ({ below, above }: InputSensitivity): number => Math.max(below?.gain ?? 0, above?.gain ?? 0);
  const presentMs = inputs[0]?.recommendedMs[inputs[0].values.indexOf(varied[0].value)];
  return ok({
    device: { id: device.device.id, name: device.device.name, evidence: deviceEvidence(device.device) },
    designIndex: device.firstDesign + recommended,
    design: designText(design),
    timeMs: presentMs ?? NaN,
    tieFraction: band.fraction,
    tieBand: band,
    inputs: inputs.sort((a, b) => decides(b) - decides(a) || swing(b) - swing(a)),
    elapsedMs: performance.now() - start,
  });
}

async function chosenDesign(
  predictions: Predictions,
  study: AdvisedStudy,
  { deviceId, designIndex }: SensitivityOptions,
  turn: AbortSignal,
): Promise<Result<{ readonly device: AdvisedDevice; readonly recommended: number }>> {
  if (designIndex === undefined) {
    const advised = await advise(predictions, study, { deviceId, look: 'fastest' }, turn);
    return advised.ok ? ok({ device: advised.value.device, recommended: advised.value.picked }) : advised;
  }
  const asked = studyDesign(study, designIndex, deviceId);
  return asked.ok ? ok({ device: asked.value.device, recommended: asked.value.design }) : asked;
}

function variedInputs(
  study: AdvisedStudy,
  { device }: AdvisedDevice,
  implementation: string | undefined,
  asked: SensitivityOptions['inputs'],
): readonly Varied[] {
  const facts = new Map(study.facts(device).map((fact) => [fact.field, fact]));
  const deciding = decidingFields(predictionInputs(study.study, study.axes), device);
  const kernel = deciding.flatMap(({ field, input, kernel: own, of }): Varied[] => {
    if (
      field === 'lengthsKnownBeforeLaunch' ||
      field === 'accesses' ||
      field === 'sharing' ||
      (of !== null && of !== implementation)
    )
      return [];
    const path = input as InputChange['input'];
    const isAsked = asked?.some((one) => one === `kernel.${field}`) ?? !EXPERT.has(field);
    if (!isAsked) return [];
    const value = kernelValue(own, field);
    const fact = facts.get(input)!;
    const [from, to] = fact.usual!;
    return [{ input: path, fact, value, range: [Math.min(from, value), Math.max(to, value)] }];
  });
  const { units } = study.study.workload;
  const lengths = facts.get('workload.lengths')!;
  const work: readonly Varied[] = [
    {
      input: 'workload.units',
      fact: facts.get('workload.units')!,
      value: units,
      range: [Math.max(1, Math.round(units / UNITS_FACTOR)), units * UNITS_FACTOR],
    },
    {
      input: 'workload.spread',
      fact: { ...lengths, field: 'workload.spread', label: inputLabel('workload.spread'), value: 1, unit: 'times' },
      value: 1,
      range: [1 / SPREAD_FACTOR, SPREAD_FACTOR],
    },
  ];
  return [...kernel, ...work.filter(({ input }) => asked?.some((one) => one === input) ?? true)];
}

type Present = Pick<TrialOptions, 'recommended' | 'known' | 'ties'>;

function presentOf(device: AdvisedDevice, prediction: DevicePrediction, recommended: number): Present {
  const { equal, columns } = prediction;
  const at = equal.indexOf(recommended);
  const picked = pickOf(device, prediction);
  if (at < 0 || picked === undefined) return { recommended, known: null, ties: device.ties };
  const candidates = [picked, ...equal.subarray(0, CANDIDATES_PER_VALUE)];
  const known = {
    best: equal[0],
    bestMs: columns.timeMs[0],
    recommendedMs: columns.timeMs[at],
    picked,
    candidates,
  };
  return { recommended, known, ties: device.ties };
}

function makeTrial({ input, value, range: [from, to] }: Varied, present: Present): TrialOptions {
  const { field = null } = kernelInput(input) ?? {};
  const whole = field === null ? input === 'workload.units' : WHOLE.has(field);
  const values = new Set([value]);
  const count = field !== null && FINE.has(field) ? MORE_VALUES : VALUES;
  for (let i = 0; i < count; i += 1) {
    const part = i / (count - 1);
    // The ratio of neighbouring values is constant, or if the range begins at zero, the values are denser near zero.
    const at = from > 0 ? from * (to / from) ** part : to * part * part;
    values.add(whole ? Math.round(at) : Number(at.toPrecision(6)));
  }
  const ascending = [...values].sort((a, b) => a - b);
  return { input, values: ascending, value, whole, ...present };
}

function computeSensitivity(
  { fact }: Varied,
  { values }: TrialOptions,
  trial: InputTrial,
  device: AdvisedDevice,
  recommended: number,
): InputSensitivity {
  const { design } = describeDesign(device.predictor(), recommended);
  const takeover = (over: TakenOver | null): Takeover | null =>
    over && {
      at: over.at,
      designIndex: device.firstDesign + over.design,
      text: differenceText(design, describeDesign(device.predictor(), over.design).design),
      gain: over.gain,
    };
  const below = takeover(trial.below);
  const above = takeover(trial.above);
  return {
    input: fact,
    values,
    bestMs: trial.bestMs,
    recommendedMs: trial.recommendedMs,
    designs: trial.picked.map((picked) => device.firstDesign + picked),
    holds: trial.holds,
    below,
    above,
    sentence: writeSentence(fact.label, trial.holds, below, above),
  };
}

const PLURAL = /^(Registers|Instructions|Dependent loads|Units)\b/;
const figure = (value: number): string => value.toLocaleString('en', { maximumSignificantDigits: 3 });

function writeSentence(
  label: string,
  [from, to]: InputSensitivity['holds'],
  below: Takeover | null,
  above: Takeover | null,
): string {
  const parts = [
    ...(below && from !== null ? [`below ${figure(from)} → ${below.text}`] : []),
    ...(above && to !== null ? [`above ${figure(to)} → ${above.text}`] : []),
  ];
  const verb = PLURAL.test(label) ? 'decide' : 'decides';
  return parts.length === 0 ? '' : `${label} ${verb}: ${parts.join('; ')}.`;
}

function swing({ recommendedMs }: InputSensitivity): number {
  const times = recommendedMs.filter((time) => !Number.isNaN(time));
  return Math.max(...times) / Math.min(...times);
}
