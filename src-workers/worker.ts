import { createHash } from 'node:crypto';
import { threadId, workerData } from 'node:worker_threads';
import { move, Piscina } from 'piscina';
import type { DrawnTimeline, PlayedLaunch } from './domain/timeline.ts';
import type { Breakdown } from './domain/breakdown.ts';
import type { PredictionChunk, PredictionColumns } from './domain/columns.ts';
import type { LossReport } from './domain/loss.ts';
import { productOf } from './domain/space.ts';
import type { ReproductionTable } from './domain/reproduction.ts';
import { changedPlan, changesLengths, type InputChange } from './advise/change.ts';
import {
  keepBest,
  keepPick,
  searchPart,
  shortestOfParts,
  type DesignRange,
  type FoundDesigns,
  type PickedDesign,
} from './advise/best.ts';
import { tryInput, type InputTrial, type TrialOptions } from './advise/sensitivity.ts';
import { drawnPlan, type Draw, type Unknown } from './advise/unknown.ts';
import type { Memory } from './advise/earlier.ts';
import { surveyDesigns, surveyFastest, predictTimes, type DesignPart, type Survey } from './advise/survey.ts';
import { makeBundle } from './bench/cuda/bundle.ts';
import type { CudaObject, PlacedFile } from './bench/cuda/cuda-plan.ts';
import { writeCudaPlan } from './bench/cuda/write.ts';
import { wordBytes } from './bench/words.ts';
import { calibrateFromDesigns, type CalibrationOptions, type MeasuredDesign } from './bench/calibrate.ts';
import { createBudget } from './numeric/budget.ts';
import { isEqual } from './numeric/compact.ts';
import { kept } from './numeric/kept.ts';
import { shareSteps, viewSteps } from './numeric/steps.ts';
import { makeUnitLaw, takePart, shareValues, type CompactOrder } from './predict/ordered.ts';
import type { CalibrationProfile } from './domain/calibration.ts';
import type { BenchPlan, PlanSource } from './domain/benchmark.ts';
import type { GpuDevice } from './domain/device.ts';
import type { DatasetEvidence, GpuDetail } from './domain/evidence.ts';
import type { Inspection } from './domain/inspection.ts';
import { ok, type Result, unsupported } from './domain/result.ts';
import { inspectKernel, type Asked, type KernelTexts } from './inspect/inspect.ts';
import { judgeEvidence, judgeGpuAgain } from './evidence/judge-all.ts';
import type { AskedEvidence } from './evidence/load.ts';
import type { TableSummary } from './domain/table.ts';
import type { LengthLaw } from './domain/workload.ts';
import type { CsvColumns } from './parse/csv.ts';
import { inspectLengths, readLengths } from './parse/length-file.ts';
import type { ReadLengths } from './parse/length-taker.ts';
import { workloadWithFiles } from './parse/open-file.ts';
import { bytesSource } from './parse/source.ts';
import type { AskedSyntax } from './parse/table.ts';
import { agreement, type Agreement, type MeasuredDesigns } from './models/calibration/agreement.ts';
import { lengthSampler, mersenneTwister } from './numeric/random.ts';
import { reproduce as reproducePapers } from './reproductions.ts';
import { playLaunch, type PlayRequest } from './simulate/play.ts';
import { classifyDesigns } from './predict/designs.ts';
import { explainDesign } from './predict/explain.ts';
import { createCaches } from './predict/caches.ts';
import { TASK_BYTES } from './predict/constants.ts';
import { reportLoss } from './predict/loss.ts';
import { predictRanges } from './predict/ranges.ts';
import { createPredictor } from './predict/predictor.ts';
import type { Caches, Predictor } from './predict/tables.ts';
import type { SweepPlan } from './predict/plan.ts';
import { firstEquals, type ComparedDesigns } from './sweep/equal.ts';
import type { TieTable } from './sweep/ties.ts';
import { expectedExcess } from './models/calibration/search.ts';
import { createTuner, type KnownDesign, type TuningEstimate, type TuningSpace } from './tune/tuner.ts';
import { simulateDesign, simulateTimeline, type SimulationOptions } from './simulate/simulate-design.ts';
import type { SimulatedDistribution } from './domain/simulation.ts';

