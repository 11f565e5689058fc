import type { Breakdown } from './domain/breakdown.ts';
import type { PredictionChunk } from './domain/columns.ts';
import type { ReproductionTable } from './domain/reproduction.ts';
import { move, Piscina } from 'piscina';
import { reproduce as reproducePapers } from './reproduce.ts';
import { classifyDesigns, createPredictor, explainDesign, predictChunk, type Predictor } from './sweep/predict.ts';
import type { SweepPlan } from './sweep/plan.ts';

/** The tasks of the pool: the only file that knows Piscina's worker side. */

/** Predictors of the plans seen last: chunks of one sweep, and explanations of a run being looked at, share tables. */
const MAX_PREDICTORS = 3;
const predictors = new Map<string, Predictor>();

function predictorOf(plan: SweepPlan): Predictor {
  let predictor = predictors.get(plan.id);
  if (!predictor) {
    if (predictors.size >= MAX_PREDICTORS) predictors.delete(predictors.keys().next().value!);
    predictor = createPredictor(plan);
  } else predictors.delete(plan.id);
  predictors.set(plan.id, predictor);
  return predictor;
}

export interface PredictInput {
  readonly plan: SweepPlan;
  readonly first: number;
  readonly count: number;
}

export interface PredictOutput {
  readonly chunk: PredictionChunk;
  /** The fastest valid design of the chunk. */
  readonly best: { readonly timeMs: number; readonly designIndex: number } | null;
}

export function predict({ plan, first, count }: PredictInput): PredictOutput {
  const chunk = predictChunk(predictorOf(plan), first, count);
  let at = -1;
  for (let i = 0; i < count; i += 1) if (chunk.timeMs[i]! < (at < 0 ? Infinity : chunk.timeMs[at]!)) at = i;
  const output: PredictOutput = { chunk, best: at < 0 ? null : { timeMs: chunk.timeMs[at]!, designIndex: first + at } };
  // Hands the buffers over to the caller's thread instead of copying them; Piscina unwraps the value.
  const buffers = Object.values(chunk).flatMap((column) => (ArrayBuffer.isView(column) ? [column.buffer] : []));
  return move({ [Piscina.transferableSymbol]: buffers, [Piscina.valueSymbol]: output } as never) as unknown as PredictOutput;
}

/** Counts of designs by invalid reason code, over the whole space. */
export function classify({ plan }: { readonly plan: SweepPlan }): Float64Array {
  const predictor = predictorOf(plan);
  const size = predictor.counts.reduce((product, count) => product * count, 1);
  return classifyDesigns(predictor, 0, size);
}

export function explain({ plan, designs }: { readonly plan: SweepPlan; readonly designs: readonly number[] }): readonly (Breakdown | null)[] {
  const predictor = predictorOf(plan);
  return designs.map((design) => explainDesign(predictor, design));
}

export function reproduce({ paper }: { readonly paper?: string | undefined }): readonly ReproductionTable[] {
  return reproducePapers(paper);
}

export interface WorkerTasks {
  readonly predict: typeof predict;
  readonly classify: typeof classify;
  readonly explain: typeof explain;
  readonly reproduce: typeof reproduce;
}
