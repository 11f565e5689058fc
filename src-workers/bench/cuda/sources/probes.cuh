// Finds properties of a device by trial and timing, not by queries, as Kim's microbenchmarks do.
#pragma once

#include <functional>
#include <numeric>
#include <random>
#include <set>

#include "host.cuh"
#include "words.cuh"

namespace lockstep {

// ------------------------------------------------------------------------------------------------------------------ limits

__global__ void nothing() {}

/// Returns the largest value in 1 … most that succeeds, provided that all smaller values succeed too; 0 if 1 fails.
/// `most` is tried first, so that values that are too large are seldom tried.
inline uint64_t largest(uint64_t most, const std::function<bool(uint64_t)>& succeeds) {
  if (succeeds(most)) return most;
  uint64_t good = 0;
  uint64_t bad = most;
  while (bad - good > 1) {
    const uint64_t middle = good + (bad - good) / 2;
    (succeeds(middle) ? good : bad) = middle;
  }
  return good;
}

/// Returns whether a launch is accepted and runs. Its error is cleared. The case reports a permanent error.
template <class... Parameters>
bool runs(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t sharedBytes,
          std::decay_t<Parameters>... arguments) {
  const cudaError_t launched = tryLaunch(kernel, grid, block, sharedBytes, arguments...);
  const cudaError_t waited = cudaDeviceSynchronize();
  (void)cudaGetLastError();
  check(waited, "a trial launch");
  return launched == cudaSuccess;
}

/// Number of values that stay in registers to the end. They make the compiler use many registers.
constexpr unsigned LIVE_VALUES = 96;
__global__ void manyRegisters(uint32_t* out, uint32_t rounds, long long* starts, long long* stops, uint32_t* processors,
                              long long spinCycles);

inline void probeLimits(Case& run) {
  const uint64_t threads = largest(4096, [](uint64_t value) {
    return runs(nothing, dim3(1), dim3(static_cast<unsigned>(value)), 0);
  });
  run.checkTime();
  const auto grid = [&](uint64_t most, const std::function<dim3(unsigned)>& shape) {
    run.checkTime();
    return largest(most, [&](uint64_t value) { return runs(nothing, shape(static_cast<unsigned>(value)), dim3(1), 0); });
  };
  // Two thousand million empty blocks take seconds. If the device also draws a screen, the system would stop them.
  const bool watched = attribute(cudaDevAttrKernelExecTimeout, run.bench.device) != 0;
  const uint64_t gridX = grid(watched ? 1u << 26 : INT32_MAX, [](unsigned value) { return dim3(value); });
  const uint64_t gridY = grid(1u << 20, [](unsigned value) { return dim3(1, value); });
  const uint64_t gridZ = grid(1u << 20, [](unsigned value) { return dim3(1, 1, value); });
  const auto withShared = [](uint64_t bytes) { return runs(nothing, dim3(1), dim3(1), bytes); };
  const uint64_t shared = largest(1u << 20, withShared);
  const uint64_t sharedOptIn = largest(1u << 20, [&](uint64_t bytes) {
    const cudaError_t set =
        cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
    (void)cudaGetLastError();
    return set == cudaSuccess && withShared(bytes);
  });
  run.values()
      .number("threadsPerBlock", static_cast<double>(threads))
      .number("gridX", static_cast<double>(gridX))
      .number("gridY", static_cast<double>(gridY))
      .number("gridZ", static_cast<double>(gridZ))
      .number("sharedBytesPerBlock", static_cast<double>(shared))
      .number("sharedBytesPerBlockOptIn", static_cast<double>(sharedOptIn))
      .close()
      .print();
  const uint64_t stated = static_cast<uint64_t>(attribute(cudaDevAttrMaxThreadsPerBlock, run.bench.device));
  run.checked(threads == stated, std::to_string(threads) + " threads in a block could be launched; the runtime states " +
                                     std::to_string(stated));
}

// ----------------------------------------------------------------------------------------------------------- state buffers

__device__ inline void stayAndTell(long long* starts, long long* stops, uint32_t* processors, long long spinCycles) {
  if (threadIdx.x == 0) {
    const long long start = clock64();
    long long now = start;
    while (now - start < spinCycles) now = clock64();
    starts[blockIdx.x] = start;
    stops[blockIdx.x] = now;
    processors[blockIdx.x] = multiprocessor();
  }
  __syncthreads();
}

/// Keeps every block on the device for a while, and records where and when it ran.
__global__ void stay(long long* starts, long long* stops, uint32_t* processors, long long spinCycles) {
  stayAndTell(starts, stops, processors, spinCycles);
}

__global__ void manyRegisters(uint32_t* out, uint32_t rounds, long long* starts, long long* stops, uint32_t* processors,
                              long long spinCycles) {
  uint32_t value[LIVE_VALUES];
#pragma unroll
  // Each thread has its own value. AMD devices would keep a uniform value outside the registers of a lane.
  for (uint32_t i = 0; i < LIVE_VALUES; ++i) value[i] = out[i] + threadIdx.x;
  stayAndTell(starts, stops, processors, spinCycles);
#pragma unroll 1
  for (uint32_t round = 0; round < rounds; ++round) {
#pragma unroll
    for (uint32_t i = 0; i < LIVE_VALUES; ++i) value[i] = mix(value[i] + value[(i + 1) % LIVE_VALUES]);
  }
  // The condition is never true. The compiler does not know this, so it keeps all values alive.
  if (rounds == ~0u) {
#pragma unroll
    for (uint32_t i = 0; i < LIVE_VALUES; ++i) out[threadIdx.x * LIVE_VALUES + i] = value[i];
  }
}

struct Residency {
  unsigned processors = 0;
  unsigned blocks = 0;
};

/// Returns the maximum number of blocks on one multiprocessor at the same time, each judged by its own clock.
inline Residency overlap(const std::vector<long long>& starts, const std::vector<long long>& stops,
                         const std::vector<uint32_t>& processors) {
  std::map<uint32_t, std::vector<std::pair<long long, int>>> events;
  for (size_t block = 0; block < starts.size(); ++block) {
    // A block that leaves at the instant at which another arrives does not overlap it.
    events[processors[block]].push_back({starts[block], 1});
    events[processors[block]].push_back({stops[block], -1});
  }
  Residency found;
  found.processors = static_cast<unsigned>(events.size());
  for (auto& [processor, list] : events) {
    std::sort(list.begin(), list.end());
    int present = 0;
    for (const auto& event : list) {
      present += event.second;
      found.blocks = std::max(found.blocks, static_cast<unsigned>(std::max(present, 0)));
    }
  }
  return found;
}

class ResidencyProbe {
 public:
  explicit ResidencyProbe(const Case& run)
      : run_(run),
        grid_(static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount, run.bench.device)) * 2 * GROUP_WIDTH),
        spinCycles_(static_cast<long long>(run.settings.wholeOr("spinCycles", 200000, 1, 1000000000))),
        starts_(grid_),
        stops_(grid_),
        processors_(grid_),
        scratch_(LIVE_VALUES) {
    scratch_.fill(1);
  }

  /// Empty if the launch is rejected.
  std::optional<Residency> simple(unsigned threads, size_t sharedBytes) {
    run_.checkTime();
    if (!runs(stay, dim3(grid_), dim3(threads), sharedBytes, starts_.data(), stops_.data(), processors_.data(), spinCycles_))
      return {};
    return overlap(starts_.read(), stops_.read(), processors_.read());
  }
  std::optional<Residency> withManyRegisters(unsigned threads) {
    run_.checkTime();
    if (!runs(manyRegisters, dim3(grid_), dim3(threads), 0, scratch_.data(), 1u, starts_.data(), stops_.data(),
              processors_.data(), spinCycles_))
      return {};
    return overlap(starts_.read(), stops_.read(), processors_.read());
  }

 private:
  const Case& run_;
  unsigned grid_;
  long long spinCycles_;
  Buffer<long long> starts_;
  Buffer<long long> stops_;
  Buffer<uint32_t> processors_;
  Buffer<uint32_t> scratch_;
};

