import {
  reproductionRow,
  makeTables,
  type ReproductionRow,
  type ReproductionTable,
} from '../../domain/reproduction.ts';
import type { PipelineParameters } from '../../domain/kernel.ts';
import { unwrap } from '../../domain/result.ts';
import { mean } from '../../numeric/statistics.ts';
import {
  HASAN_IDEAL_TIME_MS,
  HASAN_KEPLER20,
  HASAN_TABLE_2,
  HASAN_THREADS_PER_BLOCK,
  hasanEfficiency,
} from './hasan.ts';
import {
  brokenLimits,
  deadlocks,
  functionalUnitCycles,
  kimCycles,
  residentBlockSlots,
  type KimDevice,
  type KimLaunch,
} from './kim.ts';
import { fitSoftSaturation, wavesTime, type MeasuredLaunch, type WaveLaunch } from './soft-saturation.ts';

const hasanTable = makeTables(
  'hasan',
  'Hasan, Chatterjee, Radhakrishnan, Antonio, NPC 2014, doi:10.1007/978-3-662-44917-2_65',
);
const kimTable = makeTables(
  'kim',
  'H. Kim, GPGPU Performance Modeling using Microbenchmarks, poster, Seoul National University',
);

/** The fitted rows of Table 2, by their numbers of blocks; the other eleven rows are held out. */
export const HASAN_FITTED_BLOCKS: readonly number[] = [16, 112, 208, 320, 432];

const CLAIMED_ERROR_PERCENT = 5.69;

const HELD_OUT_TOLERANCE_PERCENT = 1.5;

/** Maximum relative error of a single held-out time: the scatter of the fitted rows, rounded up. */
const CELL_TOLERANCE = 0.1;

export function hasanWaveLaunch(blocks: number, threadsPerBlock: number): WaveLaunch {
  const { multiprocessors, residentThreadGroups, residentBlocks, threadGroupWidth } = HASAN_KEPLER20;
  const groupsPerBlock = Math.ceil(threadsPerBlock / threadGroupWidth);
  return {
    groupsPerBlock,
    blocksPerMultiprocessor: Math.ceil(blocks / multiprocessors),
    residentBlocks: Math.min(residentBlocks, Math.floor(residentThreadGroups / groupsPerBlock)),
  };
}

export function hasanLaunches(blocks: number, timeMs: readonly number[]): MeasuredLaunch[] {
  return timeMs.map((time, i) => ({ ...hasanWaveLaunch(blocks, HASAN_THREADS_PER_BLOCK[i]), timeMs: time }));
}

export function reproduceHasan(): ReproductionTable[] {
  return [hasanClaim(), ...hasanSoftSaturation()];
}

function hasanClaim(): ReproductionTable {
  const points: number[] = [];
  for (const { blocks, timeMs } of HASAN_TABLE_2) {
    HASAN_THREADS_PER_BLOCK.forEach((threads, i) => {
      const measured = HASAN_IDEAL_TIME_MS / timeMs[i];
      points.push(100 * Math.abs(hasanEfficiency(blocks, threads) - measured));
    });
  }
  const worst = Math.max(...points);
  const within = (100 * points.filter((value) => value <= CLAIMED_ERROR_PERCENT).length) / points.length;
  const rows = [
    reproductionRow('efficiency, mean of |Eq. 3 − measured|, percentage points', 7.9, mean(points), 0.05),
    reproductionRow('efficiency, largest |Eq. 3 − measured|, percentage points', 32, worst, 0.5),
  ];
  return hasanTable('Eq. 1–3 on Table 2, as printed', '1', rows, [
    `The paper claims a prediction error of 0.13–${CLAIMED_ERROR_PERCENT} %. Its printed equations do not give this error on its own Table 2: only ${within.toFixed(0)} % of the cells differ by at most ${CLAIMED_ERROR_PERCENT} percentage points.`,
    'The column "paper" contains the values to reproduce (the printed equations evaluated on the printed table), not the claim.',
    `The measured efficiency is τ divided by the measured time. τ = ${HASAN_IDEAL_TIME_MS} ms comes from Fig. 1. With 14.6 ms, the fastest time of the table, the mean changes by less than 0.1 points.`,
  ]);
}

/** Fits soft saturation to the rows of `HASAN_FITTED_BLOCKS` in Table 2; τ and c in ms. */
export function fitHasan(): PipelineParameters {
  const seen = HASAN_TABLE_2.filter(({ blocks }) => HASAN_FITTED_BLOCKS.includes(blocks));
  const cells = seen.flatMap(({ blocks, timeMs }) => hasanLaunches(blocks, timeMs));
  return unwrap(fitSoftSaturation(cells, { schedulers: [1, 2, 4, 8] }));
}

