// What code that runs on both host and device needs.
#pragma once

#include <cstdint>

/// Before a loop that has to stay one, on the device; the host's compiler does not know the pragma.
#ifdef __CUDA_ARCH__
#define LOCKSTEP_ROLLED _Pragma("unroll 1")
#else
#define LOCKSTEP_ROLLED
#endif

namespace lockstep {

/// Lanes of a thread group.
constexpr unsigned GROUP_WIDTH = 32;
constexpr uint32_t GOLDEN = 0x9e3779b9u;

__host__ __device__ inline uint32_t mix(uint32_t v) {
  v ^= v >> 16;
  v *= 0x7feb352du;
  return v ^ (v >> 15);
}

}  // namespace lockstep
