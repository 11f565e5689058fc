import type { StudyFile } from '../../src-main/contract/study.ts';
import type { Study } from '../../src-main/contract/study.ts';
import type { Device } from '../../src-workers/domain/device.ts';
import { assumedKernel } from '../../src-workers/domain/provenance.ts';
import type { App } from '../state/app.svelte.ts';

/** A small study that predicts at once: a skewed workload, a kernel of usual values, all assumed, one device, the usual axes. */
export function newStudy(devices: readonly Device[]): StudyFile {
  const gpu = devices.find(({ id }) => id.includes('a100')) ?? devices.find(({ kind }) => kind === 'gpu');
  return {
    lockstep: 1,
    name: 'New study',
    description: '',
    workload: { lengths: 'geometric(0.05)', units: 1_048_576 },
    kernel: { name: 'kernel', ...(assumedKernel() as Omit<Study['kernel'], 'name'>) },
    devices: [gpu?.id ?? 'nvidia-a100-sxm4-40gb'],
    axes: {
      threadsPerUnit: [1, 2, 4, 8, 16, 32],
      balancing: ['none', 'dynamic-fetch'],
      blockThreads: { from: 32, to: 1024, step: 32 },
      blocksPerMultiprocessor: { from: 1, to: 32 },
    } satisfies Partial<Study['axes']>,
  };
}

/** Opens a new study; false where it could not be saved. */
export async function createStudy(app: App): Promise<boolean> {
  const result = await app.engine.call('studies.save', { study: newStudy(app.library.devices) });
  if (!result.ok) {
    app.report(result.error);
    return false;
  }
  await app.library.load('studies');
  app.location.openStudy(result.value.id, 'study');
  return true;
}
