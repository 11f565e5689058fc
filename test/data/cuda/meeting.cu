// Runs one of these kernels with 32 lanes, by its name. All except the first synchronise lanes wrongly.
#include <cuda_runtime.h>

#include <cstring>

__global__ void fine() {
  const unsigned lane = threadIdx.x;
  __shfl_xor_sync(~0u, lane, 1);
  if (lane < 8) __syncwarp(0xff);
  __syncthreads();
}
__global__ void foreign() { __shfl_sync(0xffu, threadIdx.x, 0); }
__global__ void gone() {
  if (threadIdx.x == 0) return;
  __syncwarp(~0u);
}
__global__ void outside() {
  const unsigned lane = threadIdx.x;
  if (lane < 8) __shfl_sync(0xffu, lane, 9);
}
__global__ void apart() {
  const unsigned lane = threadIdx.x;
  if (lane < 8)
    __shfl_sync(0xffu, lane, lane ? 0 : 1);
  else
    __syncwarp(~0u);
  __syncthreads();
}

struct Named {
  const char* name;
  void (*kernel)();
};

int main(int, char** words) {
  for (const Named& one : {Named{"fine", fine}, {"foreign", foreign}, {"gone", gone}, {"outside", outside}, {"apart", apart}})
    if (std::strcmp(one.name, words[1]) == 0)
      return cudaLaunchKernel(one.kernel, dim3(1), dim3(32), nullptr, 0, nullptr) || cudaDeviceSynchronize() ? 1 : 0;
  return 2;
}
