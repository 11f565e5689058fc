import type {
  AnyUnitLoopProfile,
  FirstUnitLoopProfile,
  SecondUnitLoopProfile,
  UnitLoopProfile,
} from '../domain/benchmark.ts';
import type { KernelProfile } from '../domain/kernel.ts';
import { kernelPhase } from '../domain/provenance.ts';
import { type Result, unsupported } from '../domain/result.ts';
import type { SweepPlan } from '../predict/plan.ts';
import { SECTOR_WORDS } from './unit-loop.ts';

/**
 * The loop that stands in for a kernel. The steps of a pass follow the profile. The other instructions of a pass were
 * counted in the machine code of compute capabilities 8.0 to 12.0 (test/integration/bench-cuda-nvcc.slow.test.ts).
 */

type StandInBackend = 'cuda' | 'webgpu';

const SECTOR_BYTES = 4 * SECTOR_WORDS;
/** 128 MiB, the default limit of WebGPU for a storage buffer. */
const TABLE_WORDS = 2 ** 25;
const OWN_REGISTERS = 16;
const MAX_THREADS_PER_UNIT = 32;

/** The contents of a pass. A rate is the fraction of passes (in units of 2⁻³²) that have one more load of the kind. */
export interface UnitLoopShape {
  readonly floats: number;
  readonly integers: number;
  readonly doubles: number;
  readonly specials: number;
  readonly exchanges: number;
  readonly loads: number;
  readonly loadRate: number;
  readonly streamed: number;
  readonly streamRate: number;
  /** Machine instructions of a pass. `integerInstructions` of them are integer or logic instructions. */
  readonly instructions: number;
  readonly integerInstructions: number;
  /** `unitSteps` run once per unit, `combineSteps` in each of the log₂ u steps that combine a unit's results. */
  readonly unitSteps: number;
  readonly combineSteps: number;
}

export function refuseCap(registerCap: number, platform: string): Result<never> {
  return unsupported(
    `The design has a cap of ${registerCap} registers per thread, but ${platform} cannot cap registers.`,
  );
}

export function oldUnitLoop(): Result<never> {
  return unsupported('The measurement used an older stand-in loop, which this version cannot run. Measure anew.');
}

function computeShare({ sharing, serialFraction: σ, cooperationCost: κ }: UnitLoopProfile, u: number): number {
  return sharing === 'deal' ? 1 : (1 - σ) / u + σ + κ * Math.log2(u);
}

/** Returns how many lanes (at most 32) share a dependent load's sector, to move no more than the profile's bytes. */
export function lanesPerSector({
  dependentLoadsPerIteration: loads,
  bytesPerIteration: bytes,
}: UnitLoopProfile): number {
  if (bytes === 0) return MAX_THREADS_PER_UNIT;
  return Math.min(MAX_THREADS_PER_UNIT, 2 ** Math.max(0, Math.ceil(Math.log2((SECTOR_BYTES * loads) / bytes))));
}

export function hasTable({ tableWords }: UnitLoopProfile): boolean {
  return tableWords > SECTOR_WORDS;
}

function streamedSectors(profile: UnitLoopProfile): number {
  const { dependentLoadsPerIteration: loads, bytesPerIteration: bytes } = profile;
  return Math.max(0, bytes / SECTOR_BYTES - loads / lanesPerSector(profile));
}

/** Splits a mean into the loads of every pass, and the fraction of passes (in units of 2⁻³²) that have one more. */
function inPasses(mean: number): { readonly each: number; readonly rate: number } {
  const each = Math.floor(mean + 2 ** -10);
  return { each, rate: Math.round(Math.max(0, mean - each) * 2 ** 22) * 2 ** 10 };
}

/** Counts the exchanges of a pass, two instructions each: as many as cooperation costs, but at most log₂ u. */
function countExchanges({ sharing, instructionsPerIteration, cooperationCost }: UnitLoopProfile, u: number): number {
  if (sharing === 'deal') return 0;
  const steps = Math.log2(u);
  return Math.min(steps, Math.round((instructionsPerIteration * cooperationCost * steps) / 2));
}

