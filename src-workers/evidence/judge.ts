import type { GpuDevice } from '../domain/device.ts';
import type {
  ChoiceEvidence,
  DatasetEvidence,
  EvidencePoints,
  GpuDetail,
  GpuEvidence,
  ImplementationEvidence,
  UnseenEvidence,
} from '../domain/evidence.ts';
import { SPMV_IMPLEMENTATIONS } from './spmv-designs.ts';
import { SPMV_PARAMETERS, type SpmvParameters } from './spmv-parameters.ts';
import { sortedQuantile, spearman } from '../numeric/statistics.ts';
import type { MeasuredMatrices } from '../parse/evidence.ts';
import type { MeasuredGpu, MeasuredImplementation, SpmvDataset } from '../models/spmv/datasets.ts';
import type { FittedImplementation, KeptParameters, KeptPredictions } from './kept.ts';
import { assignFold } from './folds.ts';
import { nearestMatrices, nearestTimes } from './nearest.ts';
import { fourNumbersTime } from './four-numbers.ts';

/** Matrices with at least this many non-zeros take much longer than the start of a launch. */
const LARGE_NONZEROS = 1e6;

export interface Judged {
  readonly dataset: SpmvDataset;
  readonly measured: MeasuredMatrices;
  readonly devices: ReadonlyMap<string, GpuDevice>;
  readonly kept: KeptParameters;
  /** `null` if the predictor must compute the times. */
  readonly predicted: KeptPredictions | null;
  /** `held-out`: fitted without the matrix's own fold; `all`: fitted to all shipped matrices. */
  readonly parameters: 'held-out' | 'all';
}

/** Times of one implementation, in the order of the file's matrices; NaN where a time is missing. */
export interface Pair {
  readonly name: string;
  readonly measured: Float64Array;
  readonly predicted: Float64Array;
  readonly fourNumbers: Float64Array;
}

export function judgeDataset(judged: Judged): DatasetEvidence {
  const { dataset } = judged;
  const { id, title, source, licence, notes } = dataset;
  const gpus = dataset.gpus.filter((gpu) => isMeasured(judged, gpu));
  const near = findNeighbours(judged);
  const others = dataset.unseen.filter((gpu) => isMeasured(judged, gpu));
  const unseen = dataset.gpus.length > 1 ? [...gpus, ...others].map((gpu) => judgeUnseen(judged, gpu)) : [];
  return { id, title, source, licence, notes, gpus: gpus.map((gpu) => judgeGpu(judged, gpu, near)), unseen };
}

export function judgeImplementation(judged: Judged, column: string, implementation: string): GpuDetail | null {
  const gpu = judged.dataset.gpus.find((one) => one.column === column);
  const at = gpu?.implementations.findIndex(({ name }) => name === implementation) ?? -1;
  if (!gpu || at < 0 || !isMeasured(judged, gpu)) return null;
  return {
    gpu: judgeGpu(judged, gpu),
    unseen: judged.dataset.gpus.length > 1 ? judgeUnseen(judged, gpu) : null,
    points: makePoints(judged, gpu, at),
  };
}

function makePoints(judged: Judged, gpu: MeasuredGpu, at: number): EvidencePoints {
  const { measured, predicted } = makePair(judged, gpu, at);
  const { matrices } = judged.measured;
  const shown = matrices.map((_, i) => i).filter((i) => measured[i] > 0);
  return {
    names: shown.map((i) => matrices[i].name),
    unit: 'µs',
    over: {
      nonzeros: Float64Array.from(shown, (i) => matrices[i].nonzeros),
      skewness: Float64Array.from(shown, (i) => matrices[i].skewness),
    },
    measured: Float64Array.from(shown, (i) => measured[i]),
    predicted: Float64Array.from(shown, (i) => predicted[i]),
  };
}

function isMeasured({ measured }: Judged, gpu: MeasuredGpu): boolean {
  return gpu.implementations.some(({ column }) => measured.times.get(column)?.some((time) => time > 0));
}

