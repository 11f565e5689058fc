import { parseBalancing } from '../../../../src-workers/domain/balancing.ts';
import type { Balancing } from '../../../../src-workers/domain/design.ts';
import { unwrap } from '../../../../src-workers/domain/result.ts';
import type { RankRow } from '../../../contract/api.ts';
import { implementationName, type CodeSource } from '../code.ts';
import { bucketEnds, cutsUnits, padsUnits } from '../balancing.ts';
import { codeFormat, loopLimits } from '../code-format.ts';
import { cudaHeader } from './cuda.ts';

export const cudaKernel = codeFormat({
  id: 'cuda-kernel',
  label: 'CUDA kernel',
  text: 'The loop and launch around your work',
  words: 'c++ hip skeleton template loop',
  extension: 'kernel.cuh',
  tiles: true,
  limits: loopLimits,
  write: kernelText,
});

function kernelText(source: CodeSource, row: RankRow, width: number): string {
  const { design } = row;
  const balancing = unwrap(parseBalancing(design.balancing));
  const name = implementationName(source, row);
  const most = Math.max(design.threadsPerUnit, ...(design.classes ?? []).map(({ threadsPerUnit }) => threadsPerUnit));
  const fetches = balancing.kind === 'dynamic-fetch';
  const cuts = cutsUnits(balancing);
  const several = cuts || most > width;
  const isTiled = design.blockWidth !== undefined;
  const text = `${cudaHeader(source, row)}
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>
#include <vector>

#if defined(__HIP__) || defined(__HIPCC__)
#include <hip/hip_runtime.h>
#define LOCKSTEP_SHUFFLE_XOR(mask, value, distance) __shfl_xor(value, distance)
#define LOCKSTEP_SHUFFLE(mask, value, lane) __shfl(value, lane)
// Unlike cudaLaunchKernel, hipLaunchKernel takes the kernel only as an untyped pointer.
#define LOCKSTEP_LAUNCH(kernel, ...) hipLaunchKernel(reinterpret_cast<const void*>(kernel), __VA_ARGS__)
#define LOCKSTEP_ERROR hipError_t
#define LOCKSTEP_STREAM hipStream_t
#else
#define LOCKSTEP_SHUFFLE_XOR(mask, value, distance) __shfl_xor_sync(mask, value, distance)
#define LOCKSTEP_SHUFFLE(mask, value, lane) __shfl_sync(mask, value, lane)
#define LOCKSTEP_LAUNCH cudaLaunchKernel
#define LOCKSTEP_ERROR cudaError_t
#define LOCKSTEP_STREAM cudaStream_t
#endif

namespace lockstep_${name} {

/// Threads of a thread group.
constexpr unsigned group_width = ${width}u;

// Your work is a type with these members, on the device:
//   using value = ...;                             what iterations add up to
//   unsigned iterations(unsigned unit) const;      how long the unit is
//   value step(unsigned unit, unsigned i) const;   what its iteration i adds; neighbouring threads of a unit run neighbouring iterations
//   void end(unsigned unit, value sum) const;      ${several ? 'takes a part of the sum of a unit; it must add atomically to a result that is initially 0' : 'takes the sum, once for each unit'}

/// Lists that a launch reads besides the work. Lists that a design does not need are null.
template <class Numbers, class Sums>
struct lists_of {
  /// The unit at each position of the order.
  Numbers order;
  /// The number that each block of the launch takes: a random permutation of 0 to blocks - 1.
  Numbers blocks;
  /// The number of iterations to which each unit is padded.
  Numbers padded;
  /// The sum of the iterations of all units before each unit. The last entry is the sum over all units.
  Sums starts;
};
using host_lists = lists_of<std::vector<unsigned>, std::vector<unsigned long long>>;
using device_lists = lists_of<const unsigned*, const unsigned long long*>;

${prepare(design.classes !== undefined, balancing, bucketEnds(source, design, balancing, width))}
${LANES}
template <unsigned U>
__device__ unsigned long long lanes_of_unit() {
  constexpr unsigned OWN = U < group_width ? U : group_width;
  const unsigned lane = threadIdx.x % group_width;
  return ((OWN < 64u ? 1ull << (OWN % 64u) : 0ull) - 1ull) << (lane - lane % OWN);
}

/// Adds up the values of the threads of a unit within a thread group.
template <unsigned U, class T>
__device__ T combined(T sum) {
  for (unsigned distance = (U < group_width ? U : group_width) / 2u; distance > 0u; distance /= 2u)
    sum += LOCKSTEP_SHUFFLE_XOR(static_cast<${width > 32 ? 'unsigned long long' : 'unsigned'}>(lanes_of_unit<U>()), sum, static_cast<int>(distance));
  return sum;
}

/// Runs a whole unit, whose U threads take iterations in turn.
/// \`padded\`: the number of iterations to which the unit is padded, or 0.
template <unsigned U, class Work>
__device__ void run_unit(const Work& work, unsigned unit, unsigned padded) {
  const unsigned rank = threadIdx.x % U;
  const unsigned length = work.iterations(unit);
  const unsigned last = length > padded ? length : padded;
  typename Work::value sum{};
  for (unsigned i = rank; i < last; i += U)
    if (i < length) sum += work.step(unit, i);
  sum = combined<U>(sum);
  if (rank % group_width == 0u) work.end(unit, sum);
}

${isTiled ? IN_TILES : ''}/// The launch takes \`units\` units of the order, beginning at \`first\`. If units are fetched, \`counter\` is one word that is 0 before the launch.
template <unsigned U, class Work>
__global__ void ${`LOCKSTEP_${name.toUpperCase()}_BOUNDS`} run_units(Work work, device_lists lists, [[maybe_unused]] unsigned first, unsigned units,
                         [[maybe_unused]] unsigned* counter) {
  [[maybe_unused]] constexpr unsigned SLOTS = block_threads / U;
  [[maybe_unused]] const unsigned rank = threadIdx.x % U;
  [[maybe_unused]] const unsigned slot = threadIdx.x / U;
  [[maybe_unused]] const unsigned place = lists.blocks ? lists.blocks[blockIdx.x] : blockIdx.x;
  [[maybe_unused]] const auto unit_at = [&](unsigned long long at) { ${isTiled ? 'return work.unit_at(at);' : 'return lists.order ? lists.order[first + at] : static_cast<unsigned>(first + at);'} };
${fetches ? fetching(balancing, most > width) : cuts ? evenShares(balancing.kind === 'merge-path') : design.loop === 'flattened' ? DEALT_FLATTENED : dealt(balancing)}}

${isTiled ? LAUNCH_TILES : launch(design.classes !== undefined, source.isGridFixed)}
}  // namespace lockstep_${name}
`;
  return isTiled
    ? text.replaceAll('threadIdx.x', 'thread_of_block()').replace(LANES, (lanes) => `${THREAD}${lanes}`)
    : text;
}

