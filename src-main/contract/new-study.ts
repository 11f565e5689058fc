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
  readonly devices?: readonly NewDevice[];
  readonly kernel?: KernelChange | undefined;
}

/** A device of the catalogue; only CPUs have `cores`. */
export interface NewDevice {
  readonly id: string;
  readonly cores?: number;
}

const GPU_AXES = {
  threadsPerUnit: [1, 2, 4, 8, 16, 32],
  balancing: ['none', 'dynamic-fetch'],
  blockThreads: { from: 32, to: 1024, step: 32 },
  // The two usual launches: a grid sized by the units, and a grid sized by the device.
  unitsPerThread: [1, 2, 4, 8],
  blocksPerMultiprocessor: { from: 1, to: 32 },
} satisfies Partial<Study['axes']>;
const CPU_AXES = { blockThreads: [1], balancing: ['row-split', 'nonzero-split', 'merge-path'] };

function usualAxes(devices: readonly NewDevice[]): StudyFile['axes'] {
  const cpus = devices.flatMap(({ cores }) => cores ?? []);
  if (cpus.length === 0) return GPU_AXES;
  const cores = { from: 1, to: Math.max(...cpus) };
  if (cpus.length === devices.length) return { ...CPU_AXES, cores };
  // The other ways for a CPU would also add designs for the GPU.
  return { ...GPU_AXES, balancing: [...GPU_AXES.balancing, 'row-split'], cores };
}

/** Makes a study that can be predicted at once. Unknown values of the kernel are usual ones, marked as assumed. */
export function newStudy({
  name = 'New study',
  lengths = 'geometric(0.05)',
  units = USUAL_UNITS,
  devices = [{ id: USUAL_DEVICE }],
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
    devices: devices.map(({ id }) => id),
    axes: usualAxes(devices),
  };
}

/** Returns `web` for `web.csv.gz`. */
export function studyName(fileName: string): string {
  return fileName
    .replace(/(?<=.)\.gz$/i, '')
    .replace(/(?<=.)\.[^.]*$/, '')
    .slice(0, 200);
}
