// Thread t takes `each` consecutive units. If `each` is 0, it takes units at the distance of the whole grid.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdlib>
#include "lockstep.cuh"

__device__ uint32_t collatz(uint32_t unit) {
  LOCKSTEP_UNIT(unit);
  uint32_t n = unit + 1, steps = 0;
  while (n != 1) {
    LOCKSTEP_STEP();
    n = n % 2 == 1 ? 3 * n + 1 : n / 2;
    ++steps;
  }
  LOCKSTEP_END();
  return steps;
}

__global__ void kernel(uint32_t units, uint32_t each, uint32_t* steps) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (each == 0)
    for (uint32_t i = thread; i < units; i += gridDim.x * blockDim.x) steps[i] = collatz(i);
  else
    for (uint32_t i = thread * each; i < thread * each + each && i < units; ++i) steps[i] = collatz(i);
}

int main(int count, char** words) {
  uint32_t units = std::atoi(words[1]), each = std::atoi(words[5]);
  [[maybe_unused]] const uint32_t room = std::atoi(words[4]);
  uint32_t* steps = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&steps), units * sizeof *steps) != cudaSuccess) return 2;
  LOCKSTEP_TRACE_UNITS(room);
  void* arguments[] = {&units, &each, &steps};
  // Launches twice, like programs that time themselves after a warm-up.
  for (int launch = 0; launch < 2; ++launch)
    if (cudaLaunchKernel(kernel, dim3(std::atoi(words[2])), dim3(std::atoi(words[3])), arguments, 0, nullptr) != cudaSuccess) return 3;
  if (count > 6) {
    LOCKSTEP_TRACE_WRITE();
    std::_Exit(0);
  }
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 4;
}
