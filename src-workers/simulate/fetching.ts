import { ok, type Result, badInput } from '../domain/result.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { checkLaunch, type DeviceRun, type Launch, type Timeline } from './device.ts';
import type { CompactNumbers } from '../numeric/compact.ts';
import { indexedQueue } from '../numeric/queue.ts';
import { indexSampler } from './samplers.ts';

/** Work whose units the lanes fetch from one queue of the whole device. */
export interface FetchedWork {
  readonly law: LengthLaw;
  /** Lengths in the order in which they are fetched, repeated; if omitted, they are independent draws from the law. */
  readonly given?: CompactNumbers | null;
  /** Units in the queue, integer ≥ 0. */
  readonly units: number;
  /** n: lanes of a thread group that fetch units, integer ≥ 1. */
  readonly lanesPerGroup: number;
  /** Lanes of a block, if its last group is not full; lanesPerGroup·groupsPerBlock if omitted. */
  readonly lanesPerBlock?: number;
  /** Iterations before the first one of each unit, ≥ 0. The other lanes of the group wait during them. */
  readonly setupIterations: number;
  /**
   * Consecutive units that a lane takes at once, integer ≥ 1; 1 if omitted. With `group`, one fetch takes a unit for
   * every lane of the group, and these units end together.
   */
  readonly fetch?: number | 'group';
  /** Cycles before the first iteration, ≥ 0; 0 if omitted. */
  readonly startCycles?: number;
  /** t(w) while the queue holds units; the launch's own t(w) if omitted. */
  readonly fetchingCyclesPerIteration?: Float64Array;
  /** Cycles of the last fetches, which find the queue empty, ≥ 0; 0 if omitted. */
  readonly lastCycles?: number;
}

/** The number of units after which `cancelled` is called. */
const CANCEL_CHECK_UNITS = 65536;

/**
 * A multiprocessor may run ahead of the others while the queue holds FAR_UNITS for each lane, after KNOWN_UNITS per
 * lane have shown how fast the queue empties. It stops before the queue can have lost AHEAD_SHARE of its units, so no
 * other multiprocessor finds the queue empty.
 */
const FAR_UNITS = 8;
const KNOWN_UNITS = 4;
const AHEAD_SHARE = 0.25;

/**
 * Prepares a launch with dynamic fetch: a lane whose units are done fetches the next units from the common queue. At
 * one instant, the lowest lane fetches first. The cost of a fetch is spread over the iterations until the queue is
 * empty. A group is active while any of its lanes is. A block ends with its last group; a block that starts after the
 * queue is empty ends at once. Fails with `bad-input` if a number of the launch or the work is out of range.
 */
export function prepareFetchingDevice(launch: Launch, work: FetchedWork, cancelled?: () => boolean): Result<DeviceRun> {
  const setup = makeSetup(launch, work);
  if (!setup.ok) return setup;
  const draw = indexSampler(work.law.probability);
  const { support } = work.law;
  const { given } = setup.value;
  const lists = makeLists(setup.value);
  const queue = indexedQueue(lists.nextEnd);
  let lastDispatchCycles = 0;
  return ok({
    get lastDispatchCycles() {
      return lastDispatchCycles;
    },
    run(random, timeline) {
      for (const list of [lists.virtual, lists.activeGroups, lists.groupLanes, lists.blockGroups, lists.laneHeld])
        list.fill(0);
      lists.time.fill(work.startCycles ?? 0);
      queue.clear();
      const run: FetchingRun = {
        ...setup.value,
        ...lists,
        queue,
        timeline,
        lengthOf: (unit) => (given === null ? support[draw(random)] : given[unit % given.length]),
        left: setup.value.units,
        block: 0,
        last: 0,
        rate: setup.value.fetchingCyclesPerIteration,
        lastDispatchCycles: 0,
      };
      const time = play(run, cancelled);
      lastDispatchCycles = run.lastDispatchCycles;
      return time;
    },
  });
}

/** The constants of all runs: M multiprocessors of R blocks of W groups, G blocks in total, and n lanes per group. */
interface FetchingSetup {
  readonly M: number;
  readonly R: number;
  readonly W: number;
  readonly G: number;
  readonly n: number;
  readonly groupsEach: number;
  readonly units: number;
  readonly setupIterations: number;
  /** A group that fetches for all its lanes is modelled as one lane, whose units are the longest of each fetch. */
  readonly byGroup: boolean;
  readonly chunk: number;
  readonly given: CompactNumbers | null;
  readonly cyclesPerIteration: Float64Array;
  readonly fetchingCyclesPerIteration: Float64Array;
  readonly lastCycles: number;
  /** Slots of group g of a block; the last group may have fewer. */
  readonly slotsOf: (g: number) => number;
}

