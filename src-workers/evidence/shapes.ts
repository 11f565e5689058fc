import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { predictTimes } from '../advise/survey.ts';
import type { Design } from '../domain/design.ts';
import type { GpuDevice } from '../domain/device.ts';
import { implementationKind, type ImplementationKind } from '../domain/evidence.ts';
import type { KernelProfile, PipelineParameters } from '../domain/kernel.ts';
import { KERNEL_DEFAULTS } from '../domain/provenance.ts';
import { unwrap, type Result, badInput } from '../domain/result.ts';
import { axisCounts, encode, type SpaceAxes } from '../domain/space.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { lossMoments } from '../models/imbalance/closed-form.ts';
import { HASAN_TABLE_2, HASAN_THREADS_PER_BLOCK } from '../models/pipeline/hasan.ts';
import { fitHasan, HASAN_FITTED_BLOCKS, hasanLaunches } from '../models/pipeline/reproduce-hasan-kim.ts';
import { wavesTime } from '../models/pipeline/soft-saturation.ts';
import { LAUNCH_DATASETS, type LaunchDataset, type LaunchGpu } from '../models/launches/datasets.ts';
import { constantLaw } from '../models/workload/laws.ts';
import { eachCsvRecord } from '../parse/csv-records.ts';
import { resolveWorkload } from '../parse/grammar.ts';
import { parseSmiteMeans } from '../parse/smite.ts';
import { bytesSource } from '../parse/source.ts';
import { unpacked } from '../parse/unpack.ts';
import { createPredictor } from '../predict/predictor.ts';
import { H100_LOOPS, H100_PRODUCTS, readH100 } from './h100.ts';
import { readPredictions } from './load.ts';

export interface ShapeFamily {
  readonly name: string;
  readonly kinds: readonly ImplementationKind[];
  readonly blocks: readonly number[];
  readonly threads: readonly number[];
  readonly labels: readonly string[];
  readonly predicted: Float64Array;
  readonly measured: Float64Array;
}

export interface ShapeGpu extends LaunchGpu {
  readonly families: readonly ShapeFamily[];
}

type Reader = (
  folder: string,
  devices: ReadonlyMap<string, GpuDevice>,
) => Promise<Readonly<Record<string, readonly ShapeFamily[]>>>;

export const NO_KERNEL = { ...KERNEL_DEFAULTS, bytesPerUnit: 0, lengthsKnownBeforeLaunch: true } as const;

export function predictedMs(
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
  return predictTimes(predictor, Uint32Array.from(indices));
}

// -- Kernel Tuner's convolution --

/** Width of the square image, and of the filter. */
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
const CONVOLUTION_DEVICES = new Map(
  LAUNCH_DATASETS.find(({ id }) => id === 'convolution')!.gpus.map(({ column, device }) => [column, device]),
);
/** Registers are assumed, since the file has none: a fixed number, and more per output. */
const REGISTERS = 32;
const REGISTERS_PER_OUTPUT = 2;

/**
 * Blocks of a family have the same width, so a family compares only heights. Variants in shared memory are excluded,
 * since the block shape changes their work. So are blocks whose thread groups span rows.
 */
