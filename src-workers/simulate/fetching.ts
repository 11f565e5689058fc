import { ok, type Result, badInput } from '../domain/result.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { checkLaunch, type DeviceRun, type Launch, type Timeline } from './device.ts';
import type { CompactNumbers } from '../numeric/compact.ts';
import { indexedQueue } from '../numeric/queue.ts';
import { indexSampler } from './samplers.ts';

export interface FetchedWork {
  readonly law: LengthLaw;
  /**
   * Lengths in the order in which they are fetched, repeated. If omitted, lengths are independent draws from the law.
   */
  readonly given?: CompactNumbers | null;
  /** Units in the queue, integer ≥ 0. */
  readonly units: number;
  /** n: lanes of a thread group that fetch units, integer ≥ 1. */
  readonly lanesPerGroup: number;
  /** Lanes of a block, if its last group is not full. */
  readonly lanesPerBlock?: number;
  /** Iterations before the first iteration of each unit, ≥ 0. The other lanes of the group wait during them. */
  readonly setupIterations: number;
  /**
   * Consecutive units that a lane takes in one fetch, integer ≥ 1; 1 if omitted. With `group`, one fetch takes a unit
   * for every lane of the group, and these units end together.
   */
  readonly fetch?: number | 'group';
  /** Cycles before the first iteration, ≥ 0; 0 if omitted. */
  readonly startCycles?: number;
  /** t(w) while the queue holds units; the launch's own t(w) if omitted. */
  readonly fetchingCyclesPerIteration?: Float64Array;
  /** Cycles of the last fetches, which find the queue empty, ≥ 0; 0 if omitted. */
  readonly lastCycles?: number;
}

const CANCEL_CHECK_UNITS = 65536;

/**
 * A multiprocessor may run ahead of the others if the queue holds FAR_UNITS units for each lane, and KNOWN_UNITS units
 * per lane have shown how fast the queue empties. It stops before the queue can have lost AHEAD_SHARE of its units, so
 * no other multiprocessor finds the queue empty.
 */
const FAR_UNITS = 8;
const KNOWN_UNITS = 4;
const AHEAD_SHARE = 0.25;

/**
 * Prepares a launch with dynamic fetch. If several lanes fetch at one instant, the lowest lane is first. The cost of a
 * fetch is spread over the iterations until the queue is empty. A group is active while any of its lanes is active. A
 * block that starts after the queue is empty ends at once.
 */