inline void probeResidentBlocks(Case& run) {
  const unsigned threads = static_cast<unsigned>(run.settings.wholeOr("blockThreads", GROUP_WIDTH, 1, 4096));
  const size_t shared = run.settings.wholeOr("sharedBytes", 0, 0, 1u << 20);
  if (shared > 0)
    check(cudaFuncSetAttribute(stay, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
          "asking for shared memory");
  divideMemory(stay, shared > 0 ? Carveout::mostShared : Carveout::driver);
  ResidencyProbe probe(run);
  const std::optional<Residency> found = probe.simple(threads, shared);
  if (!found) throw CaseFailure{"a block of " + std::to_string(threads) + " threads and " + std::to_string(shared) +
                                " bytes of shared memory cannot be launched"};
  int stated = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&stated, stay, static_cast<int>(threads), shared),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  run.values()
      .number("multiprocessors", found->processors)
      .number("residentBlocks", found->blocks)
      .number("residentBlocksStated", stated)
      .close()
      .print();
  run.checked(found->blocks > 0 && static_cast<int>(found->blocks) <= stated,
              std::to_string(found->blocks) + " blocks were seen together; the runtime states " + std::to_string(stated));
}

inline void probeStateBuffers(Case& run) {
  ResidencyProbe probe(run);
  const unsigned most = static_cast<unsigned>(run.settings.wholeOr("mostThreadGroups", GROUP_WIDTH, 1, GROUP_WIDTH));
  unsigned processors = 0, blockSlots = 0, groupSlots = 0;
  for (unsigned groups = 1; groups <= most; ++groups) {
    const std::optional<Residency> found = probe.simple(groups * GROUP_WIDTH, 0);
    if (!found) break;
    processors = std::max(processors, found->processors);
    if (groups == 1) blockSlots = found->blocks;
    groupSlots = std::max(groupSlots, found->blocks * groups);
  }
  // The most registers that resident blocks filled; less than the register file if no tried block size divides it.
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, manyRegisters), "cudaFuncGetAttributes");
  unsigned registers = 0;
  for (unsigned groups = 1; groups <= most; ++groups) {
    const std::optional<Residency> found = probe.withManyRegisters(groups * GROUP_WIDTH);
    if (!found) break;
    registers = std::max(registers, found->blocks * groups * GROUP_WIDTH * static_cast<unsigned>(attributes.numRegs));
  }
  const int optIn = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, run.bench.device);
  divideMemory(stay, Carveout::mostShared);
  check(cudaFuncSetAttribute(stay, cudaFuncAttributeMaxDynamicSharedMemorySize, optIn), "asking for shared memory");
  size_t shared = 0;
  for (unsigned parts = 1; parts <= 8; ++parts) {
    const size_t bytes = static_cast<size_t>(optIn) / parts / 1024 * 1024;
    if (bytes == 0) break;
    const std::optional<Residency> found = probe.simple(GROUP_WIDTH, bytes);
    if (found) shared = std::max(shared, found->blocks * bytes);
  }
  run.values()
      .number("multiprocessors", processors)
      .number("blockSlots", blockSlots)
      .number("threadGroupSlots", groupSlots)
      .number("registers", registers)
      .number("registersPerThread", attributes.numRegs)
      .number("sharedBytes", static_cast<double>(shared))
      .close()
      .print();
  run.checked(static_cast<int>(processors) == attribute(cudaDevAttrMultiProcessorCount, run.bench.device),
              std::to_string(processors) + " multiprocessors had blocks; the runtime states " +
                  std::to_string(attribute(cudaDevAttrMultiProcessorCount, run.bench.device)));
}

