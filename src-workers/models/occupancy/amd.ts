import type { DeviceLimits } from '../../domain/device.ts';
import { ok, type Result, unsupported } from '../../domain/result.ts';
import { type BlockUsage, type Residency, computeResidency, fitSharedMemory, roundUpTo } from './usage.ts';

/**
 * The allocation rules of an AMD multiprocessor: a compute unit on GCN and CDNA, and a whole workgroup processor (two
 * compute units, four SIMDs, 128 KiB of LDS) on RDNA, where code is compiled for it by default ("WGP mode").
 *
 * Sources: LLVM, "User Guide for AMDGPU Backend", tables of processors and kernel descriptor fields, and the register
 * counts and allocation granules of its AMDGPU target description (wave slots, vector and scalar registers, barriers);
 * AMD "Instinct MI200" and "CDNA 3" ISA reference guides (512 unified registers, granule 8); AMD "RDNA 2" and "RDNA 3"
 * ISA reference guides (registers in groups of 8, 16 or 24); Mesa's ACO compiler, device description (LDS allocated by
 * 1,024 bytes from RDNA 2); GPUOpen, "Occupancy explained", 2024.
 */
export interface AmdOccupancyRules {
  readonly waveSize: 32 | 64;
  readonly limits: DeviceLimits;
  readonly simds: number;
  /** Vector registers of one SIMD, counted per lane. */
  readonly vectorRegistersPerSimd: number;
  readonly vectorRegisterGranule: number;
  /** Scalar registers of one SIMD; `null` if every wave has a fixed set, which never limits occupancy. */
  readonly scalarRegistersPerSimd: number | null;
  readonly scalarRegisterGranule: number;
  readonly maxScalarRegistersPerWave: number;
  readonly ldsGranuleBytes: number;
  /** Number of barriers; a block of more than one wave needs one. */
  readonly barriers: number;
}

const ISAS = {
  gcn2: ['gfx700', 'gfx701'],
  gcn3: ['gfx803', 'gfx900', 'gfx906', 'gfx908'],
  cdna2: ['gfx90a', 'gfx942'],
  cdna4: ['gfx950'],
  rdna1: ['gfx1010', 'gfx1011', 'gfx1012'],
  // Small RDNA 3 chips have the register file of RDNA 2; the large ones and RDNA 4 have 1.5 times as much.
  rdna2: ['gfx1030', 'gfx1031', 'gfx1032', 'gfx1102', 'gfx1103', 'gfx1150'],
  rdna3: ['gfx1100', 'gfx1101', 'gfx1151', 'gfx1200', 'gfx1201'],
} as const;
type Family = keyof typeof ISAS;

export const AMD_ISAS: readonly string[] = Object.values(ISAS).flat();

/** Constants for waves of 64 lanes. With waves of 32 lanes, the vector registers and their granule double. */
const FAMILIES = {
  gcn2: { slots: 10, vectors: 256, granule: 4, scalars: 512, scalarGranule: 8, perThread: 256, ldsUnit: 512 },
  gcn3: { slots: 10, vectors: 256, granule: 4, scalars: 800, scalarGranule: 16, perThread: 256, ldsUnit: 512 },
  cdna2: { slots: 8, vectors: 512, granule: 8, scalars: 800, scalarGranule: 16, perThread: 512, ldsUnit: 512 },
  cdna4: { slots: 8, vectors: 512, granule: 8, scalars: 800, scalarGranule: 16, perThread: 512, ldsUnit: 1280 },
  rdna1: { slots: 20, vectors: 512, granule: 4, scalars: null, scalarGranule: 128, perThread: 256, ldsUnit: 512 },
  rdna2: { slots: 16, vectors: 512, granule: 8, scalars: null, scalarGranule: 128, perThread: 256, ldsUnit: 1024 },
  rdna3: { slots: 16, vectors: 768, granule: 12, scalars: null, scalarGranule: 128, perThread: 256, ldsUnit: 1024 },
} as const satisfies Record<Family, unknown>;

const SIMDS = 4;
const LDS_BYTES = 65536;

