import type { DrawnTimeline } from '../domain/timeline.ts';
import { ok, type Result, unsupported, conflict } from '../domain/result.ts';
import { allocateTimeline, prepareDevice, type DeviceRun, type Timeline } from './device.ts';
import { startsAtRandom } from '../predict/dealing/given.ts';
import { prepareFetchingDevice } from './fetching.ts';
import { replicate, replicationRandom, type TimeDistribution } from './replicate.ts';
import { dealtUnits } from './units.ts';
import { describeDesign, listPlayableLaunches, type PlayableDesign, type PlayableLaunch } from '../predict/designs.ts';
import { getGivenOrder } from '../predict/plan.ts';
import { predictChunk } from '../predict/ranges.ts';
import type { Predictor } from '../predict/tables.ts';
import type { SimulatedDistribution } from '../domain/simulation.ts';

/** With fewer replications, it is unknown how much their times differ. */
const MIN_REPLICATIONS = 5;
/** With this many replications, an event of probability 0.1 is missed in at most one design of twenty. */
const MIN_IDENTICAL = 30;

export interface SimulationOptions {
  readonly seed: number;
  /** The simulation stops at this half width of the 95 % confidence interval of the mean, as a fraction of the mean. */
  readonly halfWidth: number;
  /** ≥ MIN_REPLICATIONS. */
  readonly maxReplications: number;
}

function playedOnce(cycles: number): TimeDistribution {
  return {
    cycles: Float64Array.of(cycles),
    meanCycles: cycles,
    standardDeviationCycles: 0,
    confidenceLowCycles: cycles,
    confidenceHighCycles: cycles,
  };
}

/** Returns a seed that depends on neither the worker nor the other simulated designs. */
function designSeed(studySeed: number, design: number): number {
  const high = Math.floor(design / 2 ** 32);
  return (
    Math.imul(Math.imul(studySeed ^ 0x5bd1e995, 0x2545f491) ^ (design | 0), 0x27d4eb2f) ^
    Math.imul(high + 1, 0x165667b1)
  );
}

interface PreparedDesign {
  readonly design: PlayableDesign;
  readonly run: DeviceRun;
  /** Whether the launch has the units of the workload. If `isFixed`, nothing is random. */
  readonly isGiven: boolean;
  readonly isFixed: boolean;
}

function prepareAll(predictor: Predictor, index: number): Result<readonly PreparedDesign[]> {
  const launches = listPlayableLaunches(predictor, index);
  if (launches.length === 0 && describeDesign(predictor, index).device.kind === 'cpu')
    return unsupported(`Design ${index} runs on a CPU, and only GPUs are simulated. Choose a design of a GPU.`);
  if (launches.length === 0) return conflict(`Design ${index} is invalid. Choose a valid design.`);
  const prepared: PreparedDesign[] = [];
  for (const launch of launches) {
    const one = prepare(launch);
    if (!one.ok) return one;
    prepared.push({ ...one.value, run: withLeast(one.value.run, launch.design) });
  }
  return ok(prepared);
}

function inARow(launches: readonly PreparedDesign[]): DeviceRun {
  return {
    run: (random) => launches.reduce((ms, { run, design }) => ms + run.run(random) * design.msPerCycle, 0),
    lastDispatchCycles: NaN,
  };
}

function prepare({ predictor: { plan }, design }: PlayableLaunch): Result<PreparedDesign> {
  const { balancing, fetches } = design;
  const { law, units } = plan;
  const launch = { ...design, multiprocessors: design.device.multiprocessors };
  const given = getGivenOrder(plan);
  const isGiven = given !== null && balancing.kind !== 'shuffle';
  const isFixed = isGiven && !startsAtRandom(balancing);
  if (balancing.kind === 'dynamic-fetch') {
    const run = prepareFetchingDevice(launch, {
      law,
      given,
      units,
      lanesPerGroup: design.unitsPerGroup,
      lanesPerBlock: design.slotsPerBlock,
      setupIterations: design.setupIterations,
      fetch: balancing.fetch ?? 1,
      ...(fetches && {
        startCycles: fetches.startCycles,
        fetchingCyclesPerIteration: fetches.cyclesPerIteration,
        lastCycles: fetches.lastCycles,
      }),
    });
    return ok({ design, run, isGiven, isFixed });
  }
  const source = dealtUnits({ ...design, balancing, law, given, units });
  return source.ok ? ok({ design, run: prepareDevice(launch, source.value), isGiven, isFixed }) : source;
}

function withLeast(run: DeviceRun, { leastCycles }: PlayableDesign): DeviceRun {
  return { ...run, run: (...given) => Math.max(run.run(...given), leastCycles) };
}

