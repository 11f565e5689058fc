import type { GpuDevice } from '../../src-workers/domain/device.ts';
import type { ImplementationKind, TimeInterval } from '../../src-workers/domain/evidence.ts';
import { unwrap } from '../../src-workers/domain/result.ts';
import type { KeptAgreement, KeptBand, KeptBands, MeasuredChip } from '../../src-workers/evidence/bands.ts';
import { judgeLaunches } from '../../src-workers/evidence/judge-shapes.ts';
import { agreement, type Judged } from '../../src-workers/evidence/judge.ts';
import { loadEvidence } from '../../src-workers/evidence/load.ts';
import type { SpmvParameter, SpmvParameters } from '../../src-workers/evidence/spmv-parameters.ts';
import { readLaunches, type ShapeGpu } from '../../src-workers/evidence/shapes.ts';
import { libraryTakesEvenShares } from '../../src-workers/evidence/spmv-designs.ts';
import { LAUNCH_DATASETS, type LaunchDataset } from '../../src-workers/models/launches/datasets.ts';
import { SIZED_MISS_FRACTION } from '../../src-workers/models/memory/accesses.ts';
import type { MeasuredGpu } from '../../src-workers/models/spmv/datasets.ts';
import type { MatrixSummary } from '../../src-workers/models/spmv/summary.ts';
import { median, sortedQuantile } from '../../src-workers/numeric/statistics.ts';
import { LAUNCH_FLOOR_MS } from '../../src-workers/predict/constants.ts';

/** Computes how far predictions must differ to confirm their order. Errors that two share cancel in their ratio. */

/** Four of five pairs err by less than the band. Predictions further apart are in the right order in 9 of 10 cases. */
const BAND_QUANTILE = 0.8;
/** Predictions that differ by more, in units of ln, are never tied, and are often in different regimes. */
const COMPETING = Math.log(2);
/** Smallest number of pairs that determines a quantile. */
const MIN_PAIRS = 30;

const KINDS: Readonly<Record<string, ImplementationKind>> = {
  coo: 'even-share',
  'csr-even': 'even-share',
  'csr-group': 'group-per-unit',
  'csr-thread': 'thread-per-unit',
  ell: 'padded',
  sellp: 'padded',
};

/** Returns the kind of an SpMV implementation; `null` if the implementation combines several kinds. */
export function kindOf(implementation: string, device: GpuDevice, matrix: MatrixSummary): ImplementationKind | null {
  if (implementation === 'csr-library') return libraryTakesEvenShares(device, matrix) ? 'even-share' : 'group-per-unit';
  return KINDS[implementation] ?? null;
}

type BandKey = Omit<KeptBand, 'fraction' | 'count'>;

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
      [...lists.values()].flatMap(({ key, errors: { length: count }, errors }) => {
        const quantile = sortedQuantile(Float64Array.from(errors).sort(), BAND_QUANTILE);
        return count >= MIN_PAIRS ? [{ ...key, fraction: Math.expm1(quantile), count }] : [];
      }),
  };
}

interface Predicted<Times = number> {
  readonly predicted: Times;
  readonly measured: Times;
}

const inOrder = <Text extends string>(a: Text, b: Text): readonly [Text, Text] => (a < b ? [a, b] : [b, a]);

/** A GPU of the SpMV data, with the predicted and measured times of its implementations. */
interface SpmvGpu {
  /** Id of its chip. */
  readonly chip: string;
  readonly device: GpuDevice;
  readonly isFitted: boolean;
  readonly pairs: readonly { readonly implementation: string; readonly pair: Predicted<Float64Array> }[];
  /** Launches with the predictions of a sweep, and with the predictions for the GPU as if it were not measured. */
  readonly swept: Launches;
  readonly assumed: Launches;
}

/** Launches of a GPU, as parallel lists of times and kinds. */
interface Launches extends Predicted<Float64Array> {
  readonly kinds: readonly (ImplementationKind | null)[];
  /** Start time of a launch, as in `TimeInterval`. */
  readonly startMicroseconds: number;
}

type Basis = 'catalogue' | 'assumed';

/**
 * Returns the parameters that a sweep uses to predict for a GPU: from the catalogue (`null` if it has none there), or
 * as assumed, the medians of the other GPUs. The start time of a launch depends on the driver and the timing method, so
 * it is always the median of the values fitted on this GPU.
 */
