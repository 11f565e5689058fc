import type { GpuDevice } from '../domain/device.ts';
import type { DeviceAgreement, ImplementationKind } from '../domain/evidence.ts';
import { unwrap } from '../domain/result.ts';
import { LAUNCH_DATASETS, type LaunchDataset } from '../models/launches/datasets.ts';
import { libraryTakesEvenShares } from '../models/spmv/implementations.ts';
import type { MatrixSummary } from '../models/spmv/summary.ts';
import { sortedQuantile } from '../numeric/statistics.ts';
import { agreement, pairOf, type Judged } from './judge.ts';
import { shapeAgreement } from './judge-shapes.ts';
import { loadEvidence } from './load.ts';
import { readLaunches, type ShapeGpu } from './shapes.ts';

/**
 * How far two predictions must differ before measurements order them alike. What is common to both (the device, the work) cancels: the
 * error of a ratio is the difference of the logarithms of predicted over measured.
 */

/** A band as it is kept in `db/evidence/tie-bands.json`. */
export interface KeptBand {
  /** One device, or two that are compared. */
  readonly devices: readonly string[];
  /** Kinds that are compared, ascending; none where designs of one kind differ in their shape, or two devices run the same. */
  readonly kinds: readonly ImplementationKind[];
  readonly fraction: number;
  readonly count: number;
  readonly dataset: string;
}

/** Of a device of the catalogue. */
export interface KeptAgreement extends DeviceAgreement {
  readonly device: string;
}

/** What identifies the chip of a measured device, whatever its board. */
export interface MeasuredChip {
  readonly id: string;
  readonly name: string;
  readonly architecture: string;
  readonly multiprocessors: number;
}

export interface KeptBands {
  /** Share of the pairs whose error is within the band. */
  readonly quantile: number;
  readonly bands: readonly KeptBand[];
  readonly chips: readonly MeasuredChip[];
  readonly devices: readonly KeptAgreement[];
}

/**
 * Four of five pairs of measured times err by less. A pair whose predicted times differ by more is then ordered rightly at least nine
 * times of ten, as errors fall to both sides.
 */
const BAND_QUANTILE = 0.8;
/** Pairs whose predicted times differ by more are no matter of a tie, and often of another regime. */
const COMPETING = Math.log(2);
/** Fewer pairs say little about a quantile. */
const MIN_PAIRS = 30;

const KINDS: Readonly<Record<string, ImplementationKind>> = {
  coo: 'even-share',
  'csr-even': 'even-share',
  'csr-group': 'group-per-unit',
  'csr-thread': 'thread-per-unit',
  ell: 'padded',
  sellp: 'padded',
};

/** How an implementation of SpMV takes a matrix; `null` where it does so in several ways at once. */
function kindOf(implementation: string, device: GpuDevice, matrix: MatrixSummary): ImplementationKind | null {
  if (implementation === 'csr-library') return libraryTakesEvenShares(device, matrix) ? 'even-share' : 'group-per-unit';
  return KINDS[implementation] ?? null;
}

type BandKey = Omit<KeptBand, 'fraction' | 'count'>;

/** Collects errors of ratios by what is compared. */
function collectErrors() {
  const lists = new Map<string, { readonly key: BandKey; readonly errors: number[] }>();
  return {
    add(key: BandKey, a: Predicted, b: Predicted): void {
      if (Math.abs(Math.log(a.predicted / b.predicted)) > COMPETING) return;
      const error = Math.abs(Math.log(a.predicted / a.measured) - Math.log(b.predicted / b.measured));
      if (Number.isNaN(error)) return;
      const id = JSON.stringify([key.devices, key.kinds]);
      if (!lists.has(id)) lists.set(id, { key, errors: [] });
      lists.get(id)!.errors.push(error);
    },
    bands: (): readonly KeptBand[] =>
      [...lists.values()]
        .filter(({ errors }) => errors.length >= MIN_PAIRS)
        .map(({ key, errors }) => ({
          ...key,
          fraction: Math.expm1(sortedQuantile(Float64Array.from(errors).sort(), BAND_QUANTILE)),
          count: errors.length,
        })),
  };
}

interface Predicted {
  readonly predicted: number;
  readonly measured: number;
}

const inOrder = <Text extends string>(a: Text, b: Text): readonly [Text, Text] => (a < b ? [a, b] : [b, a]);

