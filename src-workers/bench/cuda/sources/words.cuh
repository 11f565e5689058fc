// What code that runs on both host and device needs.
#pragma once

#include <cmath>

#include "gpu.cuh"

/// Before a loop that has to stay one, on the device; the host's compiler does not know the pragma.
#ifdef LOCKSTEP_DEVICE
#define LOCKSTEP_ROLLED _Pragma("unroll 1")
#else
#define LOCKSTEP_ROLLED
#endif

namespace lockstep {

/// Words of the least that a device's memory moves, 32 bytes.
constexpr uint32_t SECTOR_WORDS = 8;

__host__ __device__ inline uint32_t mix(uint32_t v) {
  v ^= v >> 16;
  v *= 0x7feb352du;
  return v ^ (v >> 15);
}

/// A unit's result is this, and each of its places in the unit times this.
__host__ __device__ inline uint32_t unitFactor(uint32_t unit) { return mix(unit + 1) | 1; }

/// The word of the sector after the one at `word`, in a ring of all sectors of a table of `words`, a power of two: a linear congruence,
/// whose period is full (Hull and Dobell 1962, doi:10.1137/1004061).
__host__ __device__ inline uint32_t ringNext(uint32_t word, uint32_t words) {
  return ((word / SECTOR_WORDS * 0x915f77f5u + 0x6c078965u) * SECTOR_WORDS) & (words - 1);
}

/// One special function, and nothing beside it.
__device__ __forceinline__ float reciprocalRoot(float v) {
#if defined(LOCKSTEP_EMULATION)
  return 1.0f / std::sqrt(v);
#elif defined(LOCKSTEP_HIP)
  return opaque(__frsqrt_rn(v));
#else
  float result;
  asm volatile("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
  return result;
#endif
}

}  // namespace lockstep