function overhead(profile: UnitLoopProfile, u: number) {
  const share = computeShare(profile, u);
  const exchanges = countExchanges(profile, u);
  const loads = inPasses(share * profile.dependentLoadsPerIteration);
  const streamed = inPasses(share * streamedSectors(profile));
  const loadCount = loads.each + Math.sign(loads.rate);
  const streamedCount = streamed.each + Math.sign(streamed.rate);
  const integers =
    // Instructions that add to the result, count down to 0 and, for dealt units, find the lane's iteration.
    (u === 1 ? OWN.one : profile.sharing === 'deal' ? OWN.dealt : OWN.split) +
    exchanges +
    // One instruction computes the 64-bit address of each load. Two make the loads wait for the result, and the result
    // for the loads. If only some passes have one more load, three decide whether this pass has it.
    (loadCount > 0 ? loadCount + 2 : 0) +
    (loads.rate > 0 ? 3 : 0) +
    // Instructions of a streamed load: its address, the next address, the wrap at the table's end, the sum with the
    // result.
    4 * streamedCount +
    (streamed.rate > 0 ? 2 : 0);
  return { exchanges, loads, streamed, integers, instructions: integers + exchanges + loadCount + streamedCount + 1 };
}

/** Integer instructions of a pass besides its steps: for one thread per unit, for split and for dealt iterations. */
const OWN = { one: 4, split: 6, dealt: 8 } as const;
/** Instructions that change to the next unit, in the nested form and (`REFILL_INSTRUCTIONS`) in the flattened form. */
const UNIT_INSTRUCTIONS = 38;
const REFILL_INSTRUCTIONS = 26;
/** Instructions of the nested form that find where a unit's loads start. */
const START_INSTRUCTIONS = 9;
const FLATTENED_INSTRUCTIONS = 3;
const COMBINE_INSTRUCTIONS = 2;

/** Computes the parts of the loop for u threads per unit. Each class of the profile occurs at least once. */
export function unitLoopShape(profile: UnitLoopProfile, u: number): UnitLoopShape {
  const { instructionsPerIteration, integerShare, fp64Share, specialShare } = profile;
  const all = instructionsPerIteration * computeShare(profile, u);
  const { exchanges, loads, streamed, ...needed } = overhead(profile, u);
  const stepsOf = (share: number): number => (share > 0 ? Math.max(1, Math.round(share * all)) : 0);
  const doubles = stepsOf(fp64Share);
  const specials = stepsOf(specialShare);
  // The steps of each class but integers are linked to the chain by an integer instruction before them and one after.
  const linksBefore = 2 * (Math.sign(doubles) + Math.sign(specials));
  const room = Math.max(0, Math.round(all - needed.instructions) - doubles - specials - linksBefore);
  const integersWanted = Math.max(0, Math.round(integerShare * all - needed.integers - linksBefore - 2));
  const floatsLeft = room - 2 - (integersWanted > 0 ? integersWanted + 1 : 0);
  const isFloat = integerShare + fp64Share + specialShare < 1;
  const floats = isFloat ? Math.max(1, floatsLeft) : 0;
  const integers = Math.max(0, isFloat ? Math.min(integersWanted, room - floats - 3) : room - 1);
  const linked = linksBefore + 2 * Math.sign(floats) + Math.sign(integers);
  return {
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
    unitSteps: stepsBeside(profile.unitInstructions, unitOverhead(profile)),
    combineSteps: stepsBeside(profile.combineInstructions, COMBINE_INSTRUCTIONS),
  };
}

const unitOverhead = (profile: UnitLoopProfile): number =>
  UNIT_INSTRUCTIONS + (hasTable(profile) ? START_INSTRUCTIONS : 0);

/** Two more instructions link the steps to the chain. */
const stepsBeside = (wanted: number, own: number): number => Math.max(0, Math.round(wanted) - own - 2);
const withSteps = (own: number, steps: number): number => own + steps + 2 * Math.sign(steps);

export function heldRegisters(profile: UnitLoopProfile, { floats, integers }: UnitLoopShape) {
  const room = Math.max(2, profile.registersPerThread - OWN_REGISTERS);
  const heldIntegers = Math.max(
    1,
    Math.min(Math.floor(integers / 2), Math.round((room * integers) / Math.max(1, integers + floats))),
  );
  return { floats: Math.max(1, Math.min(floats, room - heldIntegers)), integers: heldIntegers };
}

