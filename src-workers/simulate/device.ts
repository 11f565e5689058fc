import { indexedQueue, type IndexedQueue } from '../numeric/queue.ts';
import {
  countCompeting,
  findMostCompeting,
  interpolateCycles,
  ONE_SCHEDULER,
  type Schedulers,
} from '../predict/time/cycles.ts';
import { createHeaps } from './heaps.ts';
import type { Random } from './random.ts';
import type { BlockSource } from './samplers.ts';

/** One launch on one device. README.md has the exact semantics. */
export interface Launch {
  /** M, integer ≥ 1. */
  readonly multiprocessors: number;
  /** R: blocks resident on a multiprocessor at once, integer ≥ 1. */
  readonly residentBlocks: number;
  /** W_b, integer ≥ 1. */
  readonly groupsPerBlock: number;
  /** G, integer ≥ 0. */
  readonly gridBlocks: number;
  /** t(w): cycles that one iteration of all active thread groups takes; index w = 0 … R·W_b or more, t(0) unused. */
  readonly cyclesPerIteration: Float64Array;
  /** If omitted, all groups of a multiprocessor compete with each other. */
  readonly schedulers?: Schedulers;
}

export interface Timeline {
  readonly blockMultiprocessor: Int32Array;
  readonly blockStartCycles: Float64Array;
  readonly blockEndCycles: Float64Array;
  /** Changes of the number of active thread groups, ordered by time within each multiprocessor. */
  readonly stepMultiprocessor: number[];
  readonly stepCycles: number[];
  readonly stepActiveGroups: number[];
}

export interface DeviceRun {
  /** Runs the launch with newly drawn blocks, and returns its time in cycles. */
  run(random: Random, timeline?: Timeline): number;
  readonly lastDispatchCycles: number;
}

export function allocateTimeline(gridBlocks: number): Timeline {
  return {
    blockMultiprocessor: new Int32Array(gridBlocks).fill(-1),
    blockStartCycles: new Float64Array(gridBlocks).fill(NaN),
    blockEndCycles: new Float64Array(gridBlocks).fill(NaN),
    stepMultiprocessor: [],
    stepCycles: [],
    stepActiveGroups: [],
  };
}

export function recordActive(timeline: Timeline, multiprocessor: number, cycles: number, groups: number): void {
  timeline.stepMultiprocessor.push(multiprocessor);
  timeline.stepCycles.push(cycles);
  timeline.stepActiveGroups.push(groups);
}

/** Times that differ by at most this fraction count as equal: sums in another order are rounded differently. */
const SAME_INSTANT = 1e-12;

/** Moves the multiprocessors whose next end is at most `until` into `ended`, ascending, and counts them. */
function takeEnded(queue: IndexedQueue, time: Float64Array, until: number, ended: Int32Array): number {
  let count = 0;
  while (queue.size() > 0 && time[queue.first()] <= until) ended[count++] = queue.pop();
  if (count > 1) ended.subarray(0, count).sort();
  return count;
}

