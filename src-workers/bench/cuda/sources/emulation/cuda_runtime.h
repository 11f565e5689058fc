// CPU emulation of CUDA: g++ compiles CUDA sources and runs them without a GPU, for results and traces, never for
// times. Tests compile the project's own sources unchanged. With LOCKSTEP_EMULATED_TARGET it is a target for the
// user's sources: bench/cuda/launch-syntax.ts rewrites their launches, and foreign.h adds more of CUDA.
//
// Blocks run one after another. The lanes of a block are fibres that switch only where they meet: shuffles, barriers.
// In tests it is stricter than a GPU: the kernel stops on a mask that omits its caller, names a lane that has left,
// or differs between lanes that wait for each other. A clock counts its reads, so cycles have no meaning, but waits are
// realistic: lanes that meet take the latest of their clocks, and blocks start when there is room on a multiprocessor.
//
//   CUDA_SHIM_DEVICES=N        number of devices (default 1)
//   CUDA_SHIM_DRIVER=N         newest CUDA that the driver supports, 12020 for 12.2: too old for the program's 13.0
//   CUDA_SHIM_CAPABILITY=N     compute capability, 90 for 9.0
//   CUDA_SHIM_WIDTH=N          reported lanes of a thread group
//   CUDA_SHIM_NO_CODE=1        the program has no code for the device
//   CUDA_SHIM_HANG_BLOCKS=N    launches of N blocks never end
//   CUDA_SHIM_MEMORY=N         bytes of memory
//   CUDA_SHIM_FAULT_LAUNCH=N   launch number N of the process, from 1, breaks the device permanently
//   CUDA_SHIM_NEEDS_ORDER=1    a device can be chosen only if CUDA numbers devices by their place on the bus
//   CUDA_SHIM_FAULT=N          error of that launch (default: 719, a launch failure)
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

using std::max;
using std::min;

#define LOCKSTEP_EMULATION 1
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __forceinline__ inline

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  dim3(uint3 other) : x(other.x), y(other.y), z(other.z) {}
  operator uint3() const { return {x, y, z}; }
};
struct alignas(16) float4 {
  float x, y, z, w;
};
inline dim3 threadIdx, blockIdx, blockDim, gridDim;
#ifndef LOCKSTEP_EMULATED_WIDTH
#define LOCKSTEP_EMULATED_WIDTH 32
#endif
constexpr int warpSize = LOCKSTEP_EMULATED_WIDTH;

// -------------------------------------------------------------------------------------------------------------------- errors

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorLaunchTimeout = 702,
  cudaErrorLaunchFailure = 719,
};

inline const char* cudaGetErrorName(cudaError_t code) {
  switch (code) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorNoKernelImageForDevice: return "cudaErrorNoKernelImageForDevice";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorLaunchTimeout: return "cudaErrorLaunchTimeout";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
  }
  return "?";
}
inline const char* cudaGetErrorString(cudaError_t code) {
  switch (code) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInsufficientDriver: return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoKernelImageForDevice: return "no kernel image is available for execution on the device";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorLaunchTimeout: return "the launch timed out and was terminated";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
  }
  return "?";
}

// ------------------------------------------------------------------------------------------------------------------- machine

