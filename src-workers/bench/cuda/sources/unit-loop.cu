// The unit loop, compiled for one profile, one number of threads per unit and one register cap. The contents of a pass
// are constants (`unitLoopShape` of bench/stand-in.ts), so that the compiler sees the same as in a real kernel:
//   LOCKSTEP_THREADS_PER_UNIT, LOCKSTEP_REGISTER_CAP (the value of --maxrregcount, 0 for none)
//   LOCKSTEP_HELD_FLOATS, LOCKSTEP_HELD_INTEGERS: registers that steps use in turn
//   LOCKSTEP_LANES_PER_SECTOR: lanes for which a dependent load reads one sector
//   LOCKSTEP_DEALS: 1 if the iterations of a unit are dealt to its threads, 0 if all threads do every iteration
//   LOCKSTEP_UNIT_STEPS, LOCKSTEP_COMBINE_STEPS: once per unit, and in each step that combines results
// and of a pass, which is an iteration:
//   FLOATS, INTEGERS, DOUBLES, SPECIALS: steps of one instruction each
//   EXCHANGES: between the lanes of a unit
//   LOADS, LOAD_RATE: dependent loads, and the fraction of passes (in 2^-32) that have one more
//   STREAMED, STREAM_RATE: as LOADS and LOAD_RATE, for sectors that are read in sequence
#include <cmath>
#include <cstring>

#include "unit-loop.cuh"
#include "words.cuh"

namespace lockstep {
namespace {

constexpr unsigned U = LOCKSTEP_THREADS_PER_UNIT;
constexpr int FLOATS = LOCKSTEP_HELD_FLOATS;
constexpr int INTEGERS = LOCKSTEP_HELD_INTEGERS;

struct Shape {
  int floats, integers, doubles, specials;
  int exchanges;
  int loads;
  uint32_t loadRate;
  int streamed;
  uint32_t streamRate;
};
constexpr Shape SHAPE = {LOCKSTEP_FLOATS, LOCKSTEP_INTEGERS, LOCKSTEP_DOUBLES, LOCKSTEP_SPECIALS,   LOCKSTEP_EXCHANGES,
                         LOCKSTEP_LOADS,  LOCKSTEP_LOAD_RATE, LOCKSTEP_STREAMED, LOCKSTEP_STREAM_RATE};
constexpr bool DEALS = LOCKSTEP_DEALS != 0;
/// Iterations that the threads of a unit run together in one pass.
constexpr uint32_t PASSED = DEALS ? U : 1;

template <class To, class From>
__device__ __forceinline__ To bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

/// The load is predicated, so that the compiler does not branch around it.
__device__ __forceinline__ uint32_t loaded(const uint32_t* address, bool active, uint32_t before) {
#ifndef LOCKSTEP_PTX
  return active ? *address : before;
#else
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.nc.u32 %0, [%1]; }"
               : "+r"(before)
               : "l"(address), "r"(static_cast<uint32_t>(active)));
  return before;
#endif
}

/// Returns `x`, but makes it depend on `y`, so that the device must wait for both.
__device__ __forceinline__ uint32_t after(uint32_t x, uint32_t y, const Neutral& neutral) {
#ifdef LOCKSTEP_PTX
  uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, 0xe4;" : "=r"(result) : "r"(x), "r"(y), "r"(neutral.ones));
  return result;
#else
  return (x & neutral.ones) | (y & ~neutral.ones);
#endif
}

/// Returns `x`, but makes the compiler keep it in a register, and not compute it again in every pass.
__device__ __forceinline__ uint32_t kept(uint32_t x, const Neutral& neutral) { return multiplyAdd(x, 1, neutral.zero); }

/// Returns whether an event with this `rate` (in 2^-32 per pass) happens in this pass.
__device__ __forceinline__ bool isDue(uint32_t& phase, uint32_t rate) {
  phase += rate;
  return phase < rate;
}

