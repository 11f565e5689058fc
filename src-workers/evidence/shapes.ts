import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { timesOf } from '../advise/survey.ts';
import type { Design } from '../domain/design.ts';
import type { GpuDevice } from '../domain/device.ts';
import type { ImplementationKind } from '../domain/evidence.ts';
import type { KernelProfile, PipelineParameters } from '../domain/kernel.ts';
import { fail, unwrap, type Result } from '../domain/result.ts';
import type { SpaceAxes } from '../domain/space.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { lossMoments } from '../models/imbalance/closed-form.ts';
import { HASAN_TABLE_2, HASAN_THREADS_PER_BLOCK } from '../models/pipeline/hasan.ts';
import { fitHasan, HASAN_FITTED_BLOCKS, hasanLaunches } from '../models/pipeline/reproduce-hasan-kim.ts';
import { wavesTime } from '../models/pipeline/soft-saturation.ts';
import { constantLaw } from '../models/workload/laws.ts';
import { eachCsvRecord } from '../parse/csv-records.ts';
import { resolveWorkload } from '../parse/grammar.ts';
import { parseSmiteMeans } from '../parse/smite.ts';
import { unpacked } from '../parse/unpack.ts';
import { createPredictor } from '../predict/predictor.ts';
import { axisCounts, encode } from '../space/axes.ts';
import { implementationKind } from '../sweep/ties.ts';

/** Public measurements of launches of one kernel, beside predictions. Each data set has its reader. */

/** Designs of one kernel that differ in their launch, or are compared for another reason: times of one family have one unit. */
export interface ShapeFamily {
  /** What is held, in words. */
  readonly name: string;
  readonly kinds: readonly ImplementationKind[];
  /** Of each design: its blocks; where the prediction is equal, fewer are chosen. */
  readonly blocks: readonly number[];
  readonly labels: readonly string[];
  readonly predicted: Float64Array;
  readonly measured: Float64Array;
}

export interface ShapeGpu {
  readonly device: string;
  /** As the source names it. */
  readonly column: string;
  readonly implementation: string;
  readonly takes: string;
  readonly families: readonly ShapeFamily[];
}

export interface ShapeDataset {
  readonly id: string;
  readonly title: string;
  readonly source: string;
  readonly licence: string;
  readonly notes: readonly string[];
  /** Devices of the catalogue that it needs. */
  readonly devices: readonly string[];
  /** Whether it says which of two designs is faster: losses of groups do not. */
  readonly decides: boolean;
  /** Whether predictions are in proportion only: a factor per family is taken from its other designs. */
  readonly proportional: boolean;
  read(folder: string, devices: ReadonlyMap<string, GpuDevice>): Promise<readonly ShapeGpu[]>;
}

const NO_KERNEL: Omit<KernelProfile, 'name' | 'registersPerThread' | 'instructionsPerIteration'> = {
  sharedMemoryBytesPerBlock: 0,
  dependentLoadsPerIteration: 0,
  bytesPerIteration: 0,
  serialFraction: 0,
  cooperationCost: 0,
  setupIterationsPerUnit: 0,
  kneeSoftness: 6.5,
  bytesPerUnit: 0,
  lengthsKnownBeforeLaunch: true,
  spillInstructionsPerRegister: 2,
};

/** Predicted times of designs, in their order, ms. */
function predictedMs(
  id: string,
  device: GpuDevice,
  designs: readonly Pick<Design, 'threadsPerUnit' | 'loop' | 'balancing' | 'unitsPerThread' | 'blockThreads'>[],
  work: { readonly law: LengthLaw; readonly units: number; readonly kernel: KernelProfile },
  pipeline?: PipelineParameters,
): Float64Array {
  const each = <Value>(value: (design: (typeof designs)[number]) => Value): readonly Value[] => [
    ...new Set(designs.map(value)),
  ];
  const launches = each(({ unitsPerThread }) => unitsPerThread);
  const axes: SpaceAxes = {
    devices: [device],
    threadsPerUnit: each(({ threadsPerUnit }) => threadsPerUnit),
    loop: each(({ loop }) => loop),
    balancing: each(({ balancing }) => balancing),
    launch: launches.map((value) => ({ kind: 'units-per-thread', value })),
    registerCap: [null],
    blockThreads: each(({ blockThreads }) => blockThreads),
  };
  const counts = axisCounts(axes);
  const indices = designs.map(({ threadsPerUnit, loop, balancing, unitsPerThread, blockThreads }) =>
    encode(counts, [
      0,
      0,
      axes.threadsPerUnit.indexOf(threadsPerUnit),
      axes.loop.indexOf(loop),
      axes.balancing.indexOf(balancing),
      launches.indexOf(unitsPerThread),
      0,
      axes.blockThreads.indexOf(blockThreads),
    ]),
  );
  const { law, units, kernel } = work;
  const predictor = createPredictor({
    id,
    axes,
    law,
    units,
    ordered: null,
    kernel,
    constraints: [],
    pipeline: pipeline ? { [device.id]: pipeline } : {},
  });
  return timesOf(predictor, Uint32Array.from(indices));
}

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