namespace cuda_shim {

constexpr unsigned WIDTH = LOCKSTEP_EMULATED_WIDTH;
using Mask = std::conditional_t<WIDTH == 64, uint64_t, uint32_t>;
constexpr unsigned MULTIPROCESSORS = 2;
constexpr unsigned THREADS_PER_MULTIPROCESSOR = 1024;
constexpr unsigned BLOCKS_PER_MULTIPROCESSOR = 8;
constexpr unsigned THREADS_PER_BLOCK = 1024;
#ifdef LOCKSTEP_EMULATED_TARGET
/// Whether it is an error if a mask names a lane that has left the kernel. On a GPU it is not.
constexpr bool STRICT = false;
constexpr unsigned GRID_X = 2147483647, GRID_Y = 65535, GRID_Z = 65535;
constexpr unsigned SHARED_BYTES = 48 << 10, SHARED_BYTES_OPT_IN = 227 << 10;
constexpr unsigned CAPABILITY = 90;
constexpr size_t MEMORY_BYTES = size_t(1) << 40;
constexpr const char* NAME = "CPU emulation of CUDA";
#else
constexpr bool STRICT = true;
constexpr unsigned GRID_X = 4095, GRID_Y = 1023, GRID_Z = 63;
constexpr unsigned SHARED_BYTES = 48 << 10, SHARED_BYTES_OPT_IN = 64 << 10;
constexpr unsigned CAPABILITY = 0;
constexpr size_t MEMORY_BYTES = size_t(1) << 30;
constexpr const char* NAME = "CPU emulation of CUDA, for tests";
#endif
alignas(128) inline unsigned char dynamicShared[SHARED_BYTES_OPT_IN];
constexpr unsigned REGISTERS_PER_THREAD = 16, REGISTERS_PER_MULTIPROCESSOR = 65536;
constexpr long long CLOCK_STEP = 1024;
constexpr size_t STACK_BYTES = 128 << 10;

enum class Meeting { none, warp, shuffle, vote, match, active, block };

struct Lane {
  dim3 index;
  unsigned number = 0;
  bool finished = false;
  Meeting waiting = Meeting::none;
  Mask mask = 0;
  uint64_t value = 0;
  unsigned source = 0;
  uint64_t result = 0;
  long long clock = 0;
  unsigned lane() const { return number % WIDTH; }
};

/// A fibre for the lanes with the same number in successive blocks. The first of them creates the stack, which is not
/// cleared, so that pages that no lane touches take no memory. A lane continues at `place`.
struct Fibre {
  std::unique_ptr<char[]> stack;
  void* place[5];
};

struct Machine {
  std::vector<Lane> lanes;
  Fibre fibres[THREADS_PER_BLOCK];
  Lane* current = nullptr;
  void* scheduler[5];
  void (*body)(void*) = nullptr;
  void* arguments = nullptr;
  unsigned multiprocessor = 0;
  const char* fault = nullptr;
  cudaError_t last = cudaSuccess;
  cudaError_t sticky = cudaSuccess;
  unsigned launches = 0;
  std::map<const void*, unsigned> sharedLimits;
  std::map<void*, size_t> held;
};
inline Machine machine;

inline size_t setting(const char* name, size_t otherwise) {
  const char* value = std::getenv(name);
  return value ? static_cast<size_t>(std::atoll(value)) : otherwise;
}

inline cudaError_t answer(cudaError_t code) {
  if (machine.sticky != cudaSuccess) return machine.sticky;
  if (code != cudaSuccess) machine.last = code;
  return code;
}

/// Continues at a place that __builtin_setjmp has saved. Unlike swapcontext, this needs no system call, which would be
/// slow. It is never inlined, because a function must not both save a place and continue there.
[[noreturn, gnu::noinline]] inline void jump(void** place) { __builtin_longjmp(place, 1); }

inline void yield() {
  Fibre& own = machine.fibres[machine.current->number];
  if (__builtin_setjmp(own.place) == 0) jump(machine.scheduler);
}

[[noreturn]] inline void broken(const char* why) {
  machine.fault = why;
  jump(machine.scheduler);
}

/// Sets the clocks of all lanes that meet to the latest among them.
template <class Chosen>
void release(Lane* first, Lane* last, Chosen&& chosen) {
  long long latest = 0;
  for (Lane* lane = first; lane != last; ++lane)
    if (chosen(*lane)) latest = std::max(latest, lane->clock);
  for (Lane* lane = first; lane != last; ++lane)
    if (chosen(*lane)) {
      lane->clock = latest;
      lane->waiting = Meeting::none;
    }
}

inline uint64_t same(const Lane* first, const Lane* last, Mask mask, uint64_t value) {
  uint64_t found = 0;
  for (const Lane* lane = first; lane != last; ++lane)
    if (mask >> lane->lane() & 1 && lane->value == value) found |= 1ull << lane->lane();
  return found;
}

/// Gives all lanes of a mask their results once all have arrived. Lanes that have left the kernel need not arrive.
inline bool completeMeeting(Lane* first, Lane* last, Meeting kind, Mask mask) {
  uint64_t voted = 0;
  for (Lane* lane = first; lane != last; ++lane) {
    if (!(mask >> lane->lane() & 1) || lane->finished) continue;
    if (lane->waiting != kind || lane->mask != mask) return false;
    if (lane->value != 0) voted |= 1ull << lane->lane();
  }
  for (Lane* lane = first; lane != last; ++lane)
    if (mask >> lane->lane() & 1)
      lane->result = kind == Meeting::match  ? same(first, last, mask, lane->value)
                     : kind == Meeting::vote ? voted
                                             : first[lane->source].value;
  release(first, last, [&](const Lane& lane) { return (mask >> lane.lane() & 1) != 0; });
  return true;
}

/// Completes meetings whose missing lanes have all left the kernel. Returns false if there is no such meeting.
inline bool completeMeetings() {
  bool completed = false;
  for (size_t from = 0; from < machine.lanes.size(); from += WIDTH) {
    Lane* first = &machine.lanes[from];
    Lane* last = first + std::min<size_t>(WIDTH, machine.lanes.size() - from);
    for (Lane* lane = first; lane != last; ++lane)
      if (lane->waiting == Meeting::warp || lane->waiting == Meeting::shuffle || lane->waiting == Meeting::vote ||
          lane->waiting == Meeting::match)
        completed = completeMeeting(first, last, lane->waiting, lane->mask) || completed;
  }
  return completed;
}

inline uint64_t meet(Meeting kind, Mask mask, uint64_t value, unsigned source) {
  Lane& me = *machine.current;
  if (!(mask >> me.lane() & 1)) broken("a lane calls with a mask that does not name it");
  if (kind == Meeting::shuffle && !(mask >> source & 1)) broken("a lane reads from a lane that the mask does not name");
  me.waiting = kind;
  me.mask = mask;
  me.value = value;
  me.source = source;
  Lane* first = &machine.lanes[me.number - me.lane()];
  Lane* last = first + std::min<size_t>(WIDTH, machine.lanes.size() - (me.number - me.lane()));
  if (STRICT && static_cast<unsigned>(last - first) < WIDTH && mask >> (last - first)) broken("a mask names a lane beyond the block; launch whole thread groups, or mask the lanes that there are");
  if (STRICT)
    for (Lane* lane = first; lane != last; ++lane)
      if (mask >> lane->lane() & 1 && lane->finished) broken("a mask names a lane that has left the kernel; let it stay, or leave it out of the mask");
  if (!completeMeeting(first, last, kind, mask)) yield();
  return me.result;
}

inline void enter() {
  for (;;) {
    machine.body(machine.arguments);
    machine.current->finished = true;
    yield();
  }
}

inline void resume(Lane& lane) {
  machine.current = &lane;
  threadIdx = lane.index;
  Fibre& fibre = machine.fibres[lane.number];
  if (__builtin_setjmp(machine.scheduler) != 0) return;
  if (fibre.stack) jump(fibre.place);
  fibre.stack.reset(new char[STACK_BYTES]);
  ucontext_t first;
  getcontext(&first);
  first.uc_stack.ss_sp = fibre.stack.get();
  first.uc_stack.ss_size = STACK_BYTES;
  first.uc_link = nullptr;
  makecontext(&first, enter, 0);
  setcontext(&first);
}

/// Answers lanes that ask which lanes are active: those of the group that ask at the same place, once all others wait,
/// ask elsewhere or have left. If lanes ask at several places, the last place in the source is answered first. Lanes
/// in the next round of a loop then wait for the previous round, as on a GPU. Returns false if no lane asks.
inline bool releaseActive() {
  bool released = false;
  for (size_t from = 0; from < machine.lanes.size(); from += WIDTH) {
    Lane* first = &machine.lanes[from];
    Lane* last = first + std::min<size_t>(WIDTH, machine.lanes.size() - from);
    unsigned furthest = 0;
    for (Lane* lane = first; lane != last; ++lane)
      if (lane->waiting == Meeting::active) furthest = std::max(furthest, lane->source);
    if (furthest == 0) continue;
    const auto here = [&](const Lane& lane) { return lane.waiting == Meeting::active && lane.source == furthest; };
    Mask mask = 0;
    for (Lane* lane = first; lane != last; ++lane)
      if (here(*lane)) mask |= Mask(1) << lane->lane();
    for (Lane* lane = first; lane != last; ++lane)
      if (here(*lane)) lane->result = mask;
    release(first, last, here);
    released = true;
  }
  return released;
}

/// Sets `machine.fault` on an error.
inline long long runBlock(dim3 block, long long startClock) {
  const unsigned threads = block.x * block.y * block.z;
  machine.lanes.assign(threads, Lane());
  for (unsigned i = 0; i < threads; ++i) {
    Lane& lane = machine.lanes[i];
    lane.number = i;
    lane.index = dim3(i % block.x, i / block.x % block.y, i / block.x / block.y);
    lane.clock = startClock;
  }
  for (;;) {
    bool progress = false;
    bool all = true;
    for (Lane& lane : machine.lanes) {
      if (lane.finished || lane.waiting != Meeting::none) continue;
      progress = true;
      resume(lane);
      if (machine.fault) return startClock;
    }
    bool blocked = true;
    for (const Lane& lane : machine.lanes) {
      all = all && lane.finished;
      blocked = blocked && (lane.finished || lane.waiting == Meeting::block);
    }
    if (all) break;
    if (blocked) {
      uint64_t nonzero = 0, alive = 0;
      for (const Lane& lane : machine.lanes)
        if (!lane.finished) nonzero += lane.value != 0, ++alive;
      // These are the results of __syncthreads_count and similar calls.
      for (Lane& lane : machine.lanes) lane.result = lane.source == 1 ? nonzero == alive : nonzero;
      release(machine.lanes.data(), machine.lanes.data() + machine.lanes.size(),
              [](const Lane& lane) { return !lane.finished; });
    } else if (!progress && !(!STRICT && completeMeetings()) && !releaseActive()) {
      machine.fault = "lanes wait for others that never come, call something else, or have another mask";
      return startClock;
    }
  }
  long long end = startClock;
  for (const Lane& lane : machine.lanes) end = std::max(end, lane.clock);
  return end + CLOCK_STEP;
}

inline unsigned residentBlocks(unsigned threads, size_t sharedBytes) {
  if (threads == 0 || threads > THREADS_PER_BLOCK) return 0;
  const unsigned filled = (threads + WIDTH - 1) / WIDTH * WIDTH;
  unsigned blocks = std::min(BLOCKS_PER_MULTIPROCESSOR, THREADS_PER_MULTIPROCESSOR / filled);
  blocks = std::min(blocks, REGISTERS_PER_MULTIPROCESSOR / (REGISTERS_PER_THREAD * filled));
  return sharedBytes == 0 ? blocks : std::min<unsigned>(blocks, SHARED_BYTES_OPT_IN / sharedBytes);
}

template <class... Parameters>
struct Call {
  void (*kernel)(Parameters...);
  std::tuple<std::decay_t<Parameters>...> arguments;
  static void run(void* call) {
    Call& self = *static_cast<Call*>(call);
    std::apply(self.kernel, self.arguments);
  }
};

template <class... Parameters, size_t... I>
Call<Parameters...> unpack(void (*kernel)(Parameters...), void** arguments, std::index_sequence<I...>) {
  (void)arguments;
  return {kernel, {*static_cast<std::decay_t<Parameters>*>(arguments[I])...}};
}

}  // namespace cuda_shim

