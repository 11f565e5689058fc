import { take, type Arena } from './arena.ts';
import { blockSurvivalInto, integralsFrom, integralsInto, ROW_FIELDS, SELDOM } from './block-law.ts';
import type { BlockLaw, Dispatch, Renewal } from './law.ts';
import { nowhereInto } from './population.ts';
import { allocateProfile, BLOCK, CELL_FIELDS, completeCells, GROUP, PAIR, WIDTH } from './profile.ts';

/** Iterations; mean and variance of the active groups of a slot; variance of a slot's active share between ages. */
export const PHASE_FIELDS = 4;

/** Grid points per E[B], at least and at most; in between, one per standard deviation of B. */
const POINTS_PER_BLOCK = 8;
const MOST_POINTS_PER_BLOCK = 20;
/** Blocks per slot after which the phase of the waves no longer matters to a relative accuracy of about 1/100. */
const MOST_WAVES = 48;
/** How far the waves must have smeared out: 2π²·waves·(σ_B/E[B])². */
const SMEARED = 3;
/** How often per E[B] activity is looked at. */
const SAMPLES_PER_BLOCK = 4;

/** The renewal process of a block law; prepared once. */
export function renewalOf(law: BlockLaw): Renewal {
  return (law.renewal ??= prepareRenewal(law));
}

/** Mean residual lives after which ages are as good as stationary. */
const RESIDUALS = 12;
/** Blocks per slot after which a multiprocessor is as good as stationary. */
export function wavesUntilStationary({ meanBlock, meanResidual, blockDeviation }: BlockLaw): number {
  const variation = blockDeviation / meanBlock;
  const smearedWaves = SMEARED / (2 * Math.PI * Math.PI * variation * variation);
  const residualWaves = (RESIDUALS * meanResidual) / meanBlock;
  return Math.min(MOST_WAVES, Math.max(3, smearedWaves, residualWaves));
}

/** Share of the blocks whose lives must not round to nothing, and the finest grid for that, points per E[B]. */
const SHORT_SHARE = 0.1;
const FINEST_POINTS = 64;

/** The life that a part of the blocks do not exceed, iterations. */
function lifeOf({ rows }: BlockLaw, part: number): number {
  let at = 0;
  while (rows[at + 1] > 1 - part) at += ROW_FIELDS;
  return rows[at];
}

function prepareRenewal(law: BlockLaw): Renewal {
  const variation = law.blockDeviation / law.meanBlock;
  const perBlock = Math.min(MOST_POINTS_PER_BLOCK, Math.max(POINTS_PER_BLOCK, 1 / variation));
  let grid = law.meanBlock / perBlock;
  const short = lifeOf(law, SHORT_SHARE);
  if (2 * short < grid) grid = Math.max(short, law.meanBlock / FINEST_POINTS);
  if (law.lattice) grid = Math.max(1, Math.round(grid));
  const waves = wavesUntilStationary(law);
  const points = Math.ceil((waves * law.meanBlock) / grid);
  const span = Math.min(points, Math.floor(law.longest / grid + 0.5) + 1);
  const alive = take(law.arena, span + 1);
  // Just below the cell's end, so that a whole number of iterations on the edge rounds up like every other.
  blockSurvivalInto(alive, law, 0.5 * grid * (1 - 1e-12), grid * (1 - 1e-12));
  const masses = take(law.arena, span + 1);
  let mean = 0;
  let firstMass = 0;
  let lastMass = 0;
  for (let i = 0, above = 1; i <= span; i++) {
    const mass = above - alive[i];
    above = alive[i];
    masses[i] = mass;
    mean += i * mass;
    if (mass < 1e-12) continue;
    if (lastMass === 0 && firstMass === 0) firstMass = i;
    lastMass = i;
  }
  // Rounding to the grid must not change the mean life, or the waves drift; a tail beyond the grid leaves no say.
  const step = alive[span] < 1e-9 ? law.meanBlock / mean : grid;
  blockSurvivalInto(alive, law, 0, step);
  const times = scratchOf(0, span + 2);
  for (let i = 0; i <= span + 1; i++) times[i] = i * step;
  const lived = scratchOf(1, 3 * (span + 2));
  integralsInto(lived, law, 0, times, span + 2);
  const ages = take(law.arena, 4 * (span + 1));
  for (let i = 0, at = 0; i <= 3 * span; i += 3, at += 4) {
    const block = (lived[i + 3] - lived[i]) / step;
    const group = (lived[i + 4] - lived[i + 1]) / step;
    ages[at] = group;
    ages[at + 1] = (lived[i + 5] - lived[i + 2]) / step;
    ages[at + 2] = block > 0 ? (group * group) / block : 0;
    ages[at + 3] = lived[i + 1] / step;
  }
  return {
    law,
    step,
    points,
    waves,
    starts: NONE,
    started: NONE,
    known: 0,
    alive,
    masses,
    firstMass: Math.max(1, firstMass),
    lastMass,
    ages,
    samples: NONE,
    sampled: 0,
    pointsPerSample: Math.max(1, Math.round(law.meanBlock / step / SAMPLES_PER_BLOCK)),
    dispatches: new Map(),
  };
}

