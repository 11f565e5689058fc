import type { UnitLoopProfile } from '../../domain/benchmark.ts';
import { hasTable, lanesPerSector, unitLoopShape } from '../stand-in.ts';
import { SECTOR_WORDS } from '../unit-loop.ts';
import { MAIN_INPUT, MIX } from './wgsl.ts';

export interface UnitLoopShader {
  readonly profile: UnitLoopProfile;
  readonly threadsPerUnit: number;
  readonly blockThreads: number;
  readonly form: 'nested' | 'flattened' | 'fetching';
  /** Number of units that a slot fetches at once. With `group`, a subgroup fetches one unit for each of its slots. */
  readonly fetch?: number | 'group';
}

/** Maximum number of steps that are written out. A loop around them runs a larger number. */
const UNROLLED_STEPS = 64;

function repeated(count: number, step: () => string): string {
  const steps = (some: number): string => Array.from({ length: some }, step).join('\n');
  if (count <= UNROLLED_STEPS) return steps(count);
  const rounds = Math.floor(count / UNROLLED_STEPS);
  return `for (var k = 0u; k < ${rounds}u; k++) {\n${steps(UNROLLED_STEPS)}\n}\n${steps(count % UNROLLED_STEPS)}`;
}

/** State of the loads between passes. WebGPU has no register cap, so nothing else needs to occupy registers. */
const LOAD_STATE = ['ring', 'stream', 'streamed', 'loadPhase', 'streamPhase']
  .map((name) => `var<private> ${name}: u32;`)
  .join('\n');

/** The same steps as in `pass` of unit-loop.cu. */
function iteration({ profile, threadsPerUnit: u }: UnitLoopShader): string {
  const shape = unitLoopShape(profile, u);
  const rank = deals(profile, u) ? `thread % ${u}u` : '0u';
  const load = 'ring = table[after(ring, x)];\nx = after(x, ring);';
  const next = `x += streamed * launch.zero;\nstreamed = table[stream];\nstream = (stream + ${STREAM_WORDS}u) & ${profile.tableWords - 1}u;`;
  const sometimes = (phase: string, rate: number, body: string): string =>
    rate > 0 ? `${phase} += ${rate}u;\nif (${phase} < ${rate}u) { ${body} }` : '';
  const integers = repeated(Math.floor(shape.integers / 2), () => 'v &= launch.zero; v += launch.zero;');
  const floats = repeated(shape.floats, () => 'f = f * launch.floatZero + launch.floatZero;');
  const exchanges = Array.from(
    { length: shape.exchanges },
    (_, k) => `x &= subgroupShuffleXor(x, ${u >> ((k % Math.log2(u)) + 1)}u);`,
  );
  return `fn after(x: u32, y: u32) -> u32 { return (x & launch.ones) | (y & ~launch.ones); }
fn iteration(before: u32, left: u32, factor: u32, thread: u32) -> u32 {
var x = before;
${repeated(shape.streamed, () => next)}
${sometimes('streamPhase', shape.streamRate, next)}
${repeated(shape.loads, () => load)}
${sometimes('loadPhase', shape.loadRate, load)}
${shape.integers > 0 ? `var v = x;\n${integers}\n${shape.integers % 2 === 1 ? 'v &= launch.zero;' : ''}\nx = after(x, v);` : ''}
${shape.floats > 0 ? `var f = bitcast<f32>(after(bitcast<u32>(launch.floatZero), x));\n${floats}\nx = after(x, bitcast<u32>(f));` : ''}
${shape.specials > 0 ? `var special = bitcast<f32>(after(bitcast<u32>(1.0 + launch.floatZero), x));\n${repeated(shape.specials, () => 'special = inverseSqrt(special);')}\nx = after(x, bitcast<u32>(special));` : ''}
${exchanges.join('\n')}
return x + factor * (max(left, ${rank}) - ${rank});
}`;
}
const deals = ({ sharing }: UnitLoopProfile, u: number): boolean => sharing === 'deal' && u > 1;

