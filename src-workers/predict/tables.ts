import type { GroupDepth } from '../domain/depth.ts';
import type { Balancing, LengthClass, MixedBalancing } from '../domain/design.ts';
import type { PipelineParameters } from '../domain/kernel.ts';
import type { Implementation } from '../domain/space.ts';
import type { LengthLaw } from '../domain/workload.ts';
import type { Demand } from '../models/pipeline/derive.ts';
import type { CpuLoads } from './cpu.ts';
import type { Budget } from '../numeric/budget.ts';
import type { DealtLaunch } from './time/dealt-launch.ts';
import type { FetchedOrder } from './depth/fetched.ts';
import type { DepthMeans } from './depth/means.ts';
import type { Shape } from './design/shapes.ts';
import type { SweepPlan } from './plan.ts';
import type { Arena } from './time/arena.ts';
import type { CycleTable, Schedulers } from './time/cycles.ts';
import type { BlockLaw } from './time/law.ts';
import type { Residency } from './time/residency.ts';

/** Tables of one plan in one worker. All designs share them. */
export interface Predictor {
  readonly plan: SweepPlan;
  readonly implementations: readonly Predictor[];
  /** Whether an implementation supports each value of the axes that it may restrict; `null` without implementations. */
  readonly allowed: Allowed | null;
  readonly counts: readonly number[];
  readonly balancing: readonly Balancing[];
  /** The shapes of each device: for a GPU by threads per unit, register cap, then block size; for a CPU by launch. */
  readonly shapes: readonly (readonly Shape[])[];
  /** Mean iterations of a lane if iterations are dealt to lanes, otherwise of a unit. */
  readonly meanLength: number;
  /** Mean length before iterations are dealt to lanes. */
  readonly elements: number;
  readonly dealt: Map<number, Predictor>;
  readonly tiled: Map<string, Predictor>;
  readonly paces: Paces;
  /** E[longest of all units] for independent units, iterations. */
  readonly longestLength: number;
  readonly longestGiven: number;
  /** Widest gap between neighbouring lengths below and above which the longest unit may lie, iterations. */
  readonly openStep: number;
  readonly cpuLoads: CpuLoads | null;
  readonly paddedLaws: Map<number, LengthLaw>;
  readonly isClass: boolean;
  readonly classes: Map<MixedBalancing, (readonly UnitClass[] | undefined)[]>;
  readonly fetchedOrders: Map<number, FetchedOrder>;
  readonly stackFactors: Map<number, number>;
  readonly laws: readonly LawCaches[];
  /** Two predictors may share caches if their plans have the same units. */
  readonly caches: Caches;
}

/** A class of units in a mixed design: the units at most `upTo` iterations long that no class before it has. */
export interface UnitClass {
  readonly threads: LengthClass['threads'];
  readonly upTo: number;
  /** Predicts only the units of this class, without balancing and in one launch. */
  readonly predictor: Predictor;
}

/** A text if the law depends on a setup or on the size of an even share; otherwise a number. */
export type LawKey = number | string;

export type Allowed = Readonly<Record<keyof Implementation['allows'], readonly boolean[]>>;

export interface Pace {
  /** Returns t(w), the cycles of an iteration of w active groups. `iterationFactor` scales them to the launch. */
  readonly getCycles: () => CycleTable;
  /** Returns the minimum number of cycles per iteration of a group, with at most this number of active groups. */
  readonly findBestRate: (groups: number) => number;
  readonly iterationFactor: number;
  readonly schedulers: Schedulers;
  /** Parameters of a `MeanRound`, for costs that are not in the cycle table. */
  readonly pipeline: PipelineParameters;
  readonly aloneCycles: AloneCycles;
  /** Traffic of one lane in an iteration, bytes of device memory. */
  readonly bytesPerIteration: number;
  /** Cycles to issue one iteration of a thread group. */
  readonly stepIssueCycles: number;
  /** Cycles to issue a thread group's `MeanRound`; `null` if there are no phases and no traffic. */
  readonly roundIssueCycles: number | null;
  /** Cycles to move the data of a thread group's `MeanRound`. */
  readonly transferCycles: number;
  /** Iterations that each start of a unit adds to a group. */
  readonly setupIterations: number;
  /** Iterations that each group spends on finding its shares and joining cut units, if slots take even shares. */
  readonly overheadIterations: number;
}

