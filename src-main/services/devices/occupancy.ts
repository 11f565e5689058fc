import { limitingFactors, type LimitingFactor } from '../../../src-workers/domain/design.ts';
import type { Device, DeviceLimits } from '../../../src-workers/domain/device.ts';
import { fail, ok, type Result, unsupported, badInput } from '../../../src-workers/domain/result.ts';
import { nvidiaOccupancyRules, nvidiaResidentBlocks } from '../../../src-workers/models/occupancy/nvidia.ts';
import { residentBlocks } from '../../../src-workers/models/occupancy/resident.ts';
import { checkUsage, type BlockUsage, type Residency } from '../../../src-workers/models/occupancy/usage.ts';

export interface OccupancyReport {
  readonly blocksPerSm: number;
  readonly warpsPerSm: number;
  readonly occupancyFraction: number;
  readonly limitedBy: readonly LimitingFactor[];
  /** The blocks that each resource alone would allow; null if the launch does not use the resource. */
  readonly limits: Readonly<Record<LimitingFactor, number | null>>;
  /** The limit that a single block exceeds; null if it exceeds none, even if all its resources together do not fit. */
  readonly refused: string | null;
}

function refusal(usage: BlockUsage, limits: DeviceLimits): string | null {
  const beyond = [
    [usage.blockThreads, limits.maxThreadsPerBlock, 'threads per block'],
    [usage.registersPerThread, limits.maxRegistersPerThread, 'registers per thread'],
    [usage.sharedMemoryBytesPerBlock, limits.maxSharedMemoryBytesPerBlock, 'bytes of shared memory per block'],
  ] as const;
  const found = beyond.find(([got, most]) => got > most);
  return found ? `${found[0]} ${found[2]}, more than the ${found[1]} that the device allows` : null;
}

function report(residency: Residency, usage: BlockUsage, limits: DeviceLimits): OccupancyReport {
  const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);
  return {
    blocksPerSm: residency.blocksPerMultiprocessor,
    warpsPerSm: residency.threadGroupsPerMultiprocessor,
    occupancyFraction: residency.occupancyFraction,
    limitedBy: limitingFactors(residency.limitedBy),
    limits: {
      warps: finite(residency.limits.warps),
      registers: finite(residency.limits.registers),
      sharedMemory: finite(residency.limits.sharedMemory),
      blocks: finite(residency.limits.blocks),
    },
    refused: refusal(usage, limits),
  };
}

/** Computes occupancy as NVIDIA's calculator does: with up to 256 registers per thread from capability 7.0 on. */
export function nvidiaOccupancy(computeCapability: string, usage: BlockUsage): Result<OccupancyReport> {
  const residency = nvidiaResidentBlocks(computeCapability, usage);
  if (!residency.ok) return residency;
  const rules = nvidiaOccupancyRules(computeCapability);
  if (!rules.ok) return rules;
  const { limits, allocatableRegistersPerThread: maxRegistersPerThread } = rules.value;
  return ok(report(residency.value, usage, { ...limits, maxRegistersPerThread }));
}

export function deviceOccupancy(device: Device, usage: BlockUsage): Result<OccupancyReport> {
  if (device.kind === 'cpu') return unsupported(`The device "${device.id}" is a CPU. Specify a GPU.`);
  const checked = checkUsage(usage);
  if (!checked.ok) return checked;
  return ok(report(residentBlocks(device, checked.value), checked.value, device.limits));
}

const BATCH_COLUMNS = [
  'compute_capability',
  'block_threads',
  'registers_per_thread',
  'dynamic_shared_memory_bytes',
] as const;

export interface OccupancyRow extends OccupancyReport {
  readonly computeCapability: string;
  readonly blockThreads: number;
  readonly registersPerThread: number;
  readonly sharedMemoryBytes: number;
}

export function occupancyBatch(text: string, fileName: string): Result<readonly OccupancyRow[]> {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const head = lines[0].split(',').map((cell) => cell.trim());
  if (BATCH_COLUMNS.some((name, at) => head[at] !== name))
    return badInput(
      `${fileName}, line 1: The header must start with ${BATCH_COLUMNS.join(',')}, not "${lines[0].slice(0, 120)}".`,
    );
  const rows: OccupancyRow[] = [];
  for (let line = 1; line < lines.length; line += 1) {
    if (lines[line].trim() === '') continue;
    const cells = lines[line].split(',').map((cell) => cell.trim());
    const [computeCapability, ...numbers] = cells.slice(0, 4);
    if (numbers.length < 3)
      return badInput(`${fileName}, line ${line + 1}: There must be at least 4 columns, not ${cells.length}.`);
    const wrong = numbers.findIndex((cell) => !/^\d+$/.test(cell));
    if (wrong >= 0)
      return badInput(
        `${fileName}, line ${line + 1}: ${BATCH_COLUMNS[wrong + 1]} must be a whole number ≥ 0, not "${numbers[wrong]}".`,
      );
    const [blockThreads, registersPerThread, sharedMemoryBytes] = numbers.map(Number) as [number, number, number];
    const one = nvidiaOccupancy(computeCapability, {
      blockThreads,
      registersPerThread,
      sharedMemoryBytesPerBlock: sharedMemoryBytes,
    });
    if (!one.ok) return fail(one.error.code, `${fileName}, line ${line + 1}: ${one.error.message}`);
    rows.push({ computeCapability, blockThreads, registersPerThread, sharedMemoryBytes, ...one.value });
  }
  return ok(rows);
}
