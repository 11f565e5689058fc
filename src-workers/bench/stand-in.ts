import type { FirstUnitLoopProfile, UnitLoopProfile } from '../domain/benchmark.ts';
import type { KernelProfile } from '../domain/kernel.ts';
import { fail, type Result } from '../domain/result.ts';
import type { SweepPlan } from '../predict/plan.ts';
import { SECTOR_WORDS } from './unit-loop.ts';

/**
 * The loop that stands in for a kernel: the profile that it can have, the instructions of a pass, and the kernel that its times are
 * predicted by. What a pass needs beside its steps is counted in the machine code of compute capabilities 8.0 to 12.0
 * (test/integration/bench-cuda-nvcc.slow.test.ts).
 */

/** Most iterations of one pass: what a pass needs beside its steps is then needed once for all of them. */
const MAX_ITERATIONS = { cuda: 8, webgpu: 1 } as const;
type StandInBackend = keyof typeof MAX_ITERATIONS;

const SECTOR_BYTES = 4 * SECTOR_WORDS;
/** 128 MiB: the most a WebGPU buffer holds by default. */
const TABLE_WORDS = 2 ** 25;
/** Registers of the loop beside those that its steps go round in. */
const OWN_REGISTERS = 16;
const MAX_THREADS_PER_UNIT = 32;

/** What a pass consists of. Loads: in every pass, and in how many of 2³² passes there is one more. */
export interface UnitLoopShape {
  readonly iterations: number;
  readonly floats: number;
  readonly integers: number;
  readonly doubles: number;
  readonly specials: number;
  readonly exchanges: number;
  readonly loads: number;
  readonly loadRate: number;
  readonly streamed: number;
  readonly streamRate: number;
  /** Machine instructions of the pass: all, and those of integers and logic. */
  readonly instructions: number;
  readonly integerInstructions: number;
}

/** Refuses to run the loop of version 1. */
export function oldUnitLoop(): Result<never> {
  return fail(
    'unsupported',
    'the measurement is of an older loop that stood in for a kernel, which this version does not run. Start a new measurement',
  );
}

/** φ(u): the part of an iteration that each of u threads does which share a unit. */
function shareOf({ serialFraction: σ, cooperationCost: κ }: UnitLoopProfile, u: number): number {
  return (1 - σ) / u + σ + κ * Math.log2(u);
}

/** Lanes for which a dependent load brings one sector, so that loads bring no more bytes than the profile says, where that can be. */
export function lanesPerSector({
  dependentLoadsPerIteration: loads,
  bytesPerIteration: bytes,
}: UnitLoopProfile): number {
  if (bytes === 0) return MAX_THREADS_PER_UNIT;
  return Math.min(MAX_THREADS_PER_UNIT, 2 ** Math.max(0, Math.ceil(Math.log2((SECTOR_BYTES * loads) / bytes))));
}

/** Whether the loop reads anything from its table. */
export function hasTable({ tableWords }: UnitLoopProfile): boolean {
  return tableWords > SECTOR_WORDS;
}

/** Sectors that an iteration of a thread reads besides, one after another. */
function streamedSectors(profile: UnitLoopProfile): number {
  const { dependentLoadsPerIteration: loads, bytesPerIteration: bytes } = profile;
  return Math.max(0, bytes / SECTOR_BYTES - loads / lanesPerSector(profile));
}

/** So many in every pass, and one more in so many of 2³². */
function inPasses(mean: number): { readonly each: number; readonly rate: number } {
  const each = Math.floor(mean + 2 ** -10);
  return { each, rate: Math.round(Math.max(0, mean - each) * 2 ** 22) * 2 ** 10 };
}

/** What a pass needs beside its steps: instructions in all, and of integers and logic. */
function overhead(profile: UnitLoopProfile, u: number, iterations: number, exchanges: number) {
  const mean = iterations * shareOf(profile, u);
  const loads = inPasses(mean * profile.dependentLoadsPerIteration);
  const streamed = inPasses(mean * streamedSectors(profile));
  const loadCount = loads.each + Math.sign(loads.rate);
  const streamedCount = streamed.each + Math.sign(streamed.rate);
  const integers =
    // Updating the result; in a pass of several iterations also the comparison whether this one counts, which ends a pass of one.
    (iterations > 1 ? 2 * iterations : 1) +
    // Counting iterations down; with several threads also asking all lanes, and a copy or a minimum.
    (u === 1 ? 2 : 4) +
    exchanges +
    // An address of 64 bits for each, and two links of the chain; whether this pass has one more.
    (loadCount > 0 ? loadCount + 2 : 0) +
    (loads.rate > 0 ? 3 : 0) +
    // An address, its advance and wrap, and a link.
    4 * streamedCount +
    (streamed.rate > 0 ? 4 : 0);
  return { loads, streamed, integers, instructions: integers + exchanges + loadCount + streamedCount + 1 };
}