/** Fails with `conflict` on an invalid design, with `unsupported` on a CPU or with too many ordered units. */
export function simulateDesign(
  predictor: Predictor,
  index: number,
  options: SimulationOptions,
): Result<SimulatedDistribution> {
  const launches = prepareAll(predictor, index);
  if (!launches.ok) return launches;
  const [{ design, run: only, isGiven, isFixed }] = launches.value;
  const isOne = launches.value.length === 1;
  const run = isOne ? only : inARow(launches.value);
  const { timeMs } = predictChunk(predictor, index, 1);
  const openMs = isGiven ? 0 : predictor.openStep * design.cyclesPerIteration[1] * design.msPerCycle;
  const seed = designSeed(options.seed, index);
  const played = isFixed
    ? playedOnce(run.run(replicationRandom(seed, 0)))
    : replicate(run, {
        seed,
        atLeast:
          openMs > options.halfWidth * timeMs[0] ? Math.min(MIN_IDENTICAL, options.maxReplications) : MIN_REPLICATIONS,
        // If all units have one length, nothing is random.
        identicalAtLeast: predictor.plan.law.support.length > 1 ? MIN_IDENTICAL : MIN_REPLICATIONS,
        atMost: options.maxReplications,
        relativeHalfWidth: options.halfWidth,
      });
  const { balancingMs } = design;
  const msPerCycle = isOne ? design.msPerCycle : 1;
  const toMs = (cycles: number): number => cycles * msPerCycle + balancingMs;
  const timesMs = Array.from(played.cycles, toMs);
  const sorted = Float64Array.from(timesMs).sort();
  const half = sorted.length >> 1;
  const meanMs = toMs(played.meanCycles);
  const highMs = toMs(played.confidenceHighCycles);
  return ok({
    timesMs,
    meanMs,
    standardDeviationMs: played.standardDeviationCycles * msPerCycle,
    minMs: sorted[0],
    medianMs: sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2,
    maxMs: sorted[sorted.length - 1],
    lowMs: toMs(played.confidenceLowCycles),
    highMs,
    precise: highMs - meanMs <= options.halfWidth * meanMs,
  });
}

/** Approximate maximum number of bars in a chart. */
const MAX_BARS = 20_000;
const BINS = 240;
/** A timeline takes memory for the end of each thread group. */
const MAX_TIMELINE_GROUPS = 8_000_000;
/** More units would occupy a worker for more than a few seconds, without a chance to cancel. */
const MAX_TIMELINE_UNITS = 100_000_000;

export function simulateTimeline(
  predictor: Predictor,
  index: number,
  seed: number,
  replication: number,
): Result<DrawnTimeline> {
  if (predictor.plan.units > MAX_TIMELINE_UNITS)
    return unsupported(
      `Design ${index} has ${predictor.plan.units} units; a timeline shows at most ${MAX_TIMELINE_UNITS}. To see a timeline, predict the study with fewer units.`,
    );
  const launches = prepareAll(predictor, index);
  if (!launches.ok) return launches;
  const designs = launches.value.map(({ design }) => design);
  const most = (of: (design: PlayableDesign) => number): number => Math.max(...designs.map(of));
  const total = (of: (design: PlayableDesign) => number): number =>
    designs.reduce((sum, design) => sum + of(design), 0);
  const groups = total(({ gridBlocks, groupsPerBlock }) => gridBlocks * groupsPerBlock);
  if (groups > MAX_TIMELINE_GROUPS)
    return unsupported(
      `Design ${index} launches ${groups} thread groups; a timeline holds at most ${MAX_TIMELINE_GROUPS}. To see a timeline, predict the study with fewer units.`,
    );
  const random = replicationRandom(designSeed(seed, index), replication);
  let kernelMs = 0;
  const played = launches.value.map(({ design, run }): PlayedPart => {
    const timeline = allocateTimeline(design.gridBlocks);
    const startMs = kernelMs;
    kernelMs += run.run(random, timeline) * design.msPerCycle;
    return { design, timeline, startMs };
  });
  const { multiprocessors } = designs[0].device;
  const gridBlocks = total((design) => design.gridBlocks);
  const residentBlocks = most((design) => design.residentBlocks);
  const shown = shownRows(multiprocessors, gridBlocks);
  return ok({
    kernelMs,
    multiprocessors,
    residentBlocks,
    groupsPerBlock: most(({ groupsPerBlock, threadGroupsPerGroup }) => groupsPerBlock * threadGroupsPerGroup),
    gridBlocks,
    launchStartMs: Float64Array.from(played, ({ startMs }) => startMs),
    shownMultiprocessors: Float64Array.from(shown),
    ...bars(played, shown, residentBlocks),
    binMs: kernelMs / BINS,
    ...activity(played, shown, multiprocessors, kernelMs),
  });
}

interface PlayedPart {
  readonly design: PlayableDesign;
  readonly timeline: Timeline;
  readonly startMs: number;
}

