import type { UnitLoopProfile } from '../../domain/benchmark.ts';
import { hasTable, heldRegisters, lanesPerSector, unitLoopShape } from '../stand-in.ts';
import { SECTOR_WORDS } from '../unit-loop.ts';

export interface UnitLoopShader {
  readonly profile: UnitLoopProfile;
  readonly threadsPerUnit: number;
  readonly blockThreads: number;
  readonly form: 'nested' | 'flattened' | 'fetching';
  /** Units that a slot fetches at once, where it fetches, or one for every slot of a subgroup. */
  readonly fetch?: number | 'group';
}

/** Steps that are written out one by one; more of them become a loop around as many. */
const UNROLLED_STEPS = 64;

/** `count` times `step`, which is given the number of the repetition. */
function repeated(count: number, variable: string, step: (at: number) => string): string {
  const unrolled = Math.min(count, UNROLLED_STEPS);
  const steps = (from: number, to: number): string =>
    Array.from({ length: to - from }, (_, i) => step(from + i)).join('\n');
  if (count <= UNROLLED_STEPS) return steps(0, count);
  const rounds = Math.floor(count / unrolled);
  return `for (var ${variable} = 0u; ${variable} < ${rounds}u; ${variable}++) {\n${steps(0, unrolled)}\n}\n${steps(0, count % unrolled)}`;
}

/** What a thread has beside its unit: registers that steps go round in, and where its loads are. */
function heldVariables({ profile, threadsPerUnit: u }: UnitLoopShader): string {
  const held = heldRegisters(profile, unitLoopShape(profile, u, 1));
  const floats = Array.from({ length: held.floats }, (_, k) => `f${k}`);
  const integers = Array.from({ length: held.integers }, (_, k) => `i${k}`);
  return `var<private> ${[...floats, 'special'].join(': f32;\nvar<private> ')}: f32;
var<private> ${[...integers, ...LOAD_STATE].join(': u32;\nvar<private> ')}: u32;
fn begin() {
${floats.map((name, k) => `${name} = launch.floatZero * ${k + 1}.0;`).join('\n')}
${integers.map((name, k) => `${name} = launch.zero * ${k + 1}u;`).join('\n')}
special = 1.0 + launch.floatZero;
}`;
}
const LOAD_STATE = ['ring', 'stream', 'streamed', 'loadPhase', 'streamPhase'];

/** One iteration of one unit: the same steps as `pass` of unit-loop.cu. */
function iteration({ profile, threadsPerUnit: u }: UnitLoopShader): string {
  const shape = unitLoopShape(profile, u, 1);
  const held = heldRegisters(profile, shape);
  const load = 'ring = table[after(ring, x)];\nx = after(x, ring);';
  const next = `x += streamed * launch.zero;\nstreamed = table[stream];\nstream = (stream + ${STREAM_WORDS}u) & ${profile.tableWords - 1}u;`;
  const sometimes = (phase: string, rate: number, body: string): string =>
    rate > 0 ? `${phase} += ${rate}u;\nif (${phase} < ${rate}u) { ${body} }` : '';
  const integers = repeated(Math.floor(shape.integers / 2), 'k', (k) => {
    const own = `i${k % held.integers}`;
    return `v &= launch.zero; ${own} += v; v = ${own};`;
  });
  const floats = repeated(shape.floats, 'k', (k) => {
    const own = `f${k % held.floats}`;
    return `f = f * launch.floatZero + ${own}; ${own} = f;`;
  });
  const exchanges = Array.from(
    { length: shape.exchanges },
    (_, k) => `x &= subgroupShuffleXor(x, ${u >> ((k % Math.log2(u)) + 1)}u);`,
  );
  return `fn after(x: u32, y: u32) -> u32 { return (x & launch.ones) | (y & ~launch.ones); }
fn iteration(before: u32) -> u32 {
var x = before;
${repeated(shape.streamed, 'k', () => next)}
${sometimes('streamPhase', shape.streamRate, next)}
${repeated(shape.loads, 'k', () => load)}
${sometimes('loadPhase', shape.loadRate, load)}
${shape.integers > 0 ? `var v = x;\n${integers}\n${shape.integers % 2 === 1 ? 'v &= launch.zero;' : ''}\nx = after(x, v);` : ''}
${shape.floats > 0 ? `var f = bitcast<f32>(after(bitcast<u32>(f${held.floats - 1}), x));\n${floats}\nx = after(x, bitcast<u32>(f));` : ''}
${shape.specials > 0 ? `special = bitcast<f32>(after(bitcast<u32>(special), x));\n${repeated(shape.specials, 'k', () => 'special = inverseSqrt(special);')}\nx = after(x, bitcast<u32>(special));` : ''}
${exchanges.join('\n')}
return x * 0x2c9277b5u + 0xac564b05u;
}`;
}
/** Words from a lane's sector of the stream to its next: 32 lanes read sectors side by side. */
const STREAM_WORDS = 32 * SECTOR_WORDS;

/** Where the lanes that share sectors begin to walk the ring; `round` is the same for all lanes of a group. */
function beginAt({ profile }: UnitLoopShader, round: string): string {
  if (profile.dependentLoadsPerIteration === 0) return '';
  return `loadPhase = 0u;\nring = (mix(${round} + thread / ${lanesPerSector(profile)}u) * ${SECTOR_WORDS}u) & ${profile.tableWords - 1}u;`;
}

