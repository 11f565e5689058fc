// Parts of CUDA that users' sources need in the emulation, but the project's own sources do not: vector types, device
// functions, further calls of the runtime. It is included at the end of cuda_runtime.h.
#pragma once

// nvcc includes these headers by itself, and most programs rely on this.
#include <cfloat>
#include <climits>
#include <ctime>

#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __constant__
#define __managed__
#define __grid_constant__
// Other headers check these names to see whether the runtime is included.
#define __DRIVER_TYPES_H__
#define __CUDA_RUNTIME_H__
#define CUDART_VERSION 12000
#define CUDA_VERSION 12000
#define CUDART_INF_F INFINITY
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931

// --------------------------------------------------------------------------------------------------------------- vector types

#define LOCKSTEP_VECTORS(name, type)                                                                   \
  struct name##1 {                                                                                     \
    type x;                                                                                            \
  };                                                                                                   \
  struct alignas(2 * sizeof(type)) name##2 {                                                           \
    type x, y;                                                                                         \
  };                                                                                                   \
  inline name##1 make_##name##1(type x) { return {x}; }                                                \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; }
/// Types with three or four values are apart from those above, since cuda_runtime.h already has uint3 and float4.
#define LOCKSTEP_VECTOR3(name, type)                                                                   \
  struct name##3 {                                                                                     \
    type x, y, z;                                                                                      \
  };
#define LOCKSTEP_VECTOR4(name, type)                                                                   \
  struct alignas(4 * sizeof(type) < 16 ? 4 * sizeof(type) : 16) name##4 {                              \
    type x, y, z, w;                                                                                   \
  };
#define LOCKSTEP_MAKERS(name, type)                                                                    \
  inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                          \
  inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

LOCKSTEP_VECTORS(char, signed char)
LOCKSTEP_VECTOR3(char, signed char)
LOCKSTEP_VECTOR4(char, signed char)
LOCKSTEP_MAKERS(char, signed char)
LOCKSTEP_VECTORS(uchar, unsigned char)
LOCKSTEP_VECTOR3(uchar, unsigned char)
LOCKSTEP_VECTOR4(uchar, unsigned char)
LOCKSTEP_MAKERS(uchar, unsigned char)
LOCKSTEP_VECTORS(short, short)
LOCKSTEP_VECTOR3(short, short)
LOCKSTEP_VECTOR4(short, short)
LOCKSTEP_MAKERS(short, short)
LOCKSTEP_VECTORS(ushort, unsigned short)
LOCKSTEP_VECTOR3(ushort, unsigned short)
LOCKSTEP_VECTOR4(ushort, unsigned short)
LOCKSTEP_MAKERS(ushort, unsigned short)
LOCKSTEP_VECTORS(int, int)
LOCKSTEP_VECTOR3(int, int)
LOCKSTEP_VECTOR4(int, int)
LOCKSTEP_MAKERS(int, int)
LOCKSTEP_VECTORS(uint, unsigned)
LOCKSTEP_VECTOR4(uint, unsigned)
LOCKSTEP_MAKERS(uint, unsigned)
LOCKSTEP_VECTORS(long, long)
LOCKSTEP_VECTOR3(long, long)
LOCKSTEP_VECTOR4(long, long)
LOCKSTEP_MAKERS(long, long)
LOCKSTEP_VECTORS(ulong, unsigned long)
LOCKSTEP_VECTOR3(ulong, unsigned long)
LOCKSTEP_VECTOR4(ulong, unsigned long)
LOCKSTEP_MAKERS(ulong, unsigned long)
LOCKSTEP_VECTORS(longlong, long long)
LOCKSTEP_VECTOR3(longlong, long long)
LOCKSTEP_VECTOR4(longlong, long long)
LOCKSTEP_MAKERS(longlong, long long)
LOCKSTEP_VECTORS(ulonglong, unsigned long long)
LOCKSTEP_VECTOR3(ulonglong, unsigned long long)
LOCKSTEP_VECTOR4(ulonglong, unsigned long long)
LOCKSTEP_MAKERS(ulonglong, unsigned long long)
LOCKSTEP_VECTORS(float, float)
LOCKSTEP_VECTOR3(float, float)
LOCKSTEP_MAKERS(float, float)
LOCKSTEP_VECTORS(double, double)
LOCKSTEP_VECTOR3(double, double)
LOCKSTEP_VECTOR4(double, double)
LOCKSTEP_MAKERS(double, double)

// ------------------------------------------------------------------------------------------------------------ on the "device"

template <class A, class B, class = std::enable_if_t<!std::is_same_v<A, B>>>
std::common_type_t<A, B> max(A a, B b) {
  return a < b ? b : a;
}
template <class A, class B, class = std::enable_if_t<!std::is_same_v<A, B>>>
std::common_type_t<A, B> min(A a, B b) {
  return b < a ? b : a;
}
inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }

