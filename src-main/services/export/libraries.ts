import { parseBalancing } from '../../../src-workers/domain/balancing.ts';
import { blockText, isWholeUnit } from '../../../src-workers/domain/design.ts';
import { fail, ok, unwrap, type Result } from '../../../src-workers/domain/result.ts';
import { moments } from '../../../src-workers/models/workload/laws.ts';
import type { CODE_FORMATS, ExportDocument, ExportFormat, RankRow } from '../../contract/api.ts';
import { layoutSentences } from '../ranking/design-text.ts';
import {
  cudaHeader,
  gridFor,
  gridForNote,
  head,
  implementationName,
  launchNumbers,
  MAX_WORD,
  pythonModule,
  unitsPerBlock,
  wgslConstants,
  type CodeSource,
} from './code.ts';
import { cudaKernel, cutsUnits } from './skeleton.ts';
import { whole } from './text.ts';
import { wgslKernel } from './wgsl-skeleton.ts';

/** A design as the launch constants of a C++ library. Only checked numbers and cleaned names reach the text. */

/** Whether the units of a launch are dealt out in rounds: neither fetched nor cut. */
function isDealt({ design }: RankRow): boolean {
  const balancing = unwrap(parseBalancing(design.balancing));
  return design.classes !== undefined || (isWholeUnit(balancing) && balancing.kind !== 'dynamic-fetch');
}

/** The constants of a launch in all library headers. `which` names a class of a mixed design; others have one. */
function launchConstants(row: RankRow, type: string): string {
  const numbers = launchNumbers(row);
  const lists = numbers.map(([name, values, said]) => {
    const [own, mark] = name === 'up_to' ? ['unsigned launch_up_to', 'u'] : [`${type} ${name}`, ''];
    return `/// ${said}\nconstexpr ${own}[launch_count] = {${values.map((value) => `${value}${mark}`).join(', ')}};`;
  });
  return `/// Number of launches. A mixed design has one for each class of lengths, the shortest class first.
constexpr ${type} launch_count = ${numbers[0][1].length};
${lists.join('\n')}
/// Units that each slot processes, one after another. If there are several launches, the largest of their numbers.
constexpr ${type} units_per_thread = ${row.design.unitsPerThread};`;
}

function about(source: CodeSource, row: RankRow): string {
  return [...head(source, row), ...layoutSentences(row.design).map((line) => `// ${line}`)].join('\n');
}

/** How rounds of units are dealt to slots, for a library that numbers its blocks and its threads. */
const rounds = (body: string): string => `  for (long long at = slot; at < units; at += slots) {
    ${body}
  }`;

/**
 * `Kokkos::TeamPolicy` of a design: a team is a block, the vector lanes of a thread are the threads of a unit within a
 * thread group, and `Kokkos::LaunchBounds` hold the residency. C++17.
 *
 * @param width threads of a thread group of the device: the longest vector
 */
