// What code that runs on both host and device needs.
#pragma once

#include "gpu.cuh"

/// Before a loop that has to stay one, on the device; the host's compiler does not know the pragma.
#ifdef LOCKSTEP_DEVICE
#define LOCKSTEP_ROLLED _Pragma("unroll 1")
#else
#define LOCKSTEP_ROLLED
#endif

namespace lockstep {

constexpr uint32_t GOLDEN = 0x9e3779b9u;

__host__ __device__ inline uint32_t mix(uint32_t v) {
  v ^= v >> 16;
  v *= 0x7feb352du;
  return v ^ (v >> 15);
}

}  // namespace lockstep
