#include "lockstep.cuh"
__global__ void steps(unsigned units) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= units) return;
  LOCKSTEP_UNIT(i);
  for (unsigned n = i % 5; n > 0; --n) LOCKSTEP_STEP();
}
int main() {
  LOCKSTEP_TRACE_UNITS(UNITS);
  steps<<<2, 32>>>(UNITS);
  return cudaDeviceSynchronize();
}