inline unsigned emulatedMultiprocessor() { return cuda_shim::machine.multiprocessor; }

// ------------------------------------------------------------------------------------------------------------ on the "device"

inline long long clock64() { return cuda_shim::machine.current->clock += cuda_shim::CLOCK_STEP; }

inline void __syncwarp(cuda_shim::Mask mask = ~cuda_shim::Mask(0)) {
  cuda_shim::meet(cuda_shim::Meeting::warp, mask, 0, cuda_shim::machine.current->lane());
}
/// With `all`, returns whether the predicate is true for all threads, and otherwise for how many.
inline int meetBlock(bool predicate, bool all) {
  cuda_shim::Lane& me = *cuda_shim::machine.current;
  me.waiting = cuda_shim::Meeting::block;
  me.value = predicate;
  me.source = all ? 1 : 0;
  cuda_shim::yield();
  return static_cast<int>(me.result);
}
inline void __syncthreads() { meetBlock(false, false); }
template <class T>
T __shfl_sync(cuda_shim::Mask mask, T value, int source) {
  static_assert(sizeof(T) <= 8);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = cuda_shim::meet(cuda_shim::Meeting::shuffle, mask, bits, static_cast<unsigned>(source) % cuda_shim::WIDTH);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
T __shfl_xor_sync(cuda_shim::Mask mask, T value, int distance) {
  return __shfl_sync(mask, value, static_cast<int>(cuda_shim::machine.current->lane()) ^ distance);
}
inline cuda_shim::Mask __match_any_sync(cuda_shim::Mask mask, uint32_t value) {
  return static_cast<cuda_shim::Mask>(
      cuda_shim::meet(cuda_shim::Meeting::match, mask, value, cuda_shim::machine.current->lane()));
}
inline cuda_shim::Mask __ballot_sync(cuda_shim::Mask mask, int predicate) {
  const unsigned lane = cuda_shim::machine.current->lane();
  return static_cast<cuda_shim::Mask>(cuda_shim::meet(cuda_shim::Meeting::vote, mask, predicate != 0, lane));
}
inline int __any_sync(cuda_shim::Mask mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
/// Returns the active lanes. `line` is the line in the source, and kernels omit it.
inline cuda_shim::Mask __activemask(unsigned line = __builtin_LINE()) {
  cuda_shim::Lane& me = *cuda_shim::machine.current;
  me.waiting = cuda_shim::Meeting::active;
  me.source = line;
  cuda_shim::yield();
  return static_cast<cuda_shim::Mask>(me.result);
}
inline int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
inline int __ffsll(long long value) { return __builtin_ffsll(value); }
// Lanes switch only where they meet, so a plain memory access is already atomic.
template <class T, class U>
T atomicMax(T* address, U value) {
  const T before = *address;
  *address = std::max(before, static_cast<T>(value));
  return before;
}
template <class T, class U>
T atomicAdd(T* address, U value) {
  const T before = *address;
  *address = static_cast<T>(before + value);
  return before;
}
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }

// --------------------------------------------------------------------------------------------------------------- the runtime

using cudaStream_t = void*;
struct CudaShimEvent {
  std::chrono::steady_clock::time_point time;
};
using cudaEvent_t = CudaShimEvent*;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize, cudaFuncAttributePreferredSharedMemoryCarveout };
enum cudaSharedCarveout {
  cudaSharedmemCarveoutDefault = -1,
  cudaSharedmemCarveoutMaxL1 = 0,
  cudaSharedmemCarveoutMaxShared = 100,
};
struct cudaFuncAttributes {
  int numRegs;
  size_t sharedSizeBytes;
  size_t localSizeBytes;
};
struct cudaDeviceProp {
  char name[256];
  int major, minor, multiProcessorCount, warpSize;
  size_t totalGlobalMem, sharedMemPerBlock;
  int maxThreadsPerBlock, maxThreadsPerMultiProcessor, regsPerBlock, maxThreadsDim[3], maxGridSize[3];
  int clockRate, memoryClockRate, memoryBusWidth, l2CacheSize, concurrentKernels, canMapHostMemory, integrated, asyncEngineCount;
  int unifiedAddressing, managedMemory, ECCEnabled, computeMode, cooperativeLaunch;
};
enum cudaDeviceAttr {
  cudaDevAttrClockRate,
  cudaDevAttrMemoryClockRate,
  cudaDevAttrGlobalMemoryBusWidth,
  cudaDevAttrL2CacheSize,
  cudaDevAttrMaxThreadsPerBlock,
  cudaDevAttrMaxThreadsPerMultiProcessor,
  cudaDevAttrMaxBlocksPerMultiprocessor,
  cudaDevAttrMaxRegistersPerMultiprocessor,
  cudaDevAttrMaxRegistersPerBlock,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor,
  cudaDevAttrMaxSharedMemoryPerBlockOptin,
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrEccEnabled,
  cudaDevAttrKernelExecTimeout,
  cudaDevAttrComputeMode,
  cudaDevAttrIntegrated,
  cudaDevAttrCooperativeLaunch,
  cudaDevAttrMemoryPoolsSupported,
  cudaDevAttrConcurrentManagedAccess,
  cudaDevAttrManagedMemory,
  cudaDevAttrWarpSize,
  cudaDevAttrMaxSharedMemoryPerBlock,
  cudaDevAttrComputeCapabilityMajor,
  cudaDevAttrComputeCapabilityMinor,
};

