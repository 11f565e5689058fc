// The unit loop, compiled for one profile and one register cap:
//   LOCKSTEP_PARALLEL_STEPS, LOCKSTEP_SERIAL_STEPS, LOCKSTEP_DEPENDENT_LOADS, LOCKSTEP_TABLE_WORDS: one iteration
//   LOCKSTEP_REGISTER_CAP: what --maxrregcount was, 0 for none
// They are constants so that the compiler sees what it would see in a real kernel.
#include "unit-loop.cuh"
#include "words.cuh"

namespace lockstep {
namespace {

constexpr unsigned PARALLEL = LOCKSTEP_PARALLEL_STEPS;
constexpr unsigned SERIAL = LOCKSTEP_SERIAL_STEPS;
constexpr unsigned LOADS = LOCKSTEP_DEPENDENT_LOADS;
constexpr uint32_t TABLE_WORDS = LOCKSTEP_TABLE_WORDS;

/// Lanes of the U threads that share a unit.
template <unsigned U>
__device__ __forceinline__ uint32_t unitMask(unsigned lane) {
  if constexpr (U == GROUP_WIDTH)
    return ~0u;
  else
    return ((1u << U) - 1) << (lane / U * U);
}

/// Lanes of the thread group; fewer than its width where the block ends within it.
__device__ __forceinline__ uint32_t groupMask(unsigned lane) {
  const unsigned present = blockDim.x - (threadIdx.x - lane);
  return present >= GROUP_WIDTH ? ~0u : (1u << present) - 1;
}

/// One iteration of a unit, shared by U threads: parallel steps by rank, the rest by all of them.
template <unsigned U>
__device__ __forceinline__ uint32_t iterate(uint32_t x, unsigned rank, uint32_t mask, const uint32_t* __restrict__ table) {
  uint32_t a = 0;
  if constexpr (PARALLEL > 0) {
    uint32_t v = x + (rank + 1) * GOLDEN;
    if constexpr (PARALLEL >= U) {
#pragma unroll 16
      for (unsigned round = 0; round < PARALLEL / U; ++round) {
        a ^= mix(v);
        v += U * GOLDEN;
      }
    }
    if constexpr (PARALLEL % U != 0) {
      if (rank < PARALLEL % U) a ^= mix(v);
    }
    if constexpr (U > 1) {
#pragma unroll
      for (unsigned distance = U / 2; distance > 0; distance /= 2) a ^= __shfl_xor_sync(mask, a, static_cast<int>(distance));
    }
  }
  a ^= x;
  if constexpr (LOADS > 0) {
#pragma unroll 16
    for (unsigned load = LOADS; load > 0; --load) a += table[(a >> 4) & (TABLE_WORDS - 1)];
  }
  if constexpr (SERIAL > 0) {
#pragma unroll 16
    for (unsigned step = SERIAL; step > 0; --step) a = mix(a + 0x85ebca6bu);
  }
  return a;
}

/// The first position of the block's slot, or `units` where it has none: positions of a large grid do not fit in 32 bits.
__device__ __forceinline__ uint32_t firstPosition(uint32_t block, unsigned slotsPerBlock, unsigned slot, uint32_t units) {
  const uint64_t position = static_cast<uint64_t>(block) * slotsPerBlock + slot;
  return position < units ? static_cast<uint32_t>(position) : units;
}

/// Every thread group finishes a round of units before it begins the next. `FETCH`: it takes the next free positions, one for each
/// slot of a full group.
template <unsigned U, bool FETCH>
__device__ __forceinline__ void rounds(const uint32_t* __restrict__ order, const uint32_t* __restrict__ lengths,
                                       const uint32_t* __restrict__ blocks, const uint32_t* __restrict__ table,
                                       uint32_t* __restrict__ next, uint32_t* __restrict__ results, uint32_t units,
                                       uint32_t stride) {
  const unsigned lane = threadIdx.x % GROUP_WIDTH;
  const unsigned rank = lane % U;
  const uint32_t mask = unitMask<U>(lane);
  const uint32_t group = groupMask(lane);
  const unsigned present = blockDim.x - (threadIdx.x - lane);
  const uint32_t slots = (present >= GROUP_WIDTH ? GROUP_WIDTH : present) / U;
  const auto fetch = [&]() -> uint32_t {
    uint32_t position = 0;
    if (lane == 0) position = atomicAdd(next, slots);
    return __shfl_sync(group, position, 0);
  };
  uint32_t first =
      FETCH ? fetch() : firstPosition(blocks[blockIdx.x], blockDim.x / U, (threadIdx.x - lane) / U, units);
#pragma unroll 1
  for (; first < units; first = FETCH ? fetch() : first + stride) {
    const uint32_t position = first + lane / U;
    uint32_t unit = 0;
    uint32_t left = 0;
    if (position < units) {
      unit = order[position];
      left = lengths[position];
    }
    uint32_t x = mix(unit + 1);
#pragma unroll 1
    for (; left > 0; --left) x = iterate<U>(x, rank, mask, table);
    if (position < units && rank == 0) results[unit] = x;
    __syncwarp(group);
  }
}

template <unsigned U>
__global__ void nested(const uint32_t* __restrict__ order, const uint32_t* __restrict__ lengths,
                       const uint32_t* __restrict__ blocks, const uint32_t* __restrict__ table, uint32_t* next,
                       uint32_t* __restrict__ results, uint32_t units, uint32_t stride) {
  rounds<U, false>(order, lengths, blocks, table, next, results, units, stride);
}

template <unsigned U>
__global__ void groupFetching(const uint32_t* __restrict__ order, const uint32_t* __restrict__ lengths,
                              const uint32_t* __restrict__ blocks, const uint32_t* __restrict__ table, uint32_t* next,
                              uint32_t* __restrict__ results, uint32_t units, uint32_t stride) {
  rounds<U, true>(order, lengths, blocks, table, next, results, units, stride);
}

/// Every slot continues with its next unit at once, within one loop. `FETCH`: a slot takes the next `stride` free positions.
template <unsigned U, bool FETCH>
__device__ __forceinline__ void oneLoop(const uint32_t* __restrict__ order, const uint32_t* __restrict__ lengths,
                                        const uint32_t* __restrict__ blocks, const uint32_t* __restrict__ table,
                                        uint32_t* __restrict__ next, uint32_t* __restrict__ results, uint32_t units,
                                        uint32_t stride) {
  const unsigned lane = threadIdx.x % GROUP_WIDTH;
  const unsigned rank = lane % U;
  const uint32_t mask = unitMask<U>(lane);
  const auto fetch = [&]() -> uint32_t {
    uint32_t position = 0;
    if (rank == 0) position = atomicAdd(next, stride);
    if constexpr (U > 1) position = __shfl_sync(mask, position, static_cast<int>(lane - rank));
    return position;
  };
  uint32_t position = FETCH ? fetch() : firstPosition(blocks[blockIdx.x], blockDim.x / U, threadIdx.x / U, units);
  uint32_t held = stride;
  bool busy = position < units;
  uint32_t unit = 0;
  uint32_t left = 0;
  if (busy) {
    unit = order[position];
    left = lengths[position];
  }
  uint32_t x = mix(unit + 1);
#pragma unroll 1
  while (busy) {
    if (left > 0) {
      x = iterate<U>(x, rank, mask, table);
      --left;
    }
    if (left == 0) {
      if (rank == 0) results[unit] = x;
      if constexpr (!FETCH) {
        position += stride;
      } else if (--held > 0) {
        ++position;
      } else {
        position = fetch();
        held = stride;
      }
      busy = position < units;
      if (busy) {
        unit = order[position];
        left = lengths[position];
        x = mix(unit + 1);
      }
    }
  }
}

template <unsigned U>
__global__ void flattened(const uint32_t* __restrict__ order, const uint32_t* __restrict__ lengths,
                          const uint32_t* __restrict__ blocks, const uint32_t* __restrict__ table, uint32_t* next,
                          uint32_t* __restrict__ results, uint32_t units, uint32_t stride) {
  oneLoop<U, false>(order, lengths, blocks, table, next, results, units, stride);
}

template <unsigned U>
__global__ void fetching(const uint32_t* __restrict__ order, const uint32_t* __restrict__ lengths,
                         const uint32_t* __restrict__ blocks, const uint32_t* __restrict__ table, uint32_t* next,
                         uint32_t* __restrict__ results, uint32_t units, uint32_t stride) {
  oneLoop<U, true>(order, lengths, blocks, table, next, results, units, stride);
}

const bool registered = [] {
  unitLoops().push_back({LOCKSTEP_REGISTER_CAP,
                         TABLE_WORDS,
                         {{nested<1>, nested<2>, nested<4>, nested<8>, nested<16>, nested<32>},
                          {flattened<1>, flattened<2>, flattened<4>, flattened<8>, flattened<16>, flattened<32>},
                          {fetching<1>, fetching<2>, fetching<4>, fetching<8>, fetching<16>, fetching<32>},
                          {groupFetching<1>, groupFetching<2>, groupFetching<4>, groupFetching<8>, groupFetching<16>,
                           groupFetching<32>}}});
  return true;
}();

}  // namespace
}  // namespace lockstep
