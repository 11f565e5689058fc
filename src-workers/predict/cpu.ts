import type { Breakdown } from '../domain/breakdown.ts';
import type { PartitionBalancing } from '../domain/design.ts';
import type { CpuDevice } from '../domain/device.ts';
import type { KernelProfile } from '../domain/kernel.ts';
import { regimeInfo } from '../domain/regime.ts';
import { evenNonZeros, evenRows, loadImbalance, mergePath } from '../models/partition/partition.ts';
import { maxRateCurve, transferMs } from '../models/contention/bandwidth.ts';
import { partitionLoads } from '../models/contention/cores.ts';
import { totalLoad } from '../models/contention/loads.ts';
import { staircaseMs } from '../models/contention/time.ts';
import { getOrMake } from '../numeric/kept.ts';
import { bundleLengths, type CompactOrder } from './ordered.ts';

const PARTITIONS = { 'row-split': evenRows, 'nonzero-split': evenNonZeros, 'merge-path': mergePath };

export interface CpuLoads {
  readonly kernel: Pick<KernelProfile, 'bytesPerIteration' | 'bytesPerUnit'>;
  readonly units: number;
  readonly ordered: CompactOrder;
  readonly bytes: Map<string, Float64Array>;
}

export function createCpuLoads(kernel: CpuLoads['kernel'], units: number, ordered: CompactOrder): CpuLoads {
  return { kernel, units, ordered: bundleLengths(ordered), bytes: new Map() };
}

/** Returns the bytes of each core. `ordered` represents the lengths of all units, in order. */
export function computeCoreLoads(loads: CpuLoads, partition: PartitionBalancing, cores: number): Float64Array {
  const key = `${partition.kind} ${cores}`;
  return getOrMake(loads.bytes, key, () => {
    const { kernel, units, ordered } = loads;
    return partitionLoads(PARTITIONS[partition.kind](ordered.iterations, cores), {
      bytesPerNonZero: (kernel.bytesPerIteration * units) / ordered.units,
      bytesPerRow: (kernel.bytesPerUnit * units) / ordered.iterations.length,
    });
  });
}

export interface CpuPrediction {
  readonly timeMs: number;
  /** Largest load divided by the mean load of the cores, ≥ 1. */
  readonly loss: number;
}

/** A CPU design takes as long as its cores' memory traffic, by the staircase model (`models/contention`). */
export function predictCpu(
  loads: CpuLoads,
  device: CpuDevice,
  partition: PartitionBalancing,
  cores: number,
): CpuPrediction {
  const bytes = computeCoreLoads(loads, partition, cores);
  return { timeMs: staircaseMs(maxRateCurve(device, cores), bytes), loss: loadImbalance(bytes) };
}

/**
 * Splits the time: all bytes at full bandwidth (ideal work), the loss because too few cores keep the memory busy
 * (latency), and the loss by uneven loads (imbalance).
 */
export function explainCpu(
  loads: CpuLoads,
  device: CpuDevice,
  partition: PartitionBalancing,
  cores: number,
): Breakdown {
  const { timeMs } = predictCpu(loads, device, partition, cores);
  const total = totalLoad(computeCoreLoads(loads, partition, cores));
  const idealWork = transferMs(total, device.fullBandwidthGbS);
  const evenMs = transferMs(total, maxRateCurve(device, cores)[cores]);
  const parts = {
    idealWork,
    cooperation: 0,
    imbalance: timeMs - evenMs,
    registerCap: 0,
    latency: evenMs - idealWork,
    blockTail: 0,
    lastWave: 0,
    divergence: 0,
    balancing: 0,
  };
  const bandwidthFraction = idealWork / timeMs;
  return {
    timeMs,
    parts,
    achieved: {
      issueFraction: null,
      bandwidthGbS: bandwidthFraction * device.fullBandwidthGbS,
      bandwidthFraction,
      limit: bandwidthFraction >= 0.5 ? 'bandwidth' : null,
    },
    regime: regimeInfo('memory-contention'),
  };
}