function makeSetup(launch: Launch, work: FetchedWork): Result<FetchingSetup> {
  const checked = checkLaunch(launch);
  if (!checked.ok) return checked;
  const { multiprocessors: M, residentBlocks: R, groupsPerBlock: W, gridBlocks: G, cyclesPerIteration } = launch;
  const { units, setupIterations, fetch = 1, given = null, lastCycles = 0 } = work;
  const { fetchingCyclesPerIteration = cyclesPerIteration } = work;
  const byGroup = fetch === 'group';
  const chunk = byGroup ? 1 : fetch;
  const n = byGroup ? 1 : work.lanesPerGroup;
  if (!(Number.isSafeInteger(units) && units >= 0)) {
    return badInput(`units must be an integer ≥ 0, not ${units}`);
  }
  if (!(Number.isSafeInteger(work.lanesPerGroup) && work.lanesPerGroup >= 1)) {
    return badInput(`lanesPerGroup must be an integer ≥ 1, not ${work.lanesPerGroup}`);
  }
  if (!(Number.isSafeInteger(chunk) && chunk >= 1)) {
    return badInput(`fetch must be an integer ≥ 1 or group, not ${chunk}`);
  }
  const slotsPerBlock = work.lanesPerBlock ?? work.lanesPerGroup * W;
  const slotsOf = (g: number): number => Math.min(work.lanesPerGroup, slotsPerBlock - g * work.lanesPerGroup);
  return ok({
    ...{ M, R, W, G, n, groupsEach: R * W, units, setupIterations, byGroup, chunk, given, slotsOf },
    ...{ cyclesPerIteration, fetchingCyclesPerIteration, lastCycles },
  });
}

/** The lists of a launch, which all its runs share. */
function makeLists({ M, R, n, groupsEach }: FetchingSetup) {
  return {
    time: new Float64Array(M),
    virtual: new Float64Array(M),
    nextEnd: new Float64Array(M),
    // One heap of groups per multiprocessor, by the virtual end of their next unit.
    heapEnd: new Float64Array(M * groupsEach),
    heapGroup: new Int32Array(M * groupsEach),
    activeGroups: new Int32Array(M),
    // One heap of lanes per group, by the end of their unit on the group's own clock. The clock is virtual time minus
    // the group's offset, and it stands still during setup.
    laneEnd: new Float64Array(M * groupsEach * n),
    laneIndex: new Int32Array(M * groupsEach * n),
    groupLanes: new Int32Array(M * groupsEach),
    groupOffset: new Float64Array(M * groupsEach),
    // Units that a lane has fetched and not begun.
    laneHeld: new Int32Array(M * groupsEach * n),
    laneNext: new Float64Array(M * groupsEach * n),
    blockGroups: new Int32Array(M * R),
    slotBlock: new Int32Array(M * R),
    ended: new Int32Array(n),
  };
}

/** A launch during its simulation. */
interface FetchingRun extends FetchingSetup, ReturnType<typeof makeLists> {
  readonly queue: ReturnType<typeof indexedQueue>;
  readonly timeline: Timeline | undefined;
  /** Returns the length of a unit of the queue. */
  readonly lengthOf: (unit: number) => number;
  /** Remaining units in the queue, and number of blocks that have started. */
  left: number;
  block: number;
  /** The times at which the last group so far ended and the last block started, cycles. */
  last: number;
  lastDispatchCycles: number;
  /** The current t(w). */
  rate: Float64Array;
}

