import type { LockstepBalancing } from '../domain/design.ts';
import type { GpuDevice } from '../domain/device.ts';
import { balancingCost, balancingMilliseconds } from '../models/balancing/cost.ts';
import { mixedMeans, type DepthMeans } from '../models/balancing/mixed.ts';
import { fewBlocksLaw, hasFewBlocks } from '../models/composite/kinds.ts';
import { fetchingCycles, predictCycles, type Residency } from '../models/composite/predict.ts';
import { unevenCycles } from '../models/composite/uneven.ts';
import { deviceStack, divergenceCycles } from '../models/divergence/costs.ts';
import { expectedDivergence } from '../models/divergence/expected.ts';
import { costFactor } from '../models/granularity/granularity.ts';
import { lossMoments } from '../models/imbalance/closed-form.ts';
import { moments } from '../models/workload/laws.ts';
import { lockstepBalancing, partitionOf, type Candidate } from './candidate.ts';
import { predictCpu, type CpuLoads } from './cpu.ts';
import { lastFilledOf, lawsOf, makeRoom, placedOf, residencyOf } from './laws.ts';
import { placedLaunchCycles, type PlacedLaunch, type SortedBalancing } from './placed.ts';
import type { SweepPlan } from './plan.ts';
import { pipelineOf } from './predictor.ts';
import type { Capless, DepthLaws, Predictor } from './tables.ts';
import { tabulatedFetches, tabulatedRounds, tabulatedUnits } from './units.ts';

interface Timed {
  timeMs: number;
  meanLoss: number;
  aggregateLoss: number;
}

export interface TimedOnGpu extends Timed {
  depth: DepthMeans;
  /** Mean units per slot over those of the depth law. */
  scale: number;
  /** What knows the life of a block. */
  life: Residency | PlacedLaunch;
}

/** Time and losses of a valid candidate, written into `out`. */
export function time(predictor: Predictor, candidate: Candidate, out: TimedOnGpu): void {
  const { device } = candidate;
  if (device.kind === 'gpu') {
    timeOnGpu(predictor, candidate, device, out);
    return;
  }
  const { timeMs, loss } = predictCpu(
    cpuLoadsOf(predictor),
    device,
    partitionOf(predictor, candidate),
    candidate.gridBlocks,
  );
  out.timeMs = timeMs;
  out.meanLoss = loss;
  out.aggregateLoss = loss;
}

export function timeOnGpu(predictor: Predictor, candidate: Candidate, device: GpuDevice, out: TimedOnGpu): void {
  const shared = caplessOf(predictor, candidate, device);
  const { depths, shorter, means } = shared;
  const { laws } = predictor;
  makeRoom(laws);
  const balancing = lockstepBalancing(predictor, candidate);
  let cycles: number;
  if (isSorted(balancing)) {
    const launch = placedOf(predictor, candidate, device, balancing);
    out.life = launch;
    cycles = placedLaunchCycles(
      launch,
      candidate.gridBlocks,
      candidate.shape.residentBlocks,
      device.multiprocessors,
      predictor.rates[candidate.deviceAt][candidate.capAt],
      laws.blocks,
    );
  } else {
    if (isBucketed(balancing)) placeBuckets(predictor, candidate, depths);
    const residency = residencyOf(predictor, candidate, depths);
    out.life = residency;
    const { multiprocessors } = device;
    cycles = shorter
      ? unevenCycles(
          residency,
          residencyOf(predictor, candidate, shorter),
          shared.fullerBlocks,
          candidate.workingBlocks,
          multiprocessors,
          predictor.plan.axes.loop[candidate.loopAt] === 'nested',
        )
      : (balancing.kind === 'dynamic-fetch'
          ? fetchingCycles(residency, candidate.meanUnitsPerThread, candidate.workingBlocks, multiprocessors)
          : predictCycles(residency, candidate.workingBlocks, multiprocessors)) * shared.timeScale;
  }
  // However the units are dealt out, one lane takes the longest, at best with its multiprocessor to itself.
  const { cycles: alone } = predictor.rates[candidate.deviceAt][candidate.capAt];
  cycles = Math.max(cycles, predictor.longestUnit * alone[1]);
  out.depth = means;
  out.scale = shared.scale;
  out.meanLoss = means.meanLoss;
  out.aggregateLoss = means.aggregateLoss;
  out.timeMs = (cycles * shared.iterationFactor) / (device.clockMhz * 1e3) + shared.balancingMs;
}

/** Looked up, or worked out where the design predicted last differs in more than its register cap. */
function caplessOf(predictor: Predictor, candidate: Candidate, device: GpuDevice): Capless {
  const { laws } = predictor;
  const { deviceAt, threadsPerUnit, loopAt, balancingAt, blockAt, gridBlocks, meanUnitsPerThread } = candidate;
  const last = laws.capless;
  if (
    last !== null &&
    last.gridBlocks === gridBlocks &&
    last.meanUnitsPerThread === meanUnitsPerThread &&
    last.deviceAt === deviceAt &&
    last.blockAt === blockAt &&
    last.balancingAt === balancingAt &&
    last.loopAt === loopAt &&
    last.threadsPerUnit === threadsPerUnit &&
    last.predictor === predictor
  )
    return last;
  return (laws.capless = {
    predictor,
    deviceAt,
    threadsPerUnit,
    loopAt,
    balancingAt,
    blockAt,
    gridBlocks,
    meanUnitsPerThread,
    ...depthsOf(predictor, candidate),
    iterationFactor: iterationCost(predictor.plan, candidate) * stackFactor(predictor, candidate, device),
    balancingMs: balancingMs(predictor, candidate, device),
  });
}