const LANES = '/// Returns the lanes of the thread group that share a unit with this lane.';
const THREAD = `/// Returns the number of this thread in its block of two dimensions, row by row.
__device__ inline unsigned thread_of_block() { return threadIdx.y * blockDim.x + threadIdx.x; }

`;

/** If blocks take tiles, loops run over the places in tiles. A place beyond the edges of an image has no unit. */
const IN_TILES = `/// Marks a place beyond the edges of an image, which has no unit.
constexpr unsigned no_unit = 0xffffffffu;

/// The work, with units taken by tiles: row by row in a tile, tiles row by row over an image, one image after another.
template <class Work>
struct in_tiles {
  using value = typename Work::value;
  Work work;
  unsigned units;
  __device__ unsigned unit_at(unsigned long long place) const {
    constexpr unsigned slots = block_threads / threads_per_unit, across = block_width / threads_per_unit;
    const unsigned tile = static_cast<unsigned>(place / slots), slot = static_cast<unsigned>(place % slots);
    const unsigned inside = tile % tiles_per_image;
    const unsigned x = inside % tiles_across * across + slot % across;
    const unsigned y = inside / tiles_across * block_height + slot / across;
    const unsigned long long own = static_cast<unsigned long long>(y) * image_width + x;
    const unsigned long long unit = static_cast<unsigned long long>(tile / tiles_per_image) * image_units + own;
    return x < image_width && own < image_units && unit < units ? static_cast<unsigned>(unit) : no_unit;
  }
  __device__ unsigned iterations(unsigned unit) const { return unit == no_unit ? 0u : work.iterations(unit); }
  __device__ value step(unsigned unit, unsigned i) const { return work.step(unit, i); }
  __device__ void end(unsigned unit, value sum) const {
    if (unit != no_unit) work.end(unit, sum);
  }
};

`;

