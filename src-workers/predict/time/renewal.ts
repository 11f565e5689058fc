import { allocateProfile, BLOCK, CELL_FIELDS, completeCells, computeApart, GROUP, PAIR, WIDTH } from './activity.ts';
import { take, type Arena } from './arena.ts';
import { writeBlockSurvivalInto, computeIntegrals, writeIntegralsInto } from './block-law.ts';
import type { BlockLaw, Dispatch, Renewal } from './law.ts';

/**
 * Waves count as out of phase once 2π²·waves·(σ_B/E[B])² exceeds this, where B is a block's life. Fitted on 500 random
 * designs: below 2, the jump in time by a last wave of equal blocks is missed; above 3, nothing changes.
 */
const SMEARED = 3;
/** Number of mean residual lives after which ages of blocks count as stationary. Fitted on 500 random designs. */
const RESIDUAL_LIVES = 12;
const SHORTEST_PHASE_MEMORY = 3;
/** Maximum number of waves that are followed one by one. Fitted on 500 random designs. */
const LONGEST_PHASE_MEMORY = 48;
/** Bounds of the grid points per mean life of a block. Between both, a step is the standard deviation of lives. */
const POINTS_PER_BLOCK = 8;
const MAX_POINTS_PER_BLOCK = 20;
const SAMPLES_PER_BLOCK = 4;
/** Blocks of neighbouring ages get one age if on average at most this many are active in a block slot. */
const LUMP_ACTIVITY = 0.25;
/** Maximum difference of the ages that become one, as a fraction of the oldest age. */
const LUMP_SPAN = 0.4;

/** Per phase of the time: iterations, mean and variance of a block slot's active groups, and mean times field `APART`. */
export const PHASE_FIELDS = 4;

export function getRenewal(law: BlockLaw): Renewal {
  return (law.renewal ??= prepareRenewal(law));
}

/**
 * Returns the number of waves after which a multiprocessor is assumed to be stationary. The differences between waves
 * fade as exp(−2π²·waves·(σ_B/E[B])²), where B is the life of a block.
 */
export function countWavesUntilStationary({ meanBlock, meanResidual, blockDeviation }: BlockLaw): number {
  const variation = blockDeviation / meanBlock;
  const smearedWaves = SMEARED / (2 * Math.PI * Math.PI * variation * variation);
  const residualWaves = (RESIDUAL_LIVES * meanResidual) / meanBlock;
  return Math.min(LONGEST_PHASE_MEMORY, Math.max(SHORTEST_PHASE_MEMORY, smearedWaves, residualWaves));
}

const NONE = new Float64Array(0);

function prepareRenewal(law: BlockLaw): Renewal {
  const { meanBlock, arena } = law;
  const perBlock = Math.min(MAX_POINTS_PER_BLOCK, Math.max(POINTS_PER_BLOCK, meanBlock / law.blockDeviation));
  let grid = meanBlock / perBlock;
  if (law.lattice) grid = Math.max(1, Math.round(grid));
  const points = Math.ceil((countWavesUntilStationary(law) * meanBlock) / grid);
  const span = Math.min(points, Math.floor(law.longest / grid + 0.5) + 1);
  const alive = take(arena, span + 1);
  // The offset is just below half a cell, so that a life exactly in the middle between two grid points is rounded up.
  writeBlockSurvivalInto(alive, law, 0.5 * grid * (1 - 1e-12), grid * (1 - 1e-12));
  const masses = take(arena, span + 1);
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
  // Rounding must not change the mean life, or the waves would drift; a tail beyond the grid cannot be corrected.
  const step = alive[span] < 1e-9 ? meanBlock / mean : grid;
  writeBlockSurvivalInto(alive, law, 0, step);
  const times = Float64Array.from({ length: span + 2 }, (_, i) => i * step);
  const lived = new Float64Array(3 * (span + 2));
  writeIntegralsInto(lived, law, 0, times, span + 2);
  const ages = take(arena, 3 * (span + 1));
  for (let i = 0; i <= 3 * span; i += 3) {
    ages[i] = (lived[i + 4] - lived[i + 1]) / step;
    ages[i + 1] = (lived[i + 5] - lived[i + 2]) / step;
    ages[i + 2] = lived[i + 1] / step;
  }
  return {
    law,
    step,
    points,
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
    pointsPerSample: Math.max(1, Math.round(meanBlock / step / SAMPLES_PER_BLOCK)),
    dispatches: new Map(),
  };
}

function growRow(arena: Arena, values: Float64Array, length: number): Float64Array {
  const larger = take(arena, length);
  larger.set(values);
  return larger;
}

