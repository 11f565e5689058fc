import { describe, expect, it } from 'vitest';
import { limitingFactors } from '../../src-workers/domain/design.ts';
import type { OccupancyRules } from '../../src-workers/domain/device.ts';
import { FailureError, unwrap } from '../../src-workers/domain/result.ts';
import { AMD_ISAS, amdOccupancyRules, amdResidency } from '../../src-workers/models/occupancy/amd.ts';
import { appleOccupancyRules, appleResidency } from '../../src-workers/models/occupancy/apple.ts';
import { intelOccupancyRules, intelResidency } from '../../src-workers/models/occupancy/intel.ts';
import { nvidiaResidentBlocks } from '../../src-workers/models/occupancy/nvidia.ts';
import { occupancyCurve, residentBlocks } from '../../src-workers/models/occupancy/resident.ts';
import type { BlockUsage } from '../../src-workers/models/occupancy/usage.ts';
import { devicesIn } from '../catalogue.ts';

function usage(blockThreads: number, registersPerThread = 0, sharedMemoryBytesPerBlock = 0): BlockUsage {
  return { blockThreads, registersPerThread, sharedMemoryBytesPerBlock };
}

const a100 = devicesIn('nvidia').find((device) => device.id === 'nvidia-a100-sxm4-40gb')!;
const software = devicesIn('software')[0];

describe('NVIDIA', () => {
  // The values were computed by hand from the formulas of CUDA C Programming Guide 4.2, "Hardware Multithreading".
  it.each([
    // A block has 8 warps × 32 × 20 = 5120 registers, ten allocation units of 512. Three fit in 16,384 registers.
    ['1.3', usage(256, 20, 0), 3, ['registers']],
    // 32 × 16 × 4 = 2048 registers allow 8 blocks. Shared memory is rounded up to 2560 bytes, so 6 blocks fit 16 KiB.
    ['1.3', usage(128, 16, 2049), 6, ['sharedMemory']],
    // A warp has 21 × 32 = 672 registers, rounded up to 704. Each half of 16,384 holds 23 warps, so 5 blocks of 8 fit.
    ['2.0', usage(256, 21, 0), 5, ['registers']],
    // A warp has 63 × 32 = 2016 registers, rounded up to 2048. Each half holds 8 warps, so 4 blocks of 4 warps fit.
    ['2.0', usage(128, 63, 0), 4, ['registers']],
    ['2.0', usage(1025), 0, ['warps']],
    ['3.0', usage(32, 64, 0), 0, ['registers']],
  ])('%s %o', (computeCapability, launch, blocks, limits) => {
    const residency = unwrap(nvidiaResidentBlocks(computeCapability, launch));
    expect(residency.blocksPerMultiprocessor).toBe(blocks);
    expect(limitingFactors(residency.limitedBy)).toEqual(limits);
  });

  it('reports thread groups, the fraction of slots, and each limit by itself', () => {
    expect(unwrap(nvidiaResidentBlocks('9.0', usage(256, 40)))).toEqual({
      blocksPerMultiprocessor: 6,
      threadGroupsPerMultiprocessor: 48,
      occupancyFraction: 0.75,
      limitedBy: 2,
      limits: { warps: 8, registers: 6, sharedMemory: 228, blocks: 32 },
    });
    const expected = { warps: 32, registers: Infinity, sharedMemory: Infinity, blocks: 32 };
    expect(unwrap(nvidiaResidentBlocks('7.0', usage(64))).limits).toEqual(expected);
  });

  const known = 'is not known. Use one of 1.3, 2.0, 2.1, 3.0, 3.5, 3.7, 5.0, 5.2, 5.3, 6';
  it.each([
    ['9.0', usage(0), 'blockThreads must be a whole number from 1 to 2147483647, not 0'],
    ['9.0', usage(32, 1.5), 'registersPerThread must be a whole number from 0 to 2147483647, not 1.5'],
    ['9.0', usage(32, 0, NaN), 'sharedMemoryBytesPerBlock must be a whole number from 0 to 2147483647, not NaN'],
    ['9.0', usage(2 ** 31), 'blockThreads must be a whole number from 1 to 2147483647, not 2147483648'],
    ['4.0', usage(32), `Compute capability 4.0 ${known}`],
    ['__proto__', usage(32), `Compute capability __proto__ ${known}`],
  ])('refuses %s %o', (computeCapability, launch, message) =>
    expect(nvidiaResidentBlocks(computeCapability, launch)).toFail(null, new RegExp(message)),
  );
});

