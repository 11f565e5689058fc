import { UNNAMED_KERNEL } from '../../src-workers/domain/inspection.ts';
import { assumedKernel } from '../../src-workers/domain/provenance.ts';
import type { KernelChange, StudyFile, Study } from './study.ts';

/** Number of units if the lengths are given by a law, which does not fix this number. */
export const USUAL_UNITS = 1_048_576;

export const USUAL_DEVICE = 'nvidia-a100-sxm4-40gb';

export interface NewStudy {
  readonly name?: string;
  readonly lengths?: string;
  readonly units?: number;
  readonly devices?: readonly string[];
  readonly kernel?: KernelChange | undefined;
}

/** Makes a study that can be predicted at once. Unknown values of the kernel are usual ones, marked as assumed. */
export function newStudy({
  name = 'New study',
  lengths = 'geometric(0.05)',
  units = USUAL_UNITS,
  devices = [USUAL_DEVICE],
  kernel = {},
}: NewStudy = {}): StudyFile {
  const { bytesPerIteration, origins, ...usual } = assumedKernel();
  const known = {
    ...kernel,
    ...(!kernel.accesses && { bytesPerIteration: kernel.bytesPerIteration ?? bytesPerIteration }),
  };
  const assumed = Object.entries(origins).filter(([field]) => !(field in kernel) && field in { ...usual, ...known });
  return {
    lockstep: 1,
    name,
    description: '',
    workload: { lengths, units },
    kernel: {
      name: UNNAMED_KERNEL,
      ...({ ...usual, ...known } as Omit<Study['kernel'], 'name'>),
      origins: { ...Object.fromEntries(assumed), ...kernel.origins },
    },
    devices: [...devices],
    axes: {
      threadsPerUnit: [1, 2, 4, 8, 16, 32],
      balancing: ['none', 'dynamic-fetch'],
      blockThreads: { from: 32, to: 1024, step: 32 },
      // The two usual launches: a grid sized by the units, and a grid sized by the device.
      unitsPerThread: [1, 2, 4, 8],
      blocksPerMultiprocessor: { from: 1, to: 32 },
    } satisfies Partial<Study['axes']>,
  };
}

/** Returns `web` for `web.csv.gz`. */
export function studyName(fileName: string): string {
  return fileName
    .replace(/(?<=.)\.gz$/i, '')
    .replace(/(?<=.)\.[^.]*$/, '')
    .slice(0, 200);
}