export function kokkosHeader(source: CodeSource, row: RankRow, width: number): string {
  const name = implementationName(source, row);
  const guard = `LOCKSTEP_${name.toUpperCase()}_KOKKOS_HPP`;
  const { blockThreads } = row.design;
  const [, [, threadsPerUnit]] = launchNumbers(row);
  return `${about(source, row)}
#ifndef ${guard}
#define ${guard}

#include <Kokkos_Core.hpp>

namespace lockstep_${name} {

${launchConstants(row, 'int')}
/// Threads of a team including vector lanes. It is a block of the prediction.
constexpr int block_threads = ${blockThreads};
/// Vector lanes of each thread of a team, by launch. It is the threads of a unit, but at most a thread group.
constexpr int vector_length[launch_count] = {${threadsPerUnit.map((threads) => Math.min(threads, width)).join(', ')}};

/// Threads of a team without vector lanes, as Kokkos counts them.
constexpr int team_size(int which = 0) { return block_threads / vector_length[which]; }

/// Slots of a team: units that it takes at once.
constexpr int team_slots(int which = 0) { return block_threads / threads_per_unit[which]; }

${
  source.isGridFixed
    ? `/// Teams for any number of units: the design fixes them.
constexpr int league_for(long long, int which = 0) { return grid_blocks[which]; }`
    : `/// Teams for another number of units with the same work per slot.
constexpr int league_for(long long units, int which = 0) {
  const long long per_team = static_cast<long long>(team_slots(which)) * units_per_thread;
  return static_cast<int>((units + per_team - 1) / per_team);
}`
}

template <class Space = Kokkos::DefaultExecutionSpace>
using policy = Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<block_threads, ${row.residentBlocks}>>;

/// The policy of a launch of this number of units. Kokkos::parallel_for(policy_for(units), KOKKOS_LAMBDA(const member& team) { ... });
/// On the host, whose teams are smaller than a block, Kokkos chooses the team.
template <class Space = Kokkos::DefaultExecutionSpace>
policy<Space> policy_for(long long units, int which = 0) {
  if constexpr (Kokkos::SpaceAccessibility<Space, Kokkos::HostSpace>::accessible)
    return policy<Space>(league_for(units, which), Kokkos::AUTO, vector_length[which]);
  else
    return policy<Space>(league_for(units, which), team_size(which), vector_length[which]);
}
${
  isDealt(row)
    ? `
/// Threads of a team that share a unit, each with a vector. A smaller team has at most all its threads.
template <class Member>
KOKKOS_INLINE_FUNCTION int unit_threads(const Member& team, int which = 0) {
  const int per_unit = threads_per_unit[which] / vector_length[which];
  return per_unit < team.team_size() ? per_unit : team.team_size();
}

/// Calls body(position) for the units of this thread of a team, by their positions in the order. If a unit has more threads than a vector,
/// several threads of the team are called for it: thread team.team_rank() % unit_threads(team, which) of them. A team may have any size.
template <class Member, class Body>
KOKKOS_INLINE_FUNCTION void for_each_unit(const Member& team, long long units, int which, const Body& body) {
  const int per_unit = unit_threads(team, which);
  const int own = team.team_rank() / per_unit;
  const long long of_team = team.team_size() / per_unit;
  // Threads that are too few for another unit have none.
  if (own >= of_team) return;
  const long long slots = team.league_size() * of_team;
  const long long slot = team.league_rank() * of_team + own;
${rounds('body(at);')}
}
`
    : ''
}
}  // namespace lockstep_${name}

#endif  // ${guard}
`;
}

/**
 * `sycl::nd_range` of a design, with the sizes that a kernel requires (SYCL 2020, 5.8.1). C++17.
 *
 * @param width threads of a thread group of the device: the sub-group
 */
export function syclHeader(source: CodeSource, row: RankRow, width: number): string {
  const name = implementationName(source, row);
  const upper = name.toUpperCase();
  const { blockThreads } = row.design;
  return `${about(source, row)}
#ifndef LOCKSTEP_${upper}_SYCL_HPP
#define LOCKSTEP_${upper}_SYCL_HPP

#include <cstddef>
#include <sycl/sycl.hpp>

namespace lockstep_${name} {

${launchConstants(row, 'std::size_t')}
/// Work-items of a work-group.
constexpr std::size_t work_group_size = ${blockThreads};
/// Work-items of a sub-group of the device that the design is for.
constexpr std::size_t sub_group_size = ${width};

/// Slots of a work-group: units that it takes at once.
constexpr std::size_t group_slots(std::size_t which = 0) { return work_group_size / threads_per_unit[which]; }

${
  source.isGridFixed
    ? `/// Work-groups for any number of units: the design fixes them.
constexpr std::size_t groups_for(std::size_t, std::size_t which = 0) { return grid_blocks[which]; }`
    : `/// Work-groups for another number of units with the same work per slot.
constexpr std::size_t groups_for(std::size_t units, std::size_t which = 0) {
  const std::size_t per_group = group_slots(which) * units_per_thread;
  return (units + per_group - 1) / per_group;
}`
}

/// The range of a launch of this number of units.
inline sycl::nd_range<1> range_for(std::size_t units, std::size_t which = 0) {
  return sycl::nd_range<1>(sycl::range<1>(groups_for(units, which) * work_group_size), sycl::range<1>(work_group_size));
}
${
  isDealt(row)
    ? `
/// Calls body(position, rank) for the units of this work-item, by their positions in the order.
/// rank is its number among the work-items of the unit.
template <class Body>
void for_each_unit(const sycl::nd_item<1>& item, long long units, std::size_t which, const Body& body) {
  const std::size_t local = item.get_local_id(0);
  const long long slots = static_cast<long long>(item.get_group_range(0) * group_slots(which));
  const long long slot = static_cast<long long>(item.get_group(0) * group_slots(which) + local / threads_per_unit[which]);
${rounds('body(at, local % threads_per_unit[which]);')}
}
`
    : ''
}
}  // namespace lockstep_${name}

/// queue.parallel_for(range_for(units), [=](sycl::nd_item<1> item) LOCKSTEP_${upper}_SIZES { ... });
#define LOCKSTEP_${upper}_SIZES [[sycl::reqd_work_group_size(${blockThreads})]] [[sycl::reqd_sub_group_size(${width})]]

#endif  // LOCKSTEP_${upper}_SYCL_HPP
`;
}