namespace cuda_shim {

inline cudaError_t runGrid(dim3 grid, dim3 block, size_t sharedBytes, size_t sharedLimit, void (*body)(void*), void* arguments) {
  if (machine.sticky != cudaSuccess) return machine.sticky;
#ifdef LOCKSTEP_EMULATED_TARGET
  if (machine.launches == 0) std::fprintf(stderr, "CPU emulation of CUDA: results and traces are right, times mean nothing\n");
#endif
  const unsigned resident = residentBlocks(block.x * block.y * block.z, sharedBytes);
  if (resident == 0 || grid.x < 1 || grid.x > GRID_X || grid.y < 1 || grid.y > GRID_Y || grid.z < 1 || grid.z > GRID_Z)
    return answer(cudaErrorInvalidConfiguration);
  if (sharedBytes > sharedLimit) return answer(cudaErrorInvalidValue);
  if (grid.x == setting("CUDA_SHIM_HANG_BLOCKS", 0)) std::this_thread::sleep_for(std::chrono::hours(1));
  if (++machine.launches == setting("CUDA_SHIM_FAULT_LAUNCH", 0)) {
    machine.sticky = static_cast<cudaError_t>(setting("CUDA_SHIM_FAULT", cudaErrorLaunchFailure));
    return cudaSuccess;
  }
  machine.body = body;
  machine.arguments = arguments;
  blockDim = block;
  gridDim = grid;
  // When each slot of the multiprocessors becomes free. The next block goes to the slot that is free first.
  std::vector<long long> freeAt(resident * MULTIPROCESSORS, 0);
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = dim3(x, y, z);
        const size_t slot = static_cast<size_t>(std::min_element(freeAt.begin(), freeAt.end()) - freeAt.begin());
        machine.multiprocessor = static_cast<unsigned>(slot) % MULTIPROCESSORS;
        freeAt[slot] = runBlock(block, freeAt[slot]);
        if (machine.fault) {
          std::fprintf(stderr, "CPU emulation of CUDA: %s\n", machine.fault);
          machine.sticky = cudaErrorLaunchFailure;
          return cudaSuccess;
        }
      }
  return cudaSuccess;
}

}  // namespace cuda_shim