export function prepareDevice(launch: Launch, source: BlockSource): DeviceRun {
  const { multiprocessors: M, residentBlocks: R, groupsPerBlock: W, gridBlocks: G, cyclesPerIteration: rate } = launch;
  const { schedulers = ONE_SCHEDULER } = launch;
  const { count: q } = schedulers;
  const most = findMostCompeting(R * W, schedulers, rate);

  const time = new Float64Array(M);
  // Scheduler k of multiprocessor s has index s·q + k.
  const virtual = new Float64Array(M * q);
  // One heap for each scheduler: its active groups by the iteration at which they end.
  const { keys: ends, sizes: active, push: pushGroup, pop: popGroup } = createHeaps(M * q, R * W, false);
  const activeOnAll = new Int32Array(M);
  const rates = new Float64Array(q);
  const groupsLeft = new Int32Array(M * R);
  const slotBlock = new Int32Array(M * R);
  const freeSlots = new Int32Array(M * R);
  const freeCount = new Int32Array(M);
  const queue = indexedQueue(time);
  const depths = new Float64Array(W);
  const freed = new Int32Array(M);
  let lastDispatchCycles = 0;

  return {
    get lastDispatchCycles() {
      return lastDispatchCycles;
    },
    run(random, timeline) {
      const nextBlock = source(random);
      time.fill(0);
      virtual.fill(0);
      active.fill(0);
      activeOnAll.fill(0);
      queue.clear();
      lastDispatchCycles = 0;
      for (let s = 0; s < M; s++) {
        freeCount[s] = R;
        for (let slot = 0; slot < R; slot++) freeSlots[s * R + slot] = R - 1 - slot;
      }

      function startBlock(s: number, slot: number): void {
        nextBlock(depths);
        groupsLeft[s * R + slot] = W;
        activeOnAll[s] += W;
        for (let i = 0; i < W; i++) {
          const own = s * q + ((slot * W + i) % q);
          pushGroup(own, virtual[own] + depths[i], slot);
        }
        if (timeline) recordActive(timeline, s, time[s], activeOnAll[s]);
      }

      function dispatch(s: number, block: number): void {
        const slot = freeSlots[s * R + --freeCount[s]];
        slotBlock[s * R + slot] = block;
        if (timeline) {
          timeline.blockMultiprocessor[block] = s;
          timeline.blockStartCycles[block] = time[s];
        }
        startBlock(s, slot);
      }

      /** Advances a multiprocessor until a group ends, and returns the scheduler of this group. */
      function advanceToEnd(s: number): number {
        let next = -1;
        let least = Infinity;
        for (let k = 0; k < q; k++) {
          const own = s * q + k;
          if (active[own] === 0) continue;
          rates[k] = interpolateCycles(rate, countCompeting(active[own], activeOnAll[s], schedulers), most);
          const cycles = (ends[own * R * W] - virtual[own]) * rates[k];
          if (cycles >= least) continue;
          least = cycles;
          next = own;
        }
        if (least > 0) {
          time[s] += least;
          for (let k = 0; k < q; k++) if (active[s * q + k] > 0) virtual[s * q + k] += least / rates[k];
        }
        virtual[next] = Math.max(virtual[next], ends[next * R * W]);
        return next;
      }

      /** Advances a multiprocessor until a block ends; returns false if it has no active group. */
      function advance(s: number): boolean {
        if (activeOnAll[s] === 0) return false;
        let isFreed = false;
        do {
          const own = advanceToEnd(s);
          const end = virtual[own];
          do {
            const slot = popGroup(own);
            activeOnAll[s]--;
            if (--groupsLeft[s * R + slot] === 0) {
              freeSlots[s * R + freeCount[s]++] = slot;
              if (timeline) timeline.blockEndCycles[slotBlock[s * R + slot]] = time[s];
              isFreed = true;
            }
          } while (active[own] > 0 && ends[own * R * W] <= end);
          if (timeline) recordActive(timeline, s, time[s], activeOnAll[s]);
        } while (!isFreed);
        return true;
      }

      let block = 0;
      for (let round = 0; round < R && block < G; round++) {
        for (let s = 0; s < M && block < G; s++) dispatch(s, block++);
      }
      for (let s = 0; s < M; s++) if (advance(s)) queue.push(s);

      while (block < G) {
        // All blocks that end at one instant end before a new one is dispatched, so blocks are distributed evenly.
        const now = time[queue.first()];
        const freedCount = takeEnded(queue, time, now * (1 + SAME_INSTANT), freed);
        lastDispatchCycles = now;
        let slotsLeft = true;
        while (slotsLeft && block < G) {
          slotsLeft = false;
          for (let i = 0; i < freedCount && block < G; i++) {
            const s = freed[i];
            if (freeCount[s] === 0) continue;
            dispatch(s, block++);
            slotsLeft = true;
          }
        }
        for (let i = 0; i < freedCount; i++) if (advance(freed[i])) queue.push(freed[i]);
      }
      for (let s = 0; s < M; s++) while (advance(s));
      let last = 0;
      for (let s = 0; s < M; s++) last = Math.max(last, time[s]);
      return last;
    },
  };
}
