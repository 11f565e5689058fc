import {
  allocateProfile,
  BLOCK,
  blockSurvivalInto,
  CELL_FIELDS,
  GROUP,
  integralsInto,
  LOG_IDLE,
  logNone,
  PAIR,
  WIDTH,
  type ActivityProfile,
  type BlockLaw,
  type Renewal,
} from './block-law.ts';

/** Grid points per E[B], at least and at most; in between, one per standard deviation of B. */
const POINTS_PER_BLOCK = 12;
const MOST_POINTS_PER_BLOCK = 32;
/** Blocks per slot after which the phase of the waves no longer matters to a relative accuracy of about 1/100. */
const MOST_WAVES = 48;
/** How far the waves must have smeared out: 2π²·waves·(σ_B/E[B])². */
const SMEARED = 3;

/** The renewal process of a block law; prepared once. */
export function renewalOf(law: BlockLaw): Renewal {
  return (law.renewal ??= prepareRenewal(law));
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
  const alive = new Float64Array(span + 1);
  // Just below the cell's end, so that a whole number of iterations on the edge rounds up like every other.
  blockSurvivalInto(alive, law, 0.5 * grid * (1 - 1e-12), grid * (1 - 1e-12));
  let mean = 0;
  const ages = new Float64Array(4 * (span + 1));
  for (let i = 0, above = 1; i <= span; i++) {
    ages[4 * i] = above - alive[i];
    mean += i * ages[4 * i];
    above = alive[i];
  }
  // Rounding to the grid must not change the mean life, or the waves drift; a tail beyond the grid leaves no say.
  const step = alive[span] < 1e-9 ? law.meanBlock / mean : grid;
  blockSurvivalInto(alive, law, 0, step);
  const times = scratchOf(0, span + 2);
  for (let i = 0; i <= span + 1; i++) times[i] = i * step;
  const lived = scratchOf(1, 3 * (span + 2));
  integralsInto(lived, law, 0, times, span + 2);
  for (let i = 0; i <= span; i++) {
    const block = (lived[3 * i + 3] - lived[3 * i]) / step;
    const group = (lived[3 * i + 4] - lived[3 * i + 1]) / step;
    ages[4 * i + 1] = group;
    ages[4 * i + 2] = (lived[3 * i + 5] - lived[3 * i + 2]) / step;
    ages[4 * i + 3] = block > 0 ? (group * group) / block : 0;
  }
  const freshDrain = emptyDrain(law);
  addBlocks(freshDrain.data, law, 1, 0);
  let firstMass = 0;
  while (firstMass < span && ages[4 * firstMass] < 1e-12) firstMass++;
  return {
    step,
    points,
    waves,
    starts: NONE,
    sums: NONE,
    spanEnds: [],
    known: 0,
    profiles: new Map(),
    profileData: NONE,
    aged: null,
    agedTime: 0,
    law,
    alive,
    ages,
    firstMass,
    freshDrain,
  };
}

const NONE = new Float64Array(0);

const scratches = [NONE, NONE];

/** A buffer of at least `length`, whose contents last until it is asked for again. */
function scratchOf(which: number, length: number): Float64Array {
  if (scratches[which].length < length) scratches[which] = new Float64Array(2 * length);
  return scratches[which];
}

function grown(values: Float64Array, length: number): Float64Array {
  const larger = new Float64Array(length);
  larger.set(values);
  return larger;
}

/** A span ends where the share of active groups has moved by this, or after so many cells. */
const SPAN_STEP = 0.02;
const LONGEST_SPAN = 32;

