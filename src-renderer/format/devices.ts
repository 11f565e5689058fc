import type { Device, GpuDevice, GpuVendor } from '../../src-workers/domain/device.ts';
import { deviceById } from '../../src-workers/domain/device-part.ts';

export const VENDOR_NAMES: Readonly<Record<GpuVendor, string>> = {
  nvidia: 'NVIDIA',
  amd: 'AMD',
  intel: 'Intel',
  apple: 'Apple',
  software: 'Software',
  other: 'Other',
};

export function deviceOf<D extends Device>(devices: readonly D[], id: string): D | undefined {
  const found = deviceById(devices, id);
  return found?.ok ? found.value : undefined;
}

export function computeName(device: GpuDevice): string {
  switch (device.occupancy.family) {
    case 'nvidia':
      return device.occupancy.computeCapability;
    case 'amd':
      return device.occupancy.isa;
    case 'intel':
      return device.occupancy.architecture;
    case 'apple':
      return `family ${device.occupancy.gpuFamily}`;
    case 'generic':
      return '–';
  }
}

/** Marketing families that say nothing about a device. `Radeon VII` keeps its family, because `VII` is no name. */
const FAMILY = /^(GeForce|Quadro|Tesla|Radeon Instinct|Instinct|Radeon(?= R[X\d])) /;
const DETAIL = /\s+(\d+ GB|SXM\d?|PCIe|Bronze|Silver|Gold|Platinum)(?=\s|$)|,.*$| \((?!\d+ of ).*\)$/g;
const SERIES = /^(RT?X|Xeon|Epyc|Grace) /;
const MEMORY = /\s+\d+ GB$/;

export function shortDeviceName(name: string): string {
  return name.replace(FAMILY, '');
}

/** Shortens names for labels and narrow columns, if the short names remain different. */
export function shortNames(names: readonly string[]): readonly string[] {
  return namesWithout(names, DETAIL);
}

/** Shortens names for tables and sentences: without family and memory, if they remain different. */
export function headNames(names: readonly string[]): readonly string[] {
  return namesWithout(names, MEMORY);
}

/** Shortens names for the cells of a matrix, without the product series, if they remain different: `4090`, `8360Y`. */
export function cellNames(short: readonly string[]): readonly string[] {
  return namesWithout(short, SERIES);
}

function namesWithout(names: readonly string[], part: RegExp): readonly string[] {
  const short = names.map((name) => shortDeviceName(name.replace(part, '')));
  return short.map((name, at) => (short.indexOf(name) === short.lastIndexOf(name) ? name : shortDeviceName(names[at])));
}

/** Replaces the full `names` of devices in a sentence of the engine by the short names `shown`. */
export function withNames(sentence: string, names: readonly string[], shown: readonly string[]): string {
  // Long names are replaced first, because a name may begin with another name.
  const byLength = [...names.keys()].sort((a, b) => names[b].length - names[a].length);
  return byLength.reduce((text, at) => text.replaceAll(names[at], () => shown[at]), sentence);
}