/**
 * Exchanges of a pass: half of what cooperation costs, one in each step of each iteration at most, and one in each step at least. None
 * where threads share nothing of an iteration.
 */
function exchangesOf(
  { instructionsPerIteration, cooperationCost, serialFraction }: UnitLoopProfile,
  u: number,
  iterations: number,
): number {
  const steps = serialFraction < 1 ? Math.log2(u) : 0;
  const wanted = Math.round((iterations * instructionsPerIteration * cooperationCost * steps) / 2);
  return Math.min(iterations * steps, Math.max(steps, wanted));
}

/** Links between steps of two classes, and a step. */
const LEAST_STEPS = 2;

function least(profile: UnitLoopProfile, u: number, iterations: number): number {
  return overhead(profile, u, iterations, exchangesOf(profile, u, iterations)).instructions + LEAST_STEPS;
}

/** Iterations of a pass: as few as have room for what it needs beside its steps. */
export function iterationsOfPass(profile: UnitLoopProfile, u: number, backend: StandInBackend): number {
  const most = Math.min(u, MAX_ITERATIONS[backend]);
  for (let iterations = 1; iterations < most; iterations *= 2)
    if (least(profile, u, iterations) <= iterations * profile.instructionsPerIteration * shareOf(profile, u))
      return iterations;
  return most;
}

/** The pass of u threads that share a unit, of so many iterations. */
export function unitLoopShape(profile: UnitLoopProfile, u: number, iterations: number): UnitLoopShape {
  const { instructionsPerIteration, integerShare, fp64Share, specialShare } = profile;
  const all = iterations * instructionsPerIteration * shareOf(profile, u);
  const exchanges = exchangesOf(profile, u, iterations);
  const { loads, streamed, ...needed } = overhead(profile, u, iterations, exchanges);
  let room = Math.max(0, Math.round(all - needed.instructions));
  /** Steps of a class with a link in and one out, as far as there is room; a single one would be mostly links. */
  const linkedSteps = (wanted: number): number => {
    const steps = Math.min(Math.round(wanted), room - 2);
    if (steps < LEAST_STEPS) return 0;
    room -= steps + 2;
    return steps;
  };
  const doubles = linkedSteps(fp64Share * all);
  const specials = linkedSteps(specialShare * all);
  const linksBefore = 2 * (Math.sign(doubles) + Math.sign(specials));
  // Integers need a link out, FP32 one in and one out.
  const integersWanted = Math.round(integerShare * all - needed.integers - linksBefore - 3);
  const floats = linkedSteps(room - 2 - (integersWanted > 0 ? integersWanted + 1 : 0));
  const integers = Math.max(0, room - 1);
  const linked = linksBefore + 2 * Math.sign(floats) + Math.sign(integers);
  return {
    iterations,
    floats,
    integers,
    doubles,
    specials,
    exchanges,
    loads: loads.each,
    loadRate: loads.rate,
    streamed: streamed.each,
    streamRate: streamed.rate,
    instructions: needed.instructions + linked + integers + floats + doubles + specials,
    integerInstructions: needed.integers + linked + integers,
  };
}

/** Registers that the steps of a pass go round in. */
export function heldRegisters(profile: UnitLoopProfile, { floats, integers }: UnitLoopShape) {
  const room = Math.max(2, profile.registersPerThread - OWN_REGISTERS);
  const heldIntegers = Math.max(
    1,
    Math.min(Math.floor(integers / 2), Math.round((room * integers) / Math.max(1, integers + floats))),
  );
  return { floats: Math.max(1, Math.min(floats, room - heldIntegers)), integers: heldIntegers };
}

const AXIS_OF_THREADS = [1, 2, 4, 8, 16, 32] as const;

/**
 * The loop that stands in for a kernel: what the kernel does, as near as the loop's own needs allow. A short iteration becomes as long as
 * a pass has to be, and the serial fraction of a loop whose passes have to be longer than the kernel's is larger.
 */