/** Extends the process until `waves` blocks have started per slot or it is stationary; returns the last point known. */
export function extendRenewal(renewal: Renewal, waves: number): number {
  const { alive, ages, points, firstMass, spanEnds } = renewal;
  let { starts, sums, known: k } = renewal;
  const span = alive.length - 1;
  const again = 1 / (1 - ages[0]);
  while (k < points && (k === 0 || sums[4 * k - 4] < waves)) {
    if (k === starts.length) {
      const length = Math.min(
        points,
        Math.max(32, 2 * k, Math.ceil((waves * renewal.law.meanBlock) / renewal.step) + 8),
      );
      renewal.starts = starts = grown(starts, length);
      renewal.sums = sums = grown(sums, 4 * length + 4);
    }
    let sum = k === 0 ? 1 : 0;
    let group = 0;
    let pair = 0;
    let between = 0;
    const to = Math.min(k, span);
    for (let i = Math.max(1, firstMass); i <= to; i++) sum += starts[k - i] * ages[4 * i];
    // Lives that round to nothing are followed by another start at once.
    starts[k] = sum * again;
    for (let i = 0, age = 1; i <= to; i++, age += 4) {
      const started = starts[k - i];
      group += started * ages[age];
      pair += started * ages[age + 1];
      between += started * ages[age + 2];
    }
    const at = 4 * k;
    const first = spanEnds.length > 0 ? spanEnds[spanEnds.length - 1] : 0;
    const moved = Math.abs(group - (sums[4 * first + 5] - sums[4 * first + 1]));
    if (k > first && (k - first >= LONGEST_SPAN || moved > SPAN_STEP)) spanEnds.push(k);
    sums[at] = (k === 0 ? 0 : sums[at - 4]) + starts[k];
    sums[at + 5] = sums[at + 1] + group;
    sums[at + 6] = sums[at + 2] + pair;
    sums[at + 7] = sums[at + 3] + between;
    k++;
  }
  renewal.known = k;
  return k - 1;
}

/** Share of a slot's activity that ages are lumped up to, and the widest relative span of a lump. */
const LUMP_ACTIVITY = 0.06;
const LUMP_SPAN = 0.2;

/**
 * Activity of a slot after grid point `k` where blocks started before `k` only: what drains if nothing starts from then
 * on. Blocks started at `k` itself add `starts·fresh`.
 * @returns where it is in `profileData`
 */
function profileAfter(renewal: Renewal, k: number): number {
  const known = renewal.profiles.get(k);
  if (known !== undefined) return known;
  const { law, starts, step, alive } = renewal;
  const length = (law.drainEdges.length - 1) * CELL_FIELDS;
  const at = renewal.profiles.size * length;
  if (renewal.profileData.length <= at) renewal.profileData = grown(renewal.profileData, Math.max(4 * length, 2 * at));
  const profile = renewal.profileData.subarray(at, at + length);
  let weight = 0;
  let moment = 0;
  let activity = 0;
  let youngest = 1;
  for (let i = 1; i <= k && i < alive.length; i++) {
    const started = starts[k - i];
    const active = started * alive[i];
    if (alive[i] <= 0) break;
    if (weight > 0 && (activity + active > LUMP_ACTIVITY || i - youngest > LUMP_SPAN * i)) {
      addBlocks(profile, law, weight, (moment / weight) * step);
      weight = moment = activity = 0;
    }
    if (started < 1e-12) continue;
    if (weight === 0) youngest = i;
    weight += started;
    moment += started * i;
    activity += active;
  }
  if (weight > 0) addBlocks(profile, law, weight, (moment / weight) * step);
  renewal.profiles.set(k, at);
  return at;
}

function emptyDrain(law: BlockLaw): ActivityProfile {
  const { drainEdges } = law;
  const profile = allocateProfile(drainEdges.length - 1);
  for (let c = 0; c < profile.cells; c++) profile.data[c * CELL_FIELDS + WIDTH] = drainEdges[c + 1] - drainEdges[c];
  return profile;
}

