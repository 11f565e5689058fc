/**
 * Structural model of a GPU after H. Kim, "GPGPU Performance Modeling using Microbenchmarks" (poster, Seoul National
 * University): limit checker, block scheduler, state buffers, functional units. A launch has B threads per block and G
 * blocks; b = ⌈B/ω⌉ thread groups per block and g = ⌈G/n_mp⌉ blocks per multiprocessor. Symbols are the poster's.
 */

export interface KimLaunch {
  readonly threadsPerBlock: number;
  readonly gridBlocks: number;
  readonly sharedMemoryBytesPerBlock: number;
  /** r_i: registers per thread of each register file i (vector, scalar, …). */
  readonly registersPerThread: readonly number[];
}

export interface KimRegisterFile {
  readonly maxPerThread: number;
  readonly maxPerBlock: number;
  /** Registers of the multiprocessor, in the same unit as r_i·b. */
  readonly registers: number;
  readonly granularity: number;
}

export interface KimFunctionalUnit {
  readonly name: string;
  /** Σu in the poster's formula: the sum of the latencies of the kernel's instructions on this unit, cycles. */
  readonly latencyCycles: number;
  readonly count: number;
  /** s_u: thread groups that the unit takes in one issue (its width divided by ω). */
  readonly widthThreadGroups: number;
}

export interface KimDevice {
  readonly threadGroupWidth: number;
  readonly multiprocessors: number;
  readonly maxThreadsPerBlock: number;
  readonly maxThreadsPerGrid: number;
  readonly maxSharedMemoryBytesPerBlock: number;
  readonly blockSlots: number;
  readonly threadGroupSlots: number;
  readonly sharedMemoryBytes: number;
  readonly sharedMemoryGranularityBytes: number;
  readonly registerFiles: readonly KimRegisterFile[];
  /** p: schedulers over which the functional units are split. */
  readonly partitions: number;
  readonly functionalUnits: readonly KimFunctionalUnit[];
}

export function groupsPerBlock(device: KimDevice, launch: KimLaunch): number {
  return Math.ceil(launch.threadsPerBlock / device.threadGroupWidth);
}

function blocksPerMultiprocessor(device: KimDevice, launch: KimLaunch): number {
  return Math.ceil(launch.gridBlocks / device.multiprocessors);
}

/** Returns one sentence for each broken limit: B ≤ L_TB, B·G ≤ L_TG, S ≤ L_SB, r_i ≤ L_RiT, b·r_i ≤ L_RiB. */
export function brokenLimits(device: KimDevice, launch: KimLaunch): string[] {
  const broken: string[] = [];
  const check = (what: string, got: number, limit: number) => {
    if (got > limit) broken.push(`${what}: ${got} exceeds the limit of ${limit}`);
  };
  check('threads per block', launch.threadsPerBlock, device.maxThreadsPerBlock);
  check('threads of the grid', launch.threadsPerBlock * launch.gridBlocks, device.maxThreadsPerGrid);
  check('shared memory per block, bytes', launch.sharedMemoryBytesPerBlock, device.maxSharedMemoryBytesPerBlock);
  const b = groupsPerBlock(device, launch);
  device.registerFiles.forEach((file, i) => {
    check(`registers per thread, file ${i}`, launch.registersPerThread[i], file.maxPerThread);
    check(`registers per block, file ${i}`, b * launch.registersPerThread[i], file.maxPerBlock);
  });
  return broken;
}

/** N_slot: the blocks for which a multiprocessor has room. Amounts are rounded up to a granularity. */
export function residentBlockSlots(device: KimDevice, launch: KimLaunch): number {
  const b = groupsPerBlock(device, launch);
  const allocated = (amount: number, granularity: number) => Math.ceil(amount / granularity) * granularity;
  let slots = Math.min(device.blockSlots, Math.floor(device.threadGroupSlots / b));
  if (launch.sharedMemoryBytesPerBlock > 0) {
    const bytes = allocated(launch.sharedMemoryBytesPerBlock, device.sharedMemoryGranularityBytes);
    slots = Math.min(slots, Math.floor(device.sharedMemoryBytes / bytes));
  }
  device.registerFiles.forEach((file, i) => {
    if (launch.registersPerThread[i] > 0) {
      const registers = allocated(launch.registersPerThread[i], file.granularity) * b;
      slots = Math.min(slots, Math.floor(file.registers / registers));
    }
  });
  return slots;
}

/**
 * fu(c), the cycles of the functional units for c thread groups: the work of the slowest unit divided by its copies and
 * partitions, times the issues that c thread groups need; at least 1. The poster's brackets are read as ceilings: with
 * floors, a unit wider than c would cost nothing. fu(0) is 0.
 */
export function functionalUnitCycles(device: KimDevice, threadGroups: number): number {
  if (threadGroups === 0) return 0;
  let cycles = 1;
  for (const unit of device.functionalUnits) {
    const perIssue = Math.ceil(unit.latencyCycles / (unit.count * device.partitions));
    cycles = Math.max(cycles, perIssue * Math.ceil(threadGroups / unit.widthThreadGroups));
  }
  return cycles;
}

/**
 * Time of g blocks of b thread groups on a multiprocessor: T(g, b) = ⌊g/N_slot⌋·fu(b·N_slot) + fu(b·(g mod N_slot)),
 * cycles; NaN if no block fits.
 */
export function kimCycles(device: KimDevice, launch: KimLaunch): number {
  const slots = residentBlockSlots(device, launch);
  if (slots < 1) return NaN;
  const b = groupsPerBlock(device, launch);
  const g = blocksPerMultiprocessor(device, launch);
  return (
    Math.floor(g / slots) * functionalUnitCycles(device, b * slots) + functionalUnitCycles(device, b * (g % slots))
  );
}

/** Blocks that wait for all others deadlock if some find no room. The poster finds N_slot by such deadlocks. */
export function deadlocks(device: KimDevice, launch: KimLaunch): boolean {
  return blocksPerMultiprocessor(device, launch) > residentBlockSlots(device, launch);
}

export interface KimGridSeries {
  readonly residentBlocks: number;
  readonly blocksPerMultiprocessor: readonly number[];
  readonly cycles: readonly number[];
  /** The cycles of the same thread groups if no block had to wait for a block slot. */
  readonly boundCycles: readonly number[];
  /** cycles / boundCycles ≥ 1: the cost of allocating slots in whole blocks, wave by wave. */
  readonly inefficiency: readonly number[];
}

/** Computes T(g, b) of `kimCycles` for g = 1 … `maxBlocksPerMultiprocessor`. Ignores `launch.gridBlocks`. */
export function kimGridSeries(device: KimDevice, launch: KimLaunch, maxBlocksPerMultiprocessor: number): KimGridSeries {
  const b = groupsPerBlock(device, launch);
  const g = Array.from({ length: maxBlocksPerMultiprocessor }, (_, i) => i + 1);
  const cycles = g.map((blocks) => kimCycles(device, { ...launch, gridBlocks: blocks * device.multiprocessors }));
  const boundCycles = g.map((blocks) => functionalUnitCycles(device, b * blocks));
  return {
    residentBlocks: residentBlockSlots(device, launch),
    blocksPerMultiprocessor: g,
    cycles,
    boundCycles,
    inefficiency: cycles.map((time, i) => time / boundCycles[i]),
  };
}