if (workerData instanceof Int32Array) shareSteps(viewSteps(workerData, threadId));

const MAX_PREDICTORS = 3;
const predictors = new Map<string, Predictor>();

function getPredictor(plan: SweepPlan): Predictor {
  return kept(predictors, MAX_PREDICTORS, plan.id, () => createPredictor(plan));
}

/** The plans of one recommendation have the same units, so they share laws. */
interface SharedLaws {
  readonly caches: Caches;
  readonly predictors: Map<string, Predictor>;
}
/** Laws are kept for the study on screen, and for its version before the last edit. */
const MAX_LAWS = 2;
/** Enough for the devices of a study and a few edits. */
const MAX_ADVISORS = 6;
const laws = new Map<string, SharedLaws>();

/** @param key identifies the units of the plan, on which its laws depend */
function getAdvisor(plan: SweepPlan, key: string): Predictor {
  const { caches, predictors } = kept(laws, MAX_LAWS, key, () => ({ caches: createCaches(), predictors: new Map() }));
  return kept(predictors, MAX_ADVISORS, plan.id, () => createPredictor(withKnownLengths(plan), caches));
}

const findPredictor = (plan: SweepPlan, key: string | undefined): Predictor =>
  key === undefined ? getPredictor(plan) : getAdvisor(plan, key);

const MAX_LENGTHS = 2;
const lengthLaws: LengthLaw[] = [];
const lengthOrders: CompactOrder[] = [];

/** Replaces copies of law and order by equal objects of an earlier task, to which cached results belong. */
function withKnownLengths(plan: SweepPlan): SweepPlan {
  return {
    ...plan,
    law: findKnown(lengthLaws, plan.law, isSameLaw),
    ordered: plan.ordered && findKnown(lengthOrders, plan.ordered, isSameOrder),
  };
}

function findKnown<T>(seen: T[], one: T, isSame: (a: T, b: T) => boolean): T {
  const at = seen.findIndex((other) => isSame(other, one));
  const [known] = at < 0 ? [one] : seen.splice(at, 1);
  seen.unshift(known);
  seen.splice(MAX_LENGTHS);
  return known;
}

function isSameLaw(a: LengthLaw, b: LengthLaw): boolean {
  return a.label === b.label && isEqual(a.support, b.support) && isEqual(a.probability, b.probability);
}

function isSameOrder(a: CompactOrder, b: CompactOrder): boolean {
  return a.units === b.units && a.given === b.given && isEqual(a.iterations, b.iterations);
}

type Task<Fields> = Readonly<Fields>;
type OfPlan<Fields = unknown> = Task<Fields & { plan: SweepPlan }>;
type OfAdvice<Fields> = OfPlan<Fields & { key: string }>;

interface PredictOutput {
  readonly chunks: readonly PredictionChunk[];
  /** The fastest valid design of all ranges; the first of several equals. */
  readonly best: { readonly timeMs: number; readonly designIndex: number } | null;
}

export function predict({ plan, ranges }: OfPlan<{ ranges: readonly DesignRange[] }>): PredictOutput {
  const predictor = getPredictor(plan);
  const chunks = predictRanges(predictor, ranges);
  let timeMs = Infinity;
  let designIndex = -1;
  for (const chunk of chunks)
    for (let i = 0; i < chunk.count; i += 1)
      if (chunk.timeMs[i] < timeMs) {
        timeMs = chunk.timeMs[i];
        designIndex = chunk.firstDesign + i;
      }
  const output: PredictOutput = { chunks, best: designIndex < 0 ? null : { timeMs, designIndex } };
  return handedOver(output, chunks.flatMap(columnArrays));
}

function columnArrays(columns: PredictionColumns): readonly ArrayBufferView[] {
  return Object.values(columns).filter((column) => ArrayBuffer.isView(column));
}