const LAUNCH_TILES = `/// Launches all units. \`grid\` is the number of blocks that the lists were prepared for: grid_blocks, or grid_for(units).
template <class Work>
LOCKSTEP_ERROR launch(Work work, const unsigned*, unsigned units, device_lists lists, unsigned* counter = nullptr, LOCKSTEP_STREAM stream = nullptr,
                      unsigned grid = grid_blocks) {
  in_tiles<Work> tiles{work, units};
  unsigned first = 0;
  unsigned places = (units + image_units - 1u) / image_units * tiles_per_image * (block_threads / threads_per_unit);
  void* arguments[] = {&tiles, &lists, &first, &places, &counter};
  auto* kernel = run_units<threads_per_unit, in_tiles<Work>>;
  return LOCKSTEP_LAUNCH(kernel, dim3(grid), dim3(block_width, block_height), arguments, 0, stream);
}
`;

function prepare(isMixed: boolean, balancing: Balancing, buckets: readonly number[] | null): string {
  const sorted = (key: string, window: string): string =>
    `  for (std::size_t from = 0; from < units; from += ${window})
    std::stable_sort(lists.order.begin() + from, lists.order.begin() + std::min<std::size_t>(from + ${window}, units),
                     [&](unsigned a, unsigned b) { return ${key.replaceAll('#', 'a')} < ${key.replaceAll('#', 'b')}; });`;
  const order = '  lists.order.resize(units);\n  std::iota(lists.order.begin(), lists.order.end(), 0u);';
  const blocks =
    '  lists.blocks.resize(grid);\n  std::iota(lists.blocks.begin(), lists.blocks.end(), 0u);\n  std::shuffle(lists.blocks.begin(), lists.blocks.end(), std::mt19937(seed));';
  const classes = (upTo: string): string => `/// Returns the class of a length. Class 0 has the shortest lengths.
inline unsigned class_of(unsigned length) {
  return static_cast<unsigned>(std::lower_bound(${upTo}, ${upTo} + sizeof ${upTo} / sizeof *${upTo} - 1, length) - ${upTo});
}

`;
  const lists = (): readonly string[] => {
    if (isMixed) return [order, sorted('class_of(lengths[#])', 'units')];
    switch (balancing.kind) {
      case 'shuffle':
        return [order, '  std::shuffle(lists.order.begin(), lists.order.end(), std::mt19937(seed));'];
      case 'window-sort':
        return [order, sorted('lengths[#]', `${balancing.units}u`)];
      case 'full-sort':
        return [order, sorted('lengths[#]', 'units'), blocks];
      case 'quantile-buckets':
      case 'best-buckets':
        return [order, sorted('class_of(lengths[#])', 'units'), blocks];
      case 'padded':
      case 'padded-slice': {
        const slice = balancing.kind === 'padded' ? 'units' : `${balancing.units}u`;
        return [
          `  lists.padded.resize(units);\n  for (std::size_t from = 0; from < units; from += ${slice}) {
    const std::size_t to = std::min<std::size_t>(from + ${slice}, units);
    std::fill(lists.padded.begin() + from, lists.padded.begin() + to, *std::max_element(lengths + from, lengths + to));
  }`,
        ];
      }
      case 'nonzero-split':
      case 'merge-path':
        return [
          '  lists.starts.assign(units + 1u, 0);\n  for (unsigned u = 0; u < units; ++u) lists.starts[u + 1] = lists.starts[u] + lengths[u];',
        ];
      default:
        return [];
    }
  };
  const ofBuckets = buckets
    ? `/// The longest unit of each bucket, in iterations. The last bucket has all longer units.\nconstexpr unsigned bucket_up_to[] = {${buckets.map((to) => `${to}u`).join(', ')}};\n\n${classes('bucket_up_to')}`
    : '';
  const before = isMixed ? classes('class_up_to') : ofBuckets;
  const body = lists().join('\n');
  const unused = ['lengths', 'units', 'grid', 'seed'].filter((name) => !new RegExp(`\\b${name}\\b`).test(body));
  return `${before}/// Makes the lists for a launch of \`grid\` blocks over units of these lengths. Copy the lists to the device.
inline host_lists prepare(const unsigned* lengths, unsigned units, unsigned grid = grid_blocks, unsigned seed = 1) {
  host_lists lists;
${unused.length > 0 ? `  ${unused.map((name) => `(void)${name};`).join(' ')}\n` : ''}${body === '' ? '' : `${body}\n`}  return lists;
}
`;
}