// -- Kernel Tuner's convolution ------------------------------------------------------------------------------------------

/** Sides of the image and of the filter. */
const IMAGE = 4096;
const FILTER = 15;
const CONVOLUTION_COLUMNS = [
  'device',
  'tile_size_x',
  'tile_size_y',
  'read_only',
  'use_padding',
  'use_shmem',
  'block_size_x',
  'block_size_y',
] as const;
/** As the file names them, and of the catalogue. The MI250X is measured on one of its dies. */
const CONVOLUTION_DEVICES: Readonly<Record<string, string>> = {
  A100: 'nvidia-a100-pcie-40gb',
  MI250X: 'amd-mi250x-gcd',
};
/** Registers of a thread, and of each of its outputs: assumed, the file does not have them. */
const REGISTERS = 32;
const REGISTERS_PER_OUTPUT = 2;

/**
 * Block sizes of a convolution: a thread computes a tile of outputs, and the width of a block is held with everything else, since
 * Lockstep's blocks have one dimension. Variants in shared memory are left out: there the work itself, the border of a tile, goes by
 * the shape. So are blocks narrower than a thread group, whose lanes read from several rows.
 */
async function readConvolution(folder: string, devices: ReadonlyMap<string, GpuDevice>): Promise<readonly ShapeGpu[]> {
  const families = new Map<
    string,
    { readonly column: string; readonly tile: number; readonly held: string; readonly rows: Row[] }
  >();
  type Row = { readonly blockThreads: number; readonly units: number; readonly ms: number };
  const file = 'convolution.csv.gz';
  const content = unwrap(await unpacked(await readFile(join(folder, file)), file));
  await eachCsvRecord(whole(content), file, CONVOLUTION_COLUMNS, (record) => {
    const column = record.text('device');
    const device = devices.get(CONVOLUTION_DEVICES[column]);
    const [tileX, tileY, readOnly, padding, shared, x, y] = CONVOLUTION_COLUMNS.slice(1).map(record.number);
    if (!device || record.text('time_ms') === '' || shared !== 0 || x % device.threadGroupWidth !== 0) return;
    const held = `tile ${tileX} × ${tileY}, read-only loads ${readOnly}, padding ${padding}, block width ${x}`;
    const key = `${column} ${held}`;
    if (!families.has(key)) families.set(key, { column, tile: tileX * tileY, held, rows: [] });
    const units = Math.ceil(IMAGE / tileX) * Math.ceil(IMAGE / tileY);
    families.get(key)!.rows.push({ blockThreads: x * y, units, ms: record.number('time_ms') });
  });
  return Object.entries(CONVOLUTION_DEVICES).map(([column, id]) => ({
    device: id,
    column,
    implementation: 'convolution',
    takes: 'a thread per tile of outputs, without shared memory; block sizes and grids',
    families: [...families.values()]
      .filter((family) => family.column === column && family.rows.length > 1)
      .map(({ tile, held, rows }): ShapeFamily => {
        const { units } = rows[0];
        const designs = rows.map(({ blockThreads }) => ({
          threadsPerUnit: 1,
          loop: 'nested' as const,
          balancing: 'none',
          unitsPerThread: 1,
          blockThreads,
        }));
        const kernel: KernelProfile = {
          ...NO_KERNEL,
          name: 'convolution',
          registersPerThread: REGISTERS + REGISTERS_PER_OUTPUT * tile,
          // A multiplication and a load for each output.
          instructionsPerIteration: 2 * tile,
        };
        const law = unwrap(constantLaw(FILTER * FILTER));
        return {
          name: held,
          kinds: rows.map(() => 'thread-per-unit'),
          blocks: rows.map(({ blockThreads }) => Math.ceil(units / blockThreads)),
          labels: rows.map(({ blockThreads }) => `${blockThreads}`),
          predicted: predictedMs(`convolution ${column} ${held}`, devices.get(id)!, designs, { law, units, kernel }),
          measured: Float64Array.from(rows, ({ ms }) => ms),
        };
      }),
  }));
}

