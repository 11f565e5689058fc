import { fail, ok, type Result } from '../domain/result.ts';
import type { LengthLaw } from '../domain/workload.ts';
import { checkLaunch, type DeviceRun, type Launch } from './device.ts';
import { indexedQueue } from './queue.ts';
import { aliasSampler } from './samplers.ts';

/** Work that lanes fetch for themselves from one queue of the whole device. */
export interface FetchedWork {
  readonly law: LengthLaw;
  /** Units in the queue, integer ≥ 0. */
  readonly units: number;
  /** n: lanes of a thread group that fetch, integer ≥ 1. */
  readonly lanesPerGroup: number;
  /** Lanes of a block where its last group is not full; lanesPerGroup·groupsPerBlock if left out. */
  readonly lanesPerBlock?: number;
  /** Iterations before the first of each unit, ≥ 0: setup, and the fetch itself. The group's other lanes wait for it. */
  readonly setupIterations: number;
}

/** Units between two looks at `cancelled`. */
const CANCEL_CHECK_UNITS = 65536;

/**
 * Prepares a launch whose lanes fetch the next unit of a common queue the moment they have done one (dynamic fetch,
 * persistent blocks); at the same instant the lowest lane fetches first. A group is active while any of its lanes is; a block ends with its last group; blocks that start
 * after the queue has run dry end at once.
 * Fails with `bad-input` on a launch or work that means nothing.
 */