// -------------------------------------------------------------------------------------------------------- functional units

// Two operations that need each other's results, so that no algebra shortens them: additions give Fibonacci's numbers.
// For many devices, the assembler alternates them between the integer and the multiplying unit, as in real kernels.
struct FloatAdd {
  using Value = float;
  static __device__ void apply(float& a, float& b, float c) {
    a = __fadd_rn(a, c);
    a = __fadd_rn(a, b);
  }
};
struct FloatMultiply {
  using Value = float;
  static __device__ void apply(float& a, float& b, float c) {
    a = __fmul_rn(a, c);
    a = __fmul_rn(a, b);
  }
};
struct FloatMultiplyAdd {
  using Value = float;
  static __device__ void apply(float& a, float& b, float c) {
    a = __fmaf_rn(a, c, b);
    a = __fmaf_rn(a, b, c);
  }
};
struct DoubleMultiplyAdd {
  using Value = double;
  static __device__ void apply(double& a, double& b, double c) {
    a = __fma_rn(a, c, b);
    a = __fma_rn(a, b, c);
  }
};
struct IntegerAdd {
  using Value = uint32_t;
  static __device__ void apply(uint32_t& a, uint32_t& b, uint32_t) {
    a += b;
    b += a;
  }
};
struct IntegerMultiplyAdd {
  using Value = uint32_t;
  static __device__ void apply(uint32_t& a, uint32_t& b, uint32_t c) {
    a = multiplyAdd(a, b, c);
    a = multiplyAdd(a, c, b);
  }
};
/// Alternates the bitwise majority and the bitwise parity of three values. Each uses the previous result, and the
/// compiler cannot merge two of them into one operation.
struct Logic {
  using Value = uint32_t;
  static __device__ void apply(uint32_t& a, uint32_t& b, uint32_t c) {
    a = bitwise<0xe8>(a, b, c);
    b = bitwise<0x96>(b, a, c);
  }
};
/// Alternates two exchanges: between neighbouring lanes, and between lanes two apart.
struct Shuffle {
  using Value = uint32_t;
  static __device__ void apply(uint32_t& a, uint32_t&, uint32_t) {
    a = __shfl_xor_sync(ALL_LANES, a, 1);
    a = __shfl_xor_sync(ALL_LANES, a, 2);
  }
};
#ifndef LOCKSTEP_HIP
/// Finds which lanes have the same value. All values differ, so each mask also differs from the others.
struct Match {
  using Value = uint32_t;
  static __device__ void apply(uint32_t& a, uint32_t&, uint32_t) {
    a = static_cast<uint32_t>(__match_any_sync(ALL_LANES, a));
    a = static_cast<uint32_t>(__match_any_sync(ALL_LANES, a));
  }
};
#endif
struct Special {
  using Value = float;
  static __device__ void apply(float& a, float&, float) {
    a = reciprocalRoot(a);
    a = reciprocalRoot(a);
  }
};

/// Operations of all chains in a pass: so many that the loop adds only 1 %, and few enough for the instruction cache.
constexpr unsigned OPERATIONS = 256;

/// Runs CHAINS independent chains per thread, OPERATIONS·rounds operations in total, between two reads of the clock.
template <class Unit, unsigned CHAINS>
__global__ void chains(typename Unit::Value seed, unsigned rounds, typename Unit::Value* out, long long* starts,
                       long long* stops) {
  using Value = typename Unit::Value;
  Value a[CHAINS];
  Value b = seed;
#pragma unroll
  for (unsigned i = 0; i < CHAINS; ++i) a[i] = seed + static_cast<Value>(threadIdx.x + i);
  __syncthreads();
  const long long start = clock64();
#pragma unroll 1
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
    for (unsigned step = 0; step < OPERATIONS / 2 / CHAINS; ++step)
#pragma unroll
      for (unsigned i = 0; i < CHAINS; ++i) Unit::apply(a[i], b, seed);
  }
  const long long stop = clock64();
  Value sum = b;
#pragma unroll
  for (unsigned i = 0; i < CHAINS; ++i) sum += a[i];
  out[threadIdx.x] = sum;
  starts[threadIdx.x] = start;
  stops[threadIdx.x] = stop;
}