const NONE = new Float64Array(0);

const scratches = [NONE, NONE];

/** A buffer of at least `length`, whose contents last until it is asked for again. */
function scratchOf(which: number, length: number): Float64Array {
  if (scratches[which].length < length) scratches[which] = new Float64Array(2 * length);
  return scratches[which];
}

function grown(arena: Arena, values: Float64Array, length: number): Float64Array {
  const larger = take(arena, length);
  larger.set(values);
  return larger;
}

/** Extends the process until `waves` blocks have started per slot or it is stationary; returns the last point known. */
export function extendRenewal(renewal: Renewal, waves: number): number {
  const { masses, points, firstMass, lastMass } = renewal;
  let { starts, started, known: k } = renewal;
  if (k > 0 && started[k - 1] >= waves) return k - 1;
  // Lives that round to nothing are followed by another start at once.
  const again = 1 / (1 - masses[0]);
  let sum = k === 0 ? 0 : started[k - 1];
  while (k < points && sum < waves) {
    if (k === starts.length) {
      const wanted = Math.ceil((waves * renewal.law.meanBlock) / renewal.step) + 4;
      const length = Math.min(points, Math.max(16, 2 * k, wanted));
      renewal.starts = starts = grown(renewal.law.arena, starts, length);
      renewal.started = started = grown(renewal.law.arena, started, length);
    }
    let here = k === 0 ? 1 : 0;
    const to = Math.min(k, lastMass);
    for (let i = firstMass; i <= to; i++) here += starts[k - i] * masses[i];
    starts[k] = here * again;
    sum += starts[k];
    started[k] = sum;
    k++;
  }
  renewal.known = k;
  return k - 1;
}

/** Of a sample: mean over the slots of P(group active), P(two groups active), and variance of the first between ages. */
const SAMPLE_FIELDS = 3;

/** Writes what the slots do in the cell after grid point `k`. */
function sampleInto(out: Float64Array, at: number, renewal: Renewal, k: number): void {
  const { starts, ages } = renewal;
  let group = 0;
  let pair = 0;
  let square = 0;
  const to = Math.min(k, ages.length / 4 - 1);
  for (let i = 0, age = 0; i <= to; i++, age += 4) {
    const started = starts[k - i];
    group += started * ages[age];
    pair += started * ages[age + 1];
    square += started * ages[age + 2];
  }
  out[at] = group;
  out[at + 1] = pair;
  out[at + 2] = square - group * group;
}

/** Phases are told apart by this share of active groups. */
const PHASES = 8;

const bins = new Float64Array((PHASES + 1) * PHASE_FIELDS);
const partSample = new Float64Array(SAMPLE_FIELDS);

/** The cells before grid point `k`, those of about the same activity together. */
function phasesBefore(renewal: Renewal, k: number): Float64Array {
  const { law, starts, ages, step, pointsPerSample } = renewal;
  const W = law.groupsPerBlock;
  const whole = Math.floor(k / pointsPerSample);
  if (renewal.samples.length < SAMPLE_FIELDS * whole) {
    renewal.samples = grown(law.arena, renewal.samples, SAMPLE_FIELDS * Math.max(whole + 8, 2 * renewal.sampled));
  }
  const { samples } = renewal;
  for (; renewal.sampled < whole; renewal.sampled++) {
    const middle = renewal.sampled * pointsPerSample + (pointsPerSample >> 1);
    sampleInto(samples, SAMPLE_FIELDS * renewal.sampled, renewal, middle);
  }
  const rest = k - whole * pointsPerSample;
  if (rest > 0) sampleInto(partSample, 0, renewal, whole * pointsPerSample + (rest >> 1));

  // Samples stand for the cells around them; the total is known.
  let total = 0;
  const last = ages.length - 4;
  const all = ages[last + 3] + ages[last];
  for (let i = 1; i <= k; i++) total += starts[k - i] * (4 * i <= last ? ages[4 * i + 3] : all);
  let counted = rest * partSample[0];
  for (let j = 0; j < whole; j++) counted += pointsPerSample * samples[SAMPLE_FIELDS * j];
  const scale = counted > 0 ? total / counted : 1;

  bins.fill(0);
  for (let j = 0; j <= whole; j++) {
    const from = j < whole ? samples : partSample;
    const at = j < whole ? SAMPLE_FIELDS * j : 0;
    const cells = j < whole ? pointsPerSample : rest;
    if (cells === 0) break;
    const group = Math.min(1, from[at] * scale);
    const active = W * group;
    const bin = PHASE_FIELDS * Math.max(0, Math.floor((1 - group) * PHASES));
    bins[bin] += cells;
    bins[bin + 1] += cells * active;
    bins[bin + 2] += cells * Math.max(0, active + W * (W - 1) * from[at + 1] * scale - active * active);
    bins[bin + 3] += cells * Math.max(0, from[at + 2]);
  }
  let count = 0;
  for (let b = 0; b < bins.length; b += PHASE_FIELDS) if (bins[b] > 0) count++;
  const phases = take(law.arena, count * PHASE_FIELDS);
  for (let b = 0, to = 0; b < bins.length; b += PHASE_FIELDS) {
    const cells = bins[b];
    if (cells === 0) continue;
    phases[to] = cells * step;
    for (let f = 1; f < PHASE_FIELDS; f++) phases[to + f] = bins[b + f] / cells;
    to += PHASE_FIELDS;
  }
  return phases;
}