/**
 * A segmented reduction by CUB's collectives: a thread, a part of a warp, a warp or a block for each segment, by
 * thresholds of its length, like the small, medium and large segments of cub::DeviceSegmentedReduce. A unit is a
 * segment. C++17.
 */
export function cubHeader(source: CodeSource, row: RankRow): string {
  const name = implementationName(source, row);
  const guard = `LOCKSTEP_${name.toUpperCase()}_CUB_CUH`;
  const { blockThreads } = row.design;
  return `${about(source, row)}
#ifndef ${guard}
#define ${guard}

#include <cub/block/block_reduce.cuh>
#include <cub/warp/warp_reduce.cuh>

#include <cstddef>
#include <vector>

namespace lockstep_${name} {

${launchConstants(row, 'unsigned')}
/// Threads of a block.
constexpr unsigned block_threads = ${blockThreads};
/// Units that one block of a launch takes.
constexpr unsigned segments_per_block(unsigned which) { return block_threads / threads_per_unit[which] * units_per_thread; }

/// ${gridForNote(source, 'grid_blocks', 'segments')}
${gridFor(
  'unsigned long long segments, unsigned which',
  '(segments + segments_per_block(which) - 1) / segments_per_block(which)',
  source.isGridFixed ? 'grid_blocks[which]' : null,
).join('\n')}

/// The launch that a segment of a length belongs to.
constexpr unsigned launch_of(unsigned length) {
  unsigned which = 0;
  while (which + 1 < launch_count && length > launch_up_to[which]) ++which;
  return which;
}

/// Segments by launch. Within a launch they keep their order.
struct partition {
  std::vector<unsigned> segments;
  /// Start of the segments of each launch, and the end of the last.
  std::vector<unsigned> begins;
};

/// @param offsets start of each segment, and the end of the last: one more entry than there are segments
template <class Offset>
partition partition_segments(const Offset* offsets, std::size_t count) {
  partition out{std::vector<unsigned>(count), std::vector<unsigned>(launch_count + 1)};
  for (std::size_t at = 0; at < count; ++at) ++out.begins[launch_of(static_cast<unsigned>(offsets[at + 1] - offsets[at])) + 1];
  for (unsigned which = 0; which < launch_count; ++which) out.begins[which + 1] += out.begins[which];
  std::vector<unsigned> next(out.begins.begin(), out.begins.end() - 1);
  for (std::size_t at = 0; at < count; ++at)
    out.segments[next[launch_of(static_cast<unsigned>(offsets[at + 1] - offsets[at]))]++] = static_cast<unsigned>(at);
  return out;
}

/// Reduces segments[0] to segments[count - 1], THREADS threads each: out[s] = op(initial, op over in[offsets[s]] to in[offsets[s + 1] - 1]).
template <unsigned THREADS, class T, class Input, class Output, class Offset, class Op>
__global__ void reduce_segments(Input in, Output out, const Offset* offsets, const unsigned* segments, unsigned count, Op op, T initial) {
  constexpr unsigned PARTS = THREADS > 32 ? THREADS / 32 : 1;
  constexpr unsigned WIDTH = THREADS > 32 ? 32 : THREADS;
  using Warp = cub::WarpReduce<T, WIDTH>;
  using Block = cub::BlockReduce<T, block_threads>;
  const unsigned rank = threadIdx.x % THREADS;
  const unsigned slots = gridDim.x * (block_threads / THREADS);
  const unsigned rounds = (count + slots - 1) / slots;
  // All threads take part in every round: the collectives are for all of them.
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned at = round * slots + blockIdx.x * (block_threads / THREADS) + threadIdx.x / THREADS;
    const unsigned segment = at < count ? segments[at] : 0;
    const Offset begin = offsets[segment];
    const unsigned length = at < count ? static_cast<unsigned>(offsets[segment + 1] - begin) : 0;
    T sum = initial;
    if (rank < length) sum = in[begin + rank];
    for (unsigned i = rank + THREADS; i < length; i += THREADS) sum = op(sum, in[begin + i]);
    const int valid = static_cast<int>(length < THREADS ? length : THREADS);
    if constexpr (THREADS == block_threads) {
      __shared__ typename Block::TempStorage storage;
      sum = Block(storage).Reduce(sum, op, valid);
      __syncthreads();
    } else if constexpr (THREADS > 1) {
      __shared__ typename Warp::TempStorage storage[block_threads / WIDTH];
      __shared__ T partial[block_threads / WIDTH];
      const unsigned part = threadIdx.x / WIDTH;
      const int own = valid - static_cast<int>(rank / WIDTH * WIDTH);
      sum = Warp(storage[part]).Reduce(sum, op, own < static_cast<int>(WIDTH) ? own : static_cast<int>(WIDTH));
      if constexpr (PARTS > 1) {
        if (rank % WIDTH == 0) partial[part] = sum;
        __syncthreads();
        if (rank == 0)
          for (unsigned other = 1; other < PARTS && other * WIDTH < length; ++other) sum = op(sum, partial[part + other]);
        __syncthreads();
      }
    }
    if (at < count && rank == 0) out[segment] = length > 0 ? op(initial, sum) : initial;
  }
}

/// Launches one class of the segments, unless it is empty. segments: the result of partition_segments, on the device.
template <unsigned WHICH = 0, class T, class Input, class Output, class Offset, class Op>
cudaError_t reduce(Input in, Output out, const Offset* offsets, const unsigned* segments, const std::vector<unsigned>& begins, Op op,
                   T initial, cudaStream_t stream = nullptr) {
  const unsigned* own = segments + begins[WHICH];
  unsigned count = begins[WHICH + 1] - begins[WHICH];
  if (count > 0) {
    void* arguments[] = {&in, &out, &offsets, &own, &count, &op, &initial};
    const cudaError_t said = cudaLaunchKernel(reduce_segments<threads_per_unit[WHICH], T, Input, Output, Offset, Op>,
                                              dim3(${source.isGridFixed ? 'grid_blocks[WHICH]' : 'grid_for(count, WHICH)'}), dim3(block_threads), arguments, 0, stream);
    if (said != cudaSuccess) return said;
  }
  if constexpr (WHICH + 1 < launch_count)
    return reduce<WHICH + 1>(in, out, offsets, segments, begins, op, initial, stream);
  else
    return cudaSuccess;
}

}  // namespace lockstep_${name}

#endif  // ${guard}
`;
}

