import { allocateChunk, type PredictionColumns } from '../domain/columns.ts';
import { indexedQueue } from '../numeric/queue.ts';
import { examine, examineFamily, isOneLaunch, type Candidate, type GpuCandidate } from '../predict/design/candidate.ts';
import { isOneLoop } from '../predict/cost/mean-round.ts';
import { getGivenOrder } from '../predict/plan.ts';
import { getPace } from '../predict/cost/pace.ts';
import { computeCounterCycles, computeFetchingCycles } from '../predict/fetches.ts';
import { computeBalancingMs, computeBlockStartsMs, computeIterationFactor } from '../predict/launch-costs.ts';
import {
  computeAloneCycles,
  computeCloseBusyCycles,
  countFewestIterations,
  countLosslessIterations,
} from '../predict/least-cycles.ts';
import { predictInto } from '../predict/ranges.ts';
import type { Predictor } from '../predict/tables.ts';
import type { TimedDesign } from '../predict/time-design.ts';
import { isSorted } from '../predict/time/dealt-launch.ts';
import { AXIS, decodeInto } from '../domain/space.ts';
import { expectLeastMs, remember, type Memory } from './earlier.ts';

/**
 * Fraction by which a predicted time may be below its bound, because predicted times are approximations. Enough for the
 * designs of 335 random studies (`test/unit/random-studies.ts`) and of the examples, but not proven.
 */
const SLACK = 0.005;
/** Slack of a single loop over sorted units, because only a sample of them is counted. Enough in 480 random studies. */
const SORTED_SLACK = 0.015;
/** Slack of a family, whose designs differ only in their launch: its `Pace` is rounded differently from theirs. */
const FAMILY_SLACK = 0.04;
const MOVING_FAMILY_SLACK = 0.12;
/**
 * Slack of a single loop that moves data; the second value is for units in a given order. The pace uses a `MeanRound`,
 * in which lanes may wait longer than in the launch.
 */
const MOVING_SLACK = 0.04;
const MOVING_IN_ORDER_SLACK = 0.12;
/** Slack for the time of the fetch counter, which errs by 13 % if multiprocessors hold unequal numbers of blocks. */
const COUNTER_SLACK = 0.25;

/** Number of designs that are predicted in order of their bounds; few, because each may need other laws. */
const BEST_FIRST = 48;

interface Bounds {
  /** Returns the reason why a design cannot run, as a code of the columns; 0 if it can run. */
  invalidReason(design: number): number;
  /** Returns a lower bound of the times of all launches that differ from a valid design only in the grid, ms. */
  ofFamily(design: number): number;
  /**
   * Returns a lower bound of a design's time, ms; NaN if the design is invalid, 0 on a CPU. It assumes that no lane
   * waits for another, that all multiprocessors do the same work, and that each always holds as many work groups as it
   * can. The longest unit alone is also a lower bound. No law of depths is needed.
   */
  shortest(design: number): number;
  /** Returns a closer lower bound of a valid design, with the time in which lanes wait. It needs the law of depths. */
  withLoss(design: number): number;
}

export function boundsOf(predictor: Predictor): Bounds {
  const { counts } = predictor;
  const positions = new Int32Array(counts.length);
  const candidate = {} as Candidate;
  const examined = (design: number): Candidate => {
    decodeInto(positions, counts, design);
    examine(predictor, positions, candidate);
    return candidate;
  };
  const perLaunch = counts[AXIS.registerCap] * counts[AXIS.blockThreads];
  const perFamily = perLaunch * counts[AXIS.launch];
  const families = new Map<number, number>();
  return {
    invalidReason: (design) => examined(design).invalid,
    ofFamily(design) {
      const first = design - (design % perFamily) + (design % perLaunch);
      let ms = families.get(first);
      if (ms === undefined) {
        decodeInto(positions, counts, first);
        families.set(first, (ms = shortestOfFamily(predictor, positions, candidate)));
      }
      return ms;
    },
    shortest: (design) => (examined(design).invalid === 0 ? launchesMs(candidate, fullyBusyCycles) : NaN),
    withLoss: (design) => closestBound(examined(design)),
  };
}

type BusyCycles = (candidate: GpuCandidate) => number;

/**
 * Computes a lower bound of the times of all launches with the given values of the other axes, ms, as in
 * `Bounds.shortest`; Infinity if none can run, 0 if no bound is known (as on a CPU).
 */