export function makePair(judged: Judged, gpu: MeasuredGpu, at: number): Pair {
  const { dataset, measured, devices, kept, parameters } = judged;
  const { name, column, implementation } = gpu.implementations[at];
  const model = SPMV_IMPLEMENTATIONS.get(implementation)!;
  const device = devices.get(gpu.device)!;
  const fitted = kept[dataset.id][column];
  const fold = (matrix: string): number => (parameters === 'all' ? -1 : assignFold(matrix));
  return {
    name,
    measured: measured.times.get(column) ?? new Float64Array(measured.matrices.length).fill(NaN),
    predicted: Float64Array.from(
      judged.predicted?.[dataset.id][column].heldOut ??
        measured.matrices.map((matrix) =>
          model.microseconds(device, matrix, fitted.folds[fold(matrix.name)] ?? fitted.values),
        ),
    ),
    fourNumbers: Float64Array.from(measured.matrices, (matrix) =>
      fourNumbersTime(implementation, matrix, fitted.fourNumbers.folds[fold(matrix.name)] ?? fitted.fourNumbers.values),
    ),
  };
}

/** Returns null for matrices of another file than the shipped ones. They get no estimate by neighbours. */
function findNeighbours({ measured, parameters }: Judged): readonly Int32Array[] | null {
  return parameters === 'held-out' ? nearestMatrices(measured.matrices) : null;
}

function judgeGpu(judged: Judged, gpu: MeasuredGpu, near = findNeighbours(judged)): GpuEvidence {
  const pairs = gpu.implementations.map((_, at) => makePair(judged, gpu, at));
  const { matrices } = judged.measured;
  const large = (i: number): boolean => matrices[i].nonzeros >= LARGE_NONZEROS;
  const chosen = pairs.filter(({ name }) => gpu.choices.includes(name));
  return {
    device: gpu.device,
    column: gpu.column,
    implementations: gpu.implementations.flatMap(({ column, implementation }, at) => {
      const pair = pairs[at];
      if (!pair.measured.some((time) => time > 0)) return [];
      return [implementationEvidence(pair, implementation, judged.kept[judged.dataset.id][column], large, near)];
    }),
    choice: judgeChoice(chosen, () => true),
    choiceLarge: judgeChoice(chosen, large),
  };
}

function implementationEvidence(
  pair: Pair,
  implementation: string,
  fitted: FittedImplementation,
  isLarge: (matrix: number) => boolean,
  near: readonly Int32Array[] | null,
): ImplementationEvidence {
  const { takes, parameters } = SPMV_IMPLEMENTATIONS.get(implementation)!;
  const own = agreement(pair.predicted, pair.measured);
  const four = agreement(pair.fourNumbers, pair.measured);
  const nearest = near && agreement(nearestTimes(near, pair.measured), pair.measured);
  const large = agreement(
    pair.predicted,
    pair.measured.map((time, i) => (isLarge(i) ? time : NaN)),
  );
  return {
    name: pair.name,
    implementation,
    takes,
    ...own,
    large: large.count > 1 ? large : null,
    fourNumbers: { medianError: four.medianError, spearman: four.spearman },
    nearest: nearest && { medianError: nearest.medianError, spearman: nearest.spearman },
    parameters: parameters.map((name) => {
      const { label, unit, meaning, lower, upper } = SPMV_PARAMETERS[name];
      return {
        name,
        label,
        unit,
        meaning,
        value: fitted.values[name]!,
        standardError: fitted.errors[name] ?? null,
        lower,
        upper,
      };
    }),
  };
}

/** @param measured NaN where a time was not measured */
export function agreement(predicted: Float64Array, measured: Float64Array) {
  const times = measured.filter((time) => time > 0);
  const own = predicted.filter((_, i) => measured[i] > 0);
  const errors = own.map((time, i) => Math.abs(time / times[i] - 1)).sort();
  return {
    count: times.length,
    medianError: sortedQuantile(errors, 0.5),
    p90Error: sortedQuantile(errors, 0.9),
    spearman: times.length > 1 ? spearman(own, times) : NaN,
  };
}

/** Judges the choice of the shortest predicted time; `null` if no matrix has at least two measured implementations. */
function judgeChoice(pairs: readonly Pair[], counts: (matrix: number) => boolean): ChoiceEvidence | null {
  const rows = Array.from(pairs[0].measured, (_, i) => i).filter(
    (i) => counts(i) && pairs.filter(({ measured }) => measured[i] > 0).length > 1,
  );
  if (rows.length === 0) return null;
  const best = rows.map((i) => Math.min(...pairs.map(({ measured }) => (measured[i] > 0 ? measured[i] : Infinity))));
  const chosen = (i: number, by: (pair: Pair) => Float64Array): number => {
    let least = Infinity;
    let time = NaN;
    for (const pair of pairs) {
      const predicted = by(pair)[i];
      if (!(pair.measured[i] > 0) || !(predicted < least)) continue;
      least = predicted;
      time = pair.measured[i];
    }
    return time;
  };
  const regrets = (by: (pair: Pair) => Float64Array) => Float64Array.from(rows, (i, at) => chosen(i, by) / best[at]);
  const own = regrets(({ predicted }) => predicted);
  const fixed = pairs
    .filter(({ measured }) => rows.every((i) => measured[i] > 0))
    .map(({ name, measured }) => ({
      name,
      regret: geometricMean(Float64Array.from(rows, (i, at) => measured[i] / best[at])),
    }))
    .sort((a, b) => a.regret - b.regret);
  return {
    ...summariseRegrets(own),
    bestFixed: fixed[0] ?? null,
    fourNumbersRegret: geometricMean(regrets(({ fourNumbers }) => fourNumbers)),
  };
}

/** @param regrets times of chosen designs, each divided by the shortest measured time of its matrix */
export function summariseRegrets(regrets: Float64Array) {
  return {
    count: regrets.length,
    regret: geometricMean(regrets),
    regretP95: sortedQuantile(regrets.toSorted(), 0.95),
    hitRate: regrets.filter((ratio) => ratio === 1).length / regrets.length,
  };
}

export function geometricMean(values: Float64Array): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

/** Geometric means of the values fitted for the vendor's other GPUs, or else for all other GPUs; `null` if none. */
export function unseenParameters(
  { dataset, devices, kept }: Pick<Judged, 'dataset' | 'devices' | 'kept'>,
  gpu: MeasuredGpu,
  implementation: string,
): SpmvParameters | null {
  const device = devices.get(gpu.device)!;
  const others = dataset.gpus
    .filter((other) => other.device !== gpu.device)
    .flatMap((other) =>
      other.implementations
        .filter((one) => one.implementation === implementation)
        .map(({ column }) => ({ device: devices.get(other.device)!, values: kept[dataset.id][column].values })),
    );
  const same = others.filter((other) => other.device.vendor === device.vendor);
  const used = same.length > 0 ? same : others;
  if (used.length === 0) return null;
  return Object.fromEntries(
    SPMV_IMPLEMENTATIONS.get(implementation)!.parameters.map((name) => [
      name,
      geometricMean(Float64Array.from(used, (other) => other.values[name]!)),
    ]),
  );
}

export function unseenPairs(
  judged: Judged,
  gpu: MeasuredGpu,
): readonly (Pair & Pick<MeasuredImplementation, 'implementation'>)[] {
  const { measured, devices } = judged;
  const device = devices.get(gpu.device)!;
  return gpu.implementations.flatMap(({ name, column, implementation }) => {
    const times = measured.times.get(column);
    const values = unseenParameters(judged, gpu, implementation);
    if (!times || !values) return [];
    const model = SPMV_IMPLEMENTATIONS.get(implementation)!;
    const predicted = Float64Array.from(
      judged.predicted?.[judged.dataset.id][column].unseen ??
        measured.matrices.map((matrix) => model.microseconds(device, matrix, values)),
    );
    return [{ name, implementation, measured: times, predicted, fourNumbers: predicted }];
  });
}

function judgeUnseen(judged: Judged, gpu: MeasuredGpu): UnseenEvidence {
  const { measured } = judged;
  const pairs = unseenPairs(judged, gpu);
  const chosen = pairs.filter(({ name }) => gpu.choices.includes(name));
  const large = (i: number): boolean => measured.matrices[i].nonzeros >= LARGE_NONZEROS;
  const errorOf = (counts: (i: number) => boolean): Float64Array =>
    Float64Array.from(
      pairs.flatMap((pair) =>
        [...pair.measured.keys()]
          .filter((i) => pair.measured[i] > 0 && counts(i))
          .map((i) => Math.abs(pair.predicted[i] / pair.measured[i] - 1)),
      ),
    ).sort();
  const all = errorOf(() => true);
  const big = errorOf(large);
  return {
    device: gpu.device,
    count: all.length,
    medianError: sortedQuantile(all, 0.5),
    regret: judgeChoice(chosen, () => true)?.regret ?? NaN,
    medianErrorLarge: big.length > 0 ? sortedQuantile(big, 0.5) : null,
    regretLarge: judgeChoice(chosen, large)?.regret ?? null,
  };
}
