// Defines the names of HIP's runtime that lockstep.cuh uses by those of the emulated CUDA runtime.
#include <cuda_runtime.h>
using hipError_t = cudaError_t;
using hipDeviceProp_t = cudaDeviceProp;
constexpr auto hipSuccess = cudaSuccess;
constexpr auto hipMemcpyHostToDevice = cudaMemcpyHostToDevice;
constexpr auto hipMemcpyDeviceToHost = cudaMemcpyDeviceToHost;
#define __ballot(predicate) __activemask()
#define hipGetErrorString cudaGetErrorString
#define hipGetDevice cudaGetDevice
#define hipSetDevice cudaSetDevice
#define hipGetDeviceProperties cudaGetDeviceProperties
#define hipDeviceSynchronize cudaDeviceSynchronize
#define hipMalloc cudaMalloc
#define hipFree cudaFree
#define hipMemset cudaMemset
#define hipMemcpy cudaMemcpy
#define hipMemcpyToSymbol cudaMemcpyToSymbol
