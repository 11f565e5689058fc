import type { RegimeId } from '../domain/regime.ts';
import { getPace } from './cost/pace.ts';
import { makeRoom } from './caches.ts';
import { predictCpu, type CpuLoads } from './cpu.ts';
import { isOnCpu, isOneLaunch, type Candidate, type ClassCandidate, type GpuCandidate } from './design/candidate.ts';
import { getSharedByCaps } from './depths.ts';
import { getFetchingCycles } from './fetches.ts';
import {
  computeBalancingMs,
  computeBlockStartsMs,
  computeIterationFactor,
  computeLaunchFloorMs,
} from './launch-costs.ts';
import { makeLaunch } from './launches.ts';
import { computeAloneCycles, computeBusyCycles } from './least-cycles.ts';
import type { Predictor } from './tables.ts';
import { findRegime, type TimedLaunch } from './time/regimes.ts';

export interface TimedDesign {
  timeMs: number;
  meanLoss: number;
  aggregateLoss: number;
  regime: RegimeId;
}

export interface TimedOnGpu extends TimedDesign {
  /** The time by which starting the blocks lengthens the launch. */
  blockStartsMs: number;
  searchShare: number;
  launch: TimedLaunch;
  fetchingMs: number;
}

export function timeDesign(candidate: Candidate, out: TimedDesign): void {
  if (isOneLaunch(candidate)) timeOnGpu(candidate, out as TimedOnGpu);
  else if (isOnCpu(candidate)) {
    const { predictor, device, balancing, gridBlocks } = candidate;
    const { timeMs, loss } = predictCpu(getCpuLoads(predictor), device, balancing, gridBlocks);
    out.timeMs = timeMs;
    out.meanLoss = loss;
    out.aggregateLoss = loss;
    out.regime = 'memory-contention';
  } else timeClasses(candidate, candidate.classes!, out);
}

function timeClasses(candidate: Candidate, classes: readonly ClassCandidate[], out: TimedDesign): void {
  const timed = {} as TimedOnGpu;
  let timeMs = computeBalancingMs(candidate);
  let longestMs = -1;
  let meanLoss = 0;
  let work = 0;
  let lockstep = 0;
  for (const { candidate: own } of classes) {
    const { plan, meanLength } = own.predictor;
    timeOnGpu(own, timed);
    timeMs += timed.timeMs;
    meanLoss += (timed.meanLoss * plan.units) / candidate.predictor.plan.units;
    work += plan.units * meanLength;
    lockstep += plan.units * meanLength * timed.aggregateLoss;
    if (timed.timeMs <= longestMs) continue;
    longestMs = timed.timeMs;
    out.regime = timed.regime;
  }
  out.timeMs = timeMs;
  out.meanLoss = meanLoss;
  out.aggregateLoss = work > 0 ? lockstep / work : 1;
}

export function timeOnGpu(candidate: GpuCandidate, out: TimedOnGpu): void {
  const { predictor, device } = candidate;
  const shared = getSharedByCaps(candidate);
  const { depths } = shared;
  makeRoom(predictor.caches);
  const launch = makeLaunch(candidate, depths);
  const regime = findRegime(launch);
  const cycles = regime.cycles(launch) * depths.timeScale;
  const alone = computeAloneCycles(candidate) / getPace(candidate).iterationFactor;
  // Sampled blocks of a given order may have too little work, so the time for the work of the launch is a lower bound.
  const busy = depths.laws === null ? computeBusyCycles(candidate) : 0;
  const fetching = getFetchingCycles(candidate, shared);
  const msPerCycle = computeIterationFactor(candidate) / (device.clockMhz * 1e3);
  out.fetchingMs = fetching * msPerCycle;
  const workMs = (Math.max(cycles, alone, busy) + fetching) * msPerCycle;
  const startsMs = computeBlockStartsMs(candidate);
  const kernelMs = Math.max(workMs, startsMs);
  out.regime = workMs < startsMs ? 'block-starts' : cycles < alone ? 'longest-unit' : regime.id;
  out.blockStartsMs = kernelMs - workMs;
  out.timeMs = (predictor.isClass ? kernelMs : Math.max(kernelMs, computeLaunchFloorMs(device))) + shared.balancingMs;
  out.meanLoss = depths.means.meanLoss;
  out.aggregateLoss = depths.means.aggregateLoss;
  out.searchShare = depths.searchShare;
  out.launch = launch;
}

export function getCpuLoads({ cpuLoads }: Predictor): CpuLoads {
  if (!cpuLoads) throw new TypeError('The plan has no ordered lengths, which a CPU needs.');
  return cpuLoads;
}