inline float __expf(float x) { return std::exp(x); }
inline float __exp10f(float x) { return std::pow(10.0f, x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __log10f(float x) { return std::log10(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __tanf(float x) { return std::tan(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline void __sincosf(float x, float* sine, float* cosine) { *sine = std::sin(x), *cosine = std::cos(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float rcbrtf(float x) { return 1 / std::cbrt(x); }
inline float sinpif(float x) { return static_cast<float>(std::sin(M_PI * x)); }
inline float cospif(float x) { return static_cast<float>(std::cos(M_PI * x)); }
inline double sinpi(double x) { return std::sin(M_PI * x); }
inline double cospi(double x) { return std::cos(M_PI * x); }
inline float norm3df(float x, float y, float z) { return std::sqrt(x * x + y * y + z * z); }
inline float normcdff(float x) { return static_cast<float>(0.5 * std::erfc(-x * M_SQRT1_2)); }
inline double normcdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1 / x; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double x) { return std::sqrt(x); }
inline int __float2int_rn(float x) { return static_cast<int>(std::nearbyint(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
inline int __float2int_rd(float x) { return static_cast<int>(std::floor(x)); }
inline int __float2int_ru(float x) { return static_cast<int>(std::ceil(x)); }
inline unsigned __float2uint_rn(float x) { return static_cast<unsigned>(std::nearbyint(x)); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline int __double2int_rn(double x) { return static_cast<int>(std::nearbyint(x)); }

namespace cuda_shim {
template <class To, class From>
To sameBits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
}  // namespace cuda_shim
inline int __float_as_int(float x) { return cuda_shim::sameBits<int>(x); }
inline unsigned __float_as_uint(float x) { return cuda_shim::sameBits<unsigned>(x); }
inline float __int_as_float(int x) { return cuda_shim::sameBits<float>(x); }
inline float __uint_as_float(unsigned x) { return cuda_shim::sameBits<float>(x); }
inline long long __double_as_longlong(double x) { return cuda_shim::sameBits<long long>(x); }
inline double __longlong_as_double(long long x) { return cuda_shim::sameBits<double>(x); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i);
  return reversed;
}
inline int __mul24(int a, int b) { return a * b; }
inline unsigned __umul24(unsigned a, unsigned b) { return a * b; }
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32); }
inline unsigned __sad(int a, int b, unsigned c) { return c + static_cast<unsigned>(a < b ? b - a : a - b); }
template <class T>
T __ldg(const T* address) {
  return *address;
}

template <class T, class U>
T atomicSub(T* address, U value) {
  return std::exchange(*address, static_cast<T>(*address - value));
}
template <class T, class U>
T atomicMin(T* address, U value) {
  return std::exchange(*address, std::min(*address, static_cast<T>(value)));
}
template <class T, class U>
T atomicExch(T* address, U value) {
  return std::exchange(*address, static_cast<T>(value));
}
template <class T, class U, class V>
T atomicCAS(T* address, U expected, V value) {
  return *address == static_cast<T>(expected) ? std::exchange(*address, static_cast<T>(value)) : *address;
}
template <class T, class U>
T atomicAnd(T* address, U value) {
  return std::exchange(*address, static_cast<T>(*address & value));
}
template <class T, class U>
T atomicOr(T* address, U value) {
  return std::exchange(*address, static_cast<T>(*address | value));
}
template <class T, class U>
T atomicXor(T* address, U value) {
  return std::exchange(*address, static_cast<T>(*address ^ value));
}
inline unsigned atomicInc(unsigned* address, unsigned most) {
  return std::exchange(*address, *address >= most ? 0 : *address + 1);
}
inline unsigned atomicDec(unsigned* address, unsigned most) {
  return std::exchange(*address, *address == 0 || *address > most ? most : *address - 1);
}

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {}
[[noreturn]] inline void __trap() { cuda_shim::broken("the kernel trapped"); }
inline int __syncthreads_count(int predicate) { return meetBlock(predicate != 0, false); }
inline int __syncthreads_or(int predicate) { return meetBlock(predicate != 0, false) != 0; }
inline int __syncthreads_and(int predicate) { return meetBlock(predicate != 0, true); }
inline int __all_sync(cuda_shim::Mask mask, int predicate) { return __ballot_sync(mask, predicate == 0) == 0; }

template <class T>
T __shfl_sync(cuda_shim::Mask mask, T value, int source, int width) {
  const int lane = static_cast<int>(cuda_shim::machine.current->lane());
  return __shfl_sync(mask, value, lane / width * width + source % width);
}
template <class T>
T __shfl_up_sync(cuda_shim::Mask mask, T value, unsigned distance, int width = warpSize) {
  const int lane = static_cast<int>(cuda_shim::machine.current->lane()), from = lane - static_cast<int>(distance);
  return __shfl_sync(mask, value, from < lane / width * width ? lane : from);
}
template <class T>
T __shfl_down_sync(cuda_shim::Mask mask, T value, unsigned distance, int width = warpSize) {
  const int lane = static_cast<int>(cuda_shim::machine.current->lane()), from = lane + static_cast<int>(distance);
  return __shfl_sync(mask, value, from >= (lane / width + 1) * width ? lane : from);
}
template <class T>
T __shfl_xor_sync(cuda_shim::Mask mask, T value, int distance, int width) {
  const int lane = static_cast<int>(cuda_shim::machine.current->lane()), from = lane ^ distance;
  return __shfl_sync(mask, value, from >= (lane / width + 1) * width ? lane : from);
}

// ------------------------------------------------------------------------------------------------------------------- launches

namespace cuda_shim {

struct Config {
  dim3 grid, block;
  size_t sharedBytes;
  Config(dim3 grid, dim3 block, size_t sharedBytes = 0, cudaStream_t = nullptr)
      : grid(grid), block(block), sharedBytes(sharedBytes) {}
};

/// Launches a kernel. Every lane calls the kernel with the same copies of the arguments.
template <class Kernel>
struct Start {
  Config config;
  Kernel kernel;
  template <class... Arguments>
  void operator()(Arguments... arguments) {
    auto bound = [&] { kernel(arguments...); };
    const auto run = [](void* call) { (*static_cast<decltype(bound)*>(call))(); };
    runGrid(config.grid, config.block, config.sharedBytes, SHARED_BYTES_OPT_IN, run, &bound);
  }
};
template <class Kernel>
Start(Config, Kernel) -> Start<Kernel>;

}  // namespace cuda_shim

// --------------------------------------------------------------------------------------------------------------- the runtime

constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocMapped = 2, cudaMemAttachGlobal = 1, cudaEventDefault = 0,
                   cudaEventDisableTiming = 2, cudaEventBlockingSync = 1, cudaStreamNonBlocking = 1, cudaStreamDefault = 0,
                   cudaDeviceScheduleAuto = 0, cudaDeviceMapHost = 8;
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum cudaSharedMemConfig { cudaSharedMemBankSizeDefault, cudaSharedMemBankSizeFourByte, cudaSharedMemBankSizeEightByte };
enum cudaComputeMode { cudaComputeModeDefault, cudaComputeModeExclusive, cudaComputeModeProhibited };
template <class T>
cudaError_t cudaMalloc(T** address, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(address), bytes);
}
template <class T>
cudaError_t cudaMallocManaged(T** address, size_t bytes, unsigned = 0) {
  return cudaMalloc(address, bytes);
}
template <class T>
cudaError_t cudaMallocHost(T** address, size_t bytes, unsigned = 0) {
  return cudaMalloc(address, bytes);
}
template <class T>
cudaError_t cudaHostAlloc(T** address, size_t bytes, unsigned) {
  return cudaMalloc(address, bytes);
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned) {
  *device = static_cast<T*>(host);
  return cudaSuccess;
}
inline cudaError_t cudaFreeHost(void* address) { return cudaFree(address); }
template <class T>
cudaError_t cudaMallocPitch(T** address, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(address, *pitch * height);
}
inline cudaError_t cudaMemcpy2D(void* to, size_t toPitch, const void* from, size_t fromPitch, size_t width, size_t height,
                                cudaMemcpyKind kind) {
  for (size_t row = 0; row < height; ++row)
    cudaMemcpy(static_cast<char*>(to) + row * toPitch, static_cast<const char*>(from) + row * fromPitch, width, kind);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t = nullptr) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaMemsetAsync(void* address, int byte, size_t bytes, cudaStream_t = nullptr) {
  return cudaMemset(address, byte, bytes);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return cudaMemcpy(to, reinterpret_cast<const char*>(&symbol) + offset, bytes, kind);
}
template <class P, class T>
cudaError_t cudaGetSymbolAddress(P** address, const T& symbol) {
  *address = reinterpret_cast<P*>(const_cast<T*>(&symbol));
  return cudaSuccess;
}
inline cudaError_t cudaMemGetInfo(size_t* freeBytes, size_t* allBytes) {
  *freeBytes = *allBytes = cuda_shim::MEMORY_BYTES;
  return cudaSuccess;
}
inline cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t = nullptr) { return cudaSuccess; }
inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return cudaStreamCreate(stream); }
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaDeviceSynchronize(); }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return cudaSuccess; }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaDeviceReset() { return cudaSuccess; }
inline cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
inline cudaError_t cudaThreadExit() { return cudaSuccess; }
inline cudaError_t cudaPeekAtLastError() { return cuda_shim::machine.sticky ? cuda_shim::machine.sticky : cuda_shim::machine.last; }
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
inline cudaError_t cudaThreadSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
inline cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetCacheConfig(Kernel, cudaFuncCache) {
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, Kernel, size_t = 0, int = 0) {
  *grid = static_cast<int>(cuda_shim::MULTIPROCESSORS);
  *block = 256;
  return cudaSuccess;
}
inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }
