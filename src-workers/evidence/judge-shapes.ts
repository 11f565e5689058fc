import { blockOddity } from '../advise/pick.ts';
import type { ChoiceEvidence, DatasetEvidence, GpuDetail, GpuEvidence } from '../domain/evidence.ts';
import { AGREEMENT_FRACTION } from '../sweep/ties.ts';
import { sortedQuantile, spearman } from '../numeric/statistics.ts';
import { agreement, geometricMean, summariseRegrets } from './judge.ts';
import type { LaunchDataset } from '../models/launches/datasets.ts';
import type { ShapeFamily, ShapeGpu } from './shapes.ts';

export function judgeShapes(dataset: LaunchDataset, gpus: readonly ShapeGpu[]): DatasetEvidence {
  const { id, title, source, licence, notes } = dataset;
  return { id, title, source, licence, notes, gpus: gpus.map((gpu) => judgeGpu(dataset, gpu)), unseen: [] };
}

function judgeGpu(dataset: LaunchDataset, gpu: ShapeGpu): GpuEvidence {
  const { device, column, implementation, takes, families } = gpu;
  return {
    device,
    column,
    implementations: [
      {
        name: implementation,
        implementation,
        takes,
        ...shapeAgreement(dataset, gpu),
        large: null,
        fourNumbers: null,
        nearest: null,
        parameters: [],
      },
    ],
    choice: dataset.decides ? shapeChoice(families) : null,
    choiceLarge: null,
  };
}

/** If times are predicted only up to a factor, ranks are correlated within each `ShapeFamily`. */
function shapeAgreement({ proportional }: LaunchDataset, { families }: ShapeGpu) {
  const figures = agreement(scaledTimes(proportional, families), measuredTimes(families));
  if (!proportional) return figures;
  const inFamily = (of: (family: ShapeFamily) => Float64Array): Float64Array =>
    Float64Array.from(families.flatMap((family) => Array.from(of(family), (time) => time / geometricMean(of(family)))));
  return {
    ...figures,
    spearman: spearman(
      inFamily(({ predicted }) => predicted),
      inFamily((family) => family.measured),
    ),
  };
}

const measuredTimes = (families: readonly ShapeFamily[]): Float64Array =>
  Float64Array.from(families.flatMap(({ measured }) => [...measured]));

/** If times are predicted only up to a factor, a design's factor is fitted to the other designs of its family. */
function scaledTimes(proportional: boolean, families: readonly ShapeFamily[]): Float64Array {
  return Float64Array.from(
    families.flatMap(({ predicted, measured }) => {
      if (!proportional) return [...predicted];
      const logs = Array.from(predicted, (time, i) => Math.log(measured[i] / time));
      const sum = logs.reduce((total, log) => total + log, 0);
      return Array.from(predicted, (time, i) => time * Math.exp((sum - logs[i]) / (logs.length - 1)));
    }),
  );
}

export function judgeLaunches(dataset: LaunchDataset, gpu: ShapeGpu): GpuDetail {
  const { families } = gpu;
  const blocks = Float64Array.from(families.flatMap((family) => family.blocks));
  return {
    gpu: judgeGpu(dataset, gpu),
    unseen: null,
    points: {
      names: families.flatMap(({ name, labels }) => labels.map((label) => `${name}: ${label}`)),
      unit: dataset.unit,
      over: blocks.some((count) => count > 1) ? { blocks } : {},
      measured: measuredTimes(families),
      predicted: scaledTimes(dataset.proportional, families),
    },
  };
}

/** Among designs with nearly the shortest predicted time, block size decides, as in the product (`advise/pick.ts`). */
function shapeChoice(families: readonly ShapeFamily[]): ChoiceEvidence {
  const regrets = families.map(({ predicted, measured, threads }) => {
    const limit = Math.min(...predicted) * (1 + AGREEMENT_FRACTION);
    const tied = [...predicted.keys()].filter((i) => predicted[i] <= limit);
    const chosen = tied.reduce((a, b) =>
      (blockOddity(threads[b]) - blockOddity(threads[a]) || predicted[b] - predicted[a]) < 0 ? b : a,
    );
    return measured[chosen] / Math.min(...measured);
  });
  return {
    ...summariseRegrets(Float64Array.from(regrets)),
    bestFixed: bestFixed(families),
    fourNumbersRegret: null,
    randomRegret: randomRegret(families),
  };
}

/** Two designs are told apart if their predicted times differ by more than this quantile of the errors of pairs. */
const TOLD_APART_QUANTILE = 0.8;

function randomRegret(families: readonly ShapeFamily[]): number {
  const errors = families.flatMap(({ predicted, measured }) => {
    const logs = predicted.map((time, i) => Math.log(time / measured[i]));
    return [...logs].flatMap((one, a) => Array.from(logs.subarray(a + 1), (other) => Math.abs(one - other)));
  });
  const band = Math.exp(sortedQuantile(Float64Array.from(errors).sort(), TOLD_APART_QUANTILE));
  const means = families.map(({ predicted, measured }) => {
    const alike = measured.filter((_, i) => predicted[i] <= Math.min(...predicted) * band);
    return geometricMean(alike.map((time) => time / Math.min(...measured)));
  });
  return geometricMean(Float64Array.from(means));
}

function bestFixed(families: readonly ShapeFamily[]): ChoiceEvidence['bestFixed'] {
  const shared = families[0].labels.filter((label) => families.every(({ labels }) => labels.includes(label)));
  if (families.length < 2 || shared.length === 0) return null;
  return shared
    .map((name) => ({
      name,
      regret: geometricMean(
        Float64Array.from(families, ({ labels, measured }) => measured[labels.indexOf(name)] / Math.min(...measured)),
      ),
    }))
    .reduce((a, b) => (b.regret < a.regret ? b : a));
}
