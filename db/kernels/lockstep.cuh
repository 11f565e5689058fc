// Counts the steps of each unit's loop, for `lockstep trace`. CUDA, HIP.
//
//   __global__ void kernel(unsigned units, …) {
//     for (unsigned i = …; i < units; i += …) {
//       LOCKSTEP_UNIT(i);                     // begins unit i, from 0 on; it ends with this scope
//       while (…) { LOCKSTEP_STEP(); … }      // first statement of the loop to count
//       LOCKSTEP_END();                       // only if the unit ends before its scope
//     }
//   }
//   …
//   LOCKSTEP_TRACE_UNITS(units);              // on the host, before the first launch, on the device of the launch
//   kernel<<<grid, block>>>(units, …);        // in the same source file
//
//   nvcc -DLOCKSTEP_TRACE app.cu -o app && lockstep trace -- ./app
//
// If the loop is in another __device__ function, pass the unit after the last argument, without a comma:
//
//   __device__ int walk(int node LOCKSTEP_PARAMETER) { while (…) { LOCKSTEP_STEP(); … } }
//   … walk(node LOCKSTEP_ARGUMENT) …
//
// Without LOCKSTEP_TRACE all macros are empty. Nothing is recorded unless `lockstep trace` runs the program. Trace a
// design in which one thread takes a whole unit. If several launches run a unit, the last one counts. The file is
// written at exit. A program that resets the device or ends by _exit must call LOCKSTEP_TRACE_WRITE() first; later
// launches record nothing.
#pragma once

#ifndef LOCKSTEP_TRACE

#define LOCKSTEP_UNIT(i)
#define LOCKSTEP_STEP()
#define LOCKSTEP_END()
#define LOCKSTEP_PARAMETER
#define LOCKSTEP_ARGUMENT
#define LOCKSTEP_TRACE_UNITS(units)
#define LOCKSTEP_TRACE_WRITE()

#else

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#if defined(__HIP__) || defined(__HIPCC__)
#include <hip/hip_runtime.h>
#define LOCKSTEP_RUNTIME(name) hip##name
#define LOCKSTEP_PROPERTIES hipDeviceProp_t
#define LOCKSTEP_ACTIVE() __ballot(1)
#else
#include <cuda_runtime.h>
#define LOCKSTEP_RUNTIME(name) cuda##name
#define LOCKSTEP_PROPERTIES cudaDeviceProp
#define LOCKSTEP_ACTIVE() __activemask()
#endif

#define LOCKSTEP_UNIT(i) lockstep_trace::Unit lockstepUnit(i)
#define LOCKSTEP_STEP() lockstepUnit.step()
#define LOCKSTEP_END() lockstepUnit.end()
#define LOCKSTEP_PARAMETER , lockstep_trace::Unit& lockstepUnit
#define LOCKSTEP_ARGUMENT , lockstepUnit
#define LOCKSTEP_TRACE_UNITS(units) lockstep_trace::start(units)
#define LOCKSTEP_TRACE_WRITE() lockstep_trace::write()

// Everything has internal linkage, so each source file has its own device pointer.
namespace lockstep_trace {
namespace {

/// The largest count. Counters stop there.
constexpr uint32_t MOST = 0xffffffffu;

/// The file has 32-bit little-endian words: this struct, then a Record per unit. lockstep.wgsl has the same layout.
struct alignas(16) Trace {
  uint32_t magic;    // "LSTR"
  uint32_t version;  // 1
  uint32_t units;    // number of records that follow
  uint32_t beyond;   // one more than the largest unit without a record; 0: none
  uint32_t width;    // lanes of a thread group; 0: only lengths are known
  uint32_t unused[3];
};
struct alignas(16) Record {
  uint32_t length;  // steps of the unit
  uint32_t led;     // steps that its lane counted for its thread group, as the first of the active lanes
  uint32_t lanes;   // active lanes when the unit began; 0: the unit was not run
  uint32_t group;   // thread group within the launch
};

__device__ Trace* deviceTrace;  // null: nothing is recorded

/// A unit, kept in registers until it ends.
class Unit {
 public:
  __device__ explicit Unit(uint64_t unit) : unit_(unit) { lanes_ = static_cast<uint32_t>(__popcll(LOCKSTEP_ACTIVE())); }
  Unit(const Unit&) = delete;
  __device__ ~Unit() { end(); }

  __device__ void step() {
    const uint64_t mask = LOCKSTEP_ACTIVE();
    if (length_ == MOST) return;
    length_ += 1;
    led_ += lane() + 1 == static_cast<uint32_t>(__ffsll(static_cast<long long>(mask))) ? 1 : 0;
  }

  __device__ void end() {
    Trace* trace = deviceTrace;
    if (ended_ || trace == nullptr) return;
    ended_ = true;
    if (unit_ >= trace->units) {
      atomicMax(&trace->beyond, unit_ < MOST ? static_cast<uint32_t>(unit_) + 1 : MOST);
      return;
    }
    const uint32_t threads = blockDim.x * blockDim.y * blockDim.z;
    const uint32_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const uint32_t group = block * ((threads + trace->width - 1) / trace->width) + thread() / trace->width;
    reinterpret_cast<Record*>(trace + 1)[unit_] = Record{length_, led_, lanes_, group};
  }

