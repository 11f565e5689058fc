import type { Balancing, EvenShareBalancing, LengthClass, MixedBalancing } from '../domain/design.ts';
import type { PipelineParameters } from '../domain/kernel.ts';
import type { LengthLaw } from '../domain/workload.ts';
import type { CpuLoads } from './cpu.ts';
import type { CacheLimits } from './constants.ts';
import type { SharedUnits } from './dealing/even-share.ts';
import type { KnownLaunch } from './time/known-launch.ts';
import type { GivenOrder } from './dealing/given.ts';
import type { DepthTable } from './depth/depth-table.ts';
import type { FetchedOrder } from './depth/fetched.ts';
import type { DepthMeans } from './depth/means.ts';
import type { Shape } from './design/shapes.ts';
import type { SweepPlan } from './plan.ts';
import type { Arena } from './time/arena.ts';
import type { CycleTable } from './time/cycles.ts';
import type { BlockLaw } from './time/law.ts';
import type { Residency } from './time/residency.ts';

/* What a worker keeps while it predicts the designs of a plan. */

/** Tables of one plan in one worker: filled as designs ask for them, shared by all that come later. */
export interface Predictor {
  readonly plan: SweepPlan;
  /** By implementation: predictors of its kernel, over the same space; only this one where there is one. */
  readonly implementations: readonly Predictor[];
  /** By threads per unit, loop, balancing, register cap and block size: whether the implementation has them. */
  readonly allowed: Allowed | null;
  /** Values of each axis, in AXIS_ORDER. */
  readonly counts: readonly number[];
  readonly balancing: readonly Balancing[];
  /** By device: of a GPU by threads per unit, register cap, then block size; of a CPU by launch. */
  readonly shapes: readonly (readonly Shape[])[];
  /** Of the units, iterations: of a lane, where the iterations of a unit are dealt to several. */
  readonly meanLength: number;
  /** Of the units as the workload has them, iterations. */
  readonly elements: number;
  /** Of lanes that are dealt the iterations of a unit: by the place of the threads per unit on its axis. */
  readonly dealt: Map<number, Predictor>;
  /** Of units that blocks take by tiles: by width and height of a tile. */
  readonly tiled: Map<string, Predictor>;
  readonly paces: Paces;
  readonly meanRounds: Map<number, MeanRound>;
  /** E[longest of all units], iterations, where units are draws: no launch of whole units is over before. */
  readonly longestLength: number;
  /** The longest of the units given, iterations. */
  readonly longestGiven: number;
  /** Longest step between two lengths, iterations, of which it is open whether the longest unit is beyond it. */
  readonly openStep: number;
  /** `null` where no CPU is predicted. */
  readonly cpuLoads: CpuLoads | null;
  /** Laws of padded units, by the units of a slice; see `depth/padded.ts`. */
  readonly paddedLaws: Map<number, LengthLaw>;
  /** Whether its units are a class of a mixed design. */
  readonly isClass: boolean;
  /** Of each mixed balancing, by device. */
  readonly classes: Map<MixedBalancing, (readonly UnitClass[] | undefined)[]>;
  /** Of units in a given order, by balancing: for every prediction, where `knownGivenOrder` is for every edit. */
  readonly givenOrders: Map<number, GivenOrder>;
  /** Of units in a given order: by units per fetch and lanes of a group. */
  readonly fetchedOrders: Map<number, FetchedOrder>;
  /** Of units in a given order that are cut into even shares. */
  readonly sharedUnits: Map<EvenShareBalancing['kind'], SharedUnits>;
  /** `stackFactor` by device and units per group. */
  readonly stackFactors: Map<number, number>;
  /** May be shared with another predictor, of a plan with the same workload, setup, loops and balancing. */
  readonly caches: Caches;
}

/** A class of the units of a mixed design: those longer than `above` and at most as long as `upTo`, iterations. */
export interface UnitClass {
  readonly threads: LengthClass['threads'];
  readonly above: number;
  readonly upTo: number;
  /** Of its units alone: without balancing, in one launch. */
  readonly predictor: Predictor;
}

/** Text where a law depends on more than fits a number: on setups that cooperation makes longer, or on the items of a share. */
export type LawKey = number | string;

/** Of each axis that an implementation may narrow: which positions it has. */
export interface Allowed {
  readonly threadsPerUnit: readonly boolean[];
  readonly loop: readonly boolean[];
  readonly balancing: readonly boolean[];
  readonly registerCap: readonly boolean[];
  readonly blockThreads: readonly boolean[];
}

