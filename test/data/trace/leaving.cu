// A unit that ends early and whose loop is in another function, and launches after the trace has been written.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include "lockstep.cuh"

__device__ uint32_t walk(uint32_t n LOCKSTEP_PARAMETER) {
  uint32_t steps = 0;
  for (; n != 1; ++steps) {
    LOCKSTEP_STEP();
    n = n % 2 == 1 ? 3 * n + 1 : n / 2;
  }
  return steps;
}
__global__ void kernel(uint32_t units, uint32_t* steps) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= units) return;
  LOCKSTEP_UNIT(i);
  steps[i] = 0;
  if (i == 0) return;
  steps[i] = walk(i + 1 LOCKSTEP_ARGUMENT);
}
int main() {
  uint32_t units = 40;
  uint32_t* steps = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&steps), units * sizeof *steps) != cudaSuccess) return 2;
  void* arguments[] = {&units, &steps};
  LOCKSTEP_TRACE_UNITS(units);
  for (int launch = 0; launch < 3; ++launch) {
    if (cudaLaunchKernel(kernel, dim3(1), dim3(64), arguments, 0, nullptr) != cudaSuccess) return 3;
    if (cudaDeviceSynchronize() != cudaSuccess) return 4;
    LOCKSTEP_TRACE_WRITE();
  }
#ifdef LOCKSTEP_TRACE
  if (lockstep_trace::deviceTrace != nullptr) return 5;
#endif
}
