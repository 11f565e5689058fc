#include <cstdio>
#include <cooperative_groups.h>
#include <iostream>
#include "unused.h"
namespace cg = cooperative_groups;
__constant__ float scales[2];
__device__ unsigned counted;
template <class T, int N>
__global__ void __launch_bounds__(64) sums(const T *in, T *out, unsigned n) {
  extern __shared__ __align__(16) unsigned char raw[];
  static __shared__ int early;
  T *held = reinterpret_cast<T *>(raw);
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) early = 0;
  held[threadIdx.x] = i < n ? in[i] * (T)scales[1] : 0;
  __syncthreads();
  const int inside = __syncthreads_count(i < n);
  cg::thread_block_tile<N> tile = cg::tiled_partition<N>(cg::this_thread_block());
  T value = held[threadIdx.x];
  for (int distance = tile.size() / 2; distance > 0; distance /= 2) value += tile.shfl_down(value, distance);
  if (tile.thread_rank() == 0) atomicAdd(out, value);
  if (threadIdx.x == 0) atomicAdd(&counted, inside);
}
/// Lanes leave before others meet, and the group is not full.
__global__ void votes(uint2 *out) {
  if (threadIdx.z == 1) return;
  const unsigned lane = threadIdx.y * blockDim.x + threadIdx.x;
  const unsigned found = __ballot_sync(0xffffffff, lane % 3 == 0);
  const int up = __shfl_up_sync(0xffffffff, (int)lane, 1, 4);
  out[lane] = make_uint2(found, max(up, 0u));
}
#define CHECK(call) if ((call) != cudaSuccess) { printf("%s\n", cudaGetErrorString(cudaGetLastError())); return 1; }
int main() {
  int unusedVariable, n = 100;
  double *in, *out; uint2 *pairs; double host[100], sum = 0; float scale[] = {0, 2};
  CHECK(cudaMallocManaged(&in, n * sizeof *in));
  CHECK(cudaMalloc(&out, sizeof *out));
  CHECK(cudaMalloc((void **)&pairs, 12 * sizeof *pairs));
  for (int i = 0; i < n; ++i) host[i] = i;
  cudaMemcpyToSymbol(scales, scale, sizeof scale);
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, sizeof *out);
  cudaEvent_t from, to; cudaEventCreate(&from); cudaEventCreate(&to);
  cudaEventRecord(from);
  sums<double, 16><<<(n + 63) / 64, 64, 64 * sizeof(double)>>>(in, out, n);
  cudaEventRecord(to);
  CHECK(cudaDeviceSynchronize());
  votes<<<1, dim3(4, 3, 2)>>>(pairs);
  float ms; cudaEventElapsedTime(&ms, from, to);
  cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost);
  unsigned all; cudaMemcpyFromSymbol(&all, counted, sizeof all);
  std::cout << "sum " << sum << " counted " << all << " ms " << ms << " <<<1, 2>>>(0)\n";
  printf("votes %x up %u %u\n", pairs[5].x, pairs[4].y, pairs[5].y);
  sums<double, 16><<<1, 2048>>>(in, out, n);
  printf("%s\n", cudaGetErrorString(cudaGetLastError()));
  printf("{\"timeNs\": 5}\n");
}
