import type { LengthLaw } from '../domain/workload.ts';
import { recordActive, type DeviceRun, type Launch, type Timeline } from './device.ts';
import type { CompactNumbers } from '../numeric/compact.ts';
import { indexedQueue, TURN } from '../numeric/queue.ts';
import { createHeaps } from './heaps.ts';
import { indexSampler } from './samplers.ts';

export interface FetchedWork {
  readonly law: LengthLaw;
  /** Lengths in the order of fetching, which repeat for more units. If omitted, lengths are draws from the law. */
  readonly given?: CompactNumbers | null;
  readonly units: number;
  /** n: lanes of a thread group that fetch units, integer ≥ 1. */
  readonly lanesPerGroup: number;
  /** Lanes of a block; by default, the lanes of all its groups. */
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
  /** Cycles of an iteration, by active groups, while the queue holds units; the launch's own table if omitted. */
  readonly fetchingCyclesPerIteration?: Float64Array;
  /** Cycles of the last fetches, which find the queue empty, ≥ 0; 0 if omitted. */
  readonly lastCycles?: number;
}

/**
 * If units are draws, and F units were fetched at the start, a multiprocessor may run ahead of the other
 * multiprocessors once KNOWN_UNITS·F are fetched, while more than FAR_UNITS·F are left. At the speed so far,
 * AHEAD_SHARE of these units is fetched meanwhile, so the queue does not become empty.
 */
const FAR_UNITS = 8;
const KNOWN_UNITS = 4;
const AHEAD_SHARE = 0.25;

/**
 * Prepares a launch with dynamic fetch. If several lanes fetch at one instant, the lowest lane is first. The cost of a
 * fetch is spread over the iterations until the queue is empty. A group is active while any of its lanes is active. A
 * block that starts after the queue is empty ends at once.
 */
export function prepareFetchingDevice(launch: Launch, work: FetchedWork): DeviceRun {
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
  // One heap for each multiprocessor: its groups by the iteration at which their next unit ends.
  const groups = createHeaps(M, groupsEach, true);
  const activeGroups = groups.sizes;
  // One heap for each group: its lanes by the end of their units on the clock of the group, which is `virtual` minus
  // `groupOffset`. The clock stands still during setup.
  const lanes = createHeaps(M * groupsEach, n, true);
  const groupOffset = new Float64Array(M * groupsEach);
  // Number of units that a lane has fetched and not begun.
  const laneHeld = new Int32Array(M * groupsEach * n);
  const laneNext = new Float64Array(M * groupsEach * n);
  const blockGroups = new Int32Array(M * R);
  const slotBlock = new Int32Array(M * R);
  const ended = new Int32Array(n);
  // Multiprocessors whose groups fetch at the same instant take turns: `taken` counts their steps since it began.
  const turns = new Float64Array(M);
  const taken = new Int32Array(M);
  const queue = indexedQueue(turns);

  // The state of a run: remaining units, started blocks, the latest end of a group, and the current cycle table.
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
    const first = units - left;
    for (let s = 0; s < M; s++) {
      plan(s);
      if (activeGroups[s] > 0) queue.push(s);
    }
    while (queue.size() > 0) {
      const done = units - left;
      if (given === null && left > FAR_UNITS * first && done >= KNOWN_UNITS * first) {
        // Units are draws, so it does not matter which multiprocessor fetches first. Each runs ahead alone.
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
    lanes.push(at, clock + length, lane);
  }

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
      const fetching = byGroup ? 1 : slotsOf(g);
      for (let lane = 0; lane < fetching && left > 0; lane++) beginUnit(s, group, lane, 0);
      groupOffset[at] = virtual[s] + setupIterations;
      groups.push(s, lanes.firstKey(at) + groupOffset[at], group);
      blockGroups[s * R + slot]++;
    }
    if (timeline) recordActive(timeline, s, time[s], activeGroups[s]);
  }

  function plan(s: number): void {
    nextEnd[s] = activeGroups[s] === 0 ? Infinity : time[s] + (groups.firstKey(s) - virtual[s]) * rate[activeGroups[s]];
    taken[s] = nextEnd[s] > time[s] ? 0 : taken[s] + 1;
    turns[s] = nextEnd[s] * (1 + TURN * taken[s]);
  }

  /** Switches to the rate without fetching, because the queue is empty at the current time of multiprocessor `at`. */
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
    const group = groups.firstIndex(s);
    const at = s * groupsEach + group;
    time[s] = nextEnd[s];
    virtual[s] = groups.firstKey(s);
    const clock = lanes.firstKey(at);
    // Lanes that end at the same instant fetch together, so the group runs the setup once for all of them.
    let count = 0;
    while (lanes.sizes[at] > 0 && lanes.firstKey(at) === clock) ended[count++] = lanes.pop(at);
    let begun = false;
    for (let i = 0; i < count; i++) {
      if (left === 0 && laneHeld[at * n + ended[i]] === 0) continue;
      beginUnit(s, group, ended[i], clock);
      begun = true;
    }
    if (begun) groupOffset[at] += setupIterations;
    if (lanes.sizes[at] > 0) groups.replaceFirst(s, lanes.firstKey(at) + groupOffset[at], group);
    else {
      groups.pop(s);
      last = Math.max(last, time[s]);
      const slot = Math.floor(group / W);
      if (timeline) recordActive(timeline, s, time[s], activeGroups[s]);
      if (--blockGroups[s * R + slot] === 0) {
        if (timeline) timeline.blockEndCycles[slotBlock[s * R + slot]] = time[s];
        // No unit is left to fetch, so a block that starts now ends now.
        if (block < G) start(s, slot);
      }
    }
    if (left === 0 && rate !== cyclesPerIteration) stopFetching(s);
    else plan(s);
  }

  return {
    get lastDispatchCycles() {
      return lastDispatchCycles;
    },
    run(random, events) {
      for (const list of [virtual, activeGroups, lanes.sizes, blockGroups, laneHeld, taken]) list.fill(0);
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
  };
}