describe('AMD', () => {
  const blocks = (isa: string, waveSize: 32 | 64, launch: BlockUsage) =>
    amdResidency(unwrap(amdOccupancyRules(isa, waveSize)), launch);

  // Waves per SIMD: its registers over those of a wave, rounded up to the granule, up to the wave slots. By hand;
  // LLVM's agpr-register-count.ll prints the same for gfx908 with 32 and 40 registers, and for gfx90a with 56.
  it.each([
    ['gfx803', 64, { 24: 10, 25: 9 }],
    ['gfx906', 64, { 128: 2, 129: 1 }],
    ['gfx908', 64, { 32: 8, 40: 6 }],
    ['gfx90a', 64, { 56: 8, 72: 7, 512: 1 }],
    ['gfx942', 64, { 128: 4 }],
    ['gfx950', 64, { 128: 4 }],
    ['gfx1010', 32, { 48: 20, 56: 18 }],
    ['gfx1010', 64, { 128: 4 }],
    ['gfx1030', 32, { 64: 16, 65: 12 }],
    ['gfx1030', 64, { 64: 8 }],
    ['gfx1102', 32, { 97: 9 }],
    ['gfx1100', 32, { 96: 16, 97: 12 }],
    ['gfx1201', 32, { 256: 5 }],
  ] as const)('%s wave%i holds these waves per SIMD by vector registers: %j', (isa, waveSize, wavesOf) => {
    for (const [registers, waves] of Object.entries(wavesOf))
      expect(blocks(isa, waveSize, usage(waveSize, Number(registers))).threadGroupsPerMultiprocessor).toBe(4 * waves);
  });

  it('limits blocks of several waves by barriers, and not blocks of one', () => {
    const several = blocks('gfx803', 64, usage(128));
    expect(limitingFactors(several.limitedBy)).toEqual(['blocks']);
    const single = [blocks('gfx803', 64, usage(64)), blocks('gfx1030', 32, usage(64))];
    const all = [several, ...single, blocks('gfx90a', 64, usage(256))];
    expect(all.map((one) => one.blocksPerMultiprocessor)).toEqual([16, 40, 32, 8]);
  });

  it.each([
    ['gfx90a', 64, { 512: 128, 513: 64 }],
    ['gfx950', 64, { 1: 128 }],
    ['gfx1030', 32, { 65536: 2, 65537: 0 }],
  ] as const)('%s wave%i rounds bytes of LDS up to its granule: blocks that fit are %j', (isa, waveSize, limits) => {
    for (const [bytes, limit] of Object.entries(limits))
      expect(blocks(isa, waveSize, usage(64, 0, Number(bytes))).limits.sharedMemory).toBe(limit);
  });

  it('counts scalar registers only if waves share them, and refuses an unknown instruction set or wave size', () => {
    const scalar = (isa: string, scalarRegistersPerThreadGroup: number) =>
      blocks(isa, 64, { ...usage(64, 24), scalarRegistersPerThreadGroup }).limits.registers;
    expect([80, 96, 102, 113].map((registers) => scalar('gfx803', registers))).toEqual([40, 32, 28, 0]);
    expect(scalar('gfx1030', 106)).toBe(scalar('gfx1030', 8));
    expect(AMD_ISAS).toContain('gfx1011');
    expect(amdOccupancyRules('gfx999', 64).ok).toBe(false);
    const unknown =
      /AMD instruction set gfx90a with waves of 32 is not known\. Use one of gfx700\/64, gfx701\/64, gfx803/;
    expect(amdOccupancyRules('gfx90a', 32)).toFail(null, unknown);
  });
});

describe('Intel', () => {
  const blocks = (architecture: string, simdWidth: number, launch: BlockUsage) =>
    intelResidency(unwrap(intelOccupancyRules(architecture, simdWidth)), launch);

  // By Intel's calculator, a block takes ⌈block / group width⌉ threads of an Xe-core, which has half as many threads in
  // large mode. Local memory has fixed sizes. The rows were computed by hand from the calculator's formula.
  it.each([
    ['xe-hpg', 16, usage(256, 64), 8, ['warps']],
    ['xe-hpg', 16, usage(256, 65), 4, ['registers']],
    ['xe-hpg', 8, usage(256, 128), 4, ['warps']],
    ['xe-hpg', 32, usage(256, 33), 8, ['registers']],
    ['xe-hpg', 16, usage(256, 129), 0, ['registers']],
    ['xe-lp', 16, usage(512, 64), 3, ['warps']],
    ['xe-lp', 16, usage(512, 65), 0, ['registers']],
    ['xe-lp', 16, usage(1024, 32), 0, ['warps']],
    ['xe-hpc', 32, usage(1024, 64), 2, ['warps']],
    // Large mode leaves 512 lanes for groups of 16, so a block of 1,024 threads cannot start.
    ['xe-hpc', 16, usage(1024, 129), 0, ['registers']],
    ['xe-hpc', 16, usage(512, 129), 1, ['registers']],
    // This is the calculator's example: 64 KiB of local memory, groups of 32 in blocks of 256 on a B580.
    ['xe2-hpg', 32, usage(256, 32, 64 * 1024), 2, ['sharedMemory']],
    ['xe2-hpg', 32, usage(256, 32, 16 * 1024), 8, ['warps', 'sharedMemory']],
    ['xe2-hpg', 32, usage(256, 32, 16 * 1024 + 1), 5, ['sharedMemory']],
  ] as const)('%s, groups of %i, %o', (architecture, simdWidth, launch, expected, limits) => {
    const residency = blocks(architecture, simdWidth, launch);
    expect(residency.blocksPerMultiprocessor).toBe(expected);
    expect(limitingFactors(residency.limitedBy)).toEqual(limits);
  });

  it('allows a lane of a narrow group more registers, and refuses an unknown architecture or width', () => {
    const rules = [8, 16, 32].map((width) => unwrap(intelOccupancyRules('xe-hpg', width)));
    expect(rules.map(({ limits }) => limits.maxRegistersPerThread)).toEqual([256, 128, 64]);
    const unknown = /^Intel architecture xe2-hpg with SIMD width 8 is not known\. Use one of xe-lp\/8, xe-lp\/16/;
    expect(intelOccupancyRules('xe2-hpg', 8)).toFail(null, unknown);
  });
});