/** Cycles of an iteration and of the start of a unit, for a unit that is alone on its multiprocessor. */
export interface AloneCycles {
  readonly step: number;
  readonly start: number;
}

/** What a work group's `MeanRound` needs, whatever the number of active groups. */
export interface RoundCost {
  /** Traffic of one lane in an iteration, bytes of device memory. */
  readonly bytesPerIteration: number;
  /** > 0. */
  readonly iterations: number;
  /** How often the group waits for starts of units, > 0. */
  readonly starts: number;
  readonly step: RoundPart;
  readonly start: RoundPart;
  readonly thread: RoundPart;
  readonly alone: AloneCycles;
  readonly pipeline: PipelineParameters;
  readonly transferCycles: number;
  /** Largest number of active groups. */
  readonly most: number;
  /** @param schedulers their number (`Schedulers.count`) */
  readonly getCycles: (schedulers: number) => CycleTable;
}

export interface RoundPart extends Demand {
  readonly transferCycles: number;
}

export interface Paces {
  readonly hasNoPhases: boolean;
  readonly combines: boolean;
  /** Paces of iterations without other phases, by device, threads per unit, register cap, loop and fetching. */
  readonly plain: Pace[];
  readonly known: (key: number, make: () => Pace) => Pace;
  readonly rounds: (key: number, make: () => RoundCost) => RoundCost;
  readonly tables: Map<string, CycleTable>;
}

/** The mean work of a work group for one unit of each slot, or for an even share. */
export interface MeanRound {
  /** > 0. */
  readonly iterations: number;
  /** How often the group waits for starts of units, > 0; 1 if lanes start together. */
  readonly starts: number;
  readonly units: number;
}

export interface Caches {
  readonly budget: Budget;
  /** Laws by the text of the balancing, because its position on the axis changes with the axis. */
  readonly laws: Map<string, LawCaches>;
  readonly arena: Arena;
  shared: SharedByCaps | null;
  readonly dealt: Map<number, Caches>;
  readonly tiled: Map<string, Caches>;
  readonly classes: Map<string, Caches>;
}

export interface LawCaches {
  readonly depths: (key: LawKey, make: () => DepthLaws) => DepthLaws;
  readonly launches: (key: LawKey, make: () => DealtLaunch) => DealtLaunch;
  readonly meanRounds: Map<number, MeanRound>;
}

export interface DepthLaws {
  readonly means: GroupDepth;
  /** Block laws by the number of groups of a block. Each is for the `lastFilled` of the last design that used it. */
  blocks: (CachedBlock | undefined)[];
}

export interface CachedBlock {
  readonly law: BlockLaw;
  /** One residency for each device and register cap. */
  readonly residencies: (Residency | undefined)[];
}

/** What a design on a GPU usually shares with designs that differ only in their register cap. */
export interface SharedByCaps {
  readonly predictor: Predictor;
  readonly deviceAt: number;
  readonly threadsPerUnit: number;
  readonly loopAt: number;
  readonly balancingAt: number;
  readonly blockAt: number;
  readonly gridBlocks: number;
  /** The register cap changes this value only if lanes fetch. */
  readonly meanUnitsPerThread: number;
  readonly depths: DepthOfDesign;
  readonly setupIterations: number;
  readonly overheadIterations: number;
  readonly balancingMs: number;
}

/** Depth laws, which several designs may share, and the factors by which one design scales them. */
export interface DepthOfDesign {
  readonly means: DepthMeans;
  /** Mean units per slot of the design divided by the mean for which `means` was computed. */
  readonly scale: number;
  /** The law of the blocks; `null` if their units are listed in a given order. */
  readonly laws: DepthLaws | null;
  /** The law of the blocks whose slots have one unit less; `null` if they have no law of their own. */
  readonly shorter: DepthLaws | null;
  readonly fullerBlocks: number;
  /** Mean units per slot of the design divided by the mean for which the time was computed. */
  readonly timeScale: number;
  /** Fraction of the depth, 0…1, in which a slot finds its even share and joins cut units; 0 without even shares. */
  readonly searchShare: number;
}
