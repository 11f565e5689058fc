import type { UnitLoopProfile } from '../../domain/benchmark.ts';

export interface UnitLoopShader {
  readonly profile: UnitLoopProfile;
  readonly threadsPerUnit: number;
  readonly blockThreads: number;
  readonly form: 'nested' | 'flattened' | 'fetching';
  /** Units that a slot fetches at once, where it fetches, or one for every slot of a subgroup. */
  readonly fetch?: number | 'group';
}

/** Steps of one iteration that are written out one by one; more of them become a loop around as many. */
const UNROLLED_STEPS = 64;

/** `count` times `step`, which is given the number of the repetition as WGSL. */
function repeated(count: number, variable: string, step: (index: string) => string): string {
  if (count <= UNROLLED_STEPS) return Array.from({ length: count }, (_, i) => step(`${i}u`)).join('\n');
  return `for (var ${variable} = 0u; ${variable} < ${count}u; ${variable}++) {\n${step(variable)}\n}`;
}

/** One iteration of one unit, as `UnitLoopProfile` defines it. */
function iteration({ profile, threadsPerUnit: u }: UnitLoopShader): string {
  const { parallelSteps, serialSteps, dependentLoads, tableWords } = profile;
  const whole = Math.floor(parallelSteps / u);
  const rest = parallelSteps - whole * u;
  const step = (j: string): string => `a ^= mix(x + (${j} + 1u) * 0x9e3779b9u);`;
  const exchanges: string[] = [];
  for (let distance = 1; distance < u && parallelSteps > 0; distance *= 2)
    exchanges.push(`a ^= subgroupShuffleXor(a, ${distance}u);`);
  return `fn iteration(x: u32, rank: u32) -> u32 {
var a = 0u;
${repeated(whole, 'k', (k) => step(`${k} * ${u}u + rank`))}
${rest > 0 ? `if (rank < ${rest}u) { ${step(`${whole * u}u + rank`)} }` : ''}
${exchanges.join('\n')}
a ^= x;
${repeated(dependentLoads, 'l', () => `a += table[(a >> 4u) & ${tableWords - 1}u];`)}
${repeated(serialSteps, 's', () => 'a = mix(a + 0x85ebca6bu);')}
return a;
}`;
}

/*
 * Loops test their end at the foot of a pass, so that a group of lanes makes as many passes as its longest lane has
 * iterations, and not one more to find that nothing is left.
 */
const ONE_UNIT = `
let unit = order[position];
var left = lengths[unit];
var x = mix(unit + 1u);
if (left > 0u) {
  loop {
    x = iteration(x, rank);
    left--;
    continuing { break if left == 0u; }
  }
}
if (rank == 0u) { result[unit] = x; }`;

const NESTED = `
for (var round = 0u; round < launch.y; round++) {
  let position = round * launch.x + slot;
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
    x = iteration(x, rank);
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
 * WGSL of a unit loop. Bindings: 0 `launch`: (slots, rounds, blocks, units); 1 lengths; 2 order; 3 result; the table of
 * the loads, where there are any; last the counter of dynamic fetch, or the order of the blocks where nothing is fetched.
 */
export function unitLoopShader(shader: UnitLoopShader): string {
  const { profile, threadsPerUnit: u, blockThreads, form, fetch: units = 1 } = shader;
  const fetching = form === 'fetching';
  const used = [
    'var<storage, read> lengths: array<u32>',
    'var<storage, read> order: array<u32>',
    'var<storage, read_write> result: array<u32>',
    ...(profile.dependentLoads > 0 ? ['var<storage, read> table: array<u32>'] : []),
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
      : `var held = 0u;\nvar position = ${fetching ? '0u' : 'slot - launch.x'};${FLATTENED.replaceAll('NEXT', fetching ? fetch : 'position += launch.x;')}`;
  const slots = blockThreads / u;
  const subgroups = u > 1 || byGroup;
  return `${subgroups ? 'enable subgroups;\ndiagnostic(off, subgroup_uniformity);' : ''}
@group(0) @binding(0) var<uniform> launch: vec4<u32>;
${used.map((declaration, i) => `@group(0) @binding(${i + 1}) ${declaration};`).join('\n')}
fn mix(value: u32) -> u32 {
  var v = value ^ (value >> 16u);
  v *= 0x7feb352du;
  return v ^ (v >> 15u);
}
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
  if (block >= launch.z) { return; }
  ${fetching ? '' : `let slot = blockOrder[block] * ${slots}u + thread / ${u}u;`}
  let rank = thread % ${u}u;
  ${body.replace('ONE_UNIT', ONE_UNIT).replaceAll('UNITS', 'launch.w')}
}
`;
}