/// Measures the cycles per operation of a thread, for blocks of 1, 2, … thread groups on one multiprocessor. The
/// minimum of a few launches counts, since other work of the device only adds time.
template <class Unit, unsigned CHAINS>
std::vector<double> cyclesByGroups(Case& run, unsigned mostGroups) {
  const unsigned rounds = static_cast<unsigned>(run.settings.wholeOr("rounds", 16, 1, 1u << 20));
  const Buffer<typename Unit::Value> out(mostGroups * GROUP_WIDTH);
  const Buffer<long long> starts(mostGroups * GROUP_WIDTH);
  const Buffer<long long> stops(mostGroups * GROUP_WIDTH);
  std::vector<double> cycles;
  for (unsigned groups = 1; groups <= mostGroups; ++groups) {
    run.checkTime();
    long long least = INT64_MAX;
    // The first pass fills the instruction cache and does not count.
    for (int pass = 0; pass < 4; ++pass) {
      launch(chains<Unit, CHAINS>, 1, groups * GROUP_WIDTH, static_cast<typename Unit::Value>(1), rounds, out.data(),
             starts.data(), stops.data());
      check(cudaDeviceSynchronize(), "kernel");
      if (pass == 0) continue;
      const auto threads = static_cast<std::ptrdiff_t>(groups * GROUP_WIDTH);
      const std::vector<long long> from = starts.read();
      const std::vector<long long> to = stops.read();
      least = std::min(least, *std::max_element(to.begin(), to.begin() + threads) -
                                  *std::min_element(from.begin(), from.begin() + threads));
    }
    cycles.push_back(static_cast<double>(least) / (static_cast<double>(OPERATIONS) * rounds));
  }
  return cycles;
}

inline unsigned mostGroups(const Case& run) {
  const unsigned most = static_cast<unsigned>(attribute(cudaDevAttrMaxThreadsPerBlock, run.bench.device)) / GROUP_WIDTH;
  return static_cast<unsigned>(run.settings.wholeOr("mostThreadGroups", most, 1, most));
}

template <class Unit>
void probeUnit(Case& run) {
  const std::vector<double> cycles = cyclesByGroups<Unit, 1>(run, mostGroups(run));
  std::vector<double> throughput;
  for (size_t i = 0; i < cycles.size(); ++i)
    throughput.push_back(static_cast<double>((i + 1) * GROUP_WIDTH) / std::max(cycles[i], 1e-9));
  const double best = *std::max_element(throughput.begin(), throughput.end());
  run.values()
      .number("latencyCycles", cycles.front())
      // Operations that a multiprocessor completes per cycle, over all lanes.
      .number("lanesPerCycle", best)
      // Number of thread groups that must run at once to reach `lanesPerCycle`.
      .number("widthThreadGroups", best * cycles.front() / GROUP_WIDTH)
      .numbers("cyclesByThreadGroups", cycles)
      .close()
      .print();
  run.checked(cycles.front() > 0, "cycles of " + std::to_string(cycles.size()) + " block sizes measured");
}

/// Finds how many thread groups a multiprocessor runs as fast as one, if each keeps the unit of its scheduler busy.
inline void probeSchedulers(Case& run) {
  const std::vector<double> cycles = cyclesByGroups<FloatMultiplyAdd, 8>(run, mostGroups(run));
  // A second group on a scheduler doubles its time. A third of this increase is well above the noise.
  unsigned schedulers = 0;
  while (schedulers < cycles.size() && cycles[schedulers] < 4.0 / 3.0 * cycles.front()) ++schedulers;
  run.values().number("schedulers", schedulers).numbers("cyclesByThreadGroups", cycles).close().print();
  run.checked(cycles.front() > 0, "cycles of " + std::to_string(cycles.size()) + " block sizes measured");
}

// ------------------------------------------------------------------------------------------------------------------ caches

/// Fills a ring of addresses: link order[i]·stride holds the address of link order[i + 1]·stride, and the last link the
/// address of the first. Each load gives the next address, so that only loads take time.
__global__ void fillRing(uint64_t* ring, const uint32_t* order, uint32_t links, uint32_t stride) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < links; i += gridDim.x * blockDim.x)
    ring[static_cast<uint64_t>(order[i]) * stride] =
        reinterpret_cast<uint64_t>(ring + static_cast<uint64_t>(order[i + 1 == links ? 0 : i + 1]) * stride);
}

/// With `random`, hardware cannot predict the order of the links.
inline void makeRing(const Buffer<uint64_t>& ring, uint32_t links, uint32_t stride, bool random) {
  Words order(links);
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937 numbers(links);
  if (random) std::shuffle(order.begin() + 1, order.end(), numbers);
  const Buffer<uint32_t> orderOnDevice(order);
  launch(fillRing, 256, 256, ring.data(), orderOnDevice.data(), links, stride);
  check(cudaDeviceSynchronize(), "kernel");
}

/// Number of timed walks of a ring. `WALK_LOADS` is the number of links in each.
constexpr uint32_t WALKS = 5;
constexpr uint32_t WALK_LOADS = 8192;

/// Walks the ring with one thread: once around (or `warm` links) to fill the cache, and then several times between two
/// reads of the clock. `seen` has 2·WALKS links.
template <bool BELOW_L1>
__global__ void chase(const uint64_t* ring, uint32_t warm, long long* cycles, uint64_t* seen) {
  uint64_t at = reinterpret_cast<uint64_t>(ring);
#pragma unroll 1
  for (uint32_t i = 0; i < warm; ++i) at = follow<BELOW_L1>(at);
#pragma unroll 1
  for (uint32_t walk = 0; walk < WALKS; ++walk) {
    // The store before each read of the clock needs the result of the last load, so the read waits for this load.
    seen[2 * walk] = at;
    const long long start = clock64();
#pragma unroll 16
    for (uint32_t i = 0; i < WALK_LOADS; ++i) at = follow<BELOW_L1>(at);
    seen[2 * walk + 1] = at;
    const long long stop = clock64();
    cycles[walk] = stop - start;
  }
}

