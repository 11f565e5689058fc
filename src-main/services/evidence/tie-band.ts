import data from '../../../db/evidence/tie-bands.json' with { type: 'json' };
import type { Device } from '../../../src-workers/domain/device.ts';
import {
  kindsText,
  type DeviceEvidence,
  type ImplementationKind,
  type TieBand,
} from '../../../src-workers/domain/evidence.ts';
import { axisCounts, type SpaceAxes } from '../../../src-workers/domain/space.ts';
import type { KeptBand, KeptBands, MeasuredChip } from '../../../src-workers/evidence/bands.ts';
import { LAUNCH_DATASETS } from '../../../src-workers/models/launches/datasets.ts';
import { normalQuantile } from '../../../src-workers/models/workload/normal.ts';
import { getOrMake, kept, keptFor, keptWith } from '../../../src-workers/numeric/kept.ts';
import { sortedQuantile } from '../../../src-workers/numeric/statistics.ts';
import { AGREEMENT_FRACTION, tieTable, type TiePlace, type TieTable } from '../../../src-workers/sweep/ties.ts';
import { percent } from '../export/text.ts';

/**
 * Tie bands (`db/evidence/tie-bands.json`): how far two predicted times must differ for measurements to confirm their
 * order. Designs that differ only in shape (block size, grid) have a narrow band. Designs that take their work in
 * different ways have wider bands, because their times depend on different effects.
 * A device without measurements gets the upper quartile of the bands of the measured devices. With the median, it would
 * count as more certain than half of the known devices. With the maximum, a single data set would decide.
 */
const keptBands = data as KeptBands;
const TAKEN_QUANTILE = 0.75;

/** Returns this board if it was measured, or else the measured board of its chip with the nearest bandwidth. */
function measuredChip(device: Device): MeasuredChip | undefined {
  if (device.kind !== 'gpu') return undefined;
  const { architecture, multiprocessors } = device;
  const boards = keptBands.chips.filter(
    (chip) => chip.architecture === architecture && chip.multiprocessors === multiprocessors,
  );
  const apart = ({ memoryBandwidthGbS }: MeasuredChip) =>
    Math.abs(Math.log(memoryBandwidthGbS / device.memoryBandwidthGbS));
  return (
    keptBands.chips.find(({ id }) => id === device.id) ?? boards.sort((one, other) => apart(one) - apart(other))[0]
  );
}

const measured = new Map(keptBands.bands.map((band) => [keyOf(band.devices, band.kinds), band]));
function keyOf(devices: readonly string[], kinds: readonly string[]): string {
  return [...devices.toSorted(), '|', ...kinds.toSorted()].join(' ');
}

function measuredBand(devices: readonly string[], kinds: readonly ImplementationKind[], text: string): TieBand | null {
  const found = measured.get(keyOf(devices, kinds));
  if (!found) return null;
  const { fraction, count, dataset } = found;
  return {
    fraction: Math.max(AGREEMENT_FRACTION, fraction),
    source: `measured times of ${text} (${dataset}: for ${percent(keptBands.quantile)} of ${count.toLocaleString('en')} pairs, the predicted ratio of their times errs by less than this)`,
    takenFrom: null,
    count,
  };
}

/** Returns the upper quartile of bands of other devices. `what` describes them, with # for the number of bands. */
function takenBand(what: string, bands: readonly KeptBand[]): TieBand {
  const fraction = sortedQuantile(Float64Array.from(bands, (band) => band.fraction).sort(), TAKEN_QUANTILE);
  const takenFrom = `the upper quartile of the tie bands of ${what.replace('#', String(bands.length))}`;
  return { fraction: Math.max(AGREEMENT_FRACTION, fraction), source: null, takenFrom, count: 0 };
}

const ofOneDevice = keptBands.bands.filter(({ devices }) => devices.length === 1);
const TAKEN = {
  shapes: takenBand(
    '# other devices',
    ofOneDevice.filter(({ kinds }) => kinds.length === 0),
  ),
  kinds: takenBand(
    '# pairs of kinds of kernels on measured devices',
    ofOneDevice.filter(({ kinds }) => kinds.length > 0),
  ),
  devices: takenBand(
    '# other pairs of devices',
    keptBands.bands.filter(({ devices }) => devices.length === 2),
  ),
};

