import type { GpuDevice, GpuVendor } from '../../src-workers/domain/device.ts';

export const VENDOR_NAMES: Readonly<Record<GpuVendor, string>> = {
  nvidia: 'NVIDIA',
  amd: 'AMD',
  intel: 'Intel',
  apple: 'Apple',
  software: 'Software',
  other: 'Other',
};

/** What programmers call a device's architecture: `9.0`, `gfx90a`; an en dash where there is no such name. */
export function computeName(device: GpuDevice): string {
  switch (device.occupancy.family) {
    case 'nvidia':
      return device.occupancy.computeCapability;
    case 'amd':
      return device.occupancy.isa;
    case 'generic':
      return '–';
  }
}

const MAKER = /^(GeForce|Instinct|Tesla|Radeon|Quadro)\s+/;
const DETAIL = /\s+(\d+ GB|SXM\d?|PCIe)(?=\s|$)|,.*$| \(.*\)$/g;
const MEMORY = /\s+\d+ GB$/;

/** The name without its marketing family, for tables: `RTX 4090`, `MI250X, one GCD`. */
export function shortDeviceName(name: string): string {
  return name.replace(/^(GeForce|Radeon Instinct|Radeon(?= RX)|Instinct|Tesla) /, '');
}

/** Names short enough for the head of a narrow column; full ones where shortening would make two alike. */
export function shortNames(names: readonly string[]): readonly string[] {
  return namesWithout(names, DETAIL);
}

/** Names for table heads: without their maker and memory, where that leaves them different. */
export function headNames(names: readonly string[]): readonly string[] {
  return namesWithout(names, MEMORY);
}

function namesWithout(names: readonly string[], part: RegExp): readonly string[] {
  const short = names.map((name) => name.replace(part, '').replace(MAKER, ''));
  return short.map((name, at) =>
    short.indexOf(name) === short.lastIndexOf(name) ? name : names[at]!.replace(MAKER, ''),
  );
}