/// If slots have one lane, each lane leaves the loop alone.
__device__ __forceinline__ bool any(bool lane) {
  if constexpr (U == 1) return lane;
  return __any_sync(ALL_LANES, lane);
}

/// The registers of a thread, except its unit. One chain of dependent instructions goes through all of them.
struct Held {
  float floats[FLOATS];
  uint32_t integers[INTEGERS];
  double wide;
  float special;
  /// Position of the next dependent load, and of the next sector of the stream, in words.
  uint32_t ring, stream;
  /// The word that was last loaded from the stream. The next load depends on it.
  uint32_t streamed;
  uint32_t loadPhase, streamPhase;
  /// If iterations are dealt, the rank of the lane among the threads of its unit.
  uint32_t rank;

  __device__ __forceinline__ explicit Held(const UnitLoopArguments& call) {
    const Neutral& neutral = call.neutral;
    for (int k = 0; k < FLOATS; ++k) floats[k] = neutral.floatZero * static_cast<float>(k + 1);
    for (int k = 0; k < INTEGERS; ++k) integers[k] = neutral.zero * static_cast<uint32_t>(k + 1);
    wide = 1 + neutral.doubleZero;
    special = 1 + neutral.floatZero;
    loadPhase = streamPhase = 0;
    rank = DEALS ? kept(threadIdx.x % U, neutral) : 0;
    streamed = 0;
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    stream = ((mix(thread / GROUP_WIDTH + 1) * GROUP_WIDTH + thread % GROUP_WIDTH) * SECTOR_WORDS) & call.tableMask;
  }

  /// @param first the same value for all lanes of a thread group
  __device__ __forceinline__ void beginAt(uint32_t first, const UnitLoopArguments& call) {
    loadPhase = streamPhase = 0;
    ring = (mix(first + threadIdx.x % GROUP_WIDTH / LOCKSTEP_LANES_PER_SECTOR) * SECTOR_WORDS) & call.tableMask;
  }

  // Only the load itself depends on `active`. Inactive lanes compute values that have no effect.

  __device__ __forceinline__ uint32_t load(uint32_t x, bool active, const UnitLoopArguments& call) {
    ring = loaded(call.table + after(ring, x, call.neutral), active, ring);
    return after(x, ring, call.neutral);
  }

  __device__ __forceinline__ uint32_t nextOfStream(uint32_t x, bool active, const UnitLoopArguments& call) {
    // The sum makes x wait for the last load. The compiler would see through a second `after` before a load.
    x += streamed * call.neutral.zero;
    streamed = loaded(call.table + stream, active, streamed);
    stream = (stream + GROUP_WIDTH * SECTOR_WORDS) & call.tableMask;
    return x;
  }
};

template <int STEPS>
__device__ __forceinline__ uint32_t floatSteps(uint32_t x, Held& held, const Neutral& neutral) {
  if constexpr (STEPS > 0) {
    float v = bits<float>(after(bits<uint32_t>(held.floats[FLOATS - 1]), x, neutral));
#pragma unroll
    for (int k = 0; k < STEPS; ++k)
      v = held.floats[k % FLOATS] = fmaf(v, neutral.floatZero, held.floats[k % FLOATS]);
    x = after(x, bits<uint32_t>(v), neutral);
  }
  return x;
}

