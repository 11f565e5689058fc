import { allocateProfile, countGroups, logNone, type ActivityProfile, type BlockLaw } from './block-law.ts';

/**
 * The renewal process of a block slot that is refilled the moment its block ends: how many blocks start at each point of
 * a grid of virtual time, per slot. Grown on demand; what is computed never depends on the order of the questions.
 */
export interface Renewal {
  /** Spacing of the grid, iterations. */
  readonly step: number;
  /** Points after which the process is as good as stationary. */
  readonly points: number;
  /** The same in blocks per slot. */
  readonly waves: number;
  /** Expected starts of a slot at each grid point; `starts[0]` ≥ 1. Valid below `known`. */
  readonly starts: Float64Array;
  /** Expected starts up to and including each point. */
  readonly cumulative: Float64Array;
  /** E[active groups]/W_b, and P(two given groups both active), on the cell after each point. */
  readonly group: Float64Array;
  readonly pair: Float64Array;
  /** Σ over ages of P(age)·(E[active fraction | age])²: its excess over group² is the variance between ages. */
  readonly between: Float64Array;
  known: number;
  /** Activity after each point where nothing starts from that point on; `undefined` until asked for. */
  readonly profiles: (ActivityProfile | undefined)[];
  /** Activity after `agedTime` iterations in the stationary state: the latest that was asked for. */
  readonly aged: ActivityProfile;
  agedTime: number;
  /** Activity after the last dispatch of the launch that was asked for last. */
  readonly combined: ActivityProfile;
  readonly law: BlockLaw;
  /** P(B = i·step), and the means of the activities over [i·step, (i+1)·step). */
  readonly mass: Float64Array;
  readonly ageGroup: Float64Array;
  readonly agePair: Float64Array;
  readonly ageBetween: Float64Array;
  readonly firstMass: number;
  /** Activity of a block from its start, on the cells of the drain. */
  readonly freshDrain: ActivityProfile;
}

/** Grid points per E[B], at least and at most; in between, one per standard deviation of B. */
const POINTS_PER_BLOCK = 12;
const MOST_POINTS_PER_BLOCK = 32;
/** Blocks per slot after which the phase of the waves no longer matters to a relative accuracy of about 1/100. */
const MOST_WAVES = 48;
/** How far the waves must have smeared out: 2π²·waves·(σ_B/E[B])². */
const SMEARED = 3;

const renewals = new WeakMap<BlockLaw, Renewal>();

/** The renewal process of a block law; prepared once. */
export function renewalOf(law: BlockLaw): Renewal {
  let renewal = renewals.get(law);
  if (!renewal) renewals.set(law, (renewal = prepareRenewal(law)));
  return renewal;
}

function prepareRenewal(law: BlockLaw): Renewal {
  const variation = law.blockDeviation / law.meanBlock;
  const perBlock = Math.min(MOST_POINTS_PER_BLOCK, Math.max(POINTS_PER_BLOCK, 1 / variation));
  let grid = law.meanBlock / perBlock;
  if (law.lattice) grid = Math.max(1, Math.round(grid));
  const smearedWaves = SMEARED / (2 * Math.PI * Math.PI * variation * variation);
  const residualWaves = (3 * law.meanResidual) / law.meanBlock;
  const waves = Math.min(MOST_WAVES, Math.max(3, smearedWaves, residualWaves));
  const points = Math.ceil((waves * law.meanBlock) / grid);
  const last = law.drainEdges[law.drainEdges.length - 1];
  const span = Math.min(points, Math.floor(last / grid + 0.5) + 1);
  const mass = new Float64Array(span + 1);
  let mean = 0;
  let above = 1;
  for (let i = 0; i <= span; i++) {
    // Just below the cell's end, so that a whole number of iterations on the edge rounds up like every other.
    const next = law.integrals.blockSurvival((i + 0.5) * grid * (1 - 1e-12));
    mass[i] = above - next;
    mean += i * mass[i];
    above = next;
  }
  // Rounding to the grid must not change the mean life, or the waves drift; a tail beyond the grid leaves no say.
  const step = above < 1e-9 ? law.meanBlock / mean : grid;
  const ageGroup = new Float64Array(span + 1);
  const agePair = new Float64Array(span + 1);
  const ageBetween = new Float64Array(span + 1);
  law.integrals.at(0, high);
  for (let i = 0; i <= span; i++) {
    low.set(high);
    law.integrals.at((i + 1) * step, high);
    const block = (high[0] - low[0]) / step;
    ageGroup[i] = (high[1] - low[1]) / step;
    agePair[i] = (high[2] - low[2]) / step;
    ageBetween[i] = block > 0 ? (ageGroup[i] * ageGroup[i]) / block : 0;
  }
  const freshDrain = emptyDrain(law);
  addBlocks(freshDrain, law, 1, 0);
  let firstMass = 0;
  while (firstMass < span && mass[firstMass] < 1e-12) firstMass++;
  return {
    step,
    points,
    waves,
    starts: new Float64Array(points),
    cumulative: new Float64Array(points),
    group: new Float64Array(points),
    pair: new Float64Array(points),
    between: new Float64Array(points),
    known: 0,
    profiles: [],
    aged: emptyDrain(law),
    agedTime: 0,
    combined: emptyDrain(law),
    law,
    mass,
    ageGroup,
    agePair,
    ageBetween,
    firstMass,
    freshDrain,
  };
}