function expand(family: Family, waveSize: 32 | 64): AmdOccupancyRules {
  const facts = FAMILIES[family];
  const workGroupProcessor = family.startsWith('rdna');
  const widening = 64 / waveSize;
  const vectors = facts.vectors * widening;
  const ldsBytes = family === 'cdna4' ? 163840 : LDS_BYTES;
  const registers = SIMDS * vectors * waveSize;
  return {
    waveSize,
    limits: {
      maxThreadsPerBlock: 1024,
      maxGridBlocks: 2 ** 31 - 1,
      // Blocks of a single wave need no barrier, so there can be as many blocks as wave slots.
      maxBlocksPerMultiprocessor: SIMDS * facts.slots,
      maxThreadGroupsPerMultiprocessor: SIMDS * facts.slots,
      registersPerMultiprocessor: registers,
      maxRegistersPerBlock: registers,
      maxRegistersPerThread: facts.perThread,
      sharedMemoryBytesPerMultiprocessor: workGroupProcessor ? 2 * LDS_BYTES : ldsBytes,
      maxSharedMemoryBytesPerBlock: ldsBytes,
    },
    simds: SIMDS,
    vectorRegistersPerSimd: vectors,
    vectorRegisterGranule: facts.granule * widening,
    scalarRegistersPerSimd: facts.scalars,
    scalarRegisterGranule: facts.scalarGranule,
    maxScalarRegistersPerWave: family === 'gcn2' ? 104 : 112,
    ldsGranuleBytes: facts.ldsUnit,
    barriers: workGroupProcessor ? 32 : 16,
  };
}

const RULES: ReadonlyMap<string, AmdOccupancyRules> = new Map(
  (Object.keys(ISAS) as Family[]).flatMap((family) => {
    const sizes: readonly (32 | 64)[] = family.startsWith('rdna') ? [32, 64] : [64];
    return ISAS[family].flatMap((isa) =>
      sizes.map((waveSize) => [`${isa}/${waveSize}`, expand(family, waveSize)] as const),
    );
  }),
);

export function amdOccupancyRules(isa: string, waveSize: number): Result<AmdOccupancyRules> {
  const rules = RULES.get(`${isa}/${waveSize}`);
  if (rules) return ok(rules);
  return unsupported(
    `AMD instruction set ${isa} with waves of ${waveSize} is not known. Use one of ${[...RULES.keys()].join(', ')}.`,
    { field: 'isa' },
  );
}

function countWaves(simds: number, registers: number, granule: number, used: number): number {
  return simds * Math.floor(registers / roundUpTo(used, granule));
}

/** Computes the resident blocks for valid rules and usage. The waves of a block may be on any of the SIMDs. */
export function amdResidency(rules: AmdOccupancyRules, usage: BlockUsage): Residency {
  const { limits, simds } = rules;
  const waves = Math.ceil(usage.blockThreads / rules.waveSize);

  let registerWaves = Infinity;
  if (usage.registersPerThread > limits.maxRegistersPerThread) registerWaves = 0;
  else if (usage.registersPerThread > 0) {
    const { vectorRegistersPerSimd, vectorRegisterGranule } = rules;
    registerWaves = countWaves(simds, vectorRegistersPerSimd, vectorRegisterGranule, usage.registersPerThread);
  }
  const scalars = usage.scalarRegistersPerThreadGroup ?? 0;
  if (scalars > rules.maxScalarRegistersPerWave) registerWaves = 0;
  else if (scalars > 0 && rules.scalarRegistersPerSimd !== null) {
    const scalarWaves = countWaves(simds, rules.scalarRegistersPerSimd, rules.scalarRegisterGranule, scalars);
    registerWaves = Math.min(registerWaves, scalarWaves);
  }

  return computeResidency(limits, usage, waves, {
    registers: Math.floor(registerWaves / waves),
    sharedMemory: fitSharedMemory(limits, usage, roundUpTo(usage.sharedMemoryBytesPerBlock, rules.ldsGranuleBytes)),
    blocks: waves === 1 ? limits.maxBlocksPerMultiprocessor : rules.barriers,
  });
}