constexpr uint32_t FINE_LOADS = 1024;

/// Times each load from a ring that steps link by link through memory that no cache holds. `seen` has as many links.
template <bool BELOW_L1>
__global__ void fineChase(const uint64_t* ring, uint32_t* latencies, uint64_t* seen) {
  // Both arrays are kept in shared memory and stored at the end, so that only the ring goes through the caches.
  __shared__ uint32_t taken[FINE_LOADS];
  __shared__ uint64_t kept[FINE_LOADS];
  uint64_t at = reinterpret_cast<uint64_t>(ring);
#pragma unroll 1
  for (uint32_t i = 0; i < FINE_LOADS; ++i) {
    const long long start = clock64();
    at = follow<BELOW_L1>(at);
    // The store needs the loaded value, so the next read of the clock comes after the load. `kept` is read below, so
    // the compiler cannot remove the store.
    kept[i] = at;
    const long long stop = clock64();
    taken[i] = static_cast<uint32_t>(stop - start);
  }
  for (uint32_t i = 0; i < FINE_LOADS; ++i) {
    latencies[i] = taken[i];
    seen[i] = kept[i];
  }
}

template <bool BELOW_L1>
double cyclesPerLoad(const Buffer<uint64_t>& ring, uint64_t bytes, uint32_t strideBytes) {
  const uint32_t links = static_cast<uint32_t>(std::max<uint64_t>(bytes / strideBytes, 1));
  const Buffer<long long> cycles(WALKS);
  const Buffer<uint64_t> seen(2 * WALKS);
  makeRing(ring, links, static_cast<uint32_t>(strideBytes / sizeof(uint64_t)), true);
  launch(chase<BELOW_L1>, 1, 1, ring.data(), links, cycles.data(), seen.data());
  check(cudaDeviceSynchronize(), "kernel");
  const std::vector<long long> found = cycles.read();
  return median(std::vector<double>(found.begin(), found.end())) / WALK_LOADS;
}

/// Returns the bytes between two slow loads, which is what one miss reads; 0 if no load is slow. A miss takes the 99 %
/// quantile of all times, since the few slowest loads also wait for an address translation.
inline double spacing(const Words& latencies) {
  Words sorted = latencies;
  std::sort(sorted.begin(), sorted.end());
  const double usual = sorted[sorted.size() / 2];
  const double slow = sorted[sorted.size() * 99 / 100];
  if (slow < 1.25 * usual) return 0;
  std::vector<double> steps;
  size_t before = 0;
  bool any = false;
  for (size_t i = 0; i < latencies.size(); ++i) {
    if (2.0 * latencies[i] <= usual + slow) continue;
    if (any) steps.push_back(static_cast<double>(sizeof(uint64_t)) * static_cast<double>(i - before));
    before = i;
    any = true;
  }
  return steps.empty() ? 0 : median(steps);
}

template <bool BELOW_L1>
void probeCache(Case& run) {
  const uint64_t least = run.settings.wholeOr("leastBytes", BELOW_L1 ? 1u << 18 : 1u << 12, 1024, 1u << 30);
  // The sizes end well beyond the cache, but not further, since one thread must walk through them.
  const uint64_t stated = static_cast<uint64_t>(attribute(cudaDevAttrL2CacheSize, run.bench.device));
  const uint64_t beyond = BELOW_L1 ? std::min<uint64_t>(std::max<uint64_t>(4 * stated, 1u << 24), 1u << 28) : 1u << 20;
  const uint64_t most = run.settings.wholeOr("mostBytes", beyond, least, 1u << 30);
  const uint32_t stride = static_cast<uint32_t>(run.settings.wholeOr("strideBytes", 128, 8, 4096)) / 8 * 8;
  const Buffer<uint64_t> ring(most / sizeof(uint64_t));
  divideMemory(chase<BELOW_L1>, Carveout::mostL1);
  run.wake();
  std::vector<uint64_t> sizes;
  std::vector<double> cycles;
  for (double size = static_cast<double>(least); size <= static_cast<double>(most) * 1.0001; size *= std::pow(2.0, 0.25)) {
    run.checkTime();
    const uint64_t bytes = static_cast<uint64_t>(size) / stride * stride;
    sizes.push_back(bytes);
    cycles.push_back(cyclesPerLoad<BELOW_L1>(ring, bytes, stride));
  }
  // A size fits in the cache if its time is less than half way from the fastest to the slowest.
  const double middle = (cycles.front() + *std::max_element(cycles.begin(), cycles.end())) / 2;
  uint64_t capacity = 0;
  for (size_t i = 0; i < sizes.size() && cycles[i] <= middle; ++i) capacity = sizes[i];

  // The first-level cache is empty when a kernel starts. The second level keeps the data until other data replaces it.
  const Buffer<uint32_t> latencies(FINE_LOADS);
  const Buffer<uint64_t> seen(FINE_LOADS);
  const Buffer<uint64_t> fineRing(FINE_LOADS + 1);
  makeRing(fineRing, FINE_LOADS + 1, 1, false);
  if (BELOW_L1) {
    Buffer<uint64_t> other(most / sizeof(uint64_t));
    other.fill(0);
    check(cudaDeviceSynchronize(), "cudaMemset");
  }
  launch(fineChase<BELOW_L1>, 1, 1, fineRing.data(), latencies.data(), seen.data());
  check(cudaDeviceSynchronize(), "kernel");

  const double sector = spacing(latencies.read());
  run.values()
      .number("capacityBytes", static_cast<double>(capacity))
      .number("latencyCycles", cycles.front())
      .number("missLatencyCycles", *std::max_element(cycles.begin(), cycles.end()))
      .number("sectorBytes", sector)
      // Older versions of Lockstep use this name.
      .number("lineBytes", sector)
      .numbers("sizesBytes", sizes)
      .numbers("cyclesPerLoad", cycles)
      .close()
      .print();
  run.checked(cycles.front() > 0, std::to_string(sizes.size()) + " sizes measured");
}

