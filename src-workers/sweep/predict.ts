import type { Breakdown } from '../domain/breakdown.ts';
import { allocateChunk, type PredictionChunk } from '../domain/columns.ts';
import type { GroupDepth } from '../domain/depth.ts';
import {
  INVALID_REASONS,
  isPartition,
  type Balancing,
  type Design,
  type InvalidReason,
  type LockstepBalancing,
  type PartitionBalancing,
} from '../domain/design.ts';
import type { CpuDevice, Device, GpuDevice } from '../domain/device.ts';
import type { LoopForm, PipelineParameters } from '../domain/kernel.ts';
import { unwrap } from '../domain/result.ts';
import type { Launch, SpaceConstraint } from '../domain/space.ts';
import { balancingCost, balancingMilliseconds } from '../models/balancing/cost.ts';
import { isLoopAlike, type Dealing } from '../models/balancing/dealt.ts';
import { groupDepth } from '../models/balancing/depth.ts';
import { mixedMeans, type DepthMeans } from '../models/balancing/mixed.ts';
import { parseBalancing } from '../models/balancing/parse.ts';
import { clearArena, createArena, type Arena } from '../models/composite/arena.ts';
import { blockLawOf } from '../models/composite/block-law.ts';
import type { BlockLaw } from '../models/composite/law.ts';
import { depthTable, mixedTable, type DepthTable } from '../models/composite/depth-table.ts';
import { predictCycles, prepareResidency, type Residency } from '../models/composite/predict.ts';
import { smoothRate, type SmoothedRate } from '../models/composite/rate.ts';
import { deviceStack, divergenceCycles } from '../models/divergence/costs.ts';
import { expectedDivergence } from '../models/divergence/expected.ts';
import { costFactor } from '../models/granularity/granularity.ts';
import { lossMoments } from '../models/imbalance/closed-form.ts';
import { residentBlocks } from '../models/occupancy/resident.ts';
import { pipelineParameters } from '../models/pipeline/derive.ts';
import { interpolateRate, rateTable } from '../models/pipeline/soft-saturation.ts';
import { moments } from '../models/workload/laws.ts';
import { axisCounts, decodeInto } from '../space/axes.ts';
import { createCpuLoads, explainCpu, predictCpu, type CpuLoads } from './cpu.ts';
import { resolveLaunch } from './launch.ts';
import {
  placedBlockLaw,
  placedLaunchCycles,
  placeLaunch,
  windowUnits,
  type PlacedLaunch,
  type SortedBalancing,
} from './placed.ts';
import type { SweepPlan } from './plan.ts';
import { tabulatedFetches, tabulatedRounds, tabulatedUnits, type TabulatedUnits } from './units.ts';

const REASON = Object.fromEntries(INVALID_REASONS.map((reason, code) => [reason.code, code])) as Readonly<
  Record<InvalidReason, number>
>;

/** What a block size and register cap cost on one GPU, or a number of cores on one CPU, whatever the workload. */
interface Shape {
  readonly invalid: number;
  readonly residentBlocks: number;
  readonly groupsPerBlock: number;
  readonly occupancyFraction: number;
  readonly limitedBy: number;
}

/** Tables of one study in one worker: filled as designs ask for them, shared by all that come later. */
export interface Predictor {
  readonly plan: SweepPlan;
  readonly counts: readonly number[];
  readonly balancing: readonly Balancing[];
  /** By device: of a GPU by register cap, then block size; of a CPU by launch. */
  readonly shapes: readonly (readonly Shape[])[];
  /** By device, then register cap; none of a CPU. */
  readonly rates: readonly (readonly SmoothedRate[])[];
  /** `null` where no CPU is predicted. */
  readonly cpuLoads: CpuLoads | null;
  /** May be another predictor's, of a plan with the same workload, setup, loops and balancing. */
  laws: Laws;
  /** `stackFactor` by device and units per group. */
  readonly stackFactors: Map<number, number>;
}

/** Laws of everything that was predicted: what they depend on is in their key, or the same for the whole plan. */
export interface Laws {
  /** Depth laws in use, and those that were before these became too many: what nobody asks for again goes with them. */
  depths: Map<number, DepthLaws>;
  olderDepths: Map<number, DepthLaws>;
  /** Launches of sorted units, in the same way; and the numbers that those in use keep. */
  placed: Map<number, PlacedLaunch>;
  olderPlaced: Map<number, PlacedLaunch>;
  placedNumbers: number;
  /** Where the laws of their blocks live. */
  readonly blocks: Arena;
  /** That of the design predicted last, for one that differs in its grid only. */
  residency: Residency | null;
  /** What the design predicted last shares with others that differ in their register cap only. */
  capless: Capless | null;
}

/** Everything about a design of a GPU that its register cap has no part in. */
interface Capless {
  readonly predictor: Predictor;
  readonly deviceAt: number;
  readonly threadsPerUnit: number;
  readonly loopAt: number;
  readonly balancingAt: number;
  readonly blockAt: number;
  readonly gridBlocks: number;
  /** The cap does have a part in this one where slots fetch. */
  readonly meanUnitsPerThread: number;
  readonly depths: DepthLaws;
  /** Mean units per slot over those of the depth law. */
  readonly scale: number;
  /** Time of an iteration of a launch over t(w): what cooperation and the reconvergence stack cost. */
  readonly iterationFactor: number;
  readonly balancingMs: number;
}