const readConvolution: Reader = async (folder, devices) => {
  const families = new Map<
    string,
    { readonly column: string; readonly tile: number; readonly held: string; readonly rows: Row[] }
  >();
  type Row = { readonly blockThreads: number; readonly units: number; readonly ms: number };
  const file = 'convolution.csv.gz';
  const content = unwrap(await unpacked(await readFile(join(folder, file)), file));
  await eachCsvRecord(bytesSource(content), file, CONVOLUTION_COLUMNS, (record) => {
    const column = record.text('device');
    const device = devices.get(CONVOLUTION_DEVICES.get(column) ?? '');
    const [tileX, tileY, readOnly, padding, shared, x, y] = CONVOLUTION_COLUMNS.slice(1).map(record.number);
    if (!device || record.text('time_ms') === '' || shared !== 0 || x % device.threadGroupWidth !== 0) return;
    const held = `tile ${tileX} × ${tileY}, read-only loads ${readOnly}, padding ${padding}, block width ${x}`;
    const key = `${column} ${held}`;
    if (!families.has(key)) families.set(key, { column, tile: tileX * tileY, held, rows: [] });
    const units = Math.ceil(IMAGE / tileX) * Math.ceil(IMAGE / tileY);
    families.get(key)!.rows.push({ blockThreads: x * y, units, ms: record.number('time_ms') });
  });
  const familiesOf = (column: string, id: string): readonly ShapeFamily[] =>
    [...families.values()]
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
          // Each output takes a multiplication and a load.
          instructionsPerIteration: 2 * tile,
        };
        const law = unwrap(constantLaw(FILTER * FILTER));
        return {
          name: held,
          kinds: rows.map(() => 'thread-per-unit'),
          blocks: rows.map(({ blockThreads }) => Math.ceil(units / blockThreads)),
          threads: rows.map(({ blockThreads }) => blockThreads),
          labels: rows.map(({ blockThreads }) => `${blockThreads}`),
          predicted: predictedMs(`convolution ${column} ${held}`, devices.get(id)!, designs, { law, units, kernel }),
          measured: Float64Array.from(rows, ({ ms }) => ms),
        };
      });
  return Object.fromEntries([...CONVOLUTION_DEVICES].map(([column, id]) => [column, familiesOf(column, id)]));
};

// -- Hasan's Table 2 --

/** Rows that were used to fit the parameters are left out. */
const readHasan: Reader = async () => {
  const parameters = fitHasan();
  const rows = HASAN_TABLE_2.filter(({ blocks }) => !HASAN_FITTED_BLOCKS.includes(blocks));
  const cells = rows.flatMap(({ blocks, timeMs }) =>
    hasanLaunches(blocks, timeMs).map((launch, i) => ({ blocks, threads: HASAN_THREADS_PER_BLOCK[i], launch })),
  );
  const family: ShapeFamily = {
    name: 'sum of binomial series',
    kinds: cells.map(() => 'thread-per-unit'),
    blocks: cells.map(({ blocks }) => blocks),
    threads: cells.map(({ threads }) => threads),
    labels: cells.map(({ blocks, threads }) => `${blocks} × ${threads}`),
    predicted: Float64Array.from(cells, ({ launch }) => wavesTime(parameters, launch)),
    measured: Float64Array.from(cells, ({ launch }) => launch.timeMs),
  };
  return { K20: [family] };
};

// -- SMITE's losses --

/** Reads the aggregate loss of groups of n > 1 units, which stands in for a time. */
const readSmite: Reader = async (folder) => {
  const file = 'smite.csv';
  const cases = unwrap(await parseSmiteMeans(bytesSource(await readFile(join(folder, file))), file));
  const losses = cases.map(({ case: own, values }) => {
    const { lengths, unitsPerGroup } = own.parameters as { readonly lengths: string; readonly unitsPerGroup: number };
    return { lengths, n: unitsPerGroup, measured: Number(values.aggregateLoss) };
  });
  const families = Map.groupBy(
    losses.filter(({ n }) => n > 1),
    ({ lengths }) => lengths,
  );
  const read: ShapeFamily[] = [];
  for (const [lengths, rows] of families) {
    const predicted = lossMoments(
      await readLaw(lengths),
      rows.map(({ n }) => n),
    ).map(({ aggregateLoss }) => aggregateLoss);
    read.push({
      name: lengths,
      kinds: rows.map(() => 'thread-per-unit'),
      blocks: rows.map(() => 1),
      threads: rows.map(() => 1),
      labels: rows.map(({ n }) => `${n} units per group`),
      predicted: Float64Array.from(predicted),
      measured: Float64Array.from(rows, ({ measured }) => measured),
    });
  }
  return { A100: read };
};

async function readLaw(lengths: string): Promise<LengthLaw> {
  const openFile = async (): Promise<Result<never>> => badInput(`${lengths} needs a file. Use a named distribution.`);
  return unwrap(await resolveWorkload(lengths, { openFile }));
}