function hasanSoftSaturation(): ReproductionTable[] {
  const launches = HASAN_TABLE_2.map(({ blocks, timeMs }) => ({ blocks, cells: hasanLaunches(blocks, timeMs) }));
  const parameters = fitHasan();
  const rows: ReproductionRow[] = [];
  let heldOutSum = 0;
  let heldOutCells = 0;
  for (const { blocks, cells } of launches) {
    if (HASAN_FITTED_BLOCKS.includes(blocks)) continue;
    cells.forEach((cell, i) => {
      const label = `${blocks} blocks × ${HASAN_THREADS_PER_BLOCK[i]} threads, held out`;
      const row = reproductionRow(label, cell.timeMs, wavesTime(parameters, cell), CELL_TOLERANCE, 'relative');
      rows.push(row);
      heldOutSum += row.error;
      heldOutCells++;
    });
  }
  const digits = (value: number) => value.toPrecision(3);
  const meanPercent = (100 * heldOutSum) / heldOutCells;
  const notes = [
    `Fitted to the rows of ${HASAN_FITTED_BLOCKS.join(', ')} blocks: τ = ${digits(parameters.latencyCycles)} ms, c = ${digits(parameters.issueCycles)} ms, p = ${digits(parameters.kneeSoftness)}, q = ${parameters.schedulers}.`,
    "Soft saturation is this project's model, not the paper's.",
  ];
  const meanRow = reproductionRow('mean relative error, held-out cells', 0, meanPercent, HELD_OUT_TOLERANCE_PERCENT);
  return [
    hasanTable('Table 2, by soft saturation, fitted to five rows', 'ms', rows, notes),
    hasanTable('Table 2, error of soft saturation', '%', [meanRow], notes),
  ];
}

/** The poster's case study: four block slots, and no limit by registers. */
const KIM_CASE: KimDevice = {
  threadGroupWidth: 64,
  multiprocessors: 1,
  maxThreadsPerBlock: 1024,
  maxThreadsPerGrid: 2 ** 31,
  maxSharedMemoryBytesPerBlock: 65536,
  blockSlots: 4,
  threadGroupSlots: 40,
  sharedMemoryBytes: 65536,
  sharedMemoryGranularityBytes: 512,
  registerFiles: [],
  partitions: 1,
  functionalUnits: [{ name: 'vector', latencyCycles: 4, count: 1, widthThreadGroups: 4 }],
};

/**
 * Reproduces figures that follow from the poster's formulas, because the poster prints no table of numbers. In its case
 * study, time grows by one full wave every N_slot blocks of a multiprocessor, so block N_slot·k + 1 is a step.
 */
export function reproduceKim(): ReproductionTable[] {
  const launch = (gridBlocks: number): KimLaunch => ({
    threadsPerBlock: 256,
    gridBlocks,
    sharedMemoryBytesPerBlock: 0,
    registersPerThread: [],
  });
  const slots = residentBlockSlots(KIM_CASE, launch(1));
  const wave = functionalUnitCycles(KIM_CASE, 4 * slots);
  const one = functionalUnitCycles(KIM_CASE, 4);
  const rows = [reproductionRow('N_slot, limited by block slots', 4, slots, 0)];
  for (const k of [1, 2, 3]) {
    rows.push(
      reproductionRow(`T at g = ${k}·N_slot, in full waves`, k, kimCycles(KIM_CASE, launch(k * slots)) / wave, 0),
      reproductionRow(
        `rise of T from g = ${k}·N_slot to one block more, divided by the time of one block`,
        1,
        (kimCycles(KIM_CASE, launch(k * slots + 1)) - kimCycles(KIM_CASE, launch(k * slots))) / one,
        0,
      ),
    );
  }
  return [
    kimTable('Block scheduler and state buffers', '1', rows, [
      'The poster prints formulas and plots, but no table of numbers. So the column "paper" contains results of its formulas, computed by hand.',
      "The brackets of the poster's functional-unit formula are read as ceilings, although they are printed as floors. With floors, one thread group on a wider unit would take no time, but the poster measures the latency with exactly this launch.",
      "The poster's symbol S is the shared memory of a block in the limit checker, but the shared memory of the multiprocessor in the state buffers. Here they are two values.",
      'The poster finds that gem5 is slower than its model at g = 4n + 3 and 4n + 4 (b ≥ 2). It shows the times of gem5 only as a plot, so they are not compared here.',
    ]),
    kimLimits(),
    kimMicrobenchmarks(),
  ];
}

/** A device with every kind of limit and state buffer. Each of them is the binding limit in a row below. */
const KIM_ALL: KimDevice = {
  threadGroupWidth: 32,
  multiprocessors: 3,
  maxThreadsPerBlock: 512,
  maxThreadsPerGrid: 65536,
  maxSharedMemoryBytesPerBlock: 8192,
  blockSlots: 12,
  threadGroupSlots: 20,
  sharedMemoryBytes: 16384,
  sharedMemoryGranularityBytes: 256,
  registerFiles: [
    { maxPerThread: 128, maxPerBlock: 512, registers: 1024, granularity: 8 },
    { maxPerThread: 100, maxPerBlock: 400, registers: 800, granularity: 16 },
  ],
  partitions: 2,
  functionalUnits: [
    { name: 'arithmetic', latencyCycles: 40, count: 2, widthThreadGroups: 6 },
    { name: 'special', latencyCycles: 4, count: 1, widthThreadGroups: 3 },
  ],
};