/** A depth law and the laws of its blocks, by W_b. */
interface DepthLaws {
  readonly means: DepthMeans;
  /** Made when it is asked for: times of sorted launches are not taken from it. */
  readonly table: DepthTable;
  blocks: (BlockLaw | undefined)[];
}

/** What a worker keeps at once, so that a large space cannot fill the memory: depth laws, of some ten kilobytes each. */
const MAX_DEPTHS = 384;
/** And pieces of 256 KiB of block laws, of some ten kilobytes each. */
const SLAB_LENGTH = 1 << 15;
const MAX_SLABS = 24;
/** And so many numbers of launches. */
const MAX_PLACED_NUMBERS = 2 ** 19;

function shapeOf(plan: SweepPlan, device: GpuDevice, registers: number, blockThreads: number): Shape {
  const none = { residentBlocks: 0, groupsPerBlock: 0, occupancyFraction: 0, limitedBy: 0 };
  if (blockThreads > device.limits.maxThreadsPerBlock) return { ...none, invalid: REASON['block-threads'] };
  const residency = residentBlocks(device, {
    blockThreads,
    registersPerThread: registers,
    sharedMemoryBytesPerBlock: plan.kernel.sharedMemoryBytesPerBlock,
  });
  const { limitedBy } = residency;
  if (residency.blocksPerMultiprocessor === 0) {
    const invalid = limitedBy & 2 ? REASON.registers : limitedBy & 4 ? REASON['shared-memory'] : REASON['no-residency'];
    return { ...none, limitedBy, invalid };
  }
  return {
    invalid: 0,
    residentBlocks: residency.blocksPerMultiprocessor,
    groupsPerBlock: Math.ceil(blockThreads / device.threadGroupWidth),
    occupancyFraction: residency.occupancyFraction,
    limitedBy,
  };
}

/** A launch as a CPU sees it: one thread on each core. */
function coresShape(device: CpuDevice, launch: Launch): Shape {
  const none = { residentBlocks: 0, groupsPerBlock: 0, occupancyFraction: 0, limitedBy: 0 };
  if (launch.kind !== 'cores') return { ...none, invalid: REASON['not-on-device'] };
  if (launch.value > device.cores) return { ...none, invalid: REASON.cores };
  return {
    invalid: 0,
    residentBlocks: 1,
    groupsPerBlock: 1,
    occupancyFraction: launch.value / device.cores,
    limitedBy: 0,
  };
}

const spilled = (plan: SweepPlan, cap: number | null): number =>
  cap === null ? 0 : Math.max(0, plan.kernel.registersPerThread - cap);

function pipelineOf(plan: SweepPlan, device: GpuDevice, cap: number | null): PipelineParameters {
  const derived = pipelineParameters(device, plan.kernel, { spilledRegisters: spilled(plan, cap) });
  const measured = plan.pipeline[device.id];
  if (!measured) return derived;
  // A measurement is of the kernel as compiled; a cap adds what the derivation says its spills add.
  const uncapped = pipelineParameters(device, plan.kernel, { spilledRegisters: 0 });
  return {
    latencyCycles: measured.latencyCycles * (derived.latencyCycles / uncapped.latencyCycles),
    issueCycles: measured.issueCycles * (derived.issueCycles / uncapped.issueCycles),
    kneeSoftness: measured.kneeSoftness,
    schedulers: measured.schedulers ?? derived.schedulers,
  };
}

export function createPredictor(plan: SweepPlan): Predictor {
  const { axes, kernel } = plan;
  const registers = (cap: number | null): number =>
    cap === null ? kernel.registersPerThread : Math.min(cap, kernel.registersPerThread);
  return {
    plan,
    counts: axisCounts(axes),
    balancing: axes.balancing.map((text) => unwrap(parseBalancing(text))),
    shapes: axes.devices.map((device) =>
      device.kind === 'cpu'
        ? axes.launch.map((launch) => coresShape(device, launch))
        : axes.registerCap.flatMap((cap) =>
            axes.blockThreads.map((blockThreads) => shapeOf(plan, device, registers(cap), blockThreads)),
          ),
    ),
    rates: axes.devices.map((device) =>
      device.kind === 'cpu'
        ? []
        : axes.registerCap.map((cap) =>
            smoothRate(rateTable(pipelineOf(plan, device, cap), device.limits.maxThreadGroupsPerMultiprocessor)),
          ),
    ),
    cpuLoads: plan.ordered && createCpuLoads(kernel, plan.units, plan.ordered),
    laws: {
      depths: new Map(),
      olderDepths: new Map(),
      placed: new Map(),
      olderPlaced: new Map(),
      placedNumbers: 0,
      blocks: createArena(SLAB_LENGTH),
      residency: null,
      capless: null,
    },
    stackFactors: new Map(),
  };
}

