// Runs a loop for each unit, as long as the unit: one thread per unit, in a grid of any size.
// lockstep bench RUN --build 'nvcc -O3 -arch=native -DBLOCK={blockThreads} divergent.cu -o {binary}' \
//                    --exec '{binary} {units} {lengthsFile} {gridBlocks}'
// With HIP: --build 'hipcc -O3 -x hip -DBLOCK={blockThreads} divergent.cu -o {binary}'
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#ifdef __HIP__
#include <hip/hip_runtime.h>
#define cudaDeviceProp hipDeviceProp_t
#define cudaEventCreate hipEventCreate
#define cudaEventElapsedTime hipEventElapsedTime
#define cudaEventRecord hipEventRecord
#define cudaEvent_t hipEvent_t
#define cudaGetDeviceProperties hipGetDeviceProperties
#define cudaGetLastError hipGetLastError
#define cudaMalloc hipMalloc
#define cudaMemcpy hipMemcpy
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaSuccess hipSuccess
#endif

__global__ void __launch_bounds__(BLOCK) divergent(const uint32_t *lengths, uint32_t *results, int units) {
  for (int unit = blockIdx.x * BLOCK + threadIdx.x; unit < units; unit += gridDim.x * BLOCK) {
    uint32_t x = unit + 1;
    for (uint32_t i = lengths[unit]; i > 0; i--) x = (x ^ x >> 15) * 0x2c1b3c6du;
    results[unit] = x;
  }
}

int main(int argc, char **argv) {
  const int units = argc == 4 ? atoi(argv[1]) : 0;
  std::vector<uint32_t> words(units);
  FILE *file = argc == 4 ? fopen(argv[2], "rb") : nullptr;
  if (!file || fread(words.data(), 4, units, file) != size_t(units)) return fprintf(stderr, "cannot read the lengths\n"), 1;
  uint32_t *lengths, *results;
  cudaMalloc(&lengths, 4 * units);
  cudaMalloc(&results, 4 * units);
  cudaMemcpy(lengths, words.data(), 4 * units, cudaMemcpyHostToDevice);
  cudaDeviceProp device;
  if (cudaGetDeviceProperties(&device, 0) == cudaSuccess)
    printf("{\"device\": \"%s\", \"multiprocessors\": %d}\n", device.name, device.multiProcessorCount);
  cudaEvent_t from, to;
  cudaEventCreate(&from);
  cudaEventCreate(&to);
  for (int launch = 0; launch < 2; launch++) {  // the first launch loads the kernel, so its time is not printed
    cudaEventRecord(from);
    divergent<<<atoi(argv[3]), BLOCK>>>(lengths, results, units);
    cudaEventRecord(to);
  }
  cudaMemcpy(words.data(), results, 4 * units, cudaMemcpyDeviceToHost);
  if (cudaGetLastError() != cudaSuccess) return fprintf(stderr, "the launch failed\n"), 1;
  float ms;
  cudaEventElapsedTime(&ms, from, to);
  uint32_t digest = 0;
  for (uint32_t word : words) digest ^= word;
  printf("{\"timeNs\": %.0f}\n{\"digest\": \"%08x\"}\n", ms * 1e6, digest);
}