interface CodeFormat {
  readonly extension: string;
  readonly mediaType: string;
  /** @param width threads of a thread group of the device */
  write(source: CodeSource, row: RankRow, width: number): string;
}

/** Launch code by format. */
const CODE: Readonly<Record<(typeof CODE_FORMATS)[number] | 'cub', CodeFormat>> = {
  cuda: { extension: 'cuh', mediaType: 'text/plain', write: cudaHeader },
  'cuda-kernel': { extension: 'kernel.cuh', mediaType: 'text/plain', write: cudaKernel },
  wgsl: { extension: 'wgsl', mediaType: 'text/plain', write: wgslConstants },
  'wgsl-kernel': { extension: 'kernel.wgsl', mediaType: 'text/plain', write: wgslKernel },
  python: { extension: 'py', mediaType: 'text/x-python', write: pythonModule },
  kokkos: { extension: 'kokkos.hpp', mediaType: 'text/plain', write: kokkosHeader },
  sycl: { extension: 'sycl.hpp', mediaType: 'text/plain', write: syclHeader },
  cub: { extension: 'cub.cuh', mediaType: 'text/plain', write: cubHeader },
};

/** What kernels count their units and iterations up to, so that a sum of two is a 32-bit word. */
const MAX_COUNT = 2 ** 31 - 1;

