import { LIMITING_FACTORS, limitingFactors } from '../../../../src-workers/domain/design.ts';
import { sentenceCase } from '../../../../src-workers/domain/terms.ts';
import {
  occupancyCurve,
  residentBlocks,
  type OccupancyAxis,
} from '../../../../src-workers/models/occupancy/resident.ts';
import { limitWord } from '../../../format/limits.ts';
import { count, percent } from '../../../format/numbers.ts';
import {
  allowedBlocks,
  controls,
  curves,
  gpuChoice,
  ofDevice,
  onDevice,
  segmented,
  slider,
  type Demo,
  type ValuesOf,
} from '../demo.ts';
import { rows, type PageContent } from '../page.ts'; // prettier-ignore

const CONTROLS = {
  device: gpuChoice('nvidia-a100-sxm4-40gb'),
  block: slider('{Block} size', {
    min: ofDevice(({ threadGroupWidth }) => threadGroupWidth),
    max: ofDevice(({ limits }) => limits.maxThreadsPerBlock),
    step: ofDevice(({ threadGroupWidth }) => threadGroupWidth),
    default: 256,
  }),
  registers: slider('{Registers} per {thread}', {
    min: 1,
    max: ofDevice(({ limits }) => limits.maxRegistersPerThread),
    step: 1,
    default: 64,
  }),
  shared: slider('{SharedMemory} per {block}', {
    unit: 'KiB',
    min: 0,
    max: ofDevice(({ limits }) => Math.floor(limits.maxSharedMemoryBytesPerBlock / 1024)),
    step: 1,
    default: 0,
  }),
  axis: segmented<OccupancyAxis>(
    '',
    {
      blockThreads: 'By {block} size',
      registersPerThread: 'By {registers}',
      sharedMemoryBytesPerBlock: 'By {sharedMemory}',
    },
    'blockThreads',
    'What changes in the curve',
  ),
};
type Chosen = ValuesOf<typeof CONTROLS>;
const usageOf = ({ block, registers, shared }: Chosen) => ({
  blockThreads: block,
  registersPerThread: registers,
  sharedMemoryBytesPerBlock: shared * 1024,
});
const AXIS_TITLES: Readonly<Record<OccupancyAxis, string>> = {
  blockThreads: '{threads} per {block}',
  registersPerThread: '{registers} per {thread}',
  sharedMemoryBytesPerBlock: '{sharedMemory} per {block}, KiB',
};

const demo: Demo<Chosen> = {
  controls: CONTROLS,
  figures: [
    onDevice((device, values, { term, say }) => {
      const residency = residentBlocks(device, usageOf(values));
      const limiting = limitingFactors(residency.limitedBy);
      const blocks = residency.blocksPerMultiprocessor;
      const limits = LIMITING_FACTORS.map(({ code }) => [sentenceCase(limitWord(code, term)), residency.limits[code], limiting.includes(code)] as const);
      return {
        blocks: [
          controls('device', 'block', 'registers', 'shared'),
          {
            kind: 'facts',
            facts: [
              ['occupancy', percent(residency.occupancyFraction)],
              [say(blocks === 1 ? '{block}' : '{blocks}'), count(blocks)],
              [say(`of ${count(device.limits.maxThreadGroupsPerMultiprocessor)} {threadGroups}`), count(residency.threadGroupsPerMultiprocessor)],
            ],
          },
          allowedBlocks('What each limit allows', 'Each limit alone', say, device.limits.maxBlocksPerMultiprocessor, limits),
        ],
      };
    }), // prettier-ignore
    onDevice((device, values, { say }) => {
      const { axis } = values;
      const usage = usageOf(values);
      const unit = axis === 'sharedMemoryBytesPerBlock' ? 1024 : 1;
      const points = occupancyCurve(device, usage, axis).map(({ x, y }) => [x / unit, 100 * y] as const);
      return {
        title: 'Occupancy, if one property of the launch changes',
        blocks: [
          controls('axis'),
          curves({
            label: `Occupancy of ${device.name}`,
            name: 'occupancy',
            xTitle: say(AXIS_TITLES[axis]),
            yTitle: 'occupancy, %',
            heightPx: 210,
            yTo: 100,
            xStep: [8, 16, 32, 64, 128, 256].find((each) => points[points.length - 1][0] / each <= 5) ?? 512,
            at: usage[axis] / unit,
            curves: [{ name: 'this launch', series: 1, steps: true, points }],
          }),
        ],
      };
    }),
  ],
};

export const occupancy: PageContent = {
  group: 'Device',
  question: 'How many blocks are resident on a multiprocessor, and what limits them?',
  text: [
    'Each block takes slots, registers and shared memory, in the portions in which the hardware allocates them. The scarcest resource sets the number of resident blocks. More resident blocks hide more latency, up to the knee. Beyond the knee, more occupancy brings nothing.',
  ],
  equations: rows`
    R = \min \Bigl( N_b, \; \Bigl\lfloor \frac{N_w}{W_b} \Bigr\rfloor, \; \Bigl\lfloor \frac{R_{\mathrm{SM}}}{\lceil r \rceil W_b} \Bigr\rfloor, \; \Bigl\lfloor \frac{S_{\mathrm{SM}}}{\lceil s \rceil} \Bigr\rfloor \Bigr) :: Resident blocks. The ceilings stand for the portions in which a device allocates; they differ by family.
    \mathrm{occupancy} = R \, W_b / N_w :: Resident thread groups divided by slots.
  `,
  symbols: rows`
    R :: resident blocks of a multiprocessor
    W_b :: thread groups of a block
    N_b, N_w :: slots for blocks and for thread groups
    r, s :: registers of a thread group; shared memory of a block :: count, bytes
    R_{\mathrm{SM}}, S_{\mathrm{SM}} :: registers and shared memory of a multiprocessor :: count, bytes
  `,
  validity: [
    'NVIDIA: equal to the vendor’s own calculator for every compute capability from 3.5 to 12.1.',
    'AMD: the published allocation sizes. Scalar registers count only if a kernel states them.',
    'Intel: the rules of Intel’s occupancy calculator. A kernel with many registers runs with half of the hardware threads (large register mode). The model assumes that the compiler chooses this mode if the kernel needs it.',
    'Apple: the limits of a threadgroup are from Apple; registers and resident threads are as others measured them on M1 and M2. M3 and M4 allocate registers as a kernel needs them, so their values are estimates.',
    'For a device without known rules only its hard limits count, without rounding.',
  ],
  sources: rows`
    NVIDIA (2025). cuda_occupancy.h, compute capabilities 3.5 to 12.1. CUDA Toolkit 13.0.
    Intel (2025). GPU Occupancy Calculator; oneAPI GPU Optimization Guide, small and large register mode.
    Mesa (2025). agx_occupancy.c: threads by registers of Apple GPUs. Apple (2025). Metal Feature Set Tables.
    AMD (2025). Register and LDS allocation of GCN, CDNA and RDNA. ISA guides; see the catalogue.
  `,
  demo,
};