/// @param left number of iterations that the unit has left; `active`: whether there are any
__device__ __forceinline__ uint32_t pass(uint32_t x, uint32_t left, uint32_t factor, bool active, Held& held,
                                         const UnitLoopArguments& call) {
  const Neutral& neutral = call.neutral;
#pragma unroll
  for (int k = 0; k < SHAPE.streamed; ++k) x = held.nextOfStream(x, active, call);
  if constexpr (SHAPE.streamRate > 0) x = held.nextOfStream(x, isDue(held.streamPhase, SHAPE.streamRate) && active, call);
#pragma unroll
  for (int k = 0; k < SHAPE.loads; ++k) x = held.load(x, active, call);
  if constexpr (SHAPE.loadRate > 0) x = held.load(x, isDue(held.loadPhase, SHAPE.loadRate) && active, call);
  if constexpr (SHAPE.integers > 0) {
    uint32_t v = x;
#pragma unroll
    for (int k = 0; k < SHAPE.integers / 2; ++k) {
      v &= neutral.zero;
      v = held.integers[k % INTEGERS] += v;
    }
    if constexpr (SHAPE.integers % 2 == 1) v &= neutral.zero;
    x = after(x, v, neutral);
  }
  x = floatSteps<SHAPE.floats>(x, held, neutral);
  if constexpr (SHAPE.doubles > 0) {
    const uint64_t wide = bits<uint64_t>(held.wide);
    held.wide = bits<double>(wide >> 32 << 32 | after(static_cast<uint32_t>(wide), x, neutral));
#pragma unroll
    for (int k = 0; k < SHAPE.doubles; ++k) held.wide = fma(held.wide, neutral.doubleZero, held.wide);
    x = after(x, static_cast<uint32_t>(bits<uint64_t>(held.wide)), neutral);
  }
  if constexpr (SHAPE.specials > 0) {
    held.special = bits<float>(after(bits<uint32_t>(held.special), x, neutral));
#pragma unroll
    for (int k = 0; k < SHAPE.specials; ++k) held.special = reciprocalRoot(held.special);
    x = after(x, bits<uint32_t>(held.special), neutral);
  }
  if constexpr (U > 1) {
#pragma unroll
    for (int k = 0, distance = U / 2; k < SHAPE.exchanges; ++k, distance = distance > 1 ? distance / 2 : U / 2)
      x &= __shfl_xor_sync(ALL_LANES, x, distance);
  }
  // Iterations are numbered from the end of the unit. A lane without an iteration adds nothing.
  return multiplyAdd(max(left, held.rank) - held.rank, factor, x);
}

__device__ __forceinline__ uint32_t afterPass(uint32_t left) { return left > PASSED ? left - PASSED : 0; }

/// Runs once per unit, for all lanes of a group.
__device__ __forceinline__ uint32_t ended(uint32_t x, Held& held, const Neutral& neutral) {
  x = floatSteps<LOCKSTEP_UNIT_STEPS>(x, held, neutral);
  if constexpr (DEALS) {
#pragma unroll
    for (unsigned distance = U / 2; distance > 0; distance /= 2) {
      x = floatSteps<LOCKSTEP_COMBINE_STEPS>(x, held, neutral);
      x += __shfl_xor_sync(ALL_LANES, x, static_cast<int>(distance));
    }
  }
  return x;
}

/// Returns the initial sum of a lane, which is also the result of a unit without iterations.
__device__ __forceinline__ uint32_t firstSum(uint32_t factor) { return DEALS && threadIdx.x % U > 0 ? 0 : factor; }

/// Returns `units` if the slot has no position, since positions of a large grid do not fit in 32 bits.
__device__ __forceinline__ uint32_t firstPosition(const UnitLoopArguments& call, unsigned slot) {
  const uint64_t position = static_cast<uint64_t>(call.blocks[blockIdx.x]) * call.slotsPerBlock + slot;
  return position < call.units ? static_cast<uint32_t>(position) : call.units;
}