/*
 * Loops test their end at the foot of a pass, so that a group of lanes makes as many passes as its longest lane has
 * iterations, and not one more to find that nothing is left.
 */
const ONE_UNIT = `
let unit = order[position];
var left = lengths[unit];
var x = mix(unit + 1u);
BEGIN
if (left > 0u) {
  loop {
    x = iteration(x);
    left--;
    continuing { break if left == 0u; }
  }
}
if (rank == 0u) { result[unit] = x; }`;

const NESTED = `
for (var round = 0u; round < launch.rounds; round++) {
  let position = round * launch.slots + slot;
  if (position < UNITS) {
    ONE_UNIT
  }
}`;

/** A subgroup takes a unit for each of its slots, and the next ones when all are done. */
const GROUP_FETCHING = `
loop {
  var first = 0u;
  if (lane == 0u) { first = atomicAdd(&counter, present); }
  first = subgroupBroadcastFirst(first);
  if (first >= UNITS) { break; }
  let position = first + slotInGroup;
  if (position < UNITS) {
    ONE_UNIT
  }
}`;

/** One loop over the iterations of all units of a slot; `NEXT` finds the position of the next. */
const FLATTENED = `
NEXT
if (position >= UNITS) { return; }
var unit = order[position];
var left = lengths[unit];
var x = mix(unit + 1u);
var more = true;
loop {
  if (left > 0u) {
    x = iteration(x);
    left--;
  }
  if (left == 0u) {
    if (rank == 0u) { result[unit] = x; }
    NEXT
    more = position < UNITS;
    if (more) {
      unit = order[position];
      left = lengths[unit];
      x = mix(unit + 1u);
    }
  }
  continuing { break if !more; }
}`;

/**
 * WGSL of a unit loop. Bindings: 0 `launch`, with values that the compiler does not know, so that what is computed with them changes
 * nothing; 1 lengths; 2 order; 3 result; the table of the loads, where there are any; last the counter of dynamic fetch, or the order of
 * the blocks where nothing is fetched.
 */
export function unitLoopShader(shader: UnitLoopShader): string {
  const { profile, threadsPerUnit: u, blockThreads, form, fetch: units = 1 } = shader;
  const fetching = form === 'fetching';
  const used = [
    'var<storage, read> lengths: array<u32>',
    'var<storage, read> order: array<u32>',
    'var<storage, read_write> result: array<u32>',
    ...(hasTable(profile) ? ['var<storage, read> table: array<u32>'] : []),
    fetching ? 'var<storage, read_write> counter: atomic<u32>' : 'var<storage, read> blockOrder: array<u32>',
  ];
  const leader = u > 1 ? `position = subgroupShuffle(position, lane & ${(0x1_0000_0000 - u) >>> 0}u);` : '';
  const one = `if (rank == 0u) { position = atomicAdd(&counter, ${units}u); }\n${leader}`;
  const fetch = units === 1 ? one : `if (held > 1u) { position++; held--; } else { held = ${units}u; ${one} }`;
  const byGroup = fetching && units === 'group';
  const body = byGroup
    ? `let present = min(width, ${blockThreads}u - (thread - lane)) / ${u}u;\nlet slotInGroup = lane / ${u}u;${GROUP_FETCHING}`
    : form === 'nested'
      ? NESTED
      : `var held = 0u;\nvar position = ${fetching ? '0u' : 'slot - launch.slots'};${FLATTENED.replaceAll('NEXT', fetching ? fetch : 'position += launch.slots;')}`;
  const slots = blockThreads / u;
  const subgroups = u > 1 || byGroup;
  return `${subgroups ? 'enable subgroups;\ndiagnostic(off, subgroup_uniformity);' : ''}
struct Launch { slots: u32, rounds: u32, blocks: u32, units: u32, ones: u32, zero: u32, floatZero: f32 }
@group(0) @binding(0) var<uniform> launch: Launch;
${used.map((declaration, i) => `@group(0) @binding(${i + 1}) ${declaration};`).join('\n')}
fn mix(value: u32) -> u32 {
  var v = value ^ (value >> 16u);
  v *= 0x7feb352du;
  return v ^ (v >> 15u);
}
${heldVariables(shader)}
${iteration(shader)}
@compute @workgroup_size(${blockThreads})
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) thread: u32,
  ${subgroups ? '@builtin(subgroup_invocation_id) lane: u32,' : ''}
  ${byGroup ? '@builtin(subgroup_size) width: u32,' : ''}
) {
  let block = group.x + group.y * groups.x;
  if (block >= launch.blocks) { return; }
  ${fetching ? '' : `let slot = blockOrder[block] * ${slots}u + thread / ${u}u;`}
  let rank = thread % ${u}u;
  begin();
  ${beginAt(shader, 'block')}
  ${profile.bytesPerIteration > 0 ? `stream = (mix(block * ${blockThreads}u + thread) * ${SECTOR_WORDS}u) & ${profile.tableWords - 1}u;` : ''}
  ${body
    .replace('ONE_UNIT', ONE_UNIT)
    .replace('BEGIN', beginAt(shader, `position - thread / ${u}u`))
    .replaceAll('UNITS', 'launch.units')}
}
`;
}