export function classify({ plan, key }: OfPlan<{ key?: string }>): Float64Array {
  const predictor = findPredictor(plan, key);
  const size = productOf(predictor.counts);
  return classifyDesigns(predictor, 0, size);
}

export function partBounds({ plan, parts }: OfPlan<{ parts: readonly DesignRange[] }>): Float64Array {
  return shortestOfParts(getPredictor(plan), parts);
}

export function searchBest(
  task: OfPlan<{ part: DesignRange; wanted: number; limitMs: number }>,
): FoundDesigns & { readonly predicted: number } {
  const kept = keepBest(task.wanted, task.limitMs, task.part.count);
  const predicted = searchPart(getPredictor(task.plan), task.part, kept);
  const found = kept.found();
  return handedOver({ ...found, predicted }, [found.designs, ...columnArrays(found.columns)]);
}

export function searchPick({
  plan,
  part,
  limitMs,
}: OfPlan<{ part: DesignRange; limitMs: number }>): PickedDesign | null {
  const kept = keepPick(plan.axes, limitMs);
  searchPart(getPredictor(plan), part, kept);
  return kept.picked();
}

/** @param task if `fastest` is given, only the fastest designs are predicted */
export function survey(
  task: OfAdvice<{ part: DesignPart; ties: TieTable; fastest?: { bestMs: number; memory: Memory } }>,
): Survey {
  const { part, ties, fastest } = task;
  const predictor = getAdvisor(task.plan, task.key);
  return fastest ? surveyFastest(predictor, part, fastest) : surveyDesigns(predictor, part, ties);
}

type GlancedPart = OfAdvice<{
  part: Uint32Array;
  leading: number;
  /** Whether the search must go on until it finds a valid design, however long this takes. */
  isNeeded: boolean;
  memory: Memory;
}>;

/**
 * Finds the fastest designs of several lists until a given time, ms since 1970. A single law of depths may take longer
 * than everything else together, so a search ends early if another step as slow as the slowest so far would be late.
 */
export function glance(task: Task<{ parts: readonly GlancedPart[]; untilMs: number }>): readonly Survey[] {
  const { parts, untilMs } = task;
  let slowest = 0;
  return parts.map(({ plan, key, part, leading, isNeeded, memory }, at) => {
    let last = Date.now();
    const until = last + (untilMs - last) / (parts.length - at);
    const isOver = (isFound: boolean): boolean => {
      const now = Date.now();
      slowest = Math.max(slowest, now - last);
      last = now;
      return (isFound || !isNeeded) && now + slowest >= until;
    };
    return surveyFastest(getAdvisor(plan, key), part, { isOver, leading, memory });
  });
}

/** Predicts times of the same designs with each change of the inputs; a null change changes nothing. */
export function vary(
  task: OfAdvice<{ designs: Uint32Array; changes: readonly (InputChange | null)[] }>,
): readonly Float64Array[] {
  const { plan, key, designs, changes } = task;
  return changes.map((change) =>
    predictTimes(change === null ? getAdvisor(plan, key) : changedPredictor(plan, key, change), designs),
  );
}

const createTaskCaches = (): Caches => createCaches(createBudget(TASK_BYTES));

function changedPredictor(plan: SweepPlan, key: string, change: InputChange): Predictor {
  const own = getAdvisor(plan, key);
  return createPredictor(changedPlan(own.plan, change), changesLengths(change) ? createTaskCaches() : own.caches);
}

export function draw(
  task: OfAdvice<{ designs: Uint32Array; unknown: Unknown; draws: readonly Draw[] }>,
): readonly Float64Array[] {
  const { plan, key, designs, unknown, draws } = task;
  // Each draw has other work per unit. Its depth laws are useless afterwards, so the draws have caches of their own.
  const caches = createTaskCaches();
  const own = getAdvisor(plan, key).plan;
  return draws.map((one, at) =>
    predictTimes(createPredictor(drawnPlan(own, unknown, one, `draw ${at}`), caches), designs),
  );
}