/** Simulates the launch. Returns its time in cycles, NaN if cancelled. */
function play(run: FetchingRun, cancelled?: () => boolean): number {
  const { M, R, G, units, cyclesPerIteration, given, nextEnd, activeGroups, queue } = run;
  for (let slot = 0; slot < R && run.block < G; slot++) {
    for (let s = 0; s < M && run.block < G; s++) start(run, s, slot);
  }
  if (run.left === 0) {
    run.rate = cyclesPerIteration;
    for (let s = 0; s < M; s++) run.time[s] += run.lastCycles;
  }
  // This is the number of units that all lanes take in one fetch each.
  const lanes = units - run.left;
  for (let s = 0; s < M; s++) {
    plan(run, s);
    if (activeGroups[s] > 0) queue.push(s);
  }
  let nextCheck = CANCEL_CHECK_UNITS;
  while (queue.size() > 0) {
    const done = units - run.left;
    if (done >= nextCheck) {
      if (cancelled?.()) return NaN;
      nextCheck = done + CANCEL_CHECK_UNITS;
    }
    if (given === null && run.left > FAR_UNITS * lanes && done >= KNOWN_UNITS * lanes) {
      // The queue is far from empty and all units are drawn from one law, so the order between multiprocessors has no
      // effect. Each runs ahead on its own, which is faster.
      const now = nextEnd[queue.first()];
      const horizon = now * (1 + (AHEAD_SHARE * run.left) / done);
      queue.clear();
      for (let s = 0; s < M; s++) {
        while (nextEnd[s] <= horizon) step(run, s);
        if (activeGroups[s] > 0) queue.push(s);
      }
      continue;
    }
    const s = queue.pop();
    step(run, s);
    if (activeGroups[s] > 0) queue.push(s);
  }
  return run.last;
}

function recordActive(run: FetchingRun, s: number): void {
  const { time, activeGroups, timeline } = run;
  timeline!.stepMultiprocessor.push(s);
  timeline!.stepCycles.push(time[s]);
  timeline!.stepActiveGroups.push(activeGroups[s]);
}

/** A lane of a group begins its next unit when the group's clock reads `clock`. If idle, it fetches one first. */
function beginUnit(run: FetchingRun, s: number, group: number, lane: number, clock: number): void {
  const {
    W,
    n,
    groupsEach,
    units,
    byGroup,
    chunk,
    slotsOf,
    laneEnd,
    laneIndex,
    groupLanes,
    laneHeld,
    laneNext,
    lengthOf,
  } = run;
  const at = s * groupsEach + group;
  let length: number;
  if (byGroup) {
    const taken = Math.min(run.left, slotsOf(group % W));
    length = 0;
    for (let i = 0; i < taken; i++) length = Math.max(length, lengthOf(units - run.left + i));
    run.left -= taken;
  } else {
    const held = at * n + lane;
    if (laneHeld[held] === 0) {
      laneHeld[held] = Math.min(chunk, run.left);
      laneNext[held] = units - run.left;
      run.left -= laneHeld[held];
    }
    laneHeld[held]--;
    length = lengthOf(laneNext[held]++);
  }
  pushEntry(laneEnd, laneIndex, at * n, groupLanes[at]++, clock + length, lane);
}

/** Starts the next block in a slot, without the groups that get no unit. */
function start(run: FetchingRun, s: number, slot: number): void {
  const {
    R,
    W,
    n,
    groupsEach,
    setupIterations,
    byGroup,
    slotsOf,
    time,
    virtual,
    heapEnd,
    heapGroup,
    activeGroups,
    laneEnd,
    groupOffset,
    blockGroups,
    slotBlock,
    timeline,
  } = run;
  slotBlock[s * R + slot] = run.block;
  if (timeline) {
    timeline.blockMultiprocessor[run.block] = s;
    timeline.blockStartCycles[run.block] = time[s];
    timeline.blockEndCycles[run.block] = time[s];
  }
  run.block++;
  run.lastDispatchCycles = time[s];
  for (let g = 0; g < W && run.left > 0; g++) {
    const group = slot * W + g;
    const at = s * groupsEach + group;
    const lanes = byGroup ? 1 : slotsOf(g);
    for (let lane = 0; lane < lanes && run.left > 0; lane++) beginUnit(run, s, group, lane, 0);
    groupOffset[at] = virtual[s] + setupIterations;
    const end = laneEnd[at * n] + groupOffset[at];
    pushEntry(heapEnd, heapGroup, s * groupsEach, activeGroups[s]++, end, group);
    blockGroups[s * R + slot]++;
  }
  if (timeline) recordActive(run, s);
}

/** Computes the time at which the next unit of a multiprocessor ends. */
function plan(run: FetchingRun, s: number): void {
  const { groupsEach, time, virtual, nextEnd, heapEnd, activeGroups } = run;
  nextEnd[s] =
    activeGroups[s] === 0 ? Infinity : time[s] + (heapEnd[s * groupsEach] - virtual[s]) * run.rate[activeGroups[s]];
}

/**
 * Switches to the rate without fetching: the queue is empty at the current time of multiprocessor `at`. The cycles of
 * the last fetches pass at once.
 */