/** Share of a slot's activity that ages are lumped up to, and the widest relative span of a lump. */
const LUMP_ACTIVITY = 0.25;
const LUMP_SPAN = 0.4;

/** Activity of a slot after grid point `k` of the blocks that started before `k`. */
function leftAfter(renewal: Renewal, k: number): Float64Array {
  const { law, starts, step, alive } = renewal;
  const left = take(law.arena, 3 * (law.edges.length - 1)).fill(0);
  let weight = 0;
  let moment = 0;
  let activity = 0;
  let youngest = 1;
  for (let i = 1; i <= k && i < alive.length; i++) {
    if (alive[i] <= 0) break;
    const started = starts[k - i];
    const active = started * alive[i];
    if (weight > 0 && (activity + active > LUMP_ACTIVITY || i - youngest > LUMP_SPAN * i)) {
      addBlocks(left, law, weight, (moment / weight) * step);
      weight = moment = activity = 0;
    }
    if (started < 1e-12) continue;
    if (weight === 0) youngest = i;
    weight += started;
    moment += started * i;
    activity += active;
  }
  if (weight > 0) addBlocks(left, law, weight, (moment / weight) * step);
  return left;
}

/** Adds the activity of a share of the slots whose blocks are `age` iterations old. */
function addBlocks(out: Float64Array, law: BlockLaw, share: number, age: number): void {
  const { edges, longest } = law;
  // Nobody lives on beyond the longest life.
  let count = edges.length;
  while (count > 2 && age + edges[count - 2] >= longest) count--;
  const lived = integralsFrom(law, age, count);
  for (let c = 1, i = 0; c < count; c++, i += 3) {
    const block = lived[i + 3] - lived[i];
    if (block <= 0) break;
    const scale = share / (edges[c] - edges[c - 1]);
    out[i] += scale * block;
    out[i + 1] += scale * (lived[i + 4] - lived[i + 1]);
    out[i + 2] += scale * (lived[i + 5] - lived[i + 2]);
  }
}

/** The launch whose last `startedThere` blocks per slot start at grid point `k`. */
export function dispatchAt(renewal: Renewal, k: number, startedThere: number): Dispatch {
  const { law } = renewal;
  let dispatch = renewal.dispatches.get(k);
  if (!dispatch) {
    dispatch = {
      phases: phasesBefore(renewal, k),
      left: leftAfter(renewal, k),
      profile: allocateProfile(law.arena, law.fresh.cells, law.fresh.spread),
      startedThere: NaN,
    };
    renewal.dispatches.set(k, dispatch);
  }
  if (dispatch.startedThere === startedThere) return dispatch;
  dispatch.startedThere = startedThere;
  const { left, profile } = dispatch;
  const { data } = profile;
  const { data: fresh } = law.fresh;
  for (let at = 0, i = 0; i < left.length; at += CELL_FIELDS, i += 3) {
    // The grid of starts is only so fine: a slot never holds more than one block.
    const block = Math.min(1, left[i] + startedThere * fresh[at + BLOCK]);
    const group = Math.min(block, left[i + 1] + startedThere * fresh[at + GROUP]);
    const pair = Math.min(group, left[i + 2] + startedThere * fresh[at + PAIR]);
    data[at + WIDTH] = fresh[at + WIDTH];
    data[at + BLOCK] = block;
    data[at + GROUP] = group;
    data[at + PAIR] = pair;
  }
  completeCells(profile, law.groupsPerBlock);
  const { population } = law;
  if (population !== null && law.longest > SELDOM * k * renewal.step) {
    const before = k === 0 ? 0 : renewal.started[k - 1];
    const waves = before + startedThere;
    profile.slots = population.blocks / waves;
    profile.nowhere ??= take(law.arena, profile.cells);
    nowhereInto(profile.nowhere, population, profile, startedBefore(renewal, k, before, waves));
  }
  return dispatch;
}

/** Share of the blocks that start in some iterations up to grid point `k`; each point stands for what is around it. */
function startedBefore(
  { started, step }: Renewal,
  k: number,
  before: number,
  waves: number,
): (iterations: number) => number {
  return (iterations) => {
    const point = k - iterations / step;
    // All of the first wave start at once.
    if (point < 0) return 1;
    if (point >= k - 0.5) return (2 * (k - point) * (waves - before)) / waves;
    const low = Math.floor(point - 0.5);
    if (low < 0) return 1 - started[0] / waves;
    return 1 - (started[low] + (point - 0.5 - low) * (started[low + 1] - started[low])) / waves;
  };
}