template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments, size_t sharedBytes,
                             cudaStream_t) {
  using namespace cuda_shim;
  const auto limit = machine.sharedLimits.find(reinterpret_cast<const void*>(kernel));
  auto call = unpack(kernel, arguments, std::index_sequence_for<Parameters...>());
  return runGrid(grid, block, sharedBytes, limit == machine.sharedLimits.end() ? SHARED_BYTES : limit->second, call.run, &call);
}

inline cudaError_t cudaGetLastError() {
  using namespace cuda_shim;
  if (machine.sticky != cudaSuccess) return machine.sticky;
  return std::exchange(machine.last, cudaSuccess);
}
inline cudaError_t cudaDeviceSynchronize() { return cuda_shim::answer(cudaSuccess); }
inline cudaError_t cudaMalloc(void** address, size_t bytes) {
  std::map<void*, size_t>& held = cuda_shim::machine.held;
  size_t all = bytes;
  for (const auto& one : held) all += one.second;
  if (all > cuda_shim::setting("CUDA_SHIM_MEMORY", cuda_shim::MEMORY_BYTES)) return cuda_shim::answer(cudaErrorMemoryAllocation);
  *address = std::malloc(bytes);
  held[*address] = bytes;
  // New memory has undefined contents, as on a device.
  std::memset(*address, 0xcd, bytes);
  return cuda_shim::answer(cudaSuccess);
}
inline cudaError_t cudaFree(void* address) {
  cuda_shim::machine.held.erase(address);
  std::free(address);
  return cuda_shim::answer(cudaSuccess);
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  if (cuda_shim::machine.sticky == cudaSuccess) std::memcpy(to, from, bytes);
  return cuda_shim::answer(cudaSuccess);
}
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return cudaMemcpy(reinterpret_cast<char*>(&symbol) + offset, from, bytes, kind);
}
inline cudaError_t cudaMemset(void* address, int byte, size_t bytes) {
  if (cuda_shim::machine.sticky == cudaSuccess) std::memset(address, byte, bytes);
  return cuda_shim::answer(cudaSuccess);
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CudaShimEvent();
  return cuda_shim::answer(cudaSuccess);
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cuda_shim::answer(cudaSuccess);
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t = nullptr) {
  event->time = std::chrono::steady_clock::now();
  return cuda_shim::answer(cudaSuccess);
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cuda_shim::answer(cudaSuccess); }
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
#ifdef LOCKSTEP_EMULATED_TARGET
  // Times have no meaning in an emulation.
  (void)from, (void)to;
  *milliseconds = 0;