it('Apple allows as many threads as their register halves leave', () => {
  const rules = unwrap(appleOccupancyRules(7));
  const at = (registers: number) => 32 * appleResidency(rules, usage(32, registers)).threadGroupsPerMultiprocessor;
  // From Mesa's agx_occupancy.c: the largest number of 16-bit halves per thread, and the resident threads.
  const halves = [104, 112, 128, 136, 144, 160, 184, 208, 232, 256];
  expect(halves.map((most) => at(most / 2))).toEqual([1024, 896, 832, 768, 704, 640, 576, 512, 448, 384]);
  for (const most of halves) expect(at(most / 2 + 1)).toBeLessThan(at(most / 2));
});

it('Apple holds 3,072 threads of few registers, and no threadgroup of more than 32 KiB', () => {
  const rules = unwrap(appleOccupancyRules(8));
  expect(appleResidency(rules, usage(1024, 16))).toMatchObject({ blocksPerMultiprocessor: 3, occupancyFraction: 1 });
  const shared = (bytes: number) => appleResidency(rules, usage(32, 16, bytes)).limits.sharedMemory;
  expect([shared(32_769), shared(20_480), shared(0)]).toEqual([0, 3, Infinity]);
  expect(appleOccupancyRules(6).ok).toBe(false);
});

describe('any device', () => {
  it('uses the rules of the family', () => {
    expect(residentBlocks(a100, usage(256, 32)).blocksPerMultiprocessor).toBe(8);
    const generic = residentBlocks(software, usage(256, 0, 32768));
    expect(generic).toMatchObject({ blocksPerMultiprocessor: 1, occupancyFraction: 1 });
    const limited = [usage(4, 1025), usage(257), usage(4, 0, 32769)].map((one) => residentBlocks(software, one));
    expect(limited.flatMap((one) => limitingFactors(one.limitedBy))).toEqual(['registers', 'warps', 'sharedMemory']);
    // A generic device is limited per block as well as per multiprocessor.
    const tight = { ...software, limits: { ...software.limits, maxRegistersPerBlock: 1024 } };
    expect(residentBlocks(tight, usage(4, 256)).blocksPerMultiprocessor).toBe(1);
    expect(residentBlocks(tight, usage(4, 257)).blocksPerMultiprocessor).toBe(0);
  });

  it("limits a device to the compiler's 255 registers per thread, and the vendor's calculator to the allocator's 256", () => {
    expect(a100.limits.maxRegistersPerThread).toBe(255);
    expect(residentBlocks(a100, usage(256, 255)).blocksPerMultiprocessor).toBe(1);
    expect(residentBlocks(a100, usage(256, 256))).toMatchObject({ blocksPerMultiprocessor: 0, limitedBy: 2 });
    expect(unwrap(nvidiaResidentBlocks('8.0', usage(256, 256))).blocksPerMultiprocessor).toBe(1);
  });

  it('throws for values that should have been refused before', () => {
    const lost: OccupancyRules = { family: 'nvidia', computeCapability: '8.5' };
    expect(() => residentBlocks({ ...a100, occupancy: lost }, usage(32))).toThrow(FailureError);
    expect(() => residentBlocks(a100, usage(NaN))).toThrow('blockThreads must be a whole number from 1 to 2147483647');
  });

  it('draws what-if curves over all values that the device allows', () => {
    const blocks = occupancyCurve(a100, usage(256, 32), 'blockThreads');
    expect(blocks.map((point) => point.x)).toEqual(Array.from({ length: 32 }, (_, i) => 32 * (i + 1)));
    expect(blocks.find((point) => point.x === 768)!.y).toBe(0.75);
    const registers = occupancyCurve(a100, usage(256), 'registersPerThread');
    expect(registers.find((point) => point.x === 32)!.y).toBe(1);
    expect(registers.find((point) => point.x === 33)!.y).toBe(0.75);
    const shared = occupancyCurve(a100, usage(256, 32), 'sharedMemoryBytesPerBlock');
    expect(shared.at(-1)).toEqual({ x: 163 * 1024, y: 1 / 8 });
  });
});