/** Follows the process until `waves` waves have started, or until it is stationary; returns the last known point. */
export function extendRenewal(renewal: Renewal, waves: number): number {
  const { masses, points, firstMass, lastMass } = renewal;
  let { starts, started, known: k } = renewal;
  if (k > 0 && started[k - 1] >= waves) return k - 1;
  // A block whose life is rounded to 0 is followed at once by the next start.
  const again = 1 / (1 - masses[0]);
  let sum = k === 0 ? 0 : started[k - 1];
  while (k < points && sum < waves) {
    if (k === starts.length) {
      const wanted = Math.ceil((waves * renewal.law.meanBlock) / renewal.step) + 4;
      const length = Math.min(points, Math.max(16, 2 * k, wanted));
      renewal.starts = starts = growRow(renewal.law.arena, starts, length);
      renewal.started = started = growRow(renewal.law.arena, started, length);
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

/** Number of values of a sample: P(group active) and P(two groups active), as means over the block slots. */
const SAMPLE_FIELDS = 2;

function sampleInto(out: Float64Array, at: number, { starts, ages }: Renewal, k: number): void {
  let group = 0;
  let pair = 0;
  const to = Math.min(k, ages.length / 3 - 1);
  for (let i = 0, age = 0; i <= to; i++, age += 3) {
    const started = starts[k - i];
    group += started * ages[age];
    pair += started * ages[age + 1];
  }
  out[at] = group;
  out[at + 1] = pair;
}

function getPhasesBefore(renewal: Renewal, k: number): Float64Array {
  const { law, starts, ages, step, pointsPerSample } = renewal;
  const W = law.groupsPerBlock;
  const whole = Math.floor(k / pointsPerSample);
  if (renewal.samples.length < SAMPLE_FIELDS * whole) {
    renewal.samples = growRow(law.arena, renewal.samples, SAMPLE_FIELDS * Math.max(whole + 8, 2 * renewal.sampled));
  }
  const { samples } = renewal;
  for (; renewal.sampled < whole; renewal.sampled++) {
    const middle = renewal.sampled * pointsPerSample + (pointsPerSample >> 1);
    sampleInto(samples, SAMPLE_FIELDS * renewal.sampled, renewal, middle);
  }
  const rest = k - whole * pointsPerSample;
  const phases = take(law.arena, PHASE_FIELDS * (whole + (rest > 0 ? 1 : 0)));
  let counted = 0;
  for (let j = 0; j < whole; j++) {
    phases[PHASE_FIELDS * j] = pointsPerSample;
    phases[PHASE_FIELDS * j + 1] = samples[SAMPLE_FIELDS * j];
    phases[PHASE_FIELDS * j + 2] = samples[SAMPLE_FIELDS * j + 1];
    counted += pointsPerSample * samples[SAMPLE_FIELDS * j];
  }
  if (rest > 0) {
    const at = PHASE_FIELDS * whole;
    phases[at] = rest;
    sampleInto(phases, at + 1, renewal, whole * pointsPerSample + (rest >> 1));
    counted += rest * phases[at + 1];
  }
  // Each sample represents the points around it. The samples are scaled to the known total of the active groups.
  let total = 0;
  const last = ages.length - 3;
  const all = ages[last + 2] + ages[last];
  for (let i = 1; i <= k; i++) total += starts[k - i] * (3 * i <= last ? ages[3 * i + 2] : all);
  const scale = counted > 0 ? total / counted : 1;
  for (let at = 0; at < phases.length; at += PHASE_FIELDS) {
    const active = W * Math.min(1, phases[at + 1] * scale);
    phases[at] *= step;
    const pair = phases[at + 2] * scale;
    phases[at + 2] = Math.max(0, active + W * (W - 1) * pair - active * active);
    phases[at + 3] = active > 0 ? active * computeApart(W, active / W, pair) : 0;
    phases[at + 1] = active;
  }
  return phases;
}

/** Computes the activity of a block slot after grid point `k` from the blocks that started before `k`. */
function countLeftAfter(renewal: Renewal, k: number): Float64Array {
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

function addBlocks(out: Float64Array, law: BlockLaw, share: number, age: number): void {
  const { edges, longest } = law;
  let count = edges.length;
  while (count > 2 && age + edges[count - 2] >= longest) count--;
  const lived = computeIntegrals(law, age, count);
  for (let c = 1, i = 0; c < count; c++, i += 3) {
    const block = lived[i + 3] - lived[i];
    if (block <= 0) break;
    const scale = share / (edges[c] - edges[c - 1]);
    out[i] += scale * block;
    out[i + 1] += scale * (lived[i + 4] - lived[i + 1]);
    out[i + 2] += scale * (lived[i + 5] - lived[i + 2]);
  }
}

/** Computes the launch up to its last dispatch, at grid point `k`: a mean of `startedThere` blocks per block slot. */
export function computeDispatch(renewal: Renewal, k: number, startedThere: number): Dispatch {
  const { law } = renewal;
  let dispatch = renewal.dispatches.get(k);
  if (!dispatch) {
    dispatch = {
      phases: getPhasesBefore(renewal, k),
      left: countLeftAfter(renewal, k),
      profile: allocateProfile(law.arena, law.fresh.cells, law.groupsPerBlock),
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
    // Rounding to the grid must not give a block slot more than one block.
    const block = Math.min(1, left[i] + startedThere * fresh[at + BLOCK]);
    const group = Math.min(block, left[i + 1] + startedThere * fresh[at + GROUP]);
    const pair = Math.min(group, left[i + 2] + startedThere * fresh[at + PAIR]);
    data[at + WIDTH] = fresh[at + WIDTH];
    data[at + BLOCK] = block;
    data[at + GROUP] = group;
    data[at + PAIR] = pair;
  }
  completeCells(profile);
  return dispatch;
}