#else
  *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
#endif
  return cuda_shim::answer(cudaSuccess);
}
template <class... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*)(Parameters...)) {
  *attributes = {cuda_shim::REGISTERS_PER_THREAD, 0, 0};
  return cuda_shim::answer(cuda_shim::setting("CUDA_SHIM_NO_CODE", 0) ? cudaErrorNoKernelImageForDevice : cudaSuccess);
}
template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute, int value) {
  // The emulation has no caches.
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cuda_shim::answer(cudaSuccess);
  if (value < 0 || static_cast<unsigned>(value) > cuda_shim::SHARED_BYTES_OPT_IN)
    return cuda_shim::answer(cudaErrorInvalidValue);
  cuda_shim::machine.sharedLimits[reinterpret_cast<const void*>(kernel)] = static_cast<unsigned>(value);
  return cuda_shim::answer(cudaSuccess);
}
template <class... Parameters>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*)(Parameters...), int threads,
                                                          size_t sharedBytes) {
  *blocks = static_cast<int>(cuda_shim::residentBlocks(static_cast<unsigned>(threads), sharedBytes));
  return cuda_shim::answer(cudaSuccess);
}
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(cuda_shim::setting("CUDA_SHIM_DEVICES", 1));
  if (std::getenv("CUDA_SHIM_DRIVER")) return cuda_shim::answer(cudaErrorInsufficientDriver);
  return cuda_shim::answer(*count == 0 ? cudaErrorNoDevice : cudaSuccess);
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cuda_shim::answer(cudaSuccess);
}
inline cudaError_t cudaSetDevice(int) {
  const char* order = std::getenv("CUDA_DEVICE_ORDER");
  const bool ordered = order != nullptr && std::strcmp(order, "PCI_BUS_ID") == 0;
  return cuda_shim::answer(ordered || !cuda_shim::setting("CUDA_SHIM_NEEDS_ORDER", 0) ? cudaSuccess : cudaErrorInvalidDevice);
}
inline cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  std::snprintf(id, static_cast<size_t>(length), "emulated:%d", device);
  return cuda_shim::answer(cudaSuccess);
}
inline cudaError_t cudaDriverGetVersion(int* version) {
  *version = static_cast<int>(cuda_shim::setting("CUDA_SHIM_DRIVER", 0));
  return cuda_shim::answer(cudaSuccess);
}
inline cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = std::getenv("CUDA_SHIM_DRIVER") ? 13000 : 0;
  return cuda_shim::answer(cudaSuccess);
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  const int capability = static_cast<int>(cuda_shim::setting("CUDA_SHIM_CAPABILITY", cuda_shim::CAPABILITY));
  *properties = cudaDeviceProp();
  std::strcpy(properties->name, cuda_shim::NAME);
  properties->major = capability / 10;
  properties->minor = capability % 10;
  properties->multiProcessorCount = cuda_shim::MULTIPROCESSORS;
  properties->warpSize = static_cast<int>(cuda_shim::setting("CUDA_SHIM_WIDTH", cuda_shim::WIDTH));
  properties->totalGlobalMem = cuda_shim::MEMORY_BYTES;
  properties->maxThreadsPerBlock = cuda_shim::THREADS_PER_BLOCK;
  properties->maxThreadsPerMultiProcessor = cuda_shim::THREADS_PER_MULTIPROCESSOR;
  properties->sharedMemPerBlock = cuda_shim::SHARED_BYTES;
  properties->regsPerBlock = cuda_shim::REGISTERS_PER_MULTIPROCESSOR;
  const unsigned dimensions[] = {cuda_shim::THREADS_PER_BLOCK, cuda_shim::THREADS_PER_BLOCK, 64};
  const unsigned grid[] = {cuda_shim::GRID_X, cuda_shim::GRID_Y, cuda_shim::GRID_Z};
  for (int i = 0; i < 3; ++i) {
    properties->maxThreadsDim[i] = static_cast<int>(dimensions[i]);
    properties->maxGridSize[i] = static_cast<int>(grid[i]);
  }
  return cuda_shim::answer(cudaSuccess);
}
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = cuda_shim::THREADS_PER_BLOCK; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = cuda_shim::THREADS_PER_MULTIPROCESSOR; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = cuda_shim::BLOCKS_PER_MULTIPROCESSOR; break;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
    case cudaDevAttrMaxRegistersPerBlock: *value = cuda_shim::REGISTERS_PER_MULTIPROCESSOR; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = cuda_shim::SHARED_BYTES_OPT_IN; break;
    case cudaDevAttrMultiProcessorCount: *value = cuda_shim::MULTIPROCESSORS; break;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
    case cudaDevAttrGlobalMemoryBusWidth:
    case cudaDevAttrL2CacheSize:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrComputeMode:
    case cudaDevAttrIntegrated:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrManagedMemory: *value = 0; break;
    case cudaDevAttrWarpSize: *value = warpSize; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = cuda_shim::SHARED_BYTES; break;
    case cudaDevAttrComputeCapabilityMajor: *value = cuda_shim::CAPABILITY / 10; break;
    case cudaDevAttrComputeCapabilityMinor: *value = cuda_shim::CAPABILITY % 10; break;
  }
  return cuda_shim::answer(cudaSuccess);
}

#ifdef LOCKSTEP_EMULATED_TARGET
#include "foreign.h"
#endif