/// Stores in each value its own address, so that repeated loads of a line wait for one another.
__global__ void pointToSelf(uint64_t* lines, uint32_t count, uint32_t stride) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    lines[static_cast<uint64_t>(i) * stride] = reinterpret_cast<uint64_t>(lines + static_cast<uint64_t>(i) * stride);
}

constexpr uint32_t SELF_LOADS = 64;

/// Measures the cycles per load of each line from the second-level cache, by one thread.
__global__ void lineLatencies(const uint64_t* lines, uint32_t count, uint32_t stride, uint32_t* cycles, uint64_t* seen) {
#pragma unroll 1
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t at = reinterpret_cast<uint64_t>(lines + static_cast<uint64_t>(i) * stride);
    at = follow<true>(at);
    seen[0] = at;
    const long long start = clock64();
#pragma unroll 16
    for (uint32_t load = 0; load < SELF_LOADS; ++load) at = follow<true>(at);
    seen[1] = at;
    const long long stop = clock64();
    cycles[i] = static_cast<uint32_t>((stop - start) / SELF_LOADS);
  }
}

/// Measures how the time of a load depends on the part of the second-level cache that holds the line; large devices
/// have several parts. One thread, and so one multiprocessor, loads many lines.
inline void probeCacheParts(Case& run) {
  const uint32_t count = static_cast<uint32_t>(run.settings.wholeOr("lines", 1024, 16, 1u << 16));
  constexpr uint32_t STRIDE = 512 / sizeof(uint64_t);
  const Buffer<uint64_t> lines(static_cast<uint64_t>(count) * STRIDE);
  const Buffer<uint32_t> cycles(count);
  const Buffer<uint64_t> seen(2);
  launch(pointToSelf, 64, 256, lines.data(), count, STRIDE);
  run.wake();
  launch(lineLatencies, 1, 1, lines.data(), count, STRIDE, cycles.data(), seen.data());
  check(cudaDeviceSynchronize(), "kernel");
  const Words found = cycles.read();
  Words sorted = found;
  std::sort(sorted.begin(), sorted.end());
  const auto quantile = [&](size_t percent) { return static_cast<double>(sorted[(sorted.size() - 1) * percent / 100]); };
  run.values()
      .number("nearCycles", quantile(10))
      .number("farCycles", quantile(90))
      .numbers("lineCycles", found)
      .close()
      .print();
  run.checked(sorted.front() > 0, std::to_string(count) + " lines measured");
}

// ----------------------------------------------------------------------------------------------------------- shared memory

constexpr uint32_t SHARED_WORDS = 4096;
constexpr uint32_t SHARED_LOADS = 256;

/// Times either a walk by one lane, or loads by all lanes with this stride in words, between two reads of the clock.
template <bool WALK>
__global__ void sharedLoads(uint32_t stride, uint32_t* out, long long* starts, long long* stops) {
  __shared__ uint32_t words[SHARED_WORDS];
  for (uint32_t i = threadIdx.x; i < SHARED_WORDS; i += blockDim.x) words[i] = WALK ? (i + 1) % SHARED_WORDS * 4 : 0;
  __syncthreads();
  // Each word holds the position of the next word in bytes, so that a loaded value is already an address.
  const auto load = [](uint32_t at) {
    return *reinterpret_cast<const volatile uint32_t*>(reinterpret_cast<const volatile char*>(words) + at);
  };
  uint32_t at = WALK ? 0 : (threadIdx.x * stride) % SHARED_WORDS * 4;
  uint32_t sum = 0;
  const long long start = clock64();
  if constexpr (WALK) {
#pragma unroll 16
    for (uint32_t i = 0; i < SHARED_LOADS; ++i) at = load(at);
  } else {
#pragma unroll 16
    for (uint32_t i = 0; i < SHARED_LOADS; ++i) sum += load(at);
  }
  out[threadIdx.x] = sum + at;
  const long long stop = clock64();
  starts[threadIdx.x] = start;
  stops[threadIdx.x] = stop;
}

inline void probeSharedMemory(Case& run) {
  const unsigned threads = mostGroups(run) * GROUP_WIDTH;
  const Buffer<uint32_t> out(threads);
  const Buffer<long long> starts(threads);
  const Buffer<long long> stops(threads);
  run.wake();
  const auto cycles = [&](unsigned block, uint32_t stride) {
    long long least = INT64_MAX;
    for (int pass = 0; pass < 4; ++pass) {
      launch(block == 1 ? sharedLoads<true> : sharedLoads<false>, 1, block, stride, out.data(), starts.data(), stops.data());
      check(cudaDeviceSynchronize(), "kernel");
      const std::vector<long long> from = starts.read();
      const std::vector<long long> to = stops.read();
      const auto count = static_cast<std::ptrdiff_t>(block);
      // The first pass fills the instruction cache and does not count.
      if (pass > 0)
        least = std::min(least, *std::max_element(to.begin(), to.begin() + count) -
                                    *std::min_element(from.begin(), from.begin() + count));
    }
    return static_cast<double>(least) / SHARED_LOADS;
  };
  const double latency = cycles(1, 1);
  std::vector<uint32_t> strides;
  std::vector<double> byStride;
  for (uint32_t stride = 1; stride <= GROUP_WIDTH; stride *= 2) {
    strides.push_back(stride);
    byStride.push_back(cycles(threads, stride));
  }
  run.values()
      .number("latencyCycles", latency)
      // The rate of all groups of a block together, without conflicts between banks.
      .number("bytesPerCycle", 4.0 * threads / std::max(byStride.front(), 1e-9))
      .numbers("strideWords", strides)
      .numbers("cyclesByStride", byStride)
      .close()
      .print();
  run.checked(latency > 0, std::to_string(strides.size()) + " strides measured");
}

