// Lets sources use CUDA's names for both CUDA and HIP. Functions in this file hide the other differences.
#pragma once

#if defined(__HIPCC__) || defined(__HIP__)
#define LOCKSTEP_HIP 1
#include <hip/hip_runtime.h>

#define cudaDeviceAttr hipDeviceAttribute_t
#define cudaDeviceGetAttribute hipDeviceGetAttribute
#define cudaDeviceGetPCIBusId hipDeviceGetPCIBusId
#define cudaDeviceProp hipDeviceProp_t
#define cudaDeviceSynchronize hipDeviceSynchronize
#define cudaDriverGetVersion hipDriverGetVersion
#define cudaErrorInsufficientDriver hipErrorInsufficientDriver
#define cudaErrorLaunchTimeout hipErrorLaunchTimeOut
#define cudaErrorMemoryAllocation hipErrorOutOfMemory
#define cudaError_t hipError_t
#define cudaEventCreate hipEventCreate
#define cudaEventDestroy hipEventDestroy
#define cudaEventElapsedTime hipEventElapsedTime
#define cudaEventRecord hipEventRecord
#define cudaEventSynchronize hipEventSynchronize
#define cudaEvent_t hipEvent_t
#define cudaFree hipFree
#define cudaFuncAttributes hipFuncAttributes
#define cudaFuncAttributeMaxDynamicSharedMemorySize hipFuncAttributeMaxDynamicSharedMemorySize
#define cudaFuncGetAttributes(attributes, kernel) hipFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel))
#define cudaFuncSetAttribute(kernel, attribute, value) \
  hipFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value)
#define cudaGetDevice hipGetDevice
#define cudaGetDeviceCount hipGetDeviceCount
#define cudaGetDeviceProperties hipGetDeviceProperties
#define cudaGetErrorName hipGetErrorName
#define cudaGetErrorString hipGetErrorString
#define cudaGetLastError hipGetLastError
#define cudaLaunchKernel(kernel, ...) hipLaunchKernel(reinterpret_cast<const void*>(kernel), __VA_ARGS__)
#define cudaMalloc hipMalloc
#define cudaMemcpy hipMemcpy
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaMemset hipMemset
#define cudaOccupancyMaxActiveBlocksPerMultiprocessor hipOccupancyMaxActiveBlocksPerMultiprocessor
#define cudaRuntimeGetVersion hipRuntimeGetVersion
#define cudaSetDevice hipSetDevice
#define cudaSuccess hipSuccess

#define cudaDevAttrClockRate hipDeviceAttributeClockRate
#define cudaDevAttrEccEnabled hipDeviceAttributeEccEnabled
#define cudaDevAttrGlobalMemoryBusWidth hipDeviceAttributeMemoryBusWidth
#define cudaDevAttrKernelExecTimeout hipDeviceAttributeKernelExecTimeout
#define cudaDevAttrL2CacheSize hipDeviceAttributeL2CacheSize
#define cudaDevAttrMaxBlocksPerMultiprocessor hipDeviceAttributeMaxBlocksPerMultiProcessor
#define cudaDevAttrMaxRegistersPerBlock hipDeviceAttributeMaxRegistersPerBlock
#define cudaDevAttrMaxRegistersPerMultiprocessor hipDeviceAttributeMaxRegistersPerMultiprocessor
// On HIP, a block can use all shared memory without opting in.
#define cudaDevAttrMaxSharedMemoryPerBlockOptin hipDeviceAttributeMaxSharedMemoryPerBlock
#define cudaDevAttrMaxSharedMemoryPerMultiprocessor hipDeviceAttributeMaxSharedMemoryPerMultiprocessor
#define cudaDevAttrMaxThreadsPerBlock hipDeviceAttributeMaxThreadsPerBlock
#define cudaDevAttrMaxThreadsPerMultiProcessor hipDeviceAttributeMaxThreadsPerMultiProcessor
#define cudaDevAttrMemoryClockRate hipDeviceAttributeMemoryClockRate
#define cudaDevAttrMultiProcessorCount hipDeviceAttributeMultiprocessorCount

