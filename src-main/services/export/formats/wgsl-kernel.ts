import { parseBalancing } from '../../../../src-workers/domain/balancing.ts';
import type { Balancing } from '../../../../src-workers/domain/design.ts';
import { unwrap } from '../../../../src-workers/domain/result.ts';
import type { RankRow } from '../../../contract/api.ts';
import { bucketEnds, cutsUnits, padsUnits } from '../balancing.ts';
import type { CodeSource } from '../code.ts';
import { codeFormat, loopLimits, shareLimit } from '../code-format.ts';
import { wgslConstants, workgroupSize } from './wgsl.ts';

export const wgslKernel = codeFormat({
  id: 'wgsl-kernel',
  label: 'WGSL kernel',
  text: 'The loop around your work',
  words: 'webgpu shader skeleton loop',
  extension: 'kernel.wgsl',
  tiles: true,
  limits: (source, row) => [
    ...loopLimits(source, row),
    ...(cutsUnits(unwrap(parseBalancing(row.design.balancing))) ? [shareLimit(source, row)] : []),
  ],
  write: kernelText,
});

/**
 * Each invocation of a unit gives `unit_end` its own part of the sum, because WebGPU does not fix the width of a
 * subgroup. Only `dynamic-fetch(group)` uses subgroups, which may have any width.
 */
function kernelText(source: CodeSource, row: RankRow, width: number): string {
  const { design } = row;
  const balancing = unwrap(parseBalancing(design.balancing));
  const isMixed = design.classes !== undefined;
  const fetches = balancing.kind === 'dynamic-fetch';
  const byGroup = fetches && balancing.fetch === 'group';
  const cuts = cutsUnits(balancing);
  const isPadded = padsUnits(balancing);
  const buckets = bucketEnds(source, design, balancing, width);
  const isPlaced = ['full-sort', 'quantile-buckets', 'best-buckets'].includes(balancing.kind);
  const isOrdered = isMixed || isPlaced || balancing.kind === 'shuffle' || balancing.kind === 'window-sort';
  const isWide = fetches && !byGroup && design.threadsPerUnit > 1;
  const partial = design.threadsPerUnit > 1 || isMixed || cuts;
  const wholeUnits = fetches ? byGroup || isWide : !cuts && design.loop === 'nested';
  const order = `${isMixed ? 'The units, one class of length after another' : 'The units in their order'}.`;
  const lists: readonly (readonly [isBound: boolean, about: string, declaration: string])[] = [
    [isOrdered, order, 'var<storage, read> order: array<u32>'],
    [
      isPlaced,
      'The number that each workgroup takes: a random permutation of 0 to workgroups - 1.',
      'var<storage, read> places: array<u32>',
    ],
    [
      isPadded,
      'The number of iterations to which each unit is padded, in order.',
      'var<storage, read> padded: array<u32>',
    ],
    [
      cuts,
      'The sum of the iterations before each unit, and then of all units. It must be below 2^32.',
      'var<storage, read> starts: array<u32>',
    ],
    [
      fetches,
      'The counter from which all slots fetch units. It must be 0 before the launch.',
      'var<storage, read_write> counter: atomic<u32>',
    ],
  ];
  const bindings = lists
    .filter(([isBound]) => isBound)
    .map(([, about, declaration], at) => `// ${about}\n@group(3) @binding(${at + 1}) ${declaration};\n`);
  const body = byGroup
    ? FETCH_BY_SUBGROUP
    : `  let u = ${isMixed ? 'CLASS_THREADS_PER_UNIT[launch.which]' : 'THREADS_PER_UNIT'};
  let slots_of_group = WORKGROUP_SIZE / u;
  let rank = thread % u;
${fetches ? fetching(typeof balancing.fetch === 'number' ? balancing.fetch : 1, isWide) : dealing(balancing, design.loop === 'flattened', isPlaced)}`;
  const isTiled = design.blockWidth !== undefined;
  const inTiles = (text: string): string =>
    text
      .replaceAll('unit_iterations(unit)', 'iterations_of(unit)')
      .replaceAll('unit_end(unit, sum)', 'end_unit(unit, sum)');
  return `${byGroup ? SUBGROUPS : ''}${wgslConstants(source, row)}${
    buckets
      ? `// The longest unit of each bucket, in iterations. The last bucket has all longer units.\nconst BUCKET_UP_TO = array(${buckets.map((to) => `${to}u`).join(', ')});\n`
      : ''
  }