/** Between implementations of a device, and between devices that run one implementation, matrix by matrix. */
function spmvBands(judged: Judged): readonly KeptBand[] {
  const { dataset, devices, measured } = judged;
  const errors = collectErrors();
  const gpus = dataset.gpus.map((gpu) => ({
    device: gpu.device,
    pairs: gpu.implementations.map((own, at) => ({ ...own, pair: pairOf(judged, gpu, at) })),
  }));
  const at = ({ predicted, measured: times }: { predicted: Float64Array; measured: Float64Array }, i: number) => ({
    predicted: predicted[i],
    measured: times[i],
  });
  for (const [place, { device, pairs }] of gpus.entries()) {
    const own = devices.get(device)!;
    for (const [i, matrix] of measured.matrices.entries())
      for (const [first, a] of pairs.entries()) {
        const kind = kindOf(a.implementation, own, matrix);
        for (const b of pairs.slice(first + 1)) {
          const other = kindOf(b.implementation, own, matrix);
          if (kind && other)
            errors.add(
              { devices: [device], kinds: inOrder(kind, other), dataset: dataset.id },
              at(a.pair, i),
              at(b.pair, i),
            );
        }
        for (const there of gpus.slice(place + 1)) {
          const same = there.pairs.find(({ implementation }) => implementation === a.implementation);
          if (same)
            errors.add(
              { devices: inOrder(device, there.device), kinds: [], dataset: dataset.id },
              at(a.pair, i),
              at(same.pair, i),
            );
        }
      }
  }
  return errors.bands();
}

/** Between launches of one kernel, and between its ways to take work. */
function shapeBands({ id }: LaunchDataset, gpus: readonly ShapeGpu[]): readonly KeptBand[] {
  const errors = collectErrors();
  for (const { device, families } of gpus)
    for (const { kinds, predicted, measured } of families)
      for (let a = 0; a < kinds.length; a += 1)
        for (let b = a + 1; b < kinds.length; b += 1)
          errors.add(
            { devices: [device], kinds: kinds[a] === kinds[b] ? [] : inOrder(kinds[a], kinds[b]), dataset: id },
            { predicted: predicted[a], measured: measured[a] },
            { predicted: predicted[b], measured: measured[b] },
          );
  return errors.bands();
}

/** How far predictions of each device are from its measured times, where no fit had seen them. */
function spmvDevices(judged: Judged): readonly KeptAgreement[] {
  return judged.dataset.gpus.map((gpu) => {
    const pairs = gpu.implementations.map((_, at) => pairOf(judged, gpu, at));
    const all = (of: (pair: (typeof pairs)[number]) => Float64Array): Float64Array =>
      Float64Array.from(pairs.flatMap((pair) => [...of(pair)]));
    const { count, medianError, p90Error } = agreement(
      all(({ predicted }) => predicted),
      all(({ measured }) => measured),
    );
    return { device: gpu.device, dataset: judged.dataset.id, count, medianError, p90Error };
  });
}

function shapeDevices(dataset: LaunchDataset, gpus: readonly ShapeGpu[]): readonly KeptAgreement[] {
  return gpus.map((gpu) => {
    const { count, medianError, p90Error } = shapeAgreement(dataset, gpu);
    return { device: gpu.device, dataset: dataset.id, count, medianError, p90Error };
  });
}

/**
 * The bands of all data sets, and how well each device is predicted. The GPU of `loops` is not named, so its times say nothing of a
 * device; losses are no times.
 */
export async function measuredBands(folder: string, devices: readonly GpuDevice[]): Promise<KeptBands> {
  const byId = new Map(devices.map((device) => [device.id, device]));
  const bands: KeptBand[] = [];
  const figures: KeptAgreement[] = [];
  for (const judged of unwrap(await loadEvidence(folder, devices, {}))) {
    if (judged.dataset.unnamed) continue;
    bands.push(...spmvBands(judged));
    figures.push(...spmvDevices(judged));
  }
  for (const dataset of LAUNCH_DATASETS) {
    if (!dataset.decides) continue;
    const gpus = await readLaunches(dataset, folder, byId);
    bands.push(...shapeBands(dataset, gpus));
    figures.push(...shapeDevices(dataset, gpus));
  }
  const order = ({ devices: of, kinds }: KeptBand): string => [...of, '|', ...kinds].join(' ');
  bands.sort((a, b) => (order(a) < order(b) ? -1 : 1));
  const chips = [...new Set(figures.map(({ device }) => device))].map((id): MeasuredChip => {
    const { name, architecture, multiprocessors } = byId.get(id)!;
    return { id, name, architecture, multiprocessors };
  });
  return { quantile: BAND_QUANTILE, bands, chips, devices: figures };
}
