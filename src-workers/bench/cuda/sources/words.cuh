#pragma once

#include <cmath>

#include "gpu.cuh"

/// The host's compiler does not know this pragma.
#ifdef LOCKSTEP_DEVICE
#define LOCKSTEP_ROLLED _Pragma("unroll 1")
#else
#define LOCKSTEP_ROLLED
#endif

namespace lockstep {

/// Number of words in a sector. A device's memory moves at least 32 bytes.
constexpr uint32_t SECTOR_WORDS = 8;

__host__ __device__ inline uint32_t mix(uint32_t v) {
  v ^= v >> 16;
  v *= 0x7feb352du;
  return v ^ (v >> 15);
}

/// Returns the factor of a unit. The result of a unit is its factor, plus the factor times the position of each
/// iteration, so a result shows which unit and which iterations were run.
__host__ __device__ inline uint32_t unitFactor(uint32_t unit) { return mix(unit + 1) | 1; }

/// Returns the first word of the next sector, in a ring of all sectors of a table. A linear congruence visits every
/// sector once, since its period is full (Hull and Dobell 1962, doi:10.1137/1004061).
/// @param words size of the table, a power of two
__host__ __device__ inline uint32_t ringNext(uint32_t word, uint32_t words) {
  return ((word / SECTOR_WORDS * 0x915f77f5u + 0x6c078965u) * SECTOR_WORDS) & (words - 1);
}

/// Computes 1/√v with one instruction of the special-function unit, without any correction around it.
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