// Your work must have these declarations, in the same module:
//   alias Value = f32;                             what iterations add up to
${cuts ? '' : '//   fn unit_iterations(unit: u32) -> u32           how long the unit is\n'}\
//   fn unit_step(unit: u32, i: u32) -> Value       what its iteration i adds
//   fn unit_end(unit: u32, sum: Value)             takes the sum${partial ? ' in parts, one from each invocation of the unit: add them atomically,\n//                                                 f32 by atomicCompareExchangeWeak on its bits' : ''}

// A launch takes \`units\` units of the order, beginning at \`first\`, in \`workgroups\` workgroups.${isMixed ? ' Launch each class: `which` is its number.' : ''}
struct Launch { first: u32, units: u32, workgroups: u32, which: u32 }
@group(3) @binding(0) var<uniform> launch: Launch;
${bindings.join('')}${isTiled ? TILES : cuts ? '' : unitAt(isOrdered)}${wholeUnits ? (isTiled ? inTiles : String)(runUnit(isPadded)) : ''}${isWide ? SHARED : ''}
@compute @workgroup_size(${workgroupSize(design)})
fn run_units(
  @builtin(workgroup_id) id: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(${byGroup ? 'subgroup_invocation_id) lane' : 'local_invocation_index) thread'}: u32,
) {
  let group = id.y * groups.x + id.x;
  if (group >= launch.workgroups) { return; }
  let units = ${isTiled ? '(launch.units + IMAGE_UNITS - 1u) / IMAGE_UNITS * TILES_PER_IMAGE * (WORKGROUP_SIZE / THREADS_PER_UNIT)' : 'launch.units'};
${isTiled ? inTiles(body) : body}}
`;
}

const SUBGROUPS = `// Request the feature "subgroups" with the device.
enable subgroups;
diagnostic(off, subgroup_uniformity);

`;

const SHARED = `
var<workgroup> fetched: array<u32, WORKGROUP_SIZE>;
var<workgroup> remaining: u32;
`;

const unitAt = (isOrdered: boolean): string => `
fn unit_at(at: u32) -> u32 {
  return ${isOrdered ? 'order[launch.first + at]' : 'launch.first + at'};
}
`;

/** If blocks take tiles, loops run over the places in tiles. A place beyond the edges of an image has no unit. */
const TILES = `
const NO_UNIT: u32 = 0xffffffffu;

// Returns the unit at a place: row by row in a tile, tiles row by row over an image, one image after another.
fn unit_at(place: u32) -> u32 {
  let slots = WORKGROUP_SIZE / THREADS_PER_UNIT;
  let across = BLOCK_WIDTH / THREADS_PER_UNIT;
  let tile = place / slots;
  let slot = place % slots;
  let inside = tile % TILES_PER_IMAGE;
  let x = inside % TILES_ACROSS * across + slot % across;
  let y = inside / TILES_ACROSS * BLOCK_HEIGHT + slot / across;
  let own = y * IMAGE_WIDTH + x;
  let unit = tile / TILES_PER_IMAGE * IMAGE_UNITS + own;
  let has_unit = x < IMAGE_WIDTH && own < IMAGE_UNITS && unit < launch.units;
  return select(NO_UNIT, launch.first + unit, has_unit);
}
fn iterations_of(unit: u32) -> u32 {
  if (unit == NO_UNIT) { return 0u; }
  return unit_iterations(unit);
}
fn end_unit(unit: u32, sum: Value) {
  if (unit != NO_UNIT) { unit_end(unit, sum); }
}
`;

const runUnit = (isPadded: boolean): string => `
// Runs a whole unit, whose u invocations take iterations in turn.
fn run_unit(u: u32, rank: u32, at: u32) {
  let unit = unit_at(at);
  let length = unit_iterations(unit);
  var sum = Value();
${
  isPadded
    ? `  let last = max(length, padded[launch.first + at]);
  for (var i = rank; i < last; i += u) {
    if (i < length) { sum += unit_step(unit, i); }
  }`
    : '  for (var i = rank; i < length; i += u) { sum += unit_step(unit, i); }'
}
  unit_end(unit, sum);
}
`;

function dealing(balancing: Balancing, isFlattened: boolean, isPlaced: boolean): string {
  const taking = cutsUnits(balancing)
    ? evenShares(balancing.kind === 'merge-path')
    : isFlattened
      ? oneLoop('var at = first_slot;', 'at += slots;')
      : ROUNDS;
  return `  let slots = launch.workgroups * slots_of_group;
  let first_slot = ${isPlaced ? 'places[group]' : 'group'} * slots_of_group + thread / u;
${taking}`;
}

const ROUNDS = `  // In each round, every slot of the launch takes one unit.
  for (var at = first_slot; at < units; at += slots) { run_unit(u, rank, at); }
`;

const oneLoop = (
  first: string,
  next: string,
): string => `  // With one loop, a slot that has finished a unit starts its next unit while other slots are still in theirs.
  ${first}
  var begun = false;
  var unit = 0u;
  var length = 0u;
  var i = 0u;
  var sum = Value();
  while (at < units) {
    if (!begun) {
      unit = unit_at(at);
      length = unit_iterations(unit);
      i = rank;
      sum = Value();
      begun = true;
    }
    if (i < length) { sum += unit_step(unit, i); }
    i += u;
    if (i - rank >= length) {
      unit_end(unit, sum);
      ${next}
      begun = false;
    }
  }
`;

/** This code works for any width of subgroups. A subgroup narrower than a unit's threads runs the unit alone. */
const FETCH_BY_SUBGROUP = `  // A subgroup takes a unit for each of its slots, and takes the next units when all of these are done.
  let lanes = subgroupAdd(1u);
  let u = min(THREADS_PER_UNIT, lanes);
  loop {
    var at = 0u;
    if (lane == 0u) { at = atomicAdd(&counter, lanes / u); }
    at = subgroupBroadcastFirst(at);
    if (at >= units) { break; }
    if (at + lane / u < units) { run_unit(u, lane % u, at + lane / u); }
  }
`;

function fetching(fetch: number, isWide: boolean): string {
  if (isWide)
    return `  // All invocations of a unit need the number that was fetched, so the slots of a workgroup fetch together.
  loop {
    if (rank == 0u) { fetched[thread / u] = atomicAdd(&counter, ${fetch}u); }
    workgroupBarrier();
    if (thread == 0u) {
      remaining = 0u;
      for (var slot = 0u; slot < slots_of_group; slot++) {
        if (fetched[slot] < units) { remaining++; }
      }
    }
    let at = fetched[thread / u];
    if (workgroupUniformLoad(&remaining) == 0u) { break; }
    for (var next = at; next < min(at + ${fetch}u, units); next++) { run_unit(u, rank, next); }
  }
`;
  const fetched = `atomicAdd(&counter, ${fetch}u)`;
  return fetch === 1
    ? oneLoop(`var at = ${fetched};`, `at = ${fetched};`)
    : oneLoop(
        `var at = ${fetched};\n  var left = ${fetch}u;`,
        `at++;\n      left--;\n      if (left == 0u) {\n        at = ${fetched};\n        left = ${fetch}u;\n      }`,
      );
}

function evenShares(isMergePath: boolean): string {
  const key = (unit: string): string => `starts[${unit}]${isMergePath ? ` + ${unit}` : ''}`;
  return `  // Every slot has an equal share of all iterations${isMergePath ? ' and all unit ends together' : ''}. The end of a share may cut a unit.
  let items = ${key('units')};
  let share = (items + slots - 1u) / slots;
  let begin = min(first_slot * share, items);
  let end = min(begin + share, items);
  var unit = 0u;
  var high = units;
  while (unit < high) {
    let middle = unit + (high - unit) / 2u;
    if (${key('(middle + 1u)')} <= begin) { unit = middle + 1u; } else { high = middle; }
  }
  for (; unit < units && ${key('unit')} < end; unit++) {
    let start = ${key('unit')};
    let length = starts[unit + 1u] - starts[unit];
    let last = min(end - start, length);
    var sum = Value();
    for (var i = select(0u, begin - start, begin > start) + rank; i < last; i += u) { sum += unit_step(unit, i); }
    unit_end(unit, sum);
  }
`;
}
