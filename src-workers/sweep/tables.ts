import type { Balancing } from '../domain/design.ts';
import type { DepthMeans } from '../models/balancing/mixed.ts';
import type { Arena } from '../models/composite/arena.ts';
import type { DepthTable } from '../models/composite/depth-table.ts';
import type { BlockLaw } from '../models/composite/law.ts';
import type { Residency } from '../models/composite/predict.ts';
import type { SmoothedRate } from '../models/composite/rate.ts';
import type { CpuLoads } from './cpu.ts';
import type { PlacedLaunch } from './placed.ts';
import type { SweepPlan } from './plan.ts';
import type { Shape } from './shapes.ts';

/** Tables of one study in one worker: filled as designs ask for them, shared by all that come later. */
export interface Predictor {
  readonly plan: SweepPlan;
  readonly counts: readonly number[];
  readonly balancing: readonly Balancing[];
  /** By device: of a GPU by register cap, then block size; of a CPU by launch. */
  readonly shapes: readonly (readonly Shape[])[];
  /** By device, then register cap; none of a CPU. */
  readonly rates: readonly (readonly SmoothedRate[])[];
  /** E[longest of all units], set up, iterations: no launch is over before. */
  readonly longestUnit: number;
  /** Longest step between two lengths, iterations, of which it is open whether the longest unit is beyond it. */
  readonly openStep: number;
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
  /** What the design predicted last shares with others that differ in their register cap only. */
  capless: Capless | null;
}

/** A depth law and the laws of its blocks, by W_b: of those whose last group is as full as in the design asked for last. */
export interface DepthLaws {
  readonly means: DepthMeans;
  /** Made when it is asked for: times of sorted launches are not taken from it. */
  readonly table: DepthTable;
  blocks: (KnownBlock | undefined)[];
}

/** A block law, and what was prepared of it: by device and register cap. */
interface KnownBlock {
  readonly law: BlockLaw;
  readonly residencies: (Residency | undefined)[];
}

/** Everything about a design of a GPU that its register cap has no part in. */
export interface Capless {
  readonly predictor: Predictor;
  readonly deviceAt: number;
  readonly threadsPerUnit: number;
  readonly loopAt: number;
  readonly balancingAt: number;
  readonly blockAt: number;
  readonly gridBlocks: number;
  /** The cap does have a part in this one where slots fetch. */
  readonly meanUnitsPerThread: number;
  readonly means: DepthMeans;
  /** Mean units per slot over those of the means. */
  readonly scale: number;
  /** Of its blocks, and of those with a unit per slot less where not all have as many. */
  readonly depths: DepthLaws;
  readonly shorter: DepthLaws | null;
  readonly fullerBlocks: number;
  /** Mean units per slot over those that times are taken of. */
  readonly timeScale: number;
  /** Time of an iteration of a launch over t(w): what cooperation and the reconvergence stack cost. */
  readonly iterationFactor: number;
  readonly balancingMs: number;
}
