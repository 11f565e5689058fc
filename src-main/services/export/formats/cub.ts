import type { RankRow } from '../../../contract/api.ts';
import { gridFor, gridForNote, implementationName, type CodeSource } from '../code.ts';
import { codeFormat, loopLimits, narrowTo } from '../code-format.ts';
import { about, launchConstants } from '../libraries.ts';

export const cub = codeFormat({
  id: 'cub',
  label: 'CUB segments',
  text: 'Thread, warp or block by thresholds',
  words: 'cccl thresholds mixed classes segmented',
  extension: 'cub.cuh',
  name: "CUB's segmented reduction",
  // The segmented algorithm takes whole segments in their order, and gives each segment one or more threads.
  narrow: narrowTo(
    (kind, loop) => loop === 'nested' && (kind === 'none' || kind === 'mixed'),
    'the order none or mixed and a nested loop',
  ),
  limits: loopLimits,
  write: cubHeader,
});

/**
 * A segment is a unit. As in cub::DeviceSegmentedReduce, its length decides whether a thread, a part of a warp, a warp
 * or a block reduces it. The code is C++17.
 */
function cubHeader(source: CodeSource, row: RankRow): string {
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

/// Returns the launch to which a segment of this length belongs.
constexpr unsigned launch_of(unsigned length) {
  unsigned which = 0;
  while (which + 1 < launch_count && length > launch_up_to[which]) ++which;
  return which;
}

/// The segments of each launch. Within a launch, segments keep their order.
struct partition {
  std::vector<unsigned> segments;
  /// Where the segments of each launch begin, and where those of the last launch end.
  std::vector<unsigned> begins;
};

/// Divides the segments among the launches.
/// @param offsets where each segment begins, and where the last one ends: one more entry than there are segments
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

/// Reduces segments[0] to segments[count - 1] with THREADS threads each: out[s] = op(initial, op over in[offsets[s]] to in[offsets[s + 1] - 1]).
template <unsigned THREADS, class T, class Input, class Output, class Offset, class Op>
__global__ void reduce_segments(Input in, Output out, const Offset* offsets, const unsigned* segments, unsigned count, Op op, T initial) {
  constexpr unsigned PARTS = THREADS > 32 ? THREADS / 32 : 1;
  constexpr unsigned WIDTH = THREADS > 32 ? 32 : THREADS;
  using Warp = cub::WarpReduce<T, WIDTH>;
  using Block = cub::BlockReduce<T, block_threads>;
  const unsigned rank = threadIdx.x % THREADS;
  const unsigned slots = gridDim.x * (block_threads / THREADS);
  const unsigned rounds = (count + slots - 1) / slots;
  // All threads take part in every round, because the collectives need all of them.
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