function isSorted(balancing: LockstepBalancing): balancing is SortedBalancing {
  return balancing.kind === 'window-sort' || balancing.kind === 'full-sort';
}

function isBucketed({ kind }: LockstepBalancing): boolean {
  return kind === 'quantile-buckets' || kind === 'best-buckets';
}

/** Units per slot beyond which one more from a bucket tells hardly anything. */
const MOST_PLACED_ROUNDS = 8;

/** Sees to it that the block law of a launch with few blocks of some bucket is that of this launch. */
function placeBuckets(predictor: Predictor, candidate: Candidate, { table, blocks }: DepthLaws): void {
  const { gridBlocks, meanUnitsPerThread, shape } = candidate;
  const W = shape.groupsPerBlock;
  const known = blocks[W]?.law;
  if (meanUnitsPerThread > MOST_PLACED_ROUNDS || !hasFewBlocks(table, gridBlocks)) {
    if (known?.population) blocks[W] = undefined;
    return;
  }
  const lastFilled = lastFilledOf(predictor, candidate);
  if (known?.population?.blocks !== gridBlocks || known.lastFilled !== lastFilled)
    blocks[W] = { law: fewBlocksLaw(table, W, predictor.laws.blocks, lastFilled, gridBlocks), residencies: [] };
}

/** The depth laws that a design shares with others, and what of them is its own. */
function depthsOf(
  predictor: Predictor,
  candidate: Candidate,
): Pick<Capless, 'means' | 'scale' | 'depths' | 'shorter' | 'fullerBlocks' | 'timeScale'> {
  const { meanUnitsPerThread: meanUnits, gridBlocks } = candidate;
  const { kind } = lockstepBalancing(predictor, candidate);
  if (kind === 'none') {
    const dealt = tabulatedUnits(meanUnits, gridBlocks);
    const laws = lawsOf(predictor, candidate, dealt);
    if (dealt.fullerBlocks === 0) return { ...dealt, means: laws.means, depths: laws, shorter: null };
    const units = dealt.units + 1;
    const more = lawsOf(predictor, candidate, { units, scale: 1, key: units });
    const means = mixedMeans(laws.means, more.means, meanUnits - dealt.units);
    return { ...dealt, means, depths: more, shorter: laws };
  }
  // Times of sorted units come from `placedOf`; losses are those of one round.
  const tabulated =
    kind === 'dynamic-fetch'
      ? tabulatedFetches(meanUnits)
      : isBucketed(lockstepBalancing(predictor, candidate))
        ? tabulatedRounds(meanUnits)
        : { units: 1, scale: meanUnits, key: 1 };
  const laws = lawsOf(predictor, candidate, tabulated);
  const { scale } = tabulated;
  return {
    ...tabulated,
    means: laws.means,
    depths: laws,
    shorter: null,
    fullerBlocks: 0,
    timeScale: scale,
  };
}

/** Time of a lane's iteration over that of a thread on its own in a loop of its own: φ(u), and what one loop over all units adds. */
export function iterationCost({ axes, kernel }: SweepPlan, { threadsPerUnit, loopAt, balancingAt }: Candidate): number {
  const phi = costFactor(threadsPerUnit, kernel.serialFraction, kernel.cooperationCost);
  const single = axes.loop[loopAt] === 'flattened' || axes.balancing[balancingAt] === 'dynamic-fetch';
  return single ? phi + (kernel.flattenedCost ?? 0) : phi;
}

/**
 * What the reconvergence stack adds to the life of a work group, as a factor ≥ 1 of its time: a group whose lanes leave the
 * loop at different iterations pushes and pops, and spills, at a published cost per event (`deviceStack`). The group stands
 * still meanwhile and others may run, so the cycles count against the latency of its iterations. 1 where there is no stack.
 */
export function stackFactor(predictor: Predictor, candidate: Candidate, device: GpuDevice): number {
  const key = candidate.deviceAt * 128 + candidate.unitsPerGroup;
  const known = predictor.stackFactors.get(key);
  if (known !== undefined) return known;
  const { plan } = predictor;
  let factor = 1;
  if (deviceStack(device).costs !== null) {
    const { law, kernel } = plan;
    const { cycles } = divergenceCycles(device, expectedDivergence(law, candidate.unitsPerGroup));
    const [loss] = lossMoments(law, [candidate.unitsPerGroup]);
    const depth = moments(law).mean * loss.aggregateLoss + kernel.setupIterationsPerUnit;
    const phi = costFactor(candidate.threadsPerUnit, kernel.serialFraction, kernel.cooperationCost);
    const latency = depth * phi * pipelineOf(plan, device, null).latencyCycles;
    if (latency > 0) factor = 1 + cycles / latency;
  }
  predictor.stackFactors.set(key, factor);
  return factor;
}

/** Balancing time of a candidate, ms: depends on the strategy and the device only. */
export function balancingMs(predictor: Predictor, candidate: Candidate, device: GpuDevice): number {
  const { plan } = predictor;
  return balancingMilliseconds(device, balancingCost(lockstepBalancing(predictor, candidate), plan.units, plan.kernel));
}

/** What of that comes before the launch, ms: a fetching kernel pays for its balancing itself. */
export function orderingMs(predictor: Predictor, candidate: Candidate, device: GpuDevice): number {
  const inside = lockstepBalancing(predictor, candidate).kind === 'dynamic-fetch';
  return inside ? 0 : balancingMs(predictor, candidate, device);
}

export function cpuLoadsOf(predictor: Predictor): CpuLoads {
  if (!predictor.cpuLoads) throw new TypeError('got a plan without ordered lengths, expected them for a CPU');
  return predictor.cpuLoads;
}