/** One design taken apart, or the reason it is invalid (a code of INVALID_REASONS, > 0). */
interface Candidate {
  invalid: number;
  device: Device;
  deviceAt: number;
  capAt: number;
  blockAt: number;
  shape: Shape;
  threadsPerUnit: number;
  unitsPerGroup: number;
  loopAt: number;
  balancingAt: number;
  gridBlocks: number;
  /** Of the launch, like gridBlocks. */
  unitsPerThread: number;
  /** Blocks that get any work, and mean units of each of their slots. */
  workingBlocks: number;
  meanUnitsPerThread: number;
}

/** Time of a lane's iteration over that of a thread on its own in a loop of its own: φ(u), and what one loop over all units adds. */
function iterationCost({ axes, kernel }: SweepPlan, { threadsPerUnit, loopAt, balancingAt }: Candidate): number {
  const phi = costFactor(threadsPerUnit, kernel.serialFraction, kernel.cooperationCost);
  const single = axes.loop[loopAt] === 'flattened' || axes.balancing[balancingAt] === 'dynamic-fetch';
  return single ? phi + (kernel.flattenedCost ?? 0) : phi;
}

function needsLengths(balancing: Balancing): boolean {
  return balancing.kind !== 'none' && balancing.kind !== 'dynamic-fetch' && balancing.kind !== 'row-split';
}

function violates(
  constraints: readonly SpaceConstraint[],
  plan: SweepPlan,
  positions: Int32Array,
  candidate: Candidate,
): boolean {
  const { device } = candidate;
  for (const { quantity, atLeast, atMost, multipleOf } of constraints) {
    let value: number;
    switch (quantity) {
      case 'threadsPerUnit':
        value = candidate.threadsPerUnit;
        break;
      case 'unitsPerThread':
        value = candidate.unitsPerThread;
        break;
      case 'blockThreads':
        if (device.kind === 'cpu') continue;
        value = plan.axes.blockThreads[positions[6]!]!;
        break;
      case 'gridBlocks':
        value = candidate.gridBlocks;
        break;
      case 'registerCap':
        if (device.kind === 'cpu') continue;
        value = plan.axes.registerCap[positions[5]!] ?? plan.kernel.registersPerThread;
        break;
      case 'occupancyFraction':
        value = candidate.shape.occupancyFraction;
        break;
      case 'residentBlocks':
        value = candidate.shape.residentBlocks;
        break;
      case 'waves':
        value =
          device.kind === 'cpu' ? 1 : candidate.gridBlocks / (device.multiprocessors * candidate.shape.residentBlocks);
        break;
    }
    if (atLeast !== undefined && value < atLeast) return true;
    if (atMost !== undefined && value > atMost) return true;
    if (multipleOf !== undefined && value % multipleOf !== 0) return true;
  }
  return false;
}

function isFetching(predictor: Predictor, candidate: Candidate): boolean {
  return predictor.balancing[candidate.balancingAt]!.kind === 'dynamic-fetch';
}

/** Fills `candidate` from positions on the axes. Whatever makes a design invalid without predicting it is found here. */
function examine(predictor: Predictor, positions: Int32Array, candidate: Candidate): void {
  const { plan } = predictor;
  const { axes, kernel } = plan;
  const device = axes.devices[positions[0]!]!;
  const blockThreads = axes.blockThreads[positions[6]!]!;
  const shapeAt = device.kind === 'cpu' ? positions[4]! : positions[5]! * axes.blockThreads.length + positions[6]!;
  const shape = predictor.shapes[positions[0]!]![shapeAt]!;
  const threadsPerUnit = axes.threadsPerUnit[positions[1]!]!;
  candidate.device = device;
  candidate.deviceAt = positions[0]!;
  candidate.capAt = positions[5]!;
  candidate.blockAt = positions[6]!;
  candidate.shape = shape;
  candidate.threadsPerUnit = threadsPerUnit;
  candidate.loopAt = positions[2]!;
  candidate.balancingAt = positions[3]!;
  candidate.gridBlocks = 0;
  candidate.unitsPerThread = 0;
  candidate.workingBlocks = 0;
  candidate.meanUnitsPerThread = 0;
  candidate.unitsPerGroup = 0;
  if (device.kind === 'cpu') {
    examineOnCpu(predictor, positions, candidate);
    return;
  }
  const launchValue = axes.launch[positions[4]!]!;
  if (launchValue.kind === 'cores' || isPartition(predictor.balancing[positions[3]!]!)) {
    candidate.invalid = REASON['not-on-device'];
    return;
  }
  if (shape.invalid !== 0) {
    candidate.invalid = shape.invalid;
    return;
  }
  if (threadsPerUnit > device.threadGroupWidth || device.threadGroupWidth % threadsPerUnit !== 0) {
    candidate.invalid = REASON['group-width'];
    return;
  }
  if (blockThreads % threadsPerUnit !== 0) {
    candidate.invalid = REASON['block-not-multiple'];
    return;
  }
  if (needsLengths(predictor.balancing[positions[3]!]!) && !kernel.lengthsKnownBeforeLaunch) {
    candidate.invalid = REASON['lengths-unknown'];
    return;
  }
  const launch = resolveLaunch(launchValue, plan.units, blockThreads / threadsPerUnit, device.multiprocessors);
  candidate.gridBlocks = launch.gridBlocks;
  candidate.unitsPerThread = launch.unitsPerThread;
  // Slots that fetch from one counter do so until nothing is left: blocks that start later end at once.
  candidate.workingBlocks = isFetching(predictor, candidate)
    ? Math.min(launch.gridBlocks, device.multiprocessors * shape.residentBlocks)
    : launch.gridBlocks;
  candidate.meanUnitsPerThread = launch.meanUnitsPerThread * (launch.gridBlocks / candidate.workingBlocks);
  candidate.unitsPerGroup = Math.min(device.threadGroupWidth, blockThreads) / threadsPerUnit;
  if (launch.gridBlocks > device.limits.maxGridBlocks) candidate.invalid = REASON['grid-blocks'];
  else if (!launch.everyBlockWorks) candidate.invalid = REASON['idle-blocks'];
  else if (violates(plan.constraints, plan, positions, candidate)) candidate.invalid = REASON.constraint;
  else candidate.invalid = 0;
}