function dealt(balancing: Balancing): string {
  const padded = padsUnits(balancing) ? 'lists.padded[first + at]' : '0u';
  return `  // In each round, every slot of the launch takes one unit.
  const unsigned long long slots = static_cast<unsigned long long>(gridDim.x) * SLOTS;
  for (unsigned long long at = static_cast<unsigned long long>(place) * SLOTS + slot; at < units; at += slots)
    run_unit<U>(work, unit_at(at), ${padded});
`;
}

const oneLoop = (next: string): string => `  bool busy = at < units;
  unsigned unit = busy ? unit_at(at) : 0u;
  unsigned length = busy ? work.iterations(unit) : 0u;
  unsigned i = rank;
  typename Work::value sum{};
  // With one loop, a slot that has finished a unit starts its next unit while other slots are still in theirs.
  while (busy) {
    if (i < length) sum += work.step(unit, i);
    i += U;
    if (i - rank >= length) {
      sum = combined<U>(sum);
      if (rank % group_width == 0u) work.end(unit, sum);
${next}
      busy = at < units;
      unit = busy ? unit_at(at) : 0u;
      length = busy ? work.iterations(unit) : 0u;
      i = rank;
      sum = typename Work::value{};
    }
  }
`;

const DEALT_FLATTENED = `  const unsigned long long slots = static_cast<unsigned long long>(gridDim.x) * SLOTS;
  unsigned long long at = static_cast<unsigned long long>(place) * SLOTS + slot;
${oneLoop('      at += slots;')}`;

function fetching(balancing: Extract<Balancing, { kind: 'dynamic-fetch' }>, isWide: boolean): string {
  if (balancing.fetch === 'group' && !isWide)
    return `  // A thread group takes a unit for each of its slots, and takes the next units when all of these are done.
  const unsigned lane = threadIdx.x % group_width;
  const unsigned present = min(group_width, block_threads - (threadIdx.x - lane));
  const unsigned all = static_cast<unsigned>((present < 32u ? 1ull << present : 1ull << 32u) - 1ull);
  for (;;) {
    unsigned at = 0;
    if (lane == 0u) at = atomicAdd(counter, present / U);
    at = LOCKSTEP_SHUFFLE(all, at, 0) + lane / U;
    if (at - lane / U >= units) return;
    if (at < units) run_unit<U>(work, unit_at(at), 0u);
  }
`;
  const several = balancing.fetch === undefined || balancing.fetch === 'group' ? 1 : balancing.fetch;
  if (isWide)
    return `  // All thread groups of a unit must know which unit was fetched, so the slots of a block fetch together.
  __shared__ unsigned taken[SLOTS];
  for (;;) {
    if (rank == 0u) taken[slot] = atomicAdd(counter, ${several}u);
    __syncthreads();
    const unsigned at = taken[slot];
    bool more = false;
    for (unsigned other = 0; other < SLOTS; ++other) more = more || taken[other] < units;
    __syncthreads();
    if (!more) return;
    for (unsigned next = at; next < at + ${several}u && next < units; ++next) run_unit<U>(work, unit_at(next), 0u);
  }
`;
  return `  /// Returns the position of the next ${several === 1 ? 'unit' : `${several} units`} from the common counter, to all threads of a slot.
  const auto fetched = [&]() {
    unsigned at = 0;
    if (rank == 0u) at = atomicAdd(counter, ${several}u);
    const unsigned lane = threadIdx.x % group_width;
    return U > 1u ? LOCKSTEP_SHUFFLE(static_cast<unsigned>(lanes_of_unit<U>()), at, static_cast<int>(lane - rank)) : at;
  };
  unsigned at = fetched();
${several === 1 ? oneLoop('      at = fetched();') : `  unsigned left = ${several}u;\n${oneLoop(`      ++at;\n      if (--left == 0u) {\n        at = fetched();\n        left = ${several}u;\n      }`)}`}`;
}