/** Extends the process until `waves` blocks have started per slot or it is stationary; returns the last point known. */
export function extendRenewal(renewal: Renewal, waves: number): number {
  const { starts, cumulative, mass, ageGroup, agePair, ageBetween, points, firstMass } = renewal;
  const span = mass.length - 1;
  let k = renewal.known;
  while (k < points && (k === 0 || cumulative[k - 1] < waves)) {
    let sum = k === 0 ? 1 : 0;
    for (let i = Math.max(1, firstMass), to = Math.min(k, span); i <= to; i++) sum += starts[k - i] * mass[i];
    // Lives that round to nothing are followed by another start at once.
    starts[k] = sum / (1 - mass[0]);
    cumulative[k] = (k === 0 ? 0 : cumulative[k - 1]) + starts[k];
    let group = 0;
    let pair = 0;
    let between = 0;
    for (let i = 0, to = Math.min(k, span); i <= to; i++) {
      const started = starts[k - i];
      group += started * ageGroup[i];
      pair += started * agePair[i];
      between += started * ageBetween[i];
    }
    renewal.group[k] = group;
    renewal.pair[k] = pair;
    renewal.between[k] = between;
    k++;
  }
  renewal.known = k;
  return k - 1;
}

/** Share of a slot's activity that ages are lumped up to, and the widest relative span of a lump. */
const LUMP_ACTIVITY = 0.03;
const LUMP_SPAN = 0.08;

/**
 * Activity of a slot after grid point `k` where blocks started before `k` only: what drains if nothing starts from then
 * on. Blocks started at `k` itself add `starts·fresh`.
 */
function profileAfter(renewal: Renewal, k: number): ActivityProfile {
  const known = renewal.profiles[k];
  if (known) return known;
  const { law, starts, step } = renewal;
  const profile = emptyDrain(law);
  const add = (share: number, age: number): void => addBlocks(profile, law, share, age);
  let weight = 0;
  let moment = 0;
  let activity = 0;
  let youngest = 1;
  for (let i = 1; i <= k; i++) {
    const started = starts[k - i];
    const alive = law.integrals.blockSurvival(i * step);
    if (alive <= 0) break;
    if (weight > 0 && (activity + started * alive > LUMP_ACTIVITY || i - youngest > LUMP_SPAN * i)) {
      add(weight, (moment / weight) * step);
      weight = moment = activity = 0;
    }
    if (started < 1e-12) continue;
    if (weight === 0) youngest = i;
    weight += started;
    moment += started * i;
    activity += started * alive;
  }
  if (weight > 0) add(weight, (moment / weight) * step);
  renewal.profiles[k] = profile;
  return profile;
}

function emptyDrain(law: BlockLaw): ActivityProfile {
  const edges = law.drainEdges;
  const profile = allocateProfile(edges.length - 1);
  for (let c = 0; c < profile.width.length; c++) profile.width[c] = edges[c + 1] - edges[c];
  return profile;
}

const low = new Float64Array(3);
const high = new Float64Array(3);

/** Adds the activity of a share of the slots whose blocks are `age` iterations old. */
function addBlocks(profile: ActivityProfile, law: BlockLaw, share: number, age: number): void {
  const { width, block, group, pair, logIdle } = profile;
  const edges = law.drainEdges;
  law.integrals.at(age, high);
  for (let c = 0; c < width.length; c++) {
    low.set(high);
    law.integrals.at(age + edges[c + 1], high);
    const lived = high[0] - low[0];
    if (lived <= 0) break;
    const scale = share / width[c];
    block[c] += scale * lived;
    logIdle[c] += share * logNone(lived / width[c]);
    group[c] += scale * (high[1] - low[1]);
    pair[c] += scale * (high[2] - low[2]);
  }
}

/**
 * Writes to `renewal.aged` the activity from now on of a slot that has been refilled for `time` iterations, with all ages
 * up to that alike, if its block is not replaced. What is older than the run cannot be there yet: with heavy tails that
 * matters for long.
 */
export function agedProfile(renewal: Renewal, time: number): ActivityProfile {
  const { law, aged } = renewal;
  const edges = law.drainEdges;
  const cells = aged.width.length;
  // Beyond the longest life nothing changes any more.
  const age = Math.min(time, edges[cells]);
  if (renewal.agedTime === age) return aged;
  law.integrals.at(age, low);
  const scale = 1 / low[0];
  for (let c = 0; c < cells; c++) {
    const middle = 0.5 * (edges[c] + edges[c + 1]);
    law.integrals.at(middle, low);
    law.integrals.at(middle + age, high);
    aged.block[c] = (high[0] - low[0]) * scale;
    aged.logIdle[c] = logNone(aged.block[c]);
    aged.group[c] = (high[1] - low[1]) * scale;
    aged.pair[c] = (high[2] - low[2]) * scale;
  }
  renewal.agedTime = age;
  return countGroups(aged, law.groupsPerBlock);
}

/**
 * Writes to `renewal.combined` the activity after grid point `k` where `started` blocks per slot start at that point and
 * none later.
 */
export function combinedProfile(renewal: Renewal, k: number, started: number): ActivityProfile {
  const before = profileAfter(renewal, k);
  const { combined, freshDrain } = renewal;
  for (let c = 0; c < combined.width.length; c++) {
    // The grid of starts is only so fine: a slot never holds more than one block.
    const block = Math.min(1, before.block[c] + started * freshDrain.block[c]);
    const group = Math.min(block, before.group[c] + started * freshDrain.group[c]);
    combined.block[c] = block;
    combined.group[c] = group;
    combined.pair[c] = Math.min(group, before.pair[c] + started * freshDrain.pair[c]);
    combined.logIdle[c] = before.logIdle[c] + started * freshDrain.logIdle[c];
  }
  return countGroups(combined, renewal.law.groupsPerBlock);
}