const SMALL: KimLaunch = {
  threadsPerBlock: 32,
  gridBlocks: 1,
  sharedMemoryBytesPerBlock: 0,
  registersPerThread: [1, 1],
};

function kimLimits(): ReproductionTable {
  const cases: readonly (readonly [string, Partial<KimLaunch>, Partial<KimLaunch>])[] = [
    ['B ≤ L_TB', { threadsPerBlock: 512 }, { threadsPerBlock: 513 }],
    ['B·G ≤ L_TG', { gridBlocks: 2048 }, { gridBlocks: 2049 }],
    ['S ≤ L_SB', { sharedMemoryBytesPerBlock: 8192 }, { sharedMemoryBytesPerBlock: 8193 }],
    ['r₁ ≤ L_R₁T', { registersPerThread: [128, 1] }, { registersPerThread: [129, 1] }],
    ['r₂ ≤ L_R₂T', { registersPerThread: [1, 100] }, { registersPerThread: [1, 101] }],
    [
      'b·r₁ ≤ L_R₁B',
      { threadsPerBlock: 128, registersPerThread: [128, 1] },
      { threadsPerBlock: 160, registersPerThread: [103, 1] },
    ],
    [
      'b·r₂ ≤ L_R₂B',
      { threadsPerBlock: 128, registersPerThread: [1, 100] },
      { threadsPerBlock: 160, registersPerThread: [1, 81] },
    ],
  ];
  const broken = (change: Partial<KimLaunch>) => brokenLimits(KIM_ALL, { ...SMALL, ...change }).length;
  const rows = cases.flatMap(([formula, within, past]) => [
    reproductionRow(`${formula}, launch at the limit`, 0, broken(within), 0),
    reproductionRow(`${formula}, launch above the limit`, 1, broken(past), 0),
  ]);
  return kimTable('Limit checker, number of broken limits', '1', rows);
}

/** Runs the poster's microbenchmarks on the model itself. They must find the parameters of the model. */
function kimMicrobenchmarks(): ReproductionTable {
  const { functionalUnits, multiprocessors, blockSlots, threadGroupSlots, sharedMemoryBytes, registerFiles } = KIM_ALL;
  const largest = (holds: (value: number) => boolean) => {
    let value = 0;
    while (holds(value + 1)) value++;
    return value;
  };
  const live = (change: Partial<KimLaunch>) => !deadlocks(KIM_ALL, { ...SMALL, ...change });
  const grid = (change: Partial<KimLaunch>) => largest((gridBlocks) => live({ ...change, gridBlocks }));
  // One block fills a multiprocessor, so each additional block needs another multiprocessor.
  const found = grid({ threadsPerBlock: 32 * threadGroupSlots });
  const time = (b: number) => kimCycles(KIM_ALL, { ...SMALL, threadsPerBlock: 32 * b });
  const rows = [
    reproductionRow('multiprocessors, counted with blocks that each fill a multiprocessor', multiprocessors, found, 0),
    reproductionRow('block slots, counted with blocks of one thread group', blockSlots, grid({}) / found, 0),
    reproductionRow(
      'thread-group slots, counted with blocks of two thread groups',
      threadGroupSlots,
      (2 * grid({ threadsPerBlock: 64 })) / found,
      0,
    ),
    reproductionRow(
      'shared memory, bytes: the most that two blocks can have',
      sharedMemoryBytes,
      2 * largest((bytes) => live({ gridBlocks: 2 * found, sharedMemoryBytesPerBlock: bytes })),
      0,
    ),
    ...registerFiles.map((file, i) =>
      reproductionRow(
        `registers of file ${i + 1}: the most that ten blocks can have, in granules of ${file.granularity}`,
        10 * file.granularity * Math.floor(file.registers / 10 / file.granularity),
        10 * largest((r) => live({ gridBlocks: 10 * found, registersPerThread: i === 0 ? [r, 1] : [1, r] })),
        0,
      ),
    ),
    // Latency divided by the copies of the unit and the partitions: 40 / (2·2), computed by hand.
    reproductionRow('latency of the slowest functional unit, cycles: the time of one thread group', 10, time(1), 0),
    reproductionRow(
      'width of the slowest functional unit: the most thread groups that take no longer than one',
      functionalUnits[0].widthThreadGroups,
      largest((b) => time(b) === time(1)),
      0,
    ),
  ];
  return kimTable('Microbenchmarks on the model', '1', rows);
}