/** Adds the activity of a share of the slots whose blocks are `age` iterations old to cells of the drain. */
function addBlocks(data: Float64Array, law: BlockLaw, share: number, age: number): void {
  const { drainEdges } = law;
  const lived = scratchOf(0, 3 * drainEdges.length);
  integralsInto(lived, law, age, drainEdges, drainEdges.length);
  for (let c = 0, at = 0, i = 0; at < data.length; c++, at += CELL_FIELDS, i += 3) {
    const block = lived[i + 3] - lived[i];
    if (block <= 0) break;
    const perWidth = 1 / (drainEdges[c + 1] - drainEdges[c]);
    const scale = share * perWidth;
    data[at + BLOCK] += scale * block;
    data[at + GROUP] += scale * (lived[i + 4] - lived[i + 1]);
    data[at + PAIR] += scale * (lived[i + 5] - lived[i + 2]);
    data[at + LOG_IDLE] += share * logNone(block * perWidth);
  }
}

/**
 * Writes to `renewal.aged` the activity from now on of a slot that has been refilled for `time` iterations, with all ages
 * up to that alike, if its block is not replaced. What is older than the run cannot be there yet: with heavy tails that
 * matters for long.
 */
export function agedProfile(renewal: Renewal, time: number): ActivityProfile {
  const { law } = renewal;
  const { drainEdges } = law;
  const aged = (renewal.aged ??= emptyDrain(law));
  const { cells, data } = aged;
  // Beyond the longest life nothing changes any more.
  const age = Math.min(time, drainEdges[cells]);
  if (renewal.agedTime === age) return aged;
  // In the middles of the cells, after a first time that is 0 itself.
  const times = middlesOf(drainEdges);
  const now = scratchOf(0, 3 * cells + 3);
  const then = scratchOf(1, 3 * cells + 3);
  integralsInto(now, law, 0, times, cells + 1);
  integralsInto(then, law, age, times, cells + 1);
  const scale = 1 / then[0];
  for (let at = 0, i = 3; at < data.length; at += CELL_FIELDS, i += 3) {
    data[at + BLOCK] = (then[i] - now[i]) * scale;
    data[at + GROUP] = (then[i + 1] - now[i + 1]) * scale;
    data[at + PAIR] = (then[i + 2] - now[i + 2]) * scale;
    data[at + LOG_IDLE] = logNone(data[at + BLOCK]);
  }
  renewal.agedTime = age;
  return aged;
}

let middles = NONE;

function middlesOf(edges: Float64Array): Float64Array {
  if (middles.length < edges.length) middles = new Float64Array(2 * edges.length);
  for (let c = 1; c < edges.length; c++) middles[c] = 0.5 * (edges[c - 1] + edges[c]);
  return middles;
}

/** The profile that `combinedProfile` returns: valid until it is called again. */
const combined = { ...allocateProfile(64) };

/**
 * Activity after grid point `k` where `started` blocks per slot start at that point and none later. Valid until the next
 * call.
 */
export function combinedProfile(renewal: Renewal, k: number, started: number): ActivityProfile {
  let from = profileAfter(renewal, k);
  const before = renewal.profileData;
  const { cells, data: fresh } = renewal.freshDrain;
  if (combined.data.length < fresh.length) combined.data = new Float64Array(2 * fresh.length);
  combined.cells = cells;
  const { data } = combined;
  for (let c = 0; c < fresh.length; c += CELL_FIELDS, from += CELL_FIELDS) {
    // The grid of starts is only so fine: a slot never holds more than one block.
    const block = Math.min(1, before[from + BLOCK] + started * fresh[c + BLOCK]);
    const group = Math.min(block, before[from + GROUP] + started * fresh[c + GROUP]);
    data[c + WIDTH] = fresh[c + WIDTH];
    data[c + BLOCK] = block;
    data[c + GROUP] = group;
    data[c + PAIR] = Math.min(group, before[from + PAIR] + started * fresh[c + PAIR]);
    data[c + LOG_IDLE] = before[from + LOG_IDLE] + started * fresh[c + LOG_IDLE];
  }
  return combined;
}