// On HIP, the lanes of a group always run together. Masks have no effect, and a barrier only keeps accesses in order.
#define __shfl_sync(mask, value, lane) __shfl(value, lane)
#define __shfl_xor_sync(mask, value, distance) __shfl_xor(value, distance)
#define __any_sync(mask, predicate) __any(predicate)
#define __syncwarp(mask) __builtin_amdgcn_wave_barrier()
#else
#include <cuda_runtime.h>
#endif

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
/// Defined while the code for the device is compiled.
#define LOCKSTEP_DEVICE 1
#endif
#if defined(__CUDACC__) && !defined(LOCKSTEP_HIP) && !defined(LOCKSTEP_EMULATION)
/// Defined if the assembler is NVIDIA's, which understands PTX.
#define LOCKSTEP_PTX 1
#endif

#ifndef LOCKSTEP_GROUP_WIDTH
#define LOCKSTEP_GROUP_WIDTH 32
#endif

#include <cstdint>
#include <type_traits>

namespace lockstep {

/// Lanes of a thread group: 32, or 64 on AMD's compute devices (CDNA, GCN).
constexpr unsigned GROUP_WIDTH = LOCKSTEP_GROUP_WIDTH;
static_assert(GROUP_WIDTH == 32 || GROUP_WIDTH == 64, "thread groups have 32 or 64 lanes");
using LaneMask = std::conditional_t<GROUP_WIDTH == 64, uint64_t, uint32_t>;
constexpr LaneMask ALL_LANES = ~LaneMask(0);

/// Returns a value about which the compiler knows nothing, so it cannot combine later operations with earlier ones.
template <class T>
__device__ __forceinline__ T opaque(T value) {
#ifdef LOCKSTEP_HIP
#ifdef LOCKSTEP_DEVICE
  asm volatile("" : "+v"(value));
#endif
#endif
  return value;
}

__device__ inline uint32_t multiprocessor() {
#if defined(LOCKSTEP_EMULATION)
  return emulatedMultiprocessor();
#elif defined(LOCKSTEP_HIP)
  return __smid();
#else
  uint32_t id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
#endif
}

/// Computes a·b + c, as one instruction if possible.
__device__ __forceinline__ uint32_t multiplyAdd(uint32_t a, uint32_t b, uint32_t c) {
  // Without PTX or `opaque`, some compilers search for half a minute for a shorter form of the integer operations.
#ifdef LOCKSTEP_PTX
  uint32_t result;
  asm volatile("mad.lo.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
  return result;
#else
  return opaque(a * b + c);
#endif
}

/// Returns the bitwise majority (TABLE 0xe8) or parity (0x96) of three words; on AMD devices, other functions of them.
template <unsigned TABLE>
__device__ __forceinline__ uint32_t bitwise(uint32_t a, uint32_t b, uint32_t c) {
  static_assert(TABLE == 0xe8 || TABLE == 0x96);
#ifdef LOCKSTEP_PTX
  uint32_t result;
  asm volatile("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(result) : "r"(a), "r"(b), "r"(c), "n"(TABLE));
  return result;
#else
#ifdef LOCKSTEP_HIP
  // AMD devices have one instruction for each of these two functions.
  return opaque(TABLE == 0xe8 ? (a & b) | c : a | b | c);
#else
  return TABLE == 0xe8 ? (a & b) | (a & c) | (b & c) : a ^ b ^ c;
#endif
#endif
}

/// With `BELOW_L1`, the load bypasses the first-level cache. The compiler cannot move it past a read of the clock.
template <bool BELOW_L1>
__device__ __forceinline__ uint64_t follow(uint64_t at) {
#if defined(LOCKSTEP_PTX)
  uint64_t next;
  if constexpr (BELOW_L1)
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(next) : "l"(at) : "memory");
  else
    asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(next) : "l"(at) : "memory");
  return next;
#elif defined(LOCKSTEP_HIP)
  const uint64_t* address = reinterpret_cast<const uint64_t*>(at);
  if constexpr (BELOW_L1) return opaque(__hip_atomic_load(address, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT));
  return opaque(*address);
#else
  return *reinterpret_cast<const uint64_t*>(at);
#endif
}

}  // namespace lockstep