export function shortestOfFamily(predictor: Predictor, positions: Int32Array, candidate: Candidate): number {
  positions[AXIS.launch] = 0;
  examineFamily(predictor, positions, candidate);
  if (candidate.invalid !== 0) return Infinity;
  if (!isOneLaunch(candidate)) return 0;
  // No bound is known for a single loop that moves data in a given order: lanes may wait less than a `MeanRound` says.
  const isMoving = isOneLoop(candidate) && getPace(candidate).transferCycles > 0;
  if (isMoving && getGivenOrder(candidate.predictor.plan) !== null) return 0;
  return launchesMs(candidate, familyCycles);
}

function familyCycles(candidate: GpuCandidate): number {
  const { shape, device } = candidate;
  const rate = getPace(candidate).findBestRate(shape.residentBlocks * shape.groupsPerBlock);
  return (countFewestIterations(candidate) / device.multiprocessors) * rate;
}

export function closestBound(candidate: Candidate): number {
  return launchesMs(candidate, lossyCycles);
}

function launchesMs(candidate: Candidate, busy: BusyCycles): number {
  const before = computeBalancingMs(candidate);
  if (!isOneLaunch(candidate))
    return candidate.classes?.reduce((sum, each) => sum + launchesMs(each.candidate, busy), before) ?? 0;
  const alone = computeAloneCycles(candidate) / getPace(candidate).iterationFactor;
  const factor = computeIterationFactor(candidate);
  const cycles = Math.max(
    (1 - getSlack(candidate)) * Math.max(busy(candidate), alone) * factor,
    (1 - COUNTER_SLACK) * computeCounterCycles(candidate),
  );
  return Math.max(cycles / (candidate.device.clockMhz * 1e3), computeBlockStartsMs(candidate)) + before;
}

function getSlack(candidate: GpuCandidate): number {
  const isFamily = candidate.gridBlocks === 0;
  if (!isOneLoop(candidate)) return isFamily ? FAMILY_SLACK : SLACK;
  const isMoving = getPace(candidate).transferCycles > 0;
  if (isFamily) return isMoving ? MOVING_FAMILY_SLACK : FAMILY_SLACK;
  if (isMoving) return getGivenOrder(candidate.predictor.plan) === null ? MOVING_SLACK : MOVING_IN_ORDER_SLACK;
  return isSorted(candidate.balancing) ? SORTED_SLACK : SLACK;
}

function fullyBusyCycles(candidate: GpuCandidate): number {
  const { shape, workingBlocks, device } = candidate;
  const blocks = Math.min(shape.residentBlocks, Math.ceil(workingBlocks / device.multiprocessors));
  const rate = getPace(candidate).findBestRate(blocks * shape.groupsPerBlock);
  return (countLosslessIterations(candidate) / device.multiprocessors) * rate;
}

function lossyCycles(candidate: GpuCandidate): number {
  return computeCloseBusyCycles(candidate) + computeFetchingCycles(candidate);
}

export interface SearchOptions {
  /** The known time of another design, ms, which counts as if the design were in the list. */
  readonly bestMs?: number;
  /** Says whether the time for the search is over. */
  readonly isOver?: (isFound: boolean) => boolean;
  /** Number of designs at the head of the list that are predicted first. */
  readonly leading?: number;
  /** What an earlier prediction learned. The search adds what it learns. */
  readonly memory?: Memory;
}

interface Promising {
  readonly columns: PredictionColumns;
  readonly unreached: number;
}