/** Whether a form of code has blocks that take tiles of an image. */
export const hasTiles = (format: ExportFormat): boolean => format !== 'kokkos' && format !== 'sycl' && format !== 'cub';

/**
 * A design as launch code. Fails if its blocks are tiles but the code's are not, or if one of its numbers does not fit
 * the constants or counters of the code (code in Python fits any).
 */
export function codeDocument(
  base: string,
  format: keyof typeof CODE,
  source: CodeSource,
  row: RankRow,
  width: number,
): Result<ExportDocument> {
  const { extension, mediaType, write } = CODE[format];
  if (row.design.blockWidth !== undefined && !hasTiles(format))
    return fail(
      'unsupported',
      `The blocks of design ${row.designIndex} are tiles (${blockText(row.design)}), but this code has blocks of one row. Specify a design whose blocks are rows, or export CUDA or WGSL.`,
    );
  const large = format === 'python' ? undefined : tooLarge(format, source, row);
  if (large)
    return fail(
      'unsupported',
      `The ${large[0]} of design ${row.designIndex}, ${whole(large[1])}, is above the limit of this code, ${whole(large[2])}. Export it as Python, or as a table.`,
    );
  return ok({ fileName: `${base}.${extension}`, mediaType, text: write(source, row, width) });
}

function tooLarge(format: keyof typeof CODE, { study, law }: CodeSource, row: RankRow) {
  const { design } = row;
  const [[, thresholds], [, threadsPerUnit], [, blocks]] = launchNumbers(row);
  const numbers: (readonly [what: string, value: number, most: number])[] = [
    ['threshold of a class', Math.max(...thresholds.slice(0, -1)), MAX_WORD],
    ['number of blocks', design.gridBlocks, MAX_WORD],
    // Kokkos counts in int, SYCL in std::size_t.
    [
      'number of units per block',
      unitsPerBlock(row),
      format === 'kokkos' ? MAX_COUNT : format === 'sycl' ? Infinity : MAX_WORD,
    ],
  ];
  const { units } = study.workload;
  if (format === 'wgsl') numbers.push(['number of units of a class', Math.max(0, ...(design.classes ?? []).map((each) => each.units)), MAX_WORD]); // prettier-ignore
  if (format === 'cuda-kernel' || format === 'wgsl-kernel' || format === 'cub') {
    const slots = Math.max(...blocks.map((grid, at) => grid * (design.blockThreads / threadsPerUnit[at])));
    numbers.push(
      ['number of units', units, MAX_COUNT],
      ['longest unit', law.support.reduce((most, length) => Math.max(most, length), 0), MAX_COUNT],
      ['number of slots', slots, MAX_COUNT],
    );
    // Even shares are cut by sums of 32 bits.
    if (format === 'wgsl-kernel' && cutsUnits(unwrap(parseBalancing(design.balancing))))
      numbers.push(['sum of all iterations', (moments(law).mean + 1) * units, MAX_WORD - slots]);
  }
  return numbers.find(([, value, most]) => value > most);
}