const takenOfKinds = new Map<string, TieBand>();
function takenBandOfKinds(kinds: readonly ImplementationKind[]): TieBand {
  const key = keyOf([], kinds);
  return getOrMake(takenOfKinds, key, () => {
    const bands = ofOneDevice.filter((band) => keyOf([], band.kinds) === key);
    return bands.length === 0 ? TAKEN.kinds : takenBand(`${pairText(kinds)} on # other devices`, bands);
  });
}

const pairText = ([one, other]: readonly ImplementationKind[]): string =>
  one === other ? `implementations with ${kindsText([one])}` : kindsText([one, other].sort());

const wider = (one: TieBand, other: TieBand): TieBand => (other.fraction > one.fraction ? other : one);

/**
 * Returns the fraction by which two predicted times of a device must differ for measurements to confirm their order:
 * `tieBand(device)` for designs that differ only in shape, `tieBand(device, 'padded', 'even-share')` for designs that
 * take their work in these ways. A fraction that was not measured on the device's chip comes from other devices
 * (`source` is null). With kinds, it is then at least that of shapes.
 */
export function tieBand(
  device: Device,
  ...kinds: readonly [] | readonly [ImplementationKind, ImplementationKind]
): TieBand {
  return keptFor(bandsOfDevices, device, Infinity, kinds.join(' '), () => findBand(device, kinds));
}

const bandsOfDevices = new WeakMap<Device, Map<string, TieBand>>();

function findBand(device: Device, kinds: readonly [] | readonly [ImplementationKind, ImplementationKind]): TieBand {
  const chip = measuredChip(device);
  if (kinds.length > 0) {
    const between = chip && measuredBand([chip.id], kinds, `${pairText(kinds)} on ${chip.name}`);
    return between ?? wider(takenBandOfKinds(kinds), tieBand(device));
  }
  return (chip && measuredBand([chip.id], [], `blocks and grids on ${chip.name}`)) ?? TAKEN.shapes;
}

export function tieBandOfDevices(one: Device, other: Device): TieBand {
  const [a, b] = [measuredChip(one), measuredChip(other)];
  const between = a && b && measuredBand([a.id, b.id], [], `${a.name} and ${b.name}`);
  return between ?? [tieBand(one), tieBand(other)].reduce(wider, TAKEN.devices);
}

function tieBandBetween(best: TiePlace, other: TiePlace): TieBand {
  if (best.device !== other.device) return tieBandOfDevices(best.device, other.device);
  const isShape = best.implementation === other.implementation && best.kind === other.kind;
  return isShape ? tieBand(best.device) : tieBand(best.device, best.kind, other.kind);
}

/** Enough tables for the devices on screen, before and after an edit of an axis. */
const MAX_TABLES = 16;
const tables = new Map<string, TieTable>();

export function tieTableOf(axes: SpaceAxes): TieTable {
  const { devices, threadsPerUnit, balancing } = axes;
  const key = JSON.stringify([devices, threadsPerUnit, balancing, axisCounts(axes)]);
  return kept(tables, MAX_TABLES, key, () => tieTable(axes, (best, other) => tieBandBetween(best, other).fraction));
}

const caveats = new Map(LAUNCH_DATASETS.map(({ id, caveat }) => [id, caveat]));

export const deviceEvidence = keptWith((device: Device): DeviceEvidence | null => {
  const chip = measuredChip(device);
  const agreement = keptBands.devices.flatMap(({ device: id, ...figures }) => {
    const caveat = caveats.get(figures.dataset);
    return id === chip?.id ? [{ ...figures, ...(caveat !== undefined && { caveat }) }] : [];
  });
  return chip ? { device: chip.name, agreement } : null;
});

/**
 * Returns the standard deviation of ln(measured / predicted) from which the band of a device follows. A band compares
 * two designs, so each design has half the variance.
 */
export function errorDeviation(device: Device): number {
  return Math.log1p(tieBand(device).fraction) / normalQuantile((1 + keptBands.quantile) / 2) / Math.SQRT2;
}