export function prepareFetchingDevice(launch: Launch, work: FetchedWork, cancelled?: () => boolean): Result<DeviceRun> {
  const checked = checkLaunch(launch);
  if (!checked.ok) return checked;
  const { multiprocessors: M, residentBlocks: R, groupsPerBlock: W, gridBlocks: G, cyclesPerIteration: rate } = launch;
  const { units, lanesPerGroup: n, setupIterations } = work;
  if (!(Number.isSafeInteger(units) && units >= 0)) {
    return fail('bad-input', `units is ${units}; expected an integer of at least 0`);
  }
  if (!(Number.isSafeInteger(n) && n >= 1)) {
    return fail('bad-input', `lanesPerGroup is ${n}; expected an integer of at least 1`);
  }
  if (launch.launchOverheadCycles !== 0) {
    return fail(
      'unsupported',
      `launch overhead of ${launch.launchOverheadCycles} cycles with fetched work; expected 0`,
    );
  }
  const lanesPerBlock = work.lanesPerBlock ?? n * W;
  const draw = aliasSampler(work.law.probability);
  const { support } = work.law;

  const lanesEach = R * W * n;
  const time = new Float64Array(M);
  const virtual = new Float64Array(M);
  const nextEnd = new Float64Array(M);
  const activeGroups = new Int32Array(M);
  const activeLanes = new Int32Array(M);
  // Heap of lanes per multiprocessor, keyed by the virtual end of their unit; a lane's group is lane / n.
  const heapEnd = new Float64Array(M * lanesEach);
  const heapLane = new Int32Array(M * lanesEach);
  // Setup that a group had run when a lane's end was put in the heap, and so far: the lane ends later by the difference.
  const laneSetup = new Float64Array(M * lanesEach);
  const groupSetup = new Float64Array(M * R * W);
  const groupFetched = new Float64Array(M * R * W);
  const groupLanes = new Int32Array(M * R * W);
  const blockGroups = new Int32Array(M * R);
  const slotBlock = new Int32Array(M * R);
  const queue = indexedQueue(nextEnd);
  let lastDispatchCycles = 0;

  /** Whether a lane's end comes before that of a heap entry; of ends at the same instant the lowest lane's comes first. */
  function before(end: number, lane: number, entry: number): boolean {
    return end < heapEnd[entry] || (end === heapEnd[entry] && lane < heapLane[entry]);
  }

  function push(s: number, end: number, lane: number): void {
    const base = s * lanesEach;
    let i = activeLanes[s]++;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!before(end, lane, base + parent)) break;
      heapEnd[base + i] = heapEnd[base + parent];
      heapLane[base + i] = heapLane[base + parent];
      i = parent;
    }
    heapEnd[base + i] = end;
    heapLane[base + i] = lane;
  }

  /** Gives the first lane of the heap a new end, or with the last lane's takes its place. */
  function settle(s: number, end: number, lane: number): void {
    const base = s * lanesEach;
    const size = activeLanes[s];
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= size) break;
      if (child + 1 < size && before(heapEnd[base + child + 1], heapLane[base + child + 1], base + child)) child++;
      if (before(end, lane, base + child)) break;
      heapEnd[base + i] = heapEnd[base + child];
      heapLane[base + i] = heapLane[base + child];
      i = child;
    }
    heapEnd[base + i] = end;
    heapLane[base + i] = lane;
  }

  return ok({
    get lastDispatchCycles() {
      return lastDispatchCycles;
    },
    run(random, timeline) {
      time.fill(0);
      virtual.fill(0);
      activeGroups.fill(0);
      activeLanes.fill(0);
      groupLanes.fill(0);
      groupSetup.fill(0);
      groupFetched.fill(-1);
      blockGroups.fill(0);
      queue.clear();
      lastDispatchCycles = 0;
      let left = units;
      let block = 0;

      /** A lane takes a unit now; returns its end. Lanes of a group that fetch at the same instant share the setup. */
      function fetchUnit(s: number, lane: number): number {
        const group = s * R * W + Math.floor(lane / n);
        left--;
        if (groupFetched[group] !== virtual[s]) {
          groupFetched[group] = virtual[s];
          groupSetup[group] += setupIterations;
        }
        laneSetup[s * lanesEach + lane] = groupSetup[group];
        return virtual[s] + setupIterations + support[draw(random)];
      }

      function recordActive(s: number): void {
        timeline!.stepMultiprocessor.push(s);
        timeline!.stepCycles.push(time[s]);
        timeline!.stepActiveGroups.push(activeGroups[s]);
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
          const lanes = Math.min(n, lanesPerBlock - g * n);
          for (let lane = 0; lane < lanes && left > 0; lane++) {
            push(s, fetchUnit(s, group * n + lane), group * n + lane);
            groupLanes[s * R * W + group]++;
          }
          activeGroups[s]++;
          blockGroups[s * R + slot]++;
        }
        if (timeline) recordActive(s);
      }

      function schedule(s: number): void {
        if (activeLanes[s] === 0) return;
        nextEnd[s] = time[s] + (heapEnd[s * lanesEach] - virtual[s]) * rate[activeGroups[s]];
        queue.push(s);
      }

      for (let slot = 0; slot < R && block < G; slot++) {
        for (let s = 0; s < M && block < G; s++) start(s, slot);
      }
      for (let s = 0; s < M; s++) schedule(s);
      let last = 0;
      let nextCheck = CANCEL_CHECK_UNITS;
      while (queue.size() > 0) {
        if (units - left >= nextCheck) {
          if (cancelled?.()) return NaN;
          nextCheck = units - left + CANCEL_CHECK_UNITS;
        }
        const s = queue.pop();
        const base = s * lanesEach;
        time[s] = nextEnd[s];
        virtual[s] = heapEnd[base];
        const lane = heapLane[base];
        const ownGroup = s * R * W + Math.floor(lane / n);
        const waited = groupSetup[ownGroup] - laneSetup[base + lane];
        const together = groupFetched[ownGroup] === virtual[s] && waited === setupIterations;
        if (waited > 0 && !together) {
          laneSetup[base + lane] = groupSetup[ownGroup];
          settle(s, virtual[s] + waited, lane);
        } else if (left > 0) {
          settle(s, fetchUnit(s, lane), lane);
        } else {
          const size = --activeLanes[s];
          if (size > 0) settle(s, heapEnd[base + size], heapLane[base + size]);
          const group = Math.floor(lane / n);
          last = Math.max(last, time[s]);
          if (--groupLanes[s * R * W + group] === 0) {
            activeGroups[s]--;
            const slot = Math.floor(group / W);
            if (timeline) recordActive(s);
            if (--blockGroups[s * R + slot] === 0) {
              if (timeline) timeline.blockEndCycles[slotBlock[s * R + slot]] = time[s];
              // Nothing is left to fetch, so a block that starts now ends now.
              if (block < G) start(s, slot);
            }
          }
        }
        schedule(s);
      }
      return last;
    },
  });
}