/** As `examine`. Settings of a GPU mean nothing on a CPU: the plain value of each stands for all of them. */
function examineOnCpu(predictor: Predictor, positions: Int32Array, candidate: Candidate): void {
  const { plan } = predictor;
  const { axes, kernel } = plan;
  const balancing = predictor.balancing[positions[3]!]!;
  const { shape } = candidate;
  const plain =
    axes.threadsPerUnit[positions[1]!] === 1 &&
    axes.loop[positions[2]!] === 'nested' &&
    axes.registerCap[positions[5]!] === null &&
    positions[6] === 0;
  if (!plain || !isPartition(balancing)) candidate.invalid = REASON['not-on-device'];
  else if (shape.invalid !== 0) candidate.invalid = shape.invalid;
  else if (needsLengths(balancing) && !kernel.lengthsKnownBeforeLaunch) candidate.invalid = REASON['lengths-unknown'];
  else {
    const cores = axes.launch[positions[4]!]!.value;
    candidate.gridBlocks = cores;
    candidate.unitsPerThread = Math.ceil(plan.units / cores);
    candidate.workingBlocks = cores;
    candidate.meanUnitsPerThread = plan.units / cores;
    if (cores > plan.units) candidate.invalid = REASON['idle-blocks'];
    else if (violates(plan.constraints, plan, positions, candidate)) candidate.invalid = REASON.constraint;
    else candidate.invalid = 0;
  }
}

/** Laws of one work group; keyed by everything they depend on. */
function lawsOf(predictor: Predictor, candidate: Candidate, tabulated: TabulatedUnits): DepthLaws {
  const { balancing, plan, laws: known } = predictor;
  const { kind } = balancing[candidate.balancingAt]!;
  // Units in order are alike in any group; loops differ where independent lanes take more than one unit.
  const group = kind === 'full-sort' ? 0 : candidate.unitsPerGroup;
  const independent = kind === 'none' || kind === 'quantile-buckets' || kind === 'best-buckets';
  const loop = independent && (tabulated.units > 1 || tabulated.share > 0) ? candidate.loopAt : 0;
  const key = ((tabulated.key * 128 + group) * plan.axes.loop.length + loop) * balancing.length + candidate.balancingAt;
  let laws = known.depths.get(key);
  if (laws) return laws;
  laws = known.olderDepths.get(key);
  if (!laws) {
    const { units, share } = tabulated;
    if (share === 0) {
      const depth = wholeDepth(predictor, candidate, units);
      laws = {
        means: depth,
        get table() {
          return depthTable(depth);
        },
        blocks: [],
      };
    } else {
      const fewer = lawsOf(predictor, candidate, tabulatedUnits(units));
      const more = lawsOf(predictor, candidate, tabulatedUnits(units + 1));
      laws = {
        means: mixedMeans(fewer.means, more.means, share),
        table: mixedTable(fewer.table, more.table, share),
        blocks: [],
      };
    }
  }
  if (known.depths.size >= MAX_DEPTHS) {
    known.olderDepths = known.depths;
    known.depths = new Map();
  }
  known.depths.set(key, laws);
  return laws;
}

/** The balancing of a candidate of a GPU: `examine` has sorted out the others. */
function lockstepBalancing(predictor: Predictor, candidate: Candidate): LockstepBalancing {
  const balancing = predictor.balancing[candidate.balancingAt]!;
  if (isPartition(balancing)) throw new TypeError(`got the partition ${balancing.kind} on a GPU, expected an order`);
  return balancing;
}

/** The partition of a candidate of a CPU; see `lockstepBalancing`. */
function partitionOf(predictor: Predictor, candidate: Candidate): PartitionBalancing {
  const balancing = predictor.balancing[candidate.balancingAt]!;
  if (!isPartition(balancing)) throw new TypeError(`got the order ${balancing.kind} on a CPU, expected a partition`);
  return balancing;
}

