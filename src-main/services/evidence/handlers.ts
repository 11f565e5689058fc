import { join } from 'node:path';
import { ok, type Result, conflict } from '../../../src-workers/domain/result.ts';
import type { GpuDevice } from '../../../src-workers/domain/device.ts';
import { evidenceDevices } from '../../../src-workers/evidence/judge-all.ts';
import { deviceEvidence } from './tie-band.ts';
import { timedDevices } from './timed-devices.ts';
import type { Context, Handlers, ProceduresOf } from '../context.ts';

export function evidenceHandlers({
  pool,
  catalogue,
  resourceFolder,
  views: { read },
}: Context): Handlers<ProceduresOf<'evidence'>> {
  const folder = join(resourceFolder, 'db', 'evidence');
  const gpus = async (): Promise<Result<readonly GpuDevice[]>> => {
    const found = await catalogue.devices(evidenceDevices());
    if (!found.ok) return found;
    const cpu = found.value.find(({ kind }) => kind === 'cpu');
    if (cpu)
      return conflict(
        `Your own device "${cpu.id}" is a CPU, but replaces a GPU with public measurements. Delete your device to see these measurements.`,
      );
    return ok(found.value.filter((device) => device.kind === 'gpu'));
  };
  return {
    'evidence.judge': async ({ dataset, data }) => {
      const devices = await gpus();
      return devices.ok ? pool.run('evidence', { folder, devices: devices.value, dataset, data }) : devices;
    },
    'evidence.devices': async () => {
      const known = await catalogue.list();
      if (!known.ok) return known;
      return ok(
        Object.fromEntries(
          known.value.flatMap((device) => {
            const evidence = deviceEvidence(device);
            return evidence ? [[device.id, evidence]] : [];
          }),
        ),
      );
    },
    'evidence.run': ({ runId }) => read(runId, (view) => ok(timedDevices(view))),
    'evidence.gpu': async (asked) => {
      const devices = await gpus();
      return devices.ok ? pool.run('evidenceOfGpu', { folder, devices: devices.value, ...asked }) : devices;
    },
  };
}