// ----------------------------------------------------------------------------------------------------------------- fetching

constexpr uint32_t FETCHES = 256;

/// Makes dependent fetches from one counter, by one thread, between two reads of the clock. Positions are below 2^31,
/// so the address stays the same, but the compiler does not know this.
__global__ void fetchChain(uint32_t* counter, long long* cycles, uint32_t* seen) {
  uint32_t position = 0;
  const long long start = clock64();
#pragma unroll 1
  for (uint32_t i = 0; i < FETCHES; ++i) position = atomicAdd(counter + (position >> 31), 1u);
  seen[0] = position;
  const long long stop = clock64();
  cycles[0] = stop - start;
}

/// Fetches repeatedly as kernels fetch their units: with one lane of each group, or with every lane.
__global__ void fetchAll(uint32_t* counter, bool everyLane, uint32_t* seen) {
  uint32_t sum = 0;
  if (everyLane || threadIdx.x % GROUP_WIDTH == 0) {
#pragma unroll 1
    for (uint32_t i = 0; i < FETCHES; ++i) sum ^= atomicAdd(counter, 1u);
  }
  seen[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/// Measures the cost of dynamic fetch: the latency of one fetch, and the rate of fetches from a single counter.
inline void probeFetch(Case& run) {
  const unsigned blocks = static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount, run.bench.device)) * 2;
  constexpr unsigned BLOCK = 256;
  Buffer<uint32_t> counter(1);
  const Buffer<long long> cycles(1);
  const Buffer<uint32_t> seen(blocks * BLOCK);
  run.wake();
  std::vector<double> latencies;
  for (int pass = 0; pass < 4; ++pass) {
    run.checkTime();
    counter.fill(0);
    launch(fetchChain, 1, 1, counter.data(), cycles.data(), seen.data());
    check(cudaDeviceSynchronize(), "kernel");
    if (pass > 0) latencies.push_back(static_cast<double>(cycles.read()[0]) / FETCHES);
  }
  Stopwatch stopwatch;
  const auto perMicrosecond = [&](bool everyLane) {
    std::vector<double> rates;
    for (int pass = 0; pass < 4; ++pass) {
      run.checkTime();
      counter.fill(0);
      const double timeNs = stopwatch.timeNs(
          [&] { launch(fetchAll, blocks, BLOCK, counter.data(), everyLane, seen.data()); }, [] {});
      const double fetches = static_cast<double>(blocks) * BLOCK / (everyLane ? 1 : GROUP_WIDTH) * FETCHES;
      if (pass > 0) rates.push_back(1000 * fetches / std::max(timeNs, 1.0));
    }
    return median(rates);
  };
  const double byGroups = perMicrosecond(false);
  const uint32_t counted = counter.read()[0];
  run.values()
      .number("latencyCycles", median(latencies))
      .number("fetchesPerMicrosecond", byGroups)
      .number("laneFetchesPerMicrosecond", perMicrosecond(true))
      .close()
      .print();
  const uint32_t expected = blocks * BLOCK / GROUP_WIDTH * FETCHES;
  run.checked(counted == expected,
              "the counter is " + std::to_string(counted) + " after " + std::to_string(expected) + " fetches");
}

// ----------------------------------------------------------------------------------------------------------- random sectors

constexpr uint32_t SECTOR_BYTES = 32;
constexpr uint32_t SECTOR_LOADS = 64;

/// Loads words at random places in `mask + 1` sectors, a power of two. Eight loads at a time are independent.
__global__ void randomSectors(const uint32_t* __restrict__ words, uint32_t mask, uint32_t* out) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t sum = 0;
#pragma unroll 8
  for (uint32_t i = 0; i < SECTOR_LOADS; ++i)
    sum += words[static_cast<uint64_t>(mix(thread * SECTOR_LOADS + i) & mask) * (SECTOR_BYTES / sizeof(uint32_t))];
  out[thread] = sum;
}