/** Chooses evenly spaced multiprocessors, as many as have about `MAX_BARS` blocks together, but at least one. */
function shownRows(multiprocessors: number, gridBlocks: number): readonly number[] {
  const rows = Math.max(
    1,
    Math.min(multiprocessors, Math.floor(MAX_BARS / Math.max(1, Math.ceil(gridBlocks / multiprocessors)))),
  );
  return Array.from({ length: rows }, (_, row) => Math.floor((row * multiprocessors) / rows));
}

function bars(played: readonly PlayedPart[], shown: readonly number[], residentBlocks: number) {
  const blocks = played.reduce((sum, { timeline }) => sum + timeline.blockStartCycles.length, 0);
  const blockStartMs = new Float64Array(blocks);
  const blockEndMs = new Float64Array(blocks);
  const rowOf = new Map(shown.map((multiprocessor, row) => [multiprocessor, row]));
  const perRow: number[][] = shown.map(() => []);
  let at = 0;
  for (const { timeline, startMs, design } of played)
    timeline.blockMultiprocessor.forEach((multiprocessor, block) => {
      blockStartMs[at] = startMs + timeline.blockStartCycles[block] * design.msPerCycle;
      blockEndMs[at] = startMs + timeline.blockEndCycles[block] * design.msPerCycle;
      // A block that finds no unit to fetch takes no time or never starts, so it has no bar.
      const row = rowOf.get(multiprocessor);
      if (row !== undefined && blockEndMs[at] > blockStartMs[at]) perRow[row].push(at);
      at++;
    });
  const listed = perRow.reduce((sum, blocks) => sum + blocks.length, 0);
  const merged = Math.max(1, Math.ceil(listed / MAX_BARS));
  const out: { index: number; count: number; row: number; lane: number; start: number; end: number }[] = [];
  perRow.forEach((own, row) => {
    own.sort((a, b) => blockStartMs[a] - blockStartMs[b] || a - b);
    const freeAt = new Float64Array(residentBlocks);
    const open: (typeof out)[number][] = [];
    for (const block of own) {
      const start = blockStartMs[block];
      const lane = Math.max(
        0,
        freeAt.findIndex((time) => time <= start),
      );
      freeAt[lane] = blockEndMs[block];
      const last = open[lane];
      if (last && last.count < merged) {
        last.count += 1;
        last.end = blockEndMs[block];
        continue;
      }
      open[lane] = { index: block, count: 1, row, lane, start, end: blockEndMs[block] };
      out.push(open[lane]);
    }
  });
  const column = (read: (bar: (typeof out)[number]) => number): Float64Array => Float64Array.from(out, read);
  return {
    blockIndex: column((bar) => bar.index),
    blockCount: column((bar) => bar.count),
    blockRow: column((bar) => bar.row),
    blockLane: column((bar) => bar.lane),
    blockStartMs: column((bar) => bar.start),
    blockEndMs: column((bar) => bar.end),
  };
}

function activity(played: readonly PlayedPart[], shown: readonly number[], multiprocessors: number, kernelMs: number) {
  const width = kernelMs / BINS;
  const perMultiprocessor = new Float64Array(multiprocessors * BINS);
  for (const { timeline, startMs, design } of played) {
    const { stepMultiprocessor, stepCycles, stepActiveGroups } = timeline;
    const since = new Float64Array(multiprocessors).fill(startMs);
    const active = new Float64Array(multiprocessors);
    for (let step = 0; step < stepCycles.length; step += 1) {
      const s = stepMultiprocessor[step];
      const until = startMs + stepCycles[step] * design.msPerCycle;
      if (active[s] > 0 && width > 0) {
        let from = since[s];
        let bin = Math.min(BINS - 1, Math.floor(from / width));
        while (from < until) {
          const end = bin === BINS - 1 ? until : Math.min(until, (bin + 1) * width);
          perMultiprocessor[s * BINS + bin] += (active[s] * (end - from)) / width;
          from = end;
          bin += 1;
        }
      }
      since[s] = until;
      active[s] = stepActiveGroups[step] * design.threadGroupsPerGroup;
    }
  }
  const activeMean = new Float64Array(BINS);
  const activeMin = new Float64Array(BINS).fill(Infinity);
  const activeMax = new Float64Array(BINS);
  for (let s = 0; s < multiprocessors; s += 1)
    for (let bin = 0; bin < BINS; bin += 1) {
      const value = perMultiprocessor[s * BINS + bin];
      activeMean[bin] += value / multiprocessors;
      activeMin[bin] = Math.min(activeMin[bin], value);
      activeMax[bin] = Math.max(activeMax[bin], value);
    }
  const activePerRow = new Float64Array(shown.length * BINS);
  shown.forEach((s, row) => activePerRow.set(perMultiprocessor.subarray(s * BINS, (s + 1) * BINS), row * BINS));
  return { activeMean, activeMin, activeMax, activePerRow };
}