export function sweptParameters(
  { dataset, devices, kept }: Pick<Judged, 'dataset' | 'devices' | 'kept'>,
  gpu: MeasuredGpu,
  by: Basis,
): (SpmvParameters & { readonly startMicroseconds: number }) | null {
  const middle = (gpus: readonly MeasuredGpu[], name: SpmvParameter): number =>
    median(
      Float64Array.from(
        gpus.flatMap(({ implementations }) => implementations),
        ({ column }) => kept[dataset.id][column].values[name]!,
      ),
    );
  const startMicroseconds = dataset.gpus.includes(gpu)
    ? Number(middle([gpu], 'startMicroseconds').toPrecision(3))
    : LAUNCH_FLOOR_MS * 1e3;
  const { achievedBandwidthFraction: known } = devices.get(gpu.device)!;
  const missFraction = SIZED_MISS_FRACTION;
  if (by === 'assumed') {
    const others = dataset.gpus.filter(({ device }) => device !== gpu.device);
    const alike = others.filter(({ device }) => devices.get(device)!.vendor === 'amd');
    const isAmd = devices.get(gpu.device)!.vendor === 'amd';
    const fillMicroseconds = isAmd ? middle(alike, 'fillMicroseconds') : 0;
    return {
      bandwidthFraction: middle(others, 'bandwidthFraction'),
      startMicroseconds,
      missFraction,
      fillMicroseconds,
    };
  }
  return known === undefined ? null : { bandwidthFraction: known, startMicroseconds, missFraction };
}

export function sweptTimes({ dataset, predicted }: Judged, column: string, by: Basis): readonly (number | null)[] {
  const kept = predicted![dataset.id][column];
  return (by === 'catalogue' && kept.catalogue) || kept.assumed!;
}

/** Pairs measured times with predictions from the catalogue, or from the assumptions about an unmeasured GPU. */
export function sweptLaunches(judged: Judged, gpu: MeasuredGpu, device: GpuDevice, by: Basis): Launches {
  const { measured } = judged;
  const all = gpu.implementations.flatMap(({ column, implementation }) => {
    const times = sweptTimes(judged, column, by);
    return measured.matrices.flatMap((matrix, i) => {
      const time = measured.times.get(column)![i];
      return time > 0 ? [{ kind: kindOf(implementation, device, matrix), predicted: times[i]!, measured: time }] : [];
    });
  });
  return {
    kinds: all.map(({ kind }) => kind),
    predicted: Float64Array.from(all, (one) => one.predicted),
    measured: Float64Array.from(all, (one) => one.measured),
    startMicroseconds: sweptParameters(judged, gpu, 'assumed')!.startMicroseconds,
  };
}

/** Returns the interval of each kind that has enough launches, and the interval of all launches. */
export function intervalsOf({ kinds, predicted, measured, startMicroseconds }: Launches): readonly TimeInterval[] {
  const ratios = new Map<ImplementationKind | null, number[]>([[null, []]]);
  for (const [i, kind] of kinds.entries())
    for (const of of kind ? [null, kind] : [null]) {
      if (!ratios.has(of)) ratios.set(of, []);
      ratios.get(of)!.push(measured[i] / predicted[i]);
    }
  return [...ratios].flatMap(([kind, list]) => {
    const sorted = Float64Array.from(list).sort();
    const [low, high] = [0.05, 0.95].map((part) => sortedQuantile(sorted, part));
    return kind && list.length < MIN_PAIRS ? [] : [{ kind, count: list.length, low, high, startMicroseconds }];
  });
}

/** Returns every GPU of a data set. A GPU whose times are too few for a fit counts as unmeasured. */
function spmvGpus(judged: Judged, chipOf: (device: GpuDevice) => string): readonly SpmvGpu[] {
  const { dataset, devices } = judged;
  return [...dataset.gpus, ...dataset.unseen].map((gpu) => {
    const device = devices.get(gpu.device)!;
    const isFitted = dataset.gpus.includes(gpu);
    return {
      chip: isFitted ? gpu.device : chipOf(device),
      device,
      isFitted,
      pairs: gpu.implementations.map(({ column, implementation }) => ({
        implementation,
        pair: {
          predicted: Float64Array.from(sweptTimes(judged, column, 'catalogue'), (time) => time ?? NaN),
          measured: judged.measured.times.get(column)!,
        },
      })),
      swept: sweptLaunches(judged, gpu, device, 'catalogue'),
      assumed: sweptLaunches(judged, gpu, device, 'assumed'),
    };
  });
}

/**
 * Returns bands between implementations on one device, and between devices that both have fits: otherwise the start
 * time of a launch, which no data sheet states, would decide small matrices.
 */