// -- Hasan's Table 2 -----------------------------------------------------------------------------------------------------

/** Rows of Table 2 that the fit of τ, c and p did not see. */
async function readHasan(): Promise<readonly ShapeGpu[]> {
  const parameters = fitHasan();
  const rows = HASAN_TABLE_2.filter(({ blocks }) => !HASAN_FITTED_BLOCKS.includes(blocks)).map(
    ({ blocks, timeMs }) => ({
      blocks,
      cells: hasanLaunches(blocks, timeMs),
    }),
  );
  const family: ShapeFamily = {
    name: 'sum of binomial series',
    kinds: rows.flatMap(({ cells }) => cells.map(() => 'thread-per-unit' as const)),
    blocks: rows.flatMap(({ blocks, cells }) => cells.map(() => blocks)),
    labels: rows.flatMap(({ blocks, cells }) => cells.map((_, i) => `${blocks} × ${HASAN_THREADS_PER_BLOCK[i]}`)),
    predicted: Float64Array.from(rows.flatMap(({ cells }) => cells.map((cell) => wavesTime(parameters, cell)))),
    measured: Float64Array.from(rows.flatMap(({ cells }) => cells.map(({ timeMs }) => timeMs))),
  };
  const takes = 'a thread per unit of equal work; blocks and threads of a block';
  return [{ device: 'nvidia-k20', column: 'K20', implementation: 'binomial series', takes, families: [family] }];
}

// -- SMITE's losses ------------------------------------------------------------------------------------------------------

/** Aggregate loss of groups of n units: no times. With n = 1 the loss is 1, and the measurement is of its own floor. */
async function readSmite(folder: string): Promise<readonly ShapeGpu[]> {
  const file = 'smite.csv';
  const cases = unwrap(await parseSmiteMeans(whole(await readFile(join(folder, file))), file));
  const families = new Map<string, { readonly n: number; readonly measured: number }[]>();
  for (const { case: own, values } of cases) {
    const { lengths, unitsPerGroup } = own.parameters as { readonly lengths: string; readonly unitsPerGroup: number };
    if (unitsPerGroup === 1) continue;
    families.set(lengths, [
      ...(families.get(lengths) ?? []),
      { n: unitsPerGroup, measured: Number(values.aggregateLoss) },
    ]);
  }
  const read: ShapeFamily[] = [];
  for (const [lengths, rows] of families) {
    const predicted = lossMoments(
      await lawOf(lengths),
      rows.map(({ n }) => n),
    ).map(({ aggregateLoss }) => aggregateLoss);
    read.push({
      name: lengths,
      kinds: rows.map(() => 'thread-per-unit'),
      blocks: rows.map(() => 1),
      labels: rows.map(({ n }) => `${n} units per group`),
      predicted: Float64Array.from(predicted),
      measured: Float64Array.from(rows, ({ measured }) => measured),
    });
  }
  const takes = 'lockstep groups of n units; aggregate loss, not time';
  return [{ device: 'nvidia-a100-sxm4-40gb', column: 'A100', implementation: 'aggregate loss', takes, families: read }];
}

/** A named distribution. */
async function lawOf(lengths: string): Promise<LengthLaw> {
  const openFile = async (): Promise<Result<never>> =>
    fail('bad-input', `${lengths} needs a file. Use a named distribution.`);
  return unwrap(await resolveWorkload(lengths, { openFile }));
}

// -- SwiftShader's record ------------------------------------------------------------------------------------------------