export function tryInputs({ plan, key, trial }: OfAdvice<{ trial: TrialOptions }>): InputTrial {
  // Predictors are kept, because the bisection requests its end points again.
  const made = new Map<number, Predictor>();
  const predictorAt = (value: number): Predictor =>
    kept(made, 3, value, () => changedPredictor(plan, key, { input: trial.input, value }));
  return tryInput(predictorAt, trial);
}

export function equals(task: Task<{ designs: ComparedDesigns; registersPerThread: number }>): Uint32Array {
  return firstEquals(task.designs, task.registersPerThread);
}

export function explain(task: OfPlan<{ key?: string; designs: readonly number[] }>): readonly (Breakdown | null)[] {
  const predictor = findPredictor(task.plan, task.key);
  return task.designs.map((design) => explainDesign(predictor, design));
}

export function simulate(task: OfPlan<{ design: number; options: SimulationOptions }>): Result<SimulatedDistribution> {
  return simulateDesign(getPredictor(task.plan), task.design, task.options);
}

export function timeline(task: OfPlan<{ design: number; seed: number; replication: number }>): Result<DrawnTimeline> {
  return simulateTimeline(getPredictor(task.plan), task.design, task.seed, task.replication);
}

export function play({ law, request }: Task<{ law: LengthLaw; request: PlayRequest }>): PlayedLaunch {
  return playLaunch(law, request);
}

export function loss(
  task: Task<{ law: LengthLaw; lengths: Float64Array | null; groupSizes: readonly number[]; quantiles: boolean }>,
): LossReport {
  return reportLoss(task.law, task.lengths, task.groupSizes, task.quantiles);
}

export function calibrate(
  task: OfPlan<{
    deviceAt: number;
    measured: readonly MeasuredDesign[];
    options: Omit<CalibrationOptions, 'uniform'>;
    seed: number;
  }>,
): Result<CalibrationProfile> {
  const options = { ...task.options, uniform: mersenneTwister(task.seed) };
  return calibrateFromDesigns(task.plan, task.deviceAt, task.measured, options);
}

export function agree({ designs, seed }: Task<{ designs: MeasuredDesigns; seed: number }>): Result<Agreement> {
  return agreement(designs, { uniform: mersenneTwister(seed) });
}

/** The cases of a suite (`BENCH_SUITES`) draw their lengths from laws, so they need no files. */
const LAWS_ALONE = {
  openFile: async (path: string): Promise<Result<never>> =>
    unsupported(`The workload of a suite names the file "${path}". Use a law, such as geometric(0.05).`),
};

/** Returns the lengths in their order if it is known, otherwise drawn from the law, and their digest (`PlanLine`). */
export function unitLengths({
  law,
  order,
  units,
  part,
  seed,
}: Task<{
  law: LengthLaw;
  order: Float64Array | null;
  units: number;
  part: number;
  seed: number;
}>): { readonly lengths: Uint32Array; readonly digest: string } {
  const all = new Uint32Array(units);
  if (order) for (let at = 0; at < units; at += order.length) all.set(order.subarray(0, units - at), at);
  else {
    const draw = lengthSampler(law);
    const uniform = mersenneTwister(seed);
    for (let unit = 0; unit < units; unit += 1) all[unit] = draw(uniform);
  }
  const lengths = takePart(all, part);
  const digest = createHash('sha256').update(wordBytes(lengths)).digest('hex');
  return handedOver({ lengths, digest }, [lengths]);
}

/** Ordered lengths are in shared memory. */
export async function workload(asked: Parameters<typeof workloadWithFiles>[0]): ReturnType<typeof workloadWithFiles> {
  const resolved = await workloadWithFiles(asked);
  if (!resolved.ok) return resolved;
  const { law, lengths } = resolved.value;
  const handed = ok({ ...resolved.value, lengths: lengths && shareValues(lengths) });
  return handedOver(handed, listArrays({ law, lengths: null }));
}

export function unitsLaw(task: Task<{ label: string; ordered: CompactOrder; units: number }>): LengthLaw {
  const law = makeUnitLaw(task.label, task.ordered, task.units);
  return handedOver(law, [law.support, law.probability]);
}

interface LengthFile {
  readonly bytes: Uint8Array;
  readonly name: string;
  readonly columns?: CsvColumns | undefined;
}