function spmvBands({ dataset: { id: dataset }, measured }: Judged, gpus: readonly SpmvGpu[]): readonly KeptBand[] {
  const errors = collectErrors();
  const at = (pair: Predicted<Float64Array>, i: number): Predicted => ({
    predicted: pair.predicted[i],
    measured: pair.measured[i],
  });
  for (const [place, { chip, device, isFitted, pairs }] of gpus.entries()) {
    for (const [i, matrix] of measured.matrices.entries())
      for (const [first, a] of pairs.entries()) {
        const kind = kindOf(a.implementation, device, matrix);
        for (const b of pairs.slice(first + 1)) {
          const other = kindOf(b.implementation, device, matrix);
          if (kind && other)
            errors.add({ devices: [chip], kinds: inOrder(kind, other), dataset }, at(a.pair, i), at(b.pair, i));
        }
        for (const there of gpus.slice(place + 1)) {
          const same = there.pairs.find(({ implementation }) => implementation === a.implementation);
          if (same && isFitted && there.isFitted)
            errors.add({ devices: inOrder(chip, there.chip), kinds: [], dataset }, at(a.pair, i), at(same.pair, i));
        }
      }
  }
  return errors.bands();
}

/** Returns bands between launches of one kernel, and between the kinds of work distribution. */
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

/** Returns the outer quartiles of the bounds of several GPUs, and the median of their start times. */
function unmeasuredInterval(gpus: readonly Launches[]): TimeInterval {
  const all = gpus.map((launches) => intervalsOf(launches)[0]);
  const at = (of: 'low' | 'high' | 'startMicroseconds', part: number): number =>
    sortedQuantile(Float64Array.from(all, (one) => one[of]).sort(), part);
  const count = all.reduce((sum, one) => sum + one.count, 0);
  const ends = { low: at('low', 0.25), high: at('high', 0.75) };
  return { kind: null, count, ...ends, startMicroseconds: at('startMicroseconds', 0.5) };
}

function agreementOf(
  device: string,
  dataset: string,
  launches: Omit<Launches, 'startMicroseconds'>,
  intervals: readonly TimeInterval[],
): KeptAgreement {
  const { count, medianError, p90Error } = agreement(launches.predicted, launches.measured);
  const kinds = [...new Set(launches.kinds.flatMap((kind) => kind ?? []))].sort();
  return { device, dataset, kinds, count, medianError, p90Error, intervals };
}

/** Returns the bands of all data sets, and the errors for each device. The GPU of the data set `loops` has no name. */
export async function measuredBands(folder: string, devices: readonly GpuDevice[]): Promise<KeptBands> {
  const byId = new Map(devices.map((device) => [device.id, device]));
  const bands: KeptBand[] = [];
  const figures: KeptAgreement[] = [];
  const unmeasured: Launches[] = [];
  // Boards with the same architecture and number of multiprocessors count as one chip.
  const launched = LAUNCH_DATASETS.flatMap(({ decides, gpus }) => (decides ? gpus.map(({ device }) => device) : []));
  const chipOf = ({ id, architecture, multiprocessors }: GpuDevice): string => {
    const isSame = (other: GpuDevice): boolean =>
      other.architecture === architecture && other.multiprocessors === multiprocessors;
    return launched.find((other) => isSame(byId.get(other)!)) ?? id;
  };
  for (const judged of unwrap(await loadEvidence(folder, devices, {}))) {
    if (judged.dataset.unnamed) continue;
    const gpus = spmvGpus(judged, chipOf);
    bands.push(...spmvBands(judged, gpus));
    figures.push(...gpus.map(({ chip, swept }) => agreementOf(chip, judged.dataset.id, swept, intervalsOf(swept))));
    unmeasured.push(...gpus.map(({ assumed }) => assumed));
  }
  for (const dataset of LAUNCH_DATASETS) {
    if (!dataset.decides) continue;
    const gpus = await readLaunches(dataset, folder, byId);
    // Launches with a caveat helped to find terms of the model, so its errors for them are smaller than for others.
    if (dataset.caveat === undefined) bands.push(...shapeBands(dataset, gpus));
    // These times are predicted only up to a factor, or with measured cycles. They give no interval for a GPU.
    for (const gpu of gpus) {
      const kinds = gpu.families.flatMap((family) => family.kinds);
      figures.push(agreementOf(gpu.device, dataset.id, { ...judgeLaunches(dataset, gpu).points, kinds }, []));
    }
  }
  const order = ({ devices: of, kinds }: KeptBand): string => [...of, '|', ...kinds].join(' ');
  bands.sort((a, b) => (order(a) < order(b) ? -1 : 1));
  const chips = [...new Set(figures.map(({ device }) => device))].map((id): MeasuredChip => {
    const { name, architecture, multiprocessors, memoryBandwidthGbS } = byId.get(id)!;
    return { id, name, architecture, multiprocessors, memoryBandwidthGbS };
  });
  return { quantile: BAND_QUANTILE, bands, chips, devices: figures, unmeasured: unmeasuredInterval(unmeasured) };
}