function ending({ profile, threadsPerUnit: u }: UnitLoopShader): string {
  const { unitSteps, combineSteps } = unitLoopShape(profile, u);
  const floats = (count: number): string =>
    count === 0
      ? ''
      : `f = bitcast<f32>(after(bitcast<u32>(launch.floatZero), x));\n${repeated(count, () => 'f = f * launch.floatZero + launch.floatZero;')}\nx = after(x, bitcast<u32>(f));`;
  const steps = deals(profile, u) ? Array.from({ length: Math.log2(u) }, (_, k) => `${floats(combineSteps)}\nx += subgroupShuffleXor(x, ${u >> (k + 1)}u);`) : []; // prettier-ignore
  return `fn ending(sum: u32) -> u32 {\nvar x = sum;\nvar f = 0.0;\n${floats(unitSteps)}\n${steps.join('\n')}\nreturn x;\n}`;
}
/** Distance between two successive sectors of a lane in the stream, words. 32 lanes read sectors side by side. */
const STREAM_WORDS = 32 * SECTOR_WORDS;

/** Writes where in the table a lane's loads start. `round` is an expression, the same in a whole group. */
function writeBegin({ profile }: UnitLoopShader, round: string): string {
  if (profile.dependentLoadsPerIteration === 0) return '';
  return `loadPhase = 0u;\nring = (mix(${round} + thread / ${lanesPerSector(profile)}u) * ${SECTOR_WORDS}u) & ${profile.tableWords - 1}u;`;
}

/* Loops test their end at the foot of a pass, so lanes make as many passes as the longest lane has iterations. */
const ONE_UNIT = `
let unit = order[position];
var left = lengths[unit];
let factor = mix(unit + 1u) | 1u;
var x = FIRST;
BEGIN
if (left > 0u) {
  loop {
    x = iteration(x, left, factor, thread);
    left = max(left, PASSEDu) - PASSEDu;
    continuing { break if left == 0u; }
  }
}
x = ending(x);
if (rank == 0u) { result[unit] = x; }`;

const NESTED = `
for (var round = 0u; round < launch.rounds; round++) {
  let position = round * launch.slots + slot;
  if (position < UNITS) {
    ONE_UNIT
  }
}`;

/** A subgroup takes a unit for each of its slots, and takes the next units when all of these are done. */
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

/** One loop over the iterations of all units of a slot. `NEXT` finds the position of the next unit. */
const FLATTENED = `
NEXT
if (position >= UNITS) { return; }
var unit = order[position];
var left = lengths[unit];
var factor = mix(unit + 1u) | 1u;
var x = FIRST;
var more = true;
loop {
  if (left > 0u) {
    x = iteration(x, left, factor, thread);
    left = max(left, PASSEDu) - PASSEDu;
  }
  if (left == 0u) {
    x = ending(x);
    if (rank == 0u) { result[unit] = x; }
    NEXT
    more = position < UNITS;
    if (more) {
      unit = order[position];
      left = lengths[unit];
      factor = mix(unit + 1u) | 1u;
      x = FIRST;
    }
  }
  continuing { break if !more; }
}`;

/**
 * The compiler does not know the values of `launch`, so computations with them stay in the code although they have no
 * effect. The last binding is the counter of dynamic fetch, or the order of the blocks if nothing is fetched.
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
${MIX}
${LOAD_STATE}
${iteration(shader)}
${ending(shader)}
@compute @workgroup_size(${blockThreads})
fn main(
${MAIN_INPUT}
  ${subgroups ? '@builtin(subgroup_invocation_id) lane: u32,' : ''}
  ${byGroup ? '@builtin(subgroup_size) width: u32,' : ''}
) {
  let block = group.x + group.y * groups.x;
  if (block >= launch.blocks) { return; }
  ${fetching ? '' : `let slot = blockOrder[block] * ${slots}u + thread / ${u}u;`}
  let rank = thread % ${u}u;
  ${writeBegin(shader, 'block')}
  ${profile.bytesPerIteration > 0 ? `stream = (mix(block * ${blockThreads}u + thread) * ${SECTOR_WORDS}u) & ${profile.tableWords - 1}u;` : ''}
  ${body
    .replace('ONE_UNIT', ONE_UNIT)
    .replace('BEGIN', writeBegin(shader, `position - thread / ${u}u`))
    .replaceAll('UNITS', 'launch.units')
    .replaceAll('PASSED', String(deals(profile, u) ? u : 1))
    .replaceAll('FIRST', deals(profile, u) ? 'select(0u, factor, rank == 0u)' : 'factor')}
}
`;
}