function cpuLoadsOf(predictor: Predictor): CpuLoads {
  if (!predictor.cpuLoads) throw new TypeError('got a plan without ordered lengths, expected them for a CPU');
  return predictor.cpuLoads;
}

/** Groups of a device that fetch from one counter: beyond some hundreds their number no longer matters. */
const FETCHING_GROUPS = 1024;

function wholeDepth(predictor: Predictor, candidate: Candidate, units: number): GroupDepth {
  const { plan } = predictor;
  return groupDepth(
    plan.law,
    candidate.unitsPerGroup,
    lockstepBalancing(predictor, candidate),
    plan.axes.loop[candidate.loopAt]!,
    units,
    {
      setupIterations: plan.kernel.setupIterationsPerUnit,
      poolGroups: FETCHING_GROUPS,
    },
  );
}

function residencyOf(predictor: Predictor, candidate: Candidate, laws: DepthLaws): Residency {
  const { shape } = candidate;
  const { laws: known } = predictor;
  let block = laws.blocks[shape.groupsPerBlock];
  if (!block) {
    if (known.blocks.at >= MAX_SLABS) forgetBlockLaws(known);
    block = blockLawOf(laws.table, shape.groupsPerBlock, known.blocks);
    laws.blocks[shape.groupsPerBlock] = block;
  }
  const rate = predictor.rates[candidate.deviceAt]![candidate.capAt]!;
  const last = known.residency;
  if (last && last.block === block && last.residentBlocks === shape.residentBlocks && last.givenRate === rate)
    return last;
  const residency = prepareResidency(block, shape.residentBlocks, rate, last);
  known.residency = residency;
  return residency;
}

/** Makes room for other laws of blocks: their memory is used again. */
function forgetBlockLaws(known: Laws): void {
  for (const depths of [known.depths, known.olderDepths]) for (const laws of depths.values()) laws.blocks = [];
  for (const placed of [known.placed, known.olderPlaced]) for (const launch of placed.values()) launch.block = null;
  known.residency = null;
  clearArena(known.blocks);
}

interface Timed {
  timeMs: number;
  meanLoss: number;
  aggregateLoss: number;
}

interface TimedOnGpu extends Timed {
  depth: DepthMeans;
  /** Mean units per slot over those of the depth law. */
  scale: number;
  /** What knows the life of a block. */
  life: Residency | PlacedLaunch;
}

/** Balancing time of a candidate, ms: depends on the strategy and the device only. */
function balancingMs(predictor: Predictor, candidate: Candidate, device: GpuDevice): number {
  const { plan } = predictor;
  return balancingMilliseconds(device, balancingCost(lockstepBalancing(predictor, candidate), plan.units, plan.kernel));
}

