import type { Device } from '../../../src-workers/domain/device.ts';
import { ok, type Result, unsupported } from '../../../src-workers/domain/result.ts';
import { CPU_METRICS } from '../../../src-workers/models/contention/cpu-metrics.ts';
import {
  DEVICE_METRICS,
  deviceComparison,
  type DeviceComparisonRow,
} from '../../../src-workers/models/occupancy/device-metrics.ts';

export function deviceRows(devices: readonly Device[]): Result<{
  readonly devices: readonly string[];
  readonly names: readonly string[];
  readonly rows: readonly DeviceComparisonRow[];
}> {
  const gpus = devices.filter((device) => device.kind === 'gpu');
  const cpus = devices.filter((device) => device.kind === 'cpu');
  if (gpus.length > 0 && cpus.length > 0)
    return unsupported(
      `The CPU ${cpus[0].id} and the GPU ${gpus[0].id} have no data-sheet values in common. Specify one kind; a study may sweep and compare both.`,
      { field: 'devices' },
    );
  const rows = cpus.length > 0 ? deviceComparison(CPU_METRICS, cpus) : deviceComparison(DEVICE_METRICS, gpus);
  return ok({ devices: devices.map(({ id }) => id), names: devices.map(({ name }) => name), rows });
}