export async function lengthFile(file: LengthFile): Promise<Result<ReadLengths & { readonly sha256: string }>> {
  const { bytes, name, columns } = file;
  const read = await readLengths(bytesSource(bytes), name, columns);
  if (!read.ok) return read;
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return handedOver(ok({ ...read.value, sha256 }), listArrays(read.value));
}

export function tableOfFile(
  file: Omit<LengthFile, 'columns'> & { readonly asked: AskedSyntax },
): Promise<Result<TableSummary | null>> {
  return inspectLengths(bytesSource(file.bytes), file.name, file.asked);
}

function listArrays({ law, lengths }: { readonly law: LengthLaw; readonly lengths: Float64Array | null }) {
  return [law.support, law.probability, ...(lengths ? [lengths] : [])];
}

/** Moves the arrays of a value to the caller's thread, which avoids a copy. Piscina unwraps the value. */
function handedOver<T>(value: T, arrays: readonly ArrayBufferView[]): T {
  const buffers = new Set(arrays.map(({ buffer }) => buffer));
  return move({ [Piscina.transferableSymbol]: [...buffers], [Piscina.valueSymbol]: value } as never) as unknown as T;
}

export async function cudaFiles(
  task: Task<{ plan: BenchPlan; folder: string }>,
): Promise<Result<readonly CudaObject[]>> {
  const written = await writeCudaPlan(task.plan, task.folder, LAWS_ALONE);
  return written.ok ? ok(written.value.objects) : written;
}

export function bundle({
  plan,
  ...contents
}: Task<{ plan: BenchPlan; sourcesFolder: string; source: PlanSource | null; slurmTasks?: number }>): Promise<
  Result<readonly PlacedFile[]>
> {
  return makeBundle(plan, { ...contents, context: LAWS_ALONE });
}

export function reproduce({ paper }: { readonly paper?: string | undefined }): readonly ReproductionTable[] {
  return reproducePapers(paper);
}

interface EvidenceRequest extends AskedEvidence {
  readonly folder: string;
  readonly devices: readonly GpuDevice[];
}

export async function evidence({
  folder,
  devices,
  ...asked
}: EvidenceRequest): Promise<Result<{ readonly datasets: readonly DatasetEvidence[] }>> {
  const judged = await judgeEvidence(folder, devices, asked);
  return judged.ok ? ok({ datasets: judged.value }) : judged;
}

export function evidenceOfGpu(
  asked: EvidenceRequest & { readonly dataset: string; readonly gpu: string; readonly implementation: string },
): Promise<Result<GpuDetail>> {
  return judgeGpuAgain(asked.folder, asked.devices, asked);
}

export function inspect(task: Task<{ label: string; texts: KernelTexts; asked: Asked }>): Result<Inspection> {
  return inspectKernel(task.label, task.texts, task.asked);
}

/** Random search is shown for this many draws, or for two per measurement if that is more. */
const MIN_RANDOM_DRAWS = 100;

/**
 * Proposes the next `count` designs to measure. `randomMs` is the expected best time of 1, 2, … designs drawn at
 * random, by predictions that measured times have corrected; it is empty if nothing was measured.
 */
export function tune({
  space,
  known,
  count,
  seed,
}: Task<{ space: TuningSpace; known: readonly KnownDesign[]; count: number; seed: number }>): {
  readonly next: readonly number[];
  readonly estimate: TuningEstimate | null;
  readonly randomMs: Float64Array;
} {
  const tuner = createTuner(space, seed);
  for (const { design, timeMs, noise } of known)
    if (timeMs === null) tuner.reject(design);
    else tuner.observe(design, timeMs, noise);
  const times = tuner.expectedTimes().sort();
  const draws = Math.min(times.length, Math.max(MIN_RANDOM_DRAWS, 2 * known.length));
  return {
    next: tuner.propose(count),
    estimate: tuner.estimate(),
    randomMs: Float64Array.from({ length: draws }, (_, at) => times[0] + expectedExcess(times, at + 1)),
  };
}