function time(predictor: Predictor, candidate: Candidate, out: TimedOnGpu): void {
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

/**
 * What the reconvergence stack adds to the life of a work group, as a factor ≥ 1 of its time: a group whose lanes leave the
 * loop at different iterations pushes and pops, and spills, at a published cost per event (`deviceStack`). The group stands
 * still meanwhile and others may run, so the cycles count against the latency of its iterations. 1 where there is no stack.
 */
function stackFactor(predictor: Predictor, candidate: Candidate, device: GpuDevice): number {
  const key = candidate.deviceAt * 128 + candidate.unitsPerGroup;
  const known = predictor.stackFactors.get(key);
  if (known !== undefined) return known;
  const { plan } = predictor;
  let factor = 1;
  if (deviceStack(device).costs !== null) {
    const { law, kernel } = plan;
    const { cycles } = divergenceCycles(device, expectedDivergence(law, candidate.unitsPerGroup));
    const [loss] = lossMoments(law, [candidate.unitsPerGroup]);
    const depth = moments(law).mean * loss!.aggregateLoss + kernel.setupIterationsPerUnit;
    const phi = costFactor(candidate.threadsPerUnit, kernel.serialFraction, kernel.cooperationCost);
    const latency = depth * phi * pipelineOf(plan, device, null).latencyCycles;
    if (latency > 0) factor = 1 + cycles / latency;
  }
  predictor.stackFactors.set(key, factor);
  return factor;
}

function isSorted(balancing: LockstepBalancing): balancing is SortedBalancing {
  return balancing.kind === 'window-sort' || balancing.kind === 'full-sort';
}

/** Units per slot of the depth law that a design shares with others. */
function tabulatedFor(balancing: LockstepBalancing, meanUnits: number): TabulatedUnits {
  switch (balancing.kind) {
    case 'none':
      return tabulatedUnits(meanUnits);
    case 'quantile-buckets':
    case 'best-buckets':
      return tabulatedRounds(meanUnits);
    case 'dynamic-fetch':
      return tabulatedFetches(meanUnits);
    case 'window-sort':
    case 'full-sort':
      // Times come from `placedOf`; losses are those of one round.
      return { ...tabulatedUnits(1), scale: meanUnits };
  }
}

/** The launch of a candidate whose units are sorted. */
function placedOf(
  predictor: Predictor,
  candidate: Candidate,
  device: GpuDevice,
  balancing: SortedBalancing,
): PlacedLaunch {
  const { plan } = predictor;
  const { axes } = plan;
  const dealing: Dealing = {
    units: plan.units,
    unitsPerGroup: candidate.unitsPerGroup,
    groupsPerBlock: candidate.shape.groupsPerBlock,
    slotsPerBlock: axes.blockThreads[candidate.blockAt]! / candidate.threadsPerUnit,
    gridBlocks: candidate.gridBlocks,
    loop: axes.loop[candidate.loopAt]!,
    setupIterations: plan.kernel.setupIterationsPerUnit,
    // Of more than one wave only the law of the blocks is asked for.
    everyBlock: candidate.gridBlocks <= candidate.shape.residentBlocks * device.multiprocessors,
  };
  const loopAt = isLoopAlike(windowUnits(balancing, plan.units), dealing) ? axes.loop.length : candidate.loopAt;
  // Groups per block follow from these.
  const key =
    ((((candidate.gridBlocks * 2048 + dealing.slotsPerBlock) * 128 + candidate.unitsPerGroup) * 2 +
      Number(dealing.everyBlock)) *
      (axes.loop.length + 1) +
      loopAt) *
      axes.balancing.length +
    candidate.balancingAt;
  const { laws } = predictor;
  if (laws.blocks.at >= MAX_SLABS) forgetBlockLaws(laws);
  let launch = laws.placed.get(key);
  if (launch) return launch;
  launch = laws.olderPlaced.get(key) ?? placeLaunch(plan.law, balancing, dealing);
  if (laws.placedNumbers >= MAX_PLACED_NUMBERS) {
    laws.olderPlaced = laws.placed;
    laws.placed = new Map();
    laws.placedNumbers = 0;
  }
  laws.placed.set(key, launch);
  laws.placedNumbers += launch.size;
  return launch;
}

function timeOnGpu(predictor: Predictor, candidate: Candidate, device: GpuDevice, out: TimedOnGpu): void {
  const shared = caplessOf(predictor, candidate, device);
  const { depths, scale } = shared;
  const { laws } = predictor;
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
      predictor.rates[candidate.deviceAt]![candidate.capAt]!,
      laws.blocks,
    );
  } else {
    const residency = residencyOf(predictor, candidate, depths);
    out.life = residency;
    cycles = predictCycles(residency, candidate.workingBlocks, device.multiprocessors) * scale;
  }
  out.depth = depths.means;
  out.scale = scale;
  out.meanLoss = depths.means.meanLoss;
  out.aggregateLoss = depths.means.aggregateLoss;
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
  const tabulated = tabulatedFor(lockstepBalancing(predictor, candidate), meanUnitsPerThread);
  return (laws.capless = {
    predictor,
    deviceAt,
    threadsPerUnit,
    loopAt,
    balancingAt,
    blockAt,
    gridBlocks,
    meanUnitsPerThread,
    depths: lawsOf(predictor, candidate, tabulated),
    scale: tabulated.scale,
    iterationFactor: iterationCost(predictor.plan, candidate) * stackFactor(predictor, candidate, device),
    balancingMs: balancingMs(predictor, candidate, device),
  });
}

/** The part of a range that lies on one device: designs from … to − 1 of that device's. */
interface Segment {
  readonly columns: PredictionChunk;
  readonly deviceAt: number;
  readonly from: number;
  readonly to: number;
  /** Position in `columns` of the device's first design. */
  readonly offset: number;
}

/**
 * Predicts ranges of designs. Designs that need the same tables are predicted one after another, whatever ranges they are in:
 * best are the same designs of every device.
 * @returns one chunk per range, one entry per design; an invalid one has timeMs NaN and its reason
 */
export function predictRanges(
  predictor: Predictor,
  ranges: readonly { readonly first: number; readonly count: number }[],
): PredictionChunk[] {
  const { counts } = predictor;
  const [, , , , launches, caps, blocks] = counts as [number, number, number, number, number, number, number];
  const perDevice = counts.reduce((product, count) => product * count, 1) / counts[0]!;
  const chunks = ranges.map(({ first, count }) => allocateChunk(first, count));
  const segments: Segment[] = [];
  for (const columns of chunks) {
    const end = columns.firstDesign + columns.count;
    for (let at = columns.firstDesign; at < end;) {
      const deviceAt = Math.floor(at / perDevice);
      const origin = deviceAt * perDevice;
      const to = Math.min(end - origin, perDevice);
      segments.push({ columns, deviceAt, from: at - origin, to, offset: origin - columns.firstDesign });
      at = origin + to;
    }
  }
  const from = Math.min(...segments.map((segment) => segment.from));
  const to = Math.max(...segments.map((segment) => segment.to));
  const perLaunch = caps * blocks;
  const positions = new Int32Array(counts.length);
  const candidate = {} as Candidate;
  const timed = {} as TimedOnGpu;
  // One family has one granularity, loop and balancing. In it a block size keeps its laws over all launches; a launch of it is
  // the same on every device and with every cap, or nearly so.
  for (let tile = Math.floor(from / perLaunch); tile * perLaunch < to;) {
    const firstLaunch = tile % launches;
    const lastTile = Math.min(tile - firstLaunch + launches, Math.ceil(to / perLaunch));
    decodeInto(positions, counts, tile * perLaunch);
    for (let block = 0; block < blocks; block += 1) {
      positions[6] = block;
      for (let at = tile; at < lastTile; at += 1) {
        positions[4] = firstLaunch + at - tile;
        for (const segment of segments) {
          const first = at * perLaunch + block;
          if (first >= segment.to || first + perLaunch <= segment.from) continue;
          positions[0] = segment.deviceAt;
          for (let cap = 0, design = first; cap < caps; cap += 1, design += blocks) {
            if (design < segment.from || design >= segment.to) continue;
            positions[5] = cap;
            predictInto(segment.columns, segment.offset + design, predictor, positions, candidate, timed);
          }
        }
      }
    }
    tile = lastTile;
  }
  return chunks;
}