interface SoftwareRecord {
  readonly lengths: string;
  readonly units: number;
  readonly multiprocessors: number;
  readonly kernel: Partial<KernelProfile> &
    Pick<KernelProfile, 'name' | 'registersPerThread' | 'instructionsPerIteration'>;
  readonly pipeline: PipelineParameters;
  readonly launchOverheadMs: number;
  readonly rows: readonly (Design & { readonly measuredMs: number })[];
}

const SOFTWARE = 'software-swiftshader';

/** Designs drawn at random, by parameters calibrated on as many others. Ordering units is not part of the measured times. */
async function readSwiftShader(folder: string, devices: ReadonlyMap<string, GpuDevice>): Promise<readonly ShapeGpu[]> {
  const record = JSON.parse(await readFile(join(folder, 'swiftshader.json'), 'utf8')) as SoftwareRecord;
  const device = { ...devices.get(SOFTWARE)!, multiprocessors: record.multiprocessors };
  const kernel = { ...NO_KERNEL, ...record.kernel };
  const law = await lawOf(record.lengths);
  const times = predictedMs('swiftshader', device, record.rows, { law, units: record.units, kernel }, record.pipeline);
  const family: ShapeFamily = {
    name: 'unit loop',
    kinds: record.rows.map(({ threadsPerUnit, balancing }) => implementationKind(threadsPerUnit, balancing)),
    blocks: record.rows.map(({ gridBlocks }) => gridBlocks),
    labels: record.rows.map(({ threadsPerUnit, blockThreads, gridBlocks, loop, balancing }) =>
      [threadsPerUnit, `${blockThreads} × ${gridBlocks}`, loop, balancing].join(', '),
    ),
    predicted: times.map((time) => time + record.launchOverheadMs),
    measured: Float64Array.from(record.rows, ({ measuredMs }) => measuredMs),
  };
  const takes = 'threads per unit, loop, balancing, blocks and grids';
  return [{ device: SOFTWARE, column: 'SwiftShader', implementation: 'unit loop', takes, families: [family] }];
}

export const SHAPE_DATASETS: readonly ShapeDataset[] = [
  {
    id: 'convolution',
    title: 'Block sizes of a 2-D convolution of Kernel Tuner',
    source:
      'AutoTuningAssociation/benchmark_hub: times of 4,362 configurations on each GPU, everything but the block size held',
    licence: 'MIT',
    notes: [
      'One factor per kernel variant is taken from its other block sizes: the file has no instruction counts. The rank correlation is that within variants.',
      'Where enough blocks are resident the model gives all block sizes of a variant the same time. Measured, they differ: caches are reused by rows of a block, which the model does not know.',
      'On the MI250X a block width that is no power of two takes 5 to 9 times as long. These variants are part of the figures.',
    ],
    devices: Object.values(CONVOLUTION_DEVICES),
    decides: true,
    proportional: true,
    read: readConvolution,
  },
  {
    id: 'hasan',
    title: 'Launch shapes of a sum of binomial series on a K20, Table 2',
    source: 'Hasan, Chatterjee, Radhakrishnan, Antonio, NPC 2014, doi:10.1007/978-3-662-44917-2_65: figures',
    licence: 'figures of a paper',
    notes: ['τ, c and p are fitted on five of the sixteen rows; the figures are of the other eleven.'],
    devices: ['nvidia-k20'],
    decides: true,
    proportional: false,
    read: readHasan,
  },
  {
    id: 'smite',
    title: 'Loss of groups in lockstep, means of SMITE',
    source: 'stephenswat/smite: aggregate loss over 131,072 work groups, measured',
    licence: 'Unlicense',
    notes: [
      'Losses, not times; nothing is fitted. The paper measured an A100. With one unit per group the measurement is up to 0.5 % above 1.',
    ],
    devices: ['nvidia-a100-sxm4-40gb'],
    decides: false,
    proportional: false,
    read: readSmite,
  },
  {
    id: 'swiftshader',
    title: 'Designs of a unit loop on SwiftShader',
    source: 'measured with `npm run bench -- measured` on two cores of a Xeon: 60 designs drawn from 924',
    licence: 'MIT, part of Lockstep',
    notes: [
      'Parameters are calibrated on 60 other designs. It is a software adapter: four lanes, no memory system of a GPU.',
    ],
    devices: [SOFTWARE],
    decides: true,
    proportional: false,
    read: readSwiftShader,
  },
];