function stopFetching(run: FetchingRun, at: number): void {
  const { M, cyclesPerIteration, lastCycles, time, virtual, activeGroups, queue } = run;
  const now = time[at];
  queue.clear();
  for (let s = 0; s < M; s++) {
    if (activeGroups[s] > 0 && now > time[s]) {
      virtual[s] += (now - time[s]) / run.rate[activeGroups[s]];
      time[s] = now;
    }
    time[s] += lastCycles;
  }
  run.rate = cyclesPerIteration;
  for (let s = 0; s < M; s++) {
    plan(run, s);
    // Multiprocessor `at` is pushed when its step ends.
    if (s !== at && activeGroups[s] > 0) queue.push(s);
  }
}

/** Advances a multiprocessor to its next end of units. */
function step(run: FetchingRun, s: number): void {
  const {
    R,
    W,
    G,
    n,
    groupsEach,
    setupIterations,
    cyclesPerIteration,
    time,
    virtual,
    nextEnd,
    heapEnd,
    heapGroup,
    activeGroups,
    laneEnd,
    laneIndex,
    groupLanes,
    groupOffset,
    laneHeld,
    blockGroups,
    slotBlock,
    ended,
    timeline,
  } = run;
  const base = s * groupsEach;
  const group = heapGroup[base];
  const at = base + group;
  time[s] = nextEnd[s];
  virtual[s] = heapEnd[base];
  const clock = laneEnd[at * n];
  // Lanes that end at the same instant fetch together, so they share the setup.
  let count = 0;
  while (groupLanes[at] > 0 && laneEnd[at * n] === clock) {
    ended[count++] = laneIndex[at * n];
    popEntry(laneEnd, laneIndex, at * n, --groupLanes[at]);
  }
  let begun = false;
  for (let i = 0; i < count; i++) {
    if (run.left === 0 && laneHeld[at * n + ended[i]] === 0) continue;
    beginUnit(run, s, group, ended[i], clock);
    begun = true;
  }
  if (begun) groupOffset[at] += setupIterations;
  if (groupLanes[at] > 0) {
    settleEntry(heapEnd, heapGroup, base, activeGroups[s], laneEnd[at * n] + groupOffset[at], group);
  } else {
    popEntry(heapEnd, heapGroup, base, --activeGroups[s]);
    run.last = Math.max(run.last, time[s]);
    const slot = Math.floor(group / W);
    if (timeline) recordActive(run, s);
    if (--blockGroups[s * R + slot] === 0) {
      if (timeline) timeline.blockEndCycles[slotBlock[s * R + slot]] = time[s];
      // No unit is left to fetch, so a block that starts now ends now.
      if (run.block < G) start(run, s, slot);
    }
  }
  if (run.left === 0 && run.rate !== cyclesPerIteration) stopFetching(run, s);
  else plan(run, s);
}

/** Whether an entry comes before the entry at position `at` of a heap: by key, then by index. */
function comesBefore(key: number, index: number, keys: Float64Array, indices: Int32Array, at: number): boolean {
  return key < keys[at] || (key === keys[at] && index < indices[at]);
}

/** Adds an entry to a binary heap of `size` entries that begins at `base`. */
function pushEntry(
  keys: Float64Array,
  indices: Int32Array,
  base: number,
  size: number,
  key: number,
  index: number,
): void {
  let i = size;
  while (i > 0) {
    const parent = (i - 1) >> 1;
    if (!comesBefore(key, index, keys, indices, base + parent)) break;
    keys[base + i] = keys[base + parent];
    indices[base + i] = indices[base + parent];
    i = parent;
  }
  keys[base + i] = key;
  indices[base + i] = index;
}

/** Replaces the first entry of a heap and restores the order. */
function settleEntry(
  keys: Float64Array,
  indices: Int32Array,
  base: number,
  size: number,
  key: number,
  index: number,
): void {
  let i = 0;
  for (;;) {
    let child = 2 * i + 1;
    if (child >= size) break;
    const other = base + child + 1;
    if (child + 1 < size && comesBefore(keys[other], indices[other], keys, indices, base + child)) child++;
    if (comesBefore(key, index, keys, indices, base + child)) break;
    keys[base + i] = keys[base + child];
    indices[base + i] = indices[base + child];
    i = child;
  }
  keys[base + i] = key;
  indices[base + i] = index;
}

/** Removes the first entry of a heap; `size` entries remain. */
function popEntry(keys: Float64Array, indices: Int32Array, base: number, size: number): void {
  if (size > 0) settleEntry(keys, indices, base, size, keys[base + size], indices[base + size]);
}