/** The pace of a launch. */
export interface Pace {
  /** Cycles, by active work groups; times `iterationFactor` those of an iteration. */
  readonly cyclesPerIteration: CycleTable;
  readonly iterationFactor: number;
  /** The same as parameters, for resources that are not in the table. */
  readonly pipeline: PipelineParameters;
  /** Of the only group of a multiprocessor: an iteration, and the start of a unit. */
  readonly aloneCycles: { readonly step: number; readonly start: number };
  /** Issue of an iteration and of a mean round (`null`: iterations alone), and traffic of one, cycles of a thread group. */
  readonly stepIssueCycles: number;
  readonly roundIssueCycles: number | null;
  readonly transferCycles: number;
  /** What each start of a unit adds to a group, iterations. */
  readonly setupIterations: number;
  /** What a group runs besides, where slots take even shares, iterations. */
  readonly overheadIterations: number;
}

/** Paces of one predictor; tables of designs without phases are shared by all that have the same. */
export interface Paces {
  /** Whether nothing but its iterations is known of the kernel, and whether it combines what several threads have. */
  readonly hasNoPhases: boolean;
  readonly combines: boolean;
  /** Of launches that are their iterations alone: by device, threads per unit, register cap and whether they are one loop. */
  readonly plain: Pace[];
  readonly known: Map<number, Pace>;
  readonly tables: Map<string, CycleTable>;
}

/** What a work group does on average for each unit of its slots, or for an even share. */
export interface MeanRound {
  /** Iterations, > 0. */
  readonly iterations: number;
  /** Starts of units that it stands still for, > 0: one where its lanes start together. */
  readonly starts: number;
  readonly lanes: number;
  /** Units of each lane. */
  readonly units: number;
}

export interface Caches {
  readonly limits: CacheLimits;
  /** Depth laws in use, and the ones in use before these became too many; the older generation is dropped. */
  depths: Map<LawKey, DepthLaws>;
  olderDepths: Map<LawKey, DepthLaws>;
  /** Launches whose units are known, in the same way; and the numbers kept by those in use. */
  launches: Map<LawKey, KnownLaunch>;
  olderLaunches: Map<LawKey, KnownLaunch>;
  launchNumbers: number;
  /** Where block laws live. */
  readonly arena: Arena;
  /** What the design predicted last shares with others that differ in their register cap only. */
  shared: SharedByCaps | null;
  /** Of the lanes that are dealt the iterations of a unit, by the threads that share it. */
  readonly dealt: Map<number, Caches>;
  /** Of units that blocks take by tiles: by width and height of a tile. */
  readonly tiled: Map<string, Caches>;
}

/** A depth law and the laws of its blocks. */
export interface DepthLaws {
  readonly means: DepthMeans;
  /** Made on demand: the times of sorted launches do not come from it. */
  readonly table: DepthTable;
  /** By W_b: of blocks whose last group is as full as in the design asked for last. */
  blocks: (KnownBlock | undefined)[];
}

export interface KnownBlock {
  readonly law: BlockLaw;
  /** By device and register cap. */
  readonly residencies: (Residency | undefined)[];
}

/** Everything about a design of a GPU that does not depend on its register cap. */
export interface SharedByCaps {
  readonly predictor: Predictor;
  readonly deviceAt: number;
  readonly threadsPerUnit: number;
  readonly loopAt: number;
  readonly balancingAt: number;
  readonly blockAt: number;
  readonly gridBlocks: number;
  /** Depends on the cap only where lanes fetch. */
  readonly meanUnitsPerThread: number;
  readonly depths: DepthOfDesign;
  /** Of its pace, which depends on the cap by the residency alone. */
  readonly setupIterations: number;
  readonly overheadIterations: number;
  readonly balancingMs: number;
}

/** The depth laws of a design. They are shared between designs, so a design has its own means and factors. */
export interface DepthOfDesign {
  readonly means: DepthMeans;
  /** Mean units per slot over those of `means`. */
  readonly scale: number;
  /** Of its blocks, and of those with a unit per slot fewer where not all have as many; `null` where the units are known in a given order. */
  readonly laws: DepthLaws | null;
  readonly shorter: DepthLaws | null;
  readonly fullerBlocks: number;
  /** Mean units per slot over those that the time is computed for. */
  readonly timeScale: number;
  /** Part of the depth that is search and carry, where slots take even shares. */
  readonly searchShare?: number;
}