/** Computes bounds of listed designs: first the cheapest, then a closer one at each `comeCloser`. */
function makeClosingBounds(predictor: Predictor, designs: Uint32Array, memory: Memory | undefined) {
  const { invalidReason, ofFamily, shortest, withLoss } = boundsOf(predictor);
  const proven = new Float64Array(designs.length);
  const bound = new Float64Array(designs.length);
  const taken = new Uint8Array(designs.length);
  /** Positions of designs whose last bound is the least time expected after the earlier prediction. */
  const expected: number[] = [];
  let isCompared = false;
  const prove = (ofDesign: (design: number) => number) => (at: number) =>
    (bound[at] = proven[at] = Math.max(proven[at], ofDesign(designs[at])));
  const expect = (at: number): number =>
    (bound[at] = Math.max(proven[at], expectLeastMs(memory!, designs[at], proven[at])));
  const steps = [ofFamily, shortest, withLoss].map(prove);
  if (memory?.earlier)
    steps.push((at) => {
      if (expect(at) > proven[at]) expected.push(at);
      return bound[at];
    });
  const comeCloser = (at: number): boolean => {
    if (taken[at] === steps.length) return false;
    steps[taken[at]](at);
    taken[at] += 1;
    return true;
  };
  return {
    bound,
    invalidReason: (at: number) => invalidReason(designs[at]),
    comeCloser,
    learn(at: number, timeMs: number): void {
      if (!memory) return;
      while (comeCloser(at));
      remember(memory, designs[at], timeMs, proven[at]);
      isCompared ||= bound[at] > proven[at];
    },
    /**
     * Lists the excluded designs that are now expected within `limitMs`. While no design with an expected time has been
     * predicted, expectations are not yet tested, so only the design with the lowest bound is listed.
     */
    listReopened(limitMs: number, isExcluded: (at: number) => boolean): readonly number[] {
      const excluded = expected.filter((at) => isExcluded(at) && proven[at] <= limitMs);
      if (excluded.length === 0) return [];
      if (isCompared) return excluded.filter((at) => expect(at) <= limitMs);
      return [excluded.reduce((least, at) => (bound[at] < bound[least] ? at : least))];
    },
  };
}

/**
 * Predicts the designs of a list that can be within `fraction` of its fastest, one entry per design. Every other design
 * gets the time NaN, and its reason if it is invalid. The search is best first (Hart, Nilsson & Raphael 1968). After
 * `BEST_FIRST` designs, the fastest time hardly improves, so the rest follow in an order that shares laws.
 */
export function predictPromising(
  predictor: Predictor,
  designs: Uint32Array,
  fraction: number,
  { bestMs = Infinity, isOver: isTimeOver = () => false, leading = 0, memory }: SearchOptions = {},
): Promising {
  const columns = allocateChunk(0, designs.length);
  columns.timeMs.fill(NaN);
  const { bound, invalidReason, comeCloser, learn, listReopened } = makeClosingBounds(predictor, designs, memory);
  const positions = new Int32Array(predictor.counts.length);
  const candidate = {} as Candidate;
  const timed = {} as TimedDesign;
  let limit = bestMs * (1 + fraction);
  const isOver = (): boolean => isTimeOver(limit < Infinity);
  const predict = (at: number): void => {
    decodeInto(positions, predictor.counts, designs[at]);
    predictInto(columns, at, predictor, positions, candidate, timed);
    if (columns.invalidReason[at] !== 0) return;
    limit = Math.min(limit, columns.timeMs[at] * (1 + fraction));
    learn(at, columns.timeMs[at]);
  };

  let next = 0;
  for (; next < leading && !isOver(); next += 1) predict(next);
  const queue = indexedQueue(bound);
  for (; next < designs.length && !isOver(); next += 1) {
    columns.invalidReason[next] = invalidReason(next);
    if (columns.invalidReason[next] !== 0) continue;
    comeCloser(next);
    if (bound[next] <= limit) queue.push(next);
  }
  for (let predicted = 0; predicted < BEST_FIRST && queue.size() > 0 && !isOver();) {
    const at = queue.first();
    if (bound[at] > limit) break;
    if (comeCloser(at)) queue.settle();
    else {
      queue.pop();
      predict(at);
      predicted += 1;
    }
  }
  const rest: number[] = [];
  while (queue.size() > 0 && bound[queue.first()] <= limit) rest.push(queue.pop());
  const order = neighbourly(predictor.counts);
  let unreached = designs.length - next;
  for (const at of rest.sort((a, b) => order(designs[a]) - order(designs[b]))) {
    if (isOver()) unreached += 1;
    else {
      while (bound[at] <= limit && comeCloser(at));
      if (bound[at] <= limit) predict(at);
    }
  }
  const isExcluded = (at: number): boolean => Number.isNaN(columns.timeMs[at]);
  let open = listReopened(limit, isExcluded);
  for (; open.length > 0 && !isOver(); open = listReopened(limit, isExcluded)) predict(open[0]);
  return { columns, unreached: unreached + open.length };
}

/** Makes a function that numbers designs by block size, launch and register cap, so that equal laws are neighbours. */
function neighbourly(counts: readonly number[]): (design: number) => number {
  const [launches, caps, blocks] = [counts[AXIS.launch], counts[AXIS.registerCap], counts[AXIS.blockThreads]];
  return (design) => {
    const tile = Math.floor(design / blocks);
    const inFamily = tile % (launches * caps);
    return (tile - inFamily) * blocks + (design % blocks) * launches * caps + inFamily;
  };
}
