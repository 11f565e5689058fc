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

/** The name without its marketing family, for tables: `RTX 4090`, `MI250X, one GCD`. */
export function shortDeviceName(name: string): string {
  return name.replace(/^(GeForce|Radeon Instinct|Instinct|Tesla) /, '');
}