 private:
  static __device__ uint32_t thread() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  static __device__ uint32_t lane() { return thread() % static_cast<uint32_t>(warpSize); }

  uint64_t unit_;
  uint32_t lanes_ = 0;
  uint32_t length_ = 0;
  uint32_t led_ = 0;
  bool ended_ = false;
};

// --------------------------------------------------------------------------------------------------------------- on the host

struct Host {
  Trace* device = nullptr;
  int number = 0;  // of the device
  uint64_t units = 0;
};
Host host;

[[noreturn]] inline void stop(const char* what, const char* why) {
  std::fflush(nullptr);
  std::fprintf(stderr, "lockstep.cuh: %s: %s\n", what, why);
  std::fflush(nullptr);
  // `stop` runs at exit too, so it must not call exit.
  std::_Exit(1);
}

inline void check(LOCKSTEP_RUNTIME(Error_t) code, const char* what) {
  if (code != LOCKSTEP_RUNTIME(Success)) stop(what, LOCKSTEP_RUNTIME(GetErrorString)(code));
}

inline size_t bytesOf(uint64_t units) { return sizeof(Trace) + static_cast<size_t>(units) * sizeof(Record); }

/// Writes the file once. Does nothing if no trace was started or the file is already written.
[[maybe_unused]] inline void write() {
  if (host.device == nullptr) return;
  const size_t bytes = bytesOf(host.units);
  void* copy = std::malloc(bytes);
  if (copy == nullptr) stop("copying the trace", "out of memory");
  check(LOCKSTEP_RUNTIME(SetDevice)(host.number), "choosing the device");
  check(LOCKSTEP_RUNTIME(DeviceSynchronize)(), "waiting for the traced kernels");
  const auto copied = LOCKSTEP_RUNTIME(Memcpy)(copy, host.device, bytes, LOCKSTEP_RUNTIME(MemcpyDeviceToHost));
  check(copied, "copying the trace (call LOCKSTEP_TRACE_WRITE() before the device is reset)");
  // Mode "x" keeps a second source file with its own trace from replacing this file.
  std::FILE* file = std::fopen(std::getenv("LOCKSTEP_TRACE_FILE"), "wbx");
  if (file == nullptr)
    stop("writing the trace", "the file exists or cannot be created; use LOCKSTEP_TRACE_UNITS in one source file");
  if (std::fwrite(copy, 1, bytes, file) != bytes || std::fclose(file) != 0) stop("writing the trace", "the disk may be full");
  std::free(copy);
  // A later launch must not write to freed memory.
  Trace* const none = nullptr;
  check(LOCKSTEP_RUNTIME(MemcpyToSymbol)(deviceTrace, &none, sizeof none), "ending the trace");
  LOCKSTEP_RUNTIME(Free)(host.device);
  host.device = nullptr;
}

/// Allocates the trace of `units` units on the current device. A second call with the same number does nothing.
[[maybe_unused]] inline void start(uint64_t units) {
  if (std::getenv("LOCKSTEP_TRACE_FILE") == nullptr || (host.units != 0 && host.units == units)) return;
  if (host.units != 0)
    stop("LOCKSTEP_TRACE_UNITS", "an earlier call had another number of units; trace one launch at a time");
  if (units < 1 || units >= MOST) stop("LOCKSTEP_TRACE_UNITS", "the number of units must be from 1 to 4294967294");
  LOCKSTEP_PROPERTIES properties;
  check(LOCKSTEP_RUNTIME(GetDevice)(&host.number), "asking for the device");
  check(LOCKSTEP_RUNTIME(GetDeviceProperties)(&properties, host.number), "asking for the device's width");
  void* address = nullptr;
  const size_t bytes = bytesOf(units);
  check(LOCKSTEP_RUNTIME(Malloc)(&address, bytes), "making room for the lengths");
  check(LOCKSTEP_RUNTIME(Memset)(address, 0, bytes), "clearing the lengths");
  const Trace head = {0x5254534cu, 1, static_cast<uint32_t>(units), 0, static_cast<uint32_t>(properties.warpSize), {}};
  check(LOCKSTEP_RUNTIME(Memcpy)(address, &head, sizeof head, LOCKSTEP_RUNTIME(MemcpyHostToDevice)), "starting the trace");
  host.device = static_cast<Trace*>(address);
  host.units = units;
  check(LOCKSTEP_RUNTIME(MemcpyToSymbol)(deviceTrace, &host.device, sizeof host.device), "starting the trace");
  // Registered after the first use of the runtime, so that it runs before the runtime ends.
  if (std::atexit(write) != 0) stop("LOCKSTEP_TRACE_UNITS", "atexit failed");
}

}  // namespace
}  // namespace lockstep_trace

#endif