export function prepareFetchingDevice(launch: Launch, work: FetchedWork, cancelled?: () => boolean): Result<DeviceRun> {
  const checked = checkWork(launch, work);
  if (!checked.ok) return checked;
  const { multiprocessors: M, residentBlocks: R, groupsPerBlock: W, gridBlocks: G, cyclesPerIteration } = launch;
  const { units, lanesPerGroup, setupIterations, fetch = 1, given = null, startCycles = 0, lastCycles = 0 } = work;
  const { lanesPerBlock = lanesPerGroup * W, fetchingCyclesPerIteration = cyclesPerIteration } = work;
  // A group that fetches for all its lanes is modelled as one lane, with one unit per fetch: the longest one fetched.
  const byGroup = fetch === 'group';
  const chunk = byGroup ? 1 : fetch;
  const n = byGroup ? 1 : lanesPerGroup;
  const groupsEach = R * W;
  const slotsOf = (g: number): number => Math.min(lanesPerGroup, lanesPerBlock - g * lanesPerGroup);
  const { support, probability } = work.law;
  const draw = indexSampler(probability);

  const time = new Float64Array(M);
  const virtual = new Float64Array(M);
  const nextEnd = new Float64Array(M);
  // One heap of groups per multiprocessor, by the virtual end of their next unit.
  const heapEnd = new Float64Array(M * groupsEach);
  const heapGroup = new Int32Array(M * groupsEach);
  const activeGroups = new Int32Array(M);
  // One heap of lanes per group, by the end of their unit on the group's own clock: virtual time minus the group's
  // offset. The clock stands still during setup.
  const laneEnd = new Float64Array(M * groupsEach * n);
  const laneIndex = new Int32Array(M * groupsEach * n);
  const groupLanes = new Int32Array(M * groupsEach);
  const groupOffset = new Float64Array(M * groupsEach);
  // Number of units that a lane has fetched and not begun.
  const laneHeld = new Int32Array(M * groupsEach * n);
  const laneNext = new Float64Array(M * groupsEach * n);
  const blockGroups = new Int32Array(M * R);
  const slotBlock = new Int32Array(M * R);
  const ended = new Int32Array(n);
  const queue = indexedQueue(nextEnd);

  // The state of a run: remaining units of the queue, started blocks, the latest end of a group, and the current t(w).
  let left = 0;
  let block = 0;
  let last = 0;
  let lastDispatchCycles = 0;
  let rate = fetchingCyclesPerIteration;
  let timeline: Timeline | undefined;
  let lengthOf: (unit: number) => number;

  function play(): number {
    for (let slot = 0; slot < R && block < G; slot++) {
      for (let s = 0; s < M && block < G; s++) start(s, slot);
    }
    if (left === 0) {
      rate = cyclesPerIteration;
      for (let s = 0; s < M; s++) time[s] += lastCycles;
    }
    const lanes = units - left;
    for (let s = 0; s < M; s++) {
      plan(s);
      if (activeGroups[s] > 0) queue.push(s);
    }
    let nextCheck = CANCEL_CHECK_UNITS;
    while (queue.size() > 0) {
      const done = units - left;
      if (done >= nextCheck) {
        if (cancelled?.()) return NaN;
        nextCheck = done + CANCEL_CHECK_UNITS;
      }
      if (given === null && left > FAR_UNITS * lanes && done >= KNOWN_UNITS * lanes) {
        // The order between multiprocessors has no effect, so each runs ahead on its own, which is faster.
        const now = nextEnd[queue.first()];
        const horizon = now * (1 + (AHEAD_SHARE * left) / done);
        queue.clear();
        for (let s = 0; s < M; s++) {
          while (nextEnd[s] <= horizon) step(s);
          if (activeGroups[s] > 0) queue.push(s);
        }
        continue;
      }
      const s = queue.pop();
      step(s);
      if (activeGroups[s] > 0) queue.push(s);
    }
    return last;
  }

  function recordActive(s: number): void {
    timeline!.stepMultiprocessor.push(s);
    timeline!.stepCycles.push(time[s]);
    timeline!.stepActiveGroups.push(activeGroups[s]);
  }

  function beginUnit(s: number, group: number, lane: number, clock: number): void {
    const at = s * groupsEach + group;
    let length: number;
    if (byGroup) {
      const taken = Math.min(left, slotsOf(group % W));
      length = 0;
      for (let i = 0; i < taken; i++) length = Math.max(length, lengthOf(units - left + i));
      left -= taken;
    } else {
      const held = at * n + lane;
      if (laneHeld[held] === 0) {
        laneHeld[held] = Math.min(chunk, left);
        laneNext[held] = units - left;
        left -= laneHeld[held];
      }
      laneHeld[held]--;
      length = lengthOf(laneNext[held]++);
    }
    pushEntry(laneEnd, laneIndex, at * n, groupLanes[at]++, clock + length, lane);
  }

  /** Groups that get no unit are left out. */
  function start(s: number, slot: number): void {
    slotBlock[s * R + slot] = block;
    if (timeline) {
      timeline.blockMultiprocessor[block] = s;
      timeline.blockStartCycles[block] = time[s];
      timeline.blockEndCycles[block] = time[s];
    }
    block++;
    lastDispatchCycles = time[s];
    for (let g = 0; g < W && left > 0; g++) {
      const group = slot * W + g;
      const at = s * groupsEach + group;
      const lanes = byGroup ? 1 : slotsOf(g);
      for (let lane = 0; lane < lanes && left > 0; lane++) beginUnit(s, group, lane, 0);
      groupOffset[at] = virtual[s] + setupIterations;
      const end = laneEnd[at * n] + groupOffset[at];
      pushEntry(heapEnd, heapGroup, s * groupsEach, activeGroups[s]++, end, group);
      blockGroups[s * R + slot]++;
    }
    if (timeline) recordActive(s);
  }

  function plan(s: number): void {
    nextEnd[s] =
      activeGroups[s] === 0 ? Infinity : time[s] + (heapEnd[s * groupsEach] - virtual[s]) * rate[activeGroups[s]];
  }

  /**
   * Switches to the rate without fetching, because the queue is empty at the current time of multiprocessor `at`. The
   * cycles of the last fetches pass at once.
   */
  function stopFetching(at: number): void {
    const now = time[at];
    queue.clear();
    for (let s = 0; s < M; s++) {
      if (activeGroups[s] > 0 && now > time[s]) {
        virtual[s] += (now - time[s]) / rate[activeGroups[s]];
        time[s] = now;
      }
      time[s] += lastCycles;
    }
    rate = cyclesPerIteration;
    for (let s = 0; s < M; s++) {
      plan(s);
      // Multiprocessor `at` is not pushed here, but when its step ends.
      if (s !== at && activeGroups[s] > 0) queue.push(s);
    }
  }

  function step(s: number): void {
    const base = s * groupsEach;
    const group = heapGroup[base];
    const at = base + group;
    time[s] = nextEnd[s];
    virtual[s] = heapEnd[base];
    const clock = laneEnd[at * n];
    // Lanes that end at the same instant fetch together, so the group runs the setup once for all of them.
    let count = 0;
    while (groupLanes[at] > 0 && laneEnd[at * n] === clock) {
      ended[count++] = laneIndex[at * n];
      popEntry(laneEnd, laneIndex, at * n, --groupLanes[at]);
    }
    let begun = false;
    for (let i = 0; i < count; i++) {
      if (left === 0 && laneHeld[at * n + ended[i]] === 0) continue;
      beginUnit(s, group, ended[i], clock);
      begun = true;
    }
    if (begun) groupOffset[at] += setupIterations;
    if (groupLanes[at] > 0) {
      settleEntry(heapEnd, heapGroup, base, activeGroups[s], laneEnd[at * n] + groupOffset[at], group);
    } else {
      popEntry(heapEnd, heapGroup, base, --activeGroups[s]);
      last = Math.max(last, time[s]);
      const slot = Math.floor(group / W);
      if (timeline) recordActive(s);
      if (--blockGroups[s * R + slot] === 0) {
        if (timeline) timeline.blockEndCycles[slotBlock[s * R + slot]] = time[s];
        // No unit is left to fetch, so a block that starts now ends now.
        if (block < G) start(s, slot);
      }
    }
    if (left === 0 && rate !== cyclesPerIteration) stopFetching(s);
    else plan(s);
  }

  return ok({
    get lastDispatchCycles() {
      return lastDispatchCycles;
    },
    run(random, events) {
      for (const list of [virtual, activeGroups, groupLanes, blockGroups, laneHeld]) list.fill(0);
      time.fill(startCycles);
      queue.clear();
      lengthOf = (unit) => (given === null ? support[draw(random)] : given[unit % given.length]);
      left = units;
      block = 0;
      last = 0;
      lastDispatchCycles = 0;
      rate = fetchingCyclesPerIteration;
      timeline = events;
      return play();
    },
  });
}

function checkWork(launch: Launch, { units, lanesPerGroup, fetch = 1 }: FetchedWork): Result<Launch> {
  if (!(Number.isSafeInteger(units) && units >= 0)) return badInput(`units must be an integer ≥ 0, not ${units}`);
  if (!(Number.isSafeInteger(lanesPerGroup) && lanesPerGroup >= 1))
    return badInput(`lanesPerGroup must be an integer ≥ 1, not ${lanesPerGroup}`);
  if (fetch !== 'group' && !(Number.isSafeInteger(fetch) && fetch >= 1))
    return badInput(`fetch must be an integer ≥ 1 or group, not ${fetch}`);
  return checkLaunch(launch);
}

/** Compares an entry with the entry at position `at` of a heap: by key, then by index. */
function comesBefore(key: number, index: number, keys: Float64Array, indices: Int32Array, at: number): boolean {
  return key < keys[at] || (key === keys[at] && index < indices[at]);
}

/** The heap begins at `base`. */
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

/** Replaces the first entry. */
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