/** Predicts the design at `positions` into entry `i`. */
function predictInto(
  columns: PredictionChunk,
  i: number,
  predictor: Predictor,
  positions: Int32Array,
  candidate: Candidate,
  timed: TimedOnGpu,
): void {
  examine(predictor, positions, candidate);
  columns.invalidReason[i] = candidate.invalid;
  columns.occupancyFraction[i] = candidate.shape.occupancyFraction;
  columns.residentBlocks[i] = candidate.shape.residentBlocks;
  columns.limitedBy[i] = candidate.shape.limitedBy;
  columns.unitsPerThread[i] = candidate.unitsPerThread;
  columns.gridBlocks[i] = candidate.gridBlocks;
  if (candidate.invalid === 0) {
    time(predictor, candidate, timed);
    columns.timeMs[i] = timed.timeMs;
    columns.meanLoss[i] = timed.meanLoss;
    columns.aggregateLoss[i] = timed.aggregateLoss;
  } else columns.timeMs[i] = NaN;
}

/** `predictRanges` of one range: the designs first … first + count − 1. */
export function predictChunk(predictor: Predictor, first: number, count: number): PredictionChunk {
  return predictRanges(predictor, [{ first, count }])[0]!;
}

function advance(positions: Int32Array, counts: readonly number[]): void {
  for (let axis = counts.length - 1; axis >= 0; axis -= 1) {
    positions[axis]! += 1;
    if (positions[axis]! < counts[axis]!) return;
    positions[axis] = 0;
  }
}

/** Number of designs by invalid reason code (index 0: valid), without predicting any. */
export function classifyDesigns(predictor: Predictor, first: number, count: number): Float64Array {
  const tally = new Float64Array(INVALID_REASONS.length);
  const positions = new Int32Array(predictor.counts.length);
  const candidate = {} as Candidate;
  decodeInto(positions, predictor.counts, first);
  for (let i = 0; i < count; i += 1) {
    examine(predictor, positions, candidate);
    tally[candidate.invalid]! += 1;
    advance(positions, predictor.counts);
  }
  return tally;
}

/** The design at an index, with what its device makes of it. */
export function describeDesign(
  predictor: Predictor,
  index: number,
): {
  readonly design: Design;
  readonly device: Device;
  readonly invalid: InvalidReason | null;
  readonly residentThreadGroups: number;
} {
  const positions = new Int32Array(predictor.counts.length);
  decodeInto(positions, predictor.counts, index);
  const candidate = {} as Candidate;
  examine(predictor, positions, candidate);
  const { axes } = predictor.plan;
  return {
    device: candidate.device,
    invalid: candidate.invalid === 0 ? null : INVALID_REASONS[candidate.invalid]!.code,
    residentThreadGroups: candidate.shape.residentBlocks * candidate.shape.groupsPerBlock,
    design: {
      threadsPerUnit: axes.threadsPerUnit[positions[1]!]!,
      unitsPerThread: candidate.unitsPerThread,
      loop: axes.loop[positions[2]!]!,
      balancing: axes.balancing[positions[3]!]!,
      blockThreads: candidate.device.kind === 'cpu' && candidate.invalid === 0 ? 1 : axes.blockThreads[positions[6]!]!,
      gridBlocks: candidate.gridBlocks,
      registerCap: axes.registerCap[positions[5]!]!,
    },
  };
}

/** A valid design as something that can be played: what its launch is made of, and what its cycles cost. */
export interface PlayableDesign {
  readonly device: GpuDevice;
  readonly balancing: LockstepBalancing;
  readonly loop: LoopForm;
  readonly unitsPerGroup: number;
  readonly unitsPerThread: number;
  /** Units in flight in one block; the last thread group of a block may be partly empty. */
  readonly slotsPerBlock: number;
  readonly groupsPerBlock: number;
  readonly residentBlocks: number;
  readonly gridBlocks: number;
  /** t(w), index w = 0 … the most thread groups of a multiprocessor. */
  readonly cyclesPerIteration: Float64Array;
  /** Milliseconds of one cycle of t(w): clock and cost of an iteration that threads share. */
  readonly msPerCycle: number;
  readonly balancingMs: number;
}