/// Measures the bandwidth of scattered loads of a sector each, for data in the second-level cache and for far more.
inline void probeRandomSectors(Case& run) {
  const uint64_t cache = std::max(attribute(cudaDevAttrL2CacheSize, run.bench.device), 1 << 20);
  const auto powerBelow = [](uint64_t bytes) {
    uint64_t power = 1 << 16;
    while (2 * power <= bytes) power *= 2;
    return power;
  };
  const uint64_t small = powerBelow(run.settings.wholeOr("cachedBytes", cache / 2, 1 << 16, 1u << 30));
  const uint64_t large = powerBelow(run.settings.wholeOr("bytes", 16 * cache, 1 << 16, 1ull << 34));
  const unsigned blocks = static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount, run.bench.device)) * 16;
  constexpr unsigned BLOCK = 256;
  Buffer<uint32_t> words(std::max(small, large) / sizeof(uint32_t));
  const Buffer<uint32_t> out(blocks * BLOCK);
  words.fill(1);
  run.wake();
  Stopwatch stopwatch;
  const auto gbS = [&](uint64_t bytes) {
    std::vector<double> found;
    for (int pass = 0; pass < 6; ++pass) {
      run.checkTime();
      const double timeNs = stopwatch.timeNs(
          [&] { launch(randomSectors, blocks, BLOCK, words.data(), static_cast<uint32_t>(bytes / SECTOR_BYTES - 1), out.data()); },
          [] {});
      if (pass > 0) found.push_back(1.0 * blocks * BLOCK * SECTOR_LOADS * SECTOR_BYTES / std::max(timeNs, 1.0));
    }
    return median(found);
  };
  const double cached = gbS(small);
  run.values()
      .number("cachedBytes", static_cast<double>(small))
      .number("cachedGbS", cached)
      .number("bytes", static_cast<double>(large))
      .number("memoryGbS", gbS(large))
      .close()
      .print();
  constexpr uint32_t EXPECTED = SECTOR_LOADS * 0x01010101u;
  Comparison comparison("sum of thread");
  const Words got = out.read();
  for (const uint64_t thread : spread(got.size(), 1024)) comparison.compare(thread, got[thread], EXPECTED);
  comparison.report(run, got.size());
}

// --------------------------------------------------------------------------------------------------------------- bandwidth

/// Moves four words at a time. With fewer bytes in flight, the fastest memories would wait for the multiprocessors.
__global__ void triad(float4* __restrict__ a, const float4* __restrict__ b, const float4* __restrict__ c, float factor,
                      uint64_t quads) {
  const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < quads; i += step) {
    const float4 left = b[i];
    const float4 right = c[i];
    a[i] = {left.x + factor * right.x, left.y + factor * right.y, left.z + factor * right.z, left.w + factor * right.w};
  }
}

__global__ void fillFloats(float* out, float factor, uint64_t words) {
  const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += step)
    out[i] = factor * static_cast<float>(i % 1024);
}

/// Measures STREAM's triad over the memory of the device: two arrays are read, one is written.
inline void probeBandwidth(Case& run) {
  const uint64_t quads = run.settings.wholeOr("bytes", 1u << 28, 4096, 1ull << 34) / sizeof(float4);
  const uint64_t words = 4 * quads;
  const Buffer<float> a(words);
  const Buffer<float> b(words);
  const Buffer<float> c(words);
  const unsigned grid = static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount, run.bench.device)) * 32;
  launch(fillFloats, grid, 256, b.data(), 1.0f, words);
  launch(fillFloats, grid, 256, c.data(), 2.0f, words);
  check(cudaDeviceSynchronize(), "kernel");
  run.compiled(triad, 256, true);
  const auto quadsOf = [](const Buffer<float>& buffer) { return reinterpret_cast<float4*>(buffer.data()); };
  std::vector<double> gbS;
  run.repeat([] {}, [&] { launch(triad, grid, 256, quadsOf(a), quadsOf(b), quadsOf(c), 0.5f, quads); },
             [&](bool counts, double timeNs) {
               if (counts) gbS.push_back(12.0 * static_cast<double>(words) / std::max(timeNs, 1.0));
             });
  run.values().number("bandwidthGbS", median(gbS)).numbers("bandwidthsGbS", gbS).close().print();
  Comparison comparison("as bits, word");
  const std::vector<float> got = a.read();
  // The numbers are whole and below 2^24, so nothing is rounded.
  for (const uint64_t i : spread(words, 4096)) comparison.compare(i, bitsOf(got[i]), bitsOf(2.0f * static_cast<float>(i % 1024)));
  comparison.report(run, words);
}

// --------------------------------------------------------------------------------------------------------------------- all

inline void runProbe(Case& run) {
  static const std::map<std::string, void (*)(Case&)> probes = {
      {"limits", probeLimits},
      {"resident-blocks", probeResidentBlocks},
      {"state-buffers", probeStateBuffers},
      {"float-add", probeUnit<FloatAdd>},
      {"float-multiply", probeUnit<FloatMultiply>},
      {"float-multiply-add", probeUnit<FloatMultiplyAdd>},
      {"double-multiply-add", probeUnit<DoubleMultiplyAdd>},
      {"integer-add", probeUnit<IntegerAdd>},
      {"integer-multiply-add", probeUnit<IntegerMultiplyAdd>},
      {"logic", probeUnit<Logic>},
      {"shuffle", probeUnit<Shuffle>},
#ifndef LOCKSTEP_HIP
      {"match", probeUnit<Match>},
#endif
      {"special", probeUnit<Special>},
      {"schedulers", probeSchedulers},
      {"shared-memory", probeSharedMemory},
      {"fetch", probeFetch},
      {"cache-parts", probeCacheParts},
      {"random-sectors", probeRandomSectors},
      {"cache-l1", probeCache<false>},
      {"cache-l2", probeCache<true>},
      {"bandwidth", probeBandwidth},
  };
  const auto probe = probes.find(run.settings.text("probe"));
  if (probe == probes.end()) {
    std::string known;
    for (const auto& entry : probes) known += (known.empty() ? "" : ", ") + entry.first;
    throw CaseFailure{"probe " + run.settings.text("probe") + " is not known. Use one of " + known};
  }
  probe->second(run);
}

}  // namespace lockstep
