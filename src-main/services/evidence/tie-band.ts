import data from '../../../db/evidence/tie-bands.json' with { type: 'json' };
import type { Device } from '../../../src-workers/domain/device.ts';
import type { DeviceEvidence, ImplementationKind, TieBand } from '../../../src-workers/domain/evidence.ts';
import type { SpaceAxes } from '../../../src-workers/domain/space.ts';
import type { KeptBand, KeptBands, MeasuredChip } from '../../../src-workers/evidence/bands.ts';
import { AGREEMENT_FRACTION, tieTable, type TiePlace, type TieTable } from '../../../src-workers/sweep/ties.ts';
import { percent } from '../export/text.ts';

/**
 * What measurements say of two predicted times, from `db/evidence/tie-bands.json`. Designs that differ in shape alone (block size, grid)
 * have the band of shapes; the wider bands are for designs that take their work in different ways, where other physics decides. Which
 * tied design is recommended is another question: `advise/pick.ts`.
 */
const kept = data as KeptBands;

/** The measured device with the same chip: the device itself, or another board of it. */
function measuredChip(device: Device): MeasuredChip | undefined {
  if (device.kind !== 'gpu') return undefined;
  const { architecture, multiprocessors } = device;
  return (
    kept.chips.find(({ id }) => id === device.id) ??
    kept.chips.find((chip) => chip.architecture === architecture && chip.multiprocessors === multiprocessors)
  );
}

const NO_BAND: TieBand = { fraction: AGREEMENT_FRACTION, source: null, count: 0 };

const KIND_TEXT: Readonly<Record<ImplementationKind, string>> = {
  'thread-per-unit': 'a thread per unit',
  'group-per-unit': 'a group of threads per unit',
  padded: 'padded units',
  'even-share': 'even shares',
  'dynamic-fetch': 'dynamic fetch',
  reordered: 'reordered units',
};

function bandOf(devices: readonly string[], kinds: readonly ImplementationKind[], text: string): TieBand | undefined {
  const wanted = (list: readonly string[], other: readonly string[]): boolean =>
    list.length === other.length && [...other].sort().every((one, at) => one === list[at]);
  const found = kept.bands.find((band: KeptBand) => wanted(band.devices, devices) && wanted(band.kinds, kinds));
  if (!found) return undefined;
  const { fraction, count, dataset } = found;
  return {
    fraction: Math.max(AGREEMENT_FRACTION, fraction),
    source: `measured times of ${text} (${dataset}: ${percent(kept.quantile)} of ${count.toLocaleString('en')} pairs err by less)`,
    count,
  };
}

/**
 * By how much two predicted times of a device must differ before measurements order them alike.
 *
 * - `tieBand(device)`: designs that differ in shape alone.
 * - `tieBand(device, 'padded', 'even-share')`: designs that take their work in these ways.
 *
 * Where a comparison of kinds was not measured, the band of shapes stands for it; where nothing was measured, the agreement with the event
 * simulator, with `source` null.
 */
export function tieBand(
  device: Device,
  ...kinds: readonly [] | readonly [ImplementationKind, ImplementationKind]
): TieBand {
  const chip = measuredChip(device);
  if (!chip) return NO_BAND;
  const [one, other] = kinds.toSorted();
  const between =
    one && other && bandOf([chip.id], [one, other], `${KIND_TEXT[one]} and ${KIND_TEXT[other]} on ${chip.name}`);
  return between ?? bandOf([chip.id], [], `shapes of a kernel on ${chip.name}`) ?? NO_BAND;
}

/** By how much predicted times on two devices must differ before measurements order them alike: see `tieBand`. */
export function tieBandOfDevices(one: Device, other: Device): TieBand {
  const [a, b] = [measuredChip(one), measuredChip(other)];
  if (!a || !b) return NO_BAND;
  const between = bandOf([a.id, b.id], [], `${a.name} and ${b.name}`);
  return (
    between ?? [tieBand(one), tieBand(other)].reduce((wider, band) => (band.fraction > wider.fraction ? band : wider))
  );
}

/** Band of two designs by their places. */
function tieBandBetween(best: TiePlace, other: TiePlace): TieBand {
  if (best.device !== other.device) return tieBandOfDevices(best.device, other.device);
  const isShape = best.implementation === other.implementation && best.kind === other.kind;
  return isShape ? tieBand(best.device) : tieBand(best.device, best.kind, other.kind);
}

/** The bands of all designs of a space. */
export function tieTableOf(axes: SpaceAxes): TieTable {
  return tieTable(axes, (best, other) => tieBandBetween(best, other).fraction);
}

/** What was measured of a device, or `null`: then nothing holds its predicted times against reality. */
export function deviceEvidence(device: Device): DeviceEvidence | null {
  const chip = measuredChip(device);
  if (!chip) return null;
  const agreement = kept.devices.flatMap(({ device: id, ...figures }) => (id === chip.id ? [figures] : []));
  return { device: chip.name, agreement };
}