export function unitLoopProfile(kernel: KernelProfile, backend: StandInBackend): UnitLoopProfile {
  const { integerShare = 0, fp64Share = 0, specialShare = 0, accesses } = kernel;
  const bytesOf = ({ pattern, elementBytes }: NonNullable<typeof accesses>[number]): number =>
    pattern === 'scattered' ? SECTOR_BYTES : elementBytes;
  const bytesPerIteration = accesses ? accesses.reduce((sum, one) => sum + bytesOf(one), 0) : kernel.bytesPerIteration;
  const { dependentLoadsPerIteration } = kernel;
  // WGSL has no FP64.
  const doubles = backend === 'cuda' ? fp64Share : 0;
  const wanted: UnitLoopProfile = {
    version: 2,
    instructionsPerIteration: kernel.instructionsPerIteration,
    integerShare,
    fp64Share: doubles,
    specialShare,
    serialFraction: kernel.serialFraction,
    cooperationCost: kernel.cooperationCost,
    dependentLoadsPerIteration,
    bytesPerIteration,
    registersPerThread: kernel.registersPerThread,
    tableWords: dependentLoadsPerIteration > 0 || bytesPerIteration > 0 ? TABLE_WORDS : SECTOR_WORDS,
  };
  const instructionsPerIteration = Math.max(wanted.instructionsPerIteration, least(wanted, 1, 1));
  let own: UnitLoopProfile = { ...wanted, instructionsPerIteration };
  // A larger share of an iteration means more loads in a pass, which need more themselves.
  for (let before: UnitLoopProfile | null = null; before?.serialFraction !== own.serialFraction;) {
    before = own;
    own = withRoom(own, backend);
  }
  return { ...own, integerShare: integerShareOf(own) };
}

/** With σ, and where that is not enough κ, for which the longest passes have room for what they need beside their steps. */
function withRoom(profile: UnitLoopProfile, backend: StandInBackend): UnitLoopProfile {
  const shares = AXIS_OF_THREADS.slice(1).map((u) => {
    const iterations = Math.min(u, MAX_ITERATIONS[backend]);
    return { u, share: least(profile, u, iterations) / iterations / profile.instructionsPerIteration };
  });
  const cooperationCost = Math.max(
    profile.cooperationCost,
    ...shares.map(({ u, share }) => (share - 1) / Math.log2(u)),
  );
  const serialFraction = Math.max(
    profile.serialFraction,
    ...shares.map(({ u, share }) => (share - cooperationCost * Math.log2(u) - 1 / u) / (1 - 1 / u)),
  );
  return { ...profile, cooperationCost, serialFraction: Math.min(1, serialFraction) };
}

/** Of the loop itself, on one thread per unit. */
function integerShareOf(profile: UnitLoopProfile): number {
  const { integerInstructions, instructions } = unitLoopShape(profile, 1, 1);
  return Math.max(profile.integerShare, integerInstructions / instructions);
}

/** Instructions of a step, of a dependent load and of the turn of version 1, whose measurements are kept. */
const FIRST = { step: 6, load: 6, turn: 5 } as const;
/** Instructions that change a unit in the loop, and what the flattened form adds to each pass. */
const SETUP_INSTRUCTIONS = 24;
const FLATTENED_INSTRUCTIONS = 8;

/**
 * The kernel that a stand-in is, for predicting its times: its own profile. Registers, and so the blocks that are resident, stay those of
 * the kernel it stands in for, to which launches are held.
 */
export function standInKernel(kernel: KernelProfile, profile: UnitLoopProfile | FirstUnitLoopProfile): KernelProfile {
  const own = profile.version === 2 ? profile : firstKernel(profile);
  const { instructionsPerIteration: all } = own;
  return {
    ...kernel,
    accesses: undefined,
    instructionsPerIteration: all,
    integerShare: own.integerShare,
    fp64Share: own.fp64Share,
    specialShare: own.specialShare,
    serialFraction: own.serialFraction,
    cooperationCost: own.cooperationCost,
    dependentLoadsPerIteration: own.dependentLoadsPerIteration,
    bytesPerIteration: own.bytesPerIteration,
    sharing: 'split',
    prologue: undefined,
    unit: { instructions: SETUP_INSTRUCTIONS },
    combine: undefined,
    refill: undefined,
    chainInstructions: undefined,
    dependentExchanges: undefined,
    flattenedCost: Math.max(kernel.flattenedCost ?? 0, FLATTENED_INSTRUCTIONS / all),
  };
}

/** Its exchange is two instructions, and each of its dependent loads moved a sector for each lane. */
function firstKernel({
  parallelSteps,
  serialSteps,
  dependentLoads,
}: FirstUnitLoopProfile): Omit<UnitLoopProfile, 'version' | 'registersPerThread' | 'tableWords'> {
  const { step, load, turn } = FIRST;
  const serial = serialSteps * step + dependentLoads * load + turn;
  const all = serial + parallelSteps * step;
  return {
    instructionsPerIteration: all,
    integerShare: 1,
    fp64Share: 0,
    specialShare: 0,
    serialFraction: serial / all,
    cooperationCost: 2 / all,
    dependentLoadsPerIteration: dependentLoads,
    bytesPerIteration: dependentLoads * SECTOR_BYTES,
  };
}

/** A plan that predicts the times of the stand-in, and not those of the kernel: what was measured of the kernel is left out. */
export function standInPlan(plan: SweepPlan, profile: UnitLoopProfile | FirstUnitLoopProfile): SweepPlan {
  const kernel = standInKernel(plan.kernel, profile);
  return { ...plan, id: `${plan.id} stand-in ${JSON.stringify(profile)}`, kernel, pipeline: {} };
}