export function unitLoopProfile(kernel: KernelProfile, backend: StandInBackend): UnitLoopProfile {
  const { integerShare = 0, fp64Share = 0, specialShare = 0, accesses, sharing = 'split' } = kernel;
  const bytesOf = ({ pattern, elementBytes }: NonNullable<typeof accesses>[number]): number =>
    pattern === 'scattered' ? SECTOR_BYTES : elementBytes;
  const bytesPerIteration = accesses ? accesses.reduce((sum, one) => sum + bytesOf(one), 0) : kernel.bytesPerIteration;
  const { dependentLoadsPerIteration } = kernel;
  return {
    version: 3,
    instructionsPerIteration: kernel.instructionsPerIteration,
    integerShare,
    // WGSL has no FP64.
    fp64Share: backend === 'cuda' ? fp64Share : 0,
    specialShare,
    sharing,
    serialFraction: kernel.serialFraction,
    cooperationCost: kernel.cooperationCost,
    unitInstructions: kernel.unit?.instructions ?? 0,
    combineInstructions: kernelPhase(kernel, 'combine')?.instructions ?? 0,
    dependentLoadsPerIteration,
    bytesPerIteration,
    registersPerThread: kernel.registersPerThread,
    tableWords: dependentLoadsPerIteration > 0 || bytesPerIteration > 0 ? TABLE_WORDS : SECTOR_WORDS,
  };
}

/** Instructions of a step, a dependent load and the loop itself in version 1, whose measurements can still be read. */
const FIRST = { step: 6, load: 6, turn: 5 } as const;

/** Instructions that versions 1 and 2 of this loop are assumed to add per unit, and per pass of the flattened form. */
const OLD = { unit: 24, flattened: 8 } as const;

const NOT_OWN = {
  accesses: undefined,
  prologue: undefined,
  refill: undefined,
  combine: undefined,
  chainInstructions: undefined,
  dependentExchanges: undefined,
} as const;

export function standInKernel(kernel: KernelProfile, profile: UnitLoopProfile, u: number): KernelProfile {
  const shape = unitLoopShape(profile, u);
  const { instructions } = shape;
  const loads = shape.loads + shape.loadRate / 2 ** 32;
  const sectors = loads / lanesPerSector(profile) + shape.streamed + shape.streamRate / 2 ** 32;
  return {
    ...kernel,
    ...NOT_OWN,
    instructionsPerIteration: instructions,
    integerShare: shape.integerInstructions / instructions,
    fp64Share: shape.doubles / instructions,
    specialShare: shape.specials / instructions,
    sharing: profile.sharing,
    // A pass already counts the instructions of u threads, so σ = 1 keeps the model from dividing them by u again.
    serialFraction: 1,
    cooperationCost: 0,
    dependentLoadsPerIteration: loads,
    bytesPerIteration: SECTOR_BYTES * sectors,
    unit: { instructions: withSteps(unitOverhead(profile), shape.unitSteps) },
    refill: { instructions: withSteps(REFILL_INSTRUCTIONS, shape.unitSteps) },
    ...(profile.sharing === 'deal' && {
      combine: { instructions: withSteps(COMBINE_INSTRUCTIONS, shape.combineSteps), dependentExchanges: 1 },
    }),
    flattenedCost: FLATTENED_INSTRUCTIONS / instructions,
  };
}

function oldStandInKernel(kernel: KernelProfile, profile: SecondUnitLoopProfile | FirstUnitLoopProfile): KernelProfile {
  const own = profile.version === 2 ? profile : firstKernel(profile);
  const { instructionsPerIteration: all } = own;
  return {
    ...kernel,
    ...NOT_OWN,
    instructionsPerIteration: all,
    integerShare: own.integerShare,
    fp64Share: own.fp64Share,
    specialShare: own.specialShare,
    serialFraction: own.serialFraction,
    cooperationCost: own.cooperationCost,
    dependentLoadsPerIteration: own.dependentLoadsPerIteration,
    bytesPerIteration: own.bytesPerIteration,
    sharing: 'split',
    unit: { instructions: OLD.unit },
    flattenedCost: Math.max(kernel.flattenedCost ?? 0, OLD.flattened / all),
  };
}

/** In version 1, an exchange was two instructions, and a dependent load moved one sector per lane. */
function firstKernel({
  parallelSteps,
  serialSteps,
  dependentLoads,
}: FirstUnitLoopProfile): Omit<SecondUnitLoopProfile, 'version' | 'registersPerThread' | 'tableWords'> {
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

/** The measurements of the kernel that the stand-in replaces are dropped. */
export function standInPlan(plan: SweepPlan, profile: AnyUnitLoopProfile): SweepPlan {
  const own = { ...plan, id: `${plan.id} stand-in ${JSON.stringify(profile)}`, pipeline: {} };
  if (profile.version !== 3) return { ...own, kernel: oldStandInKernel(plan.kernel, profile) };
  const kernels = plan.axes.threadsPerUnit.map((u) => [u, standInKernel(plan.kernel, profile, u)] as const);
  return { ...own, kernel: standInKernel(plan.kernel, profile, 1), kernelsByThreads: Object.fromEntries(kernels) };
}