const evenShares = (isMergePath: boolean): string => {
  const key = (unit: string): string => (isMergePath ? `lists.starts[${unit}] + ${unit}` : `lists.starts[${unit}]`);
  return `  // Every slot has an equal share of all iterations${isMergePath ? ' and all unit ends together' : ''}. The end of a share may cut a unit.
  const unsigned long long items = ${key('units')};
  const unsigned long long slots = static_cast<unsigned long long>(gridDim.x) * SLOTS;
  const unsigned long long share = (items + slots - 1u) / slots;
  const unsigned long long begin = (static_cast<unsigned long long>(place) * SLOTS + slot) * share;
  const unsigned long long end = begin + share < items ? begin + share : items;
  // The unit in which the share begins.
  unsigned unit = 0;
  for (unsigned high = units; unit < high;) {
    const unsigned middle = unit + (high - unit) / 2u;
    if (${key('(middle + 1u)')} <= begin)
      unit = middle + 1u;
    else
      high = middle;
  }
  for (; unit < units && ${key('unit')} < end; ++unit) {
    const unsigned long long start = ${key('unit')};
    const unsigned length = static_cast<unsigned>(lists.starts[unit + 1u] - lists.starts[unit]);
    const unsigned from = begin > start ? static_cast<unsigned>(begin - start) : 0u;
    const unsigned to = end - start < length ? static_cast<unsigned>(end - start) : length;
    typename Work::value sum{};
    for (unsigned i = from + rank; i < to; i += U) sum += work.step(unit, i);
    sum = combined<U>(sum);
    if (rank % group_width == 0u) work.end(unit, sum);
  }
`;
};

function launch(isMixed: boolean, isGridFixed: boolean): string {
  return isMixed
    ? `/// Launches the units of class WHICH and of all later classes. \`lengths\`, on the host, are the lengths that the lists were prepared from.
template <unsigned WHICH = 0, class Work>
LOCKSTEP_ERROR launch(Work work, const unsigned* lengths, unsigned all, device_lists lists, unsigned* counter = nullptr, LOCKSTEP_STREAM stream = nullptr) {
  const auto longer = [&](unsigned which) {
    return static_cast<unsigned>(std::count_if(lengths, lengths + all, [&](unsigned length) { return class_of(length) < which; }));
  };
  unsigned first = longer(WHICH);
  unsigned units = longer(WHICH + 1u) - first;
  void* arguments[] = {&work, &lists, &first, &units, &counter};
  if (units > 0u) {
    auto* kernel = run_units<class_threads_per_unit[WHICH], Work>;
    const auto said = LOCKSTEP_LAUNCH(kernel, dim3(${isGridFixed ? 'class_grid_blocks[WHICH]' : 'grid_for(units, WHICH)'}), dim3(block_threads), arguments, 0, stream);
    if (said != LOCKSTEP_ERROR{}) return said;
  }
  if constexpr (WHICH + 1u < class_count)
    return launch<WHICH + 1u>(work, lengths, all, lists, counter, stream);
  else
    return LOCKSTEP_ERROR{};
}
`
    : `/// Launches all units. \`grid\` is the number of blocks that the lists were prepared for: grid_blocks, or grid_for(units).
template <class Work>
LOCKSTEP_ERROR launch(Work work, const unsigned*, unsigned units, device_lists lists, unsigned* counter = nullptr, LOCKSTEP_STREAM stream = nullptr,
                      unsigned grid = grid_blocks) {
  unsigned first = 0;
  void* arguments[] = {&work, &lists, &first, &units, &counter};
  auto* kernel = run_units<threads_per_unit, Work>;
  return LOCKSTEP_LAUNCH(kernel, dim3(grid), dim3(block_threads), arguments, 0, stream);
}
`;
}