// -- SwiftShader's record --

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

/** The predictions use parameters calibrated on other designs. The measured times exclude the ordering of units. */
const readSwiftShader: Reader = async (folder, devices) => {
  const record = JSON.parse(await readFile(join(folder, 'swiftshader.json'), 'utf8')) as SoftwareRecord;
  const device = { ...devices.get(SOFTWARE)!, multiprocessors: record.multiprocessors };
  const kernel = { ...NO_KERNEL, ...record.kernel };
  const law = await readLaw(record.lengths);
  const times = predictedMs('swiftshader', device, record.rows, { law, units: record.units, kernel }, record.pipeline);
  const family: ShapeFamily = {
    name: 'unit loop',
    kinds: record.rows.map(({ threadsPerUnit, balancing }) => implementationKind(device, threadsPerUnit, balancing)),
    blocks: record.rows.map(({ gridBlocks }) => gridBlocks),
    threads: record.rows.map(({ blockThreads }) => blockThreads),
    labels: record.rows.map(({ threadsPerUnit, blockThreads, gridBlocks, loop, balancing }) =>
      [threadsPerUnit, `${blockThreads} × ${gridBlocks}`, loop, balancing].join(', '),
    ),
    predicted: times.map((time) => time + record.launchOverheadMs),
    measured: Float64Array.from(record.rows, ({ measuredMs }) => measuredMs),
  };
  return { SwiftShader: [family] };
};

// -- Our launches on an H100 --

const H100 = 'nvidia-h100-sxm5-80gb';

/** A family has launches with the same work and lengths, all with or all without reserved memory. */
const readH100Of =
  (dataset: string): Reader =>
  async (folder, devices) => {
    const device = devices.get(H100)!;
    const launches = await readH100(folder, dataset);
    const predicted = (await readPredictions(folder))[dataset].H100.catalogue!;
    const nameOf = (at: number): string => {
      const { kernel, law, units, columns, sharedBytes } = launches[at];
      const work = kernel === 'ilp1' ? `${law}, four chains` : law;
      const matrix = columns === null ? '' : `, ${columns.toLocaleString('en')} columns`;
      const room = sharedBytes === 0 ? '' : ', less occupancy';
      return `${work}, ${units.toLocaleString('en')} units${matrix}${room}`;
    };
    const families = [...Map.groupBy(launches.keys(), nameOf)].map(([name, members]): ShapeFamily => {
      const own = members.map((at) => launches[at]);
      return {
        name,
        kinds: own.map(({ threadsPerUnit, balancing }) => implementationKind(device, threadsPerUnit, balancing)),
        blocks: own.map(({ gridBlocks }) => gridBlocks),
        threads: own.map(({ blockThreads }) => blockThreads),
        labels: own.map(({ kernel, unitsPerThread, blockThreads, sharedBytes }) =>
          [
            `${kernel}, ${unitsPerThread} per thread, blocks of ${blockThreads}`,
            ...(sharedBytes > 0 ? [`${sharedBytes} bytes`] : []),
          ].join(', '),
        ),
        predicted: Float64Array.from(members, (at) => predicted[at]!),
        measured: Float64Array.from(own, ({ medianUs }) => medianUs),
      };
    });
    return { H100: families };
  };

const READERS: Readonly<Record<string, Reader>> = {
  convolution: readConvolution,
  [H100_LOOPS]: readH100Of(H100_LOOPS),
  [H100_PRODUCTS]: readH100Of(H100_PRODUCTS),
  hasan: readHasan,
  smite: readSmite,
  swiftshader: readSwiftShader,
};

export async function readLaunches(
  { id, gpus }: LaunchDataset,
  folder: string,
  devices: ReadonlyMap<string, GpuDevice>,
): Promise<readonly ShapeGpu[]> {
  const families = await READERS[id](folder, devices);
  return gpus.map((gpu) => ({ ...gpu, families: families[gpu.column] }));
}