/// Every thread group finishes a round of units before it begins the next. With `FETCH`, it takes the next free
/// position for each of its slots. All lanes run to the end of the longest unit, since they exchange values.
template <bool FETCH>
__device__ __forceinline__ void rounds(const UnitLoopArguments& call) {
  const unsigned lane = threadIdx.x % GROUP_WIDTH;
  const unsigned groupSlot = (threadIdx.x - lane) / U;
  const uint32_t present = call.slotsPerBlock - groupSlot;
  const uint32_t slots = present < GROUP_WIDTH / U ? present : GROUP_WIDTH / U;
  const auto fetch = [&]() -> uint32_t {
    uint32_t position = 0;
    if (lane == 0) position = atomicAdd(call.next, slots);
    return __shfl_sync(ALL_LANES, position, 0);
  };
  Held held(call);
  uint32_t first = FETCH ? fetch() : firstPosition(call, groupSlot);
  // All lanes vote, so that the compiler knows that they stay together.
#pragma unroll 1
  while (__any_sync(ALL_LANES, first < call.units)) {
    const uint32_t position = first + lane / U;
    const bool exists = lane / U < slots && position < call.units;
    uint32_t unit = 0;
    uint32_t left = 0;
    if (exists) {
      unit = call.order[position];
      left = call.lengths[position];
    }
    const uint32_t factor = kept(unitFactor(unit), call.neutral);
    uint32_t x = firstSum(factor);
    held.beginAt(first, call);
    bool active = left > 0;
    if (any(active)) {
#pragma unroll 1
      do {
        x = pass(x, left, factor, active, held, call);
        left = afterPass(left);
        active = left > 0;
      } while (any(active));
    }
    x = ended(x, held, call.neutral);
    if (exists && lane % U == 0) call.results[unit] = x;
    first = FETCH ? fetch() : first + call.stride;
  }
}

/// Every slot continues with its next unit at once. With `FETCH`, it takes the next `stride` free positions.
template <bool FETCH>
__device__ __forceinline__ void oneLoop(const UnitLoopArguments& call) {
  const unsigned lane = threadIdx.x % GROUP_WIDTH;
  const unsigned slot = threadIdx.x / U;
  const bool leads = lane % U == 0;
  /// Fetches for slots that are `ready`. All lanes of a group call it.
  const auto fetch = [&](bool ready, uint32_t before) -> uint32_t {
    uint32_t position = before;
    if (ready && leads) position = atomicAdd(call.next, call.stride);
    if constexpr (U > 1) position = __shfl_sync(ALL_LANES, position, static_cast<int>(lane - lane % U));
    return position;
  };
  Held held(call);
  const bool exists = slot < call.slotsPerBlock;
  uint32_t position = exists && !FETCH ? firstPosition(call, slot) : call.units;
  if constexpr (FETCH) position = fetch(exists, position);
  uint32_t fetched = call.stride;
  bool busy = position < call.units;
  uint32_t unit = 0;
  uint32_t left = 0;
  if (busy) {
    unit = call.order[position];
    left = call.lengths[position];
  }
  uint32_t factor = kept(unitFactor(unit), call.neutral);
  uint32_t x = firstSum(factor);
  held.beginAt(blockIdx.x * blockDim.x + threadIdx.x - lane, call);
  bool more = any(busy);
#pragma unroll 1
  while (more) {
    const bool active = left > 0;
    x = pass(x, left, factor, active, held, call);
    left = afterPass(left);
    const bool ends = busy && left == 0;
    if (any(ends)) {
      const uint32_t sum = ended(x, held, call.neutral);
      if (ends && leads) call.results[unit] = sum;
      if constexpr (FETCH) {
        const bool ready = ends && fetched == 1;
        if (ends && !ready) {
          ++position;
          --fetched;
        }
        if (any(ready)) position = fetch(ready, position);
        if (ready) fetched = call.stride;
      } else if (ends) {
        position += call.stride;
      }
      busy = position < call.units;
      if (ends && busy) {
        unit = call.order[position];
        left = call.lengths[position];
        factor = kept(unitFactor(unit), call.neutral);
        x = firstSum(factor);
      }
      more = any(busy);
    }
  }
}

__global__ void nested(UnitLoopArguments call) { rounds<false>(call); }
__global__ void flattened(UnitLoopArguments call) { oneLoop<false>(call); }
__global__ void fetching(UnitLoopArguments call) { oneLoop<true>(call); }
__global__ void groupFetching(UnitLoopArguments call) { rounds<true>(call); }

const bool registered = [] {
  unitLoops().push_back({U, LOCKSTEP_REGISTER_CAP, {nested, flattened, fetching, groupFetching}});
  return true;
}();

}  // namespace
}  // namespace lockstep