/** @returns `null` where the design is invalid, or of a CPU */
export function playableDesign(predictor: Predictor, index: number): PlayableDesign | null {
  const positions = new Int32Array(predictor.counts.length);
  decodeInto(positions, predictor.counts, index);
  const candidate = {} as Candidate;
  examine(predictor, positions, candidate);
  const { device, shape, threadsPerUnit } = candidate;
  if (candidate.invalid !== 0 || device.kind === 'cpu') return null;
  const { axes } = predictor.plan;
  return {
    device,
    balancing: lockstepBalancing(predictor, candidate),
    loop: axes.loop[candidate.loopAt]!,
    unitsPerGroup: candidate.unitsPerGroup,
    unitsPerThread: candidate.unitsPerThread,
    slotsPerBlock: axes.blockThreads[positions[6]!]! / threadsPerUnit,
    groupsPerBlock: shape.groupsPerBlock,
    residentBlocks: shape.residentBlocks,
    gridBlocks: candidate.gridBlocks,
    cyclesPerIteration: predictor.rates[candidate.deviceAt]![candidate.capAt]!.cycles,
    msPerCycle:
      (iterationCost(predictor.plan, candidate) * stackFactor(predictor, candidate, device)) / (device.clockMhz * 1e3),
    balancingMs: balancingMs(predictor, candidate, device),
  };
}

/**
 * Where the predicted time of a valid design goes. Parts are differences between idealised machines, each one step closer
 * to the design, so they add up to the predicted time exactly:
 * all lanes busy and issue-bound → + cooperation → + lockstep → + spills → + real number of active groups (latency) →
 * + block tail → + last wave → + reconvergence stack → + balancing. Of a CPU see `explainCpu`.
 */
export function explainDesign(predictor: Predictor, index: number): Breakdown | null {
  const positions = new Int32Array(predictor.counts.length);
  decodeInto(positions, predictor.counts, index);
  const candidate = {} as Candidate;
  examine(predictor, positions, candidate);
  if (candidate.invalid !== 0) return null;
  const { device, shape, threadsPerUnit } = candidate;
  if (device.kind === 'cpu')
    return explainCpu(cpuLoadsOf(predictor), device, partitionOf(predictor, candidate), candidate.gridBlocks);
  const timed = {} as TimedOnGpu;
  timeOnGpu(predictor, candidate, device, timed);
  const { plan } = predictor;
  const cap = plan.axes.registerCap[candidate.capAt]!;
  const groups = shape.residentBlocks * shape.groupsPerBlock;
  const phi = iterationCost(plan, candidate);
  const toMs = 1 / (device.clockMhz * 1e3);
  const groupsPerMultiprocessor = (candidate.workingBlocks * shape.groupsPerBlock) / device.multiprocessors;
  const iterations = groupsPerMultiprocessor * timed.depth.meanWork * timed.scale;
  // Issue cost of one group's iteration: with a cap, and as the compiler would like it.
  const issue = pipelineOf(plan, device, cap).issueCycles;
  const issueUncapped = pipelineOf(plan, device, null).issueCycles;
  const ideal = (iterations / threadsPerUnit) * issueUncapped * toMs;
  const cooperating = iterations * phi * issueUncapped * toMs;
  const lockstep = cooperating * timed.depth.aggregateLoss;
  const spilledMs = (lockstep * issue) / issueUncapped;
  // Full occupancy of this launch, kept up to the end: cycles of an iteration of all resident groups, per group.
  const { cycles } = predictor.rates[candidate.deviceAt]![candidate.capAt]!;
  const msWith = (active: number): number => spilledMs * Math.max(1, interpolateRate(cycles, active) / active / issue);
  const active = Math.min(groups, Math.ceil(groupsPerMultiprocessor));
  const latencyMs = msWith(active);
  // A slot is free only when the last group of its block ends. The first wave is not refilled: its tail is the last wave's.
  const refilled = Math.max(0, 1 - groups / groupsPerMultiprocessor);
  const { meanBlock, meanGroup } =
    'sample' in timed.life ? placedBlockLaw(timed.life, predictor.laws.blocks) : timed.life.block;
  // Mean share of a block's groups that are active while its slot is taken.
  const busy = Math.max(1, active * (meanBlock > 0 ? meanGroup / meanBlock : 1));
  const balancing = balancingMs(predictor, candidate, device);
  const withStackMs = timed.timeMs - balancing;
  const kernelMs = withStackMs / stackFactor(predictor, candidate, device);
  // Whole waves in step wait for less than that: no more than there is.
  const blockTail = Math.min(refilled * (msWith(busy) - latencyMs), Math.max(0, kernelMs - latencyMs));
  const parts = {
    idealWork: ideal,
    cooperation: cooperating - ideal,
    imbalance: lockstep - cooperating,
    registerCap: spilledMs - lockstep,
    latency: latencyMs - spilledMs,
    blockTail,
    lastWave: kernelMs - latencyMs - blockTail,
    divergence: withStackMs - kernelMs,
    balancing,
  };
  return { timeMs: timed.timeMs, parts };
}
