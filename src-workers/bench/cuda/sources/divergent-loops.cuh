// Measures what it costs if lanes leave a loop one after another (Bialas and Strzelecki 2015, arXiv:1504.01650).
#pragma once

#include "host.cuh"
#include "words.cuh"

namespace lockstep {

constexpr float INNER = 1.3333f;
constexpr float OUTER = 2.3333f;

template <bool DOUBLE>
__device__ __forceinline__ float divergentLoop(float sum, int limit) {
  if constexpr (DOUBLE) {
#pragma unroll 1
    for (int i = 0; i < limit; ++i) {
#pragma unroll 1
      for (int j = 0; j < limit; ++j) sum += INNER;
      sum += OUTER;
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < limit; ++i) sum += INNER;
  }
  return sum;
}

/// The loop runs once to fill caches, and then again between two reads of the clock.
template <bool DOUBLE>
__global__ void divergentLoops(const int* __restrict__ limits, float* __restrict__ sums, long long* __restrict__ starts,
                               long long* __restrict__ stops) {
  const int limit = limits[threadIdx.x];
  float sum = divergentLoop<DOUBLE>(sums[threadIdx.x], limit);
  __syncthreads();
  const long long start = clock64();
  sum = divergentLoop<DOUBLE>(sum, limit);
  const long long stop = clock64();
  __syncthreads();
  sums[threadIdx.x] = sum;
  starts[threadIdx.x] = start;
  stops[threadIdx.x] = stop;
}

inline void runDivergentLoops(Case& run) {
  const Settings& settings = run.settings;
  const std::string& loops = settings.text("loops");
  if (loops != "single" && loops != "double") throw CaseFailure{"loops is " + loops + ", not single or double"};
  const bool twice = loops == "double";
  const int lanes = static_cast<int>(settings.whole("lanes", 0, GROUP_WIDTH - 1));
  const int iterations = static_cast<int>(settings.whole("iterations", 1, 1 << 20));
  // The last `lanes` lanes leave the loop one iteration apart, the very last lane first (Table I).
  std::vector<int> limits(GROUP_WIDTH);
  for (int lane = 0; lane < static_cast<int>(GROUP_WIDTH); ++lane)
    limits[lane] = std::max(0, iterations - std::max(0, lane - (static_cast<int>(GROUP_WIDTH) - 1 - lanes)));

  const Buffer<int> limitsOnDevice(limits);
  Buffer<float> sums(GROUP_WIDTH);
  const Buffer<long long> starts(GROUP_WIDTH);
  const Buffer<long long> stops(GROUP_WIDTH);
  const auto kernel = twice ? divergentLoops<true> : divergentLoops<false>;
  run.compiled(kernel, GROUP_WIDTH, true);

  std::vector<long long> cycles, firstLaneCycles, laneCycles(GROUP_WIDTH);
  run.repeat([&] { sums.fill(0); },
             [&] { launch(kernel, 1, GROUP_WIDTH, limitsOnDevice.data(), sums.data(), starts.data(), stops.data()); },
             [&](bool counts, double) {
               if (!counts) return;
               const std::vector<long long> from = starts.read();
               const std::vector<long long> to = stops.read();
               cycles.push_back(*std::max_element(to.begin(), to.end()) - *std::min_element(from.begin(), from.end()));
               firstLaneCycles.push_back(to[0] - from[0]);
               for (unsigned lane = 0; lane < GROUP_WIDTH; ++lane) laneCycles[lane] = to[lane] - from[lane];
             });
  run.values()
      .numbers("cycles", cycles)
      .numbers("firstLaneCycles", firstLaneCycles)
      .numbers("laneCycles", laneCycles)
      .close()
      .print();

  Comparison comparison("as bits, the sum of lane");
  const std::vector<float> got = sums.read();
  for (unsigned lane = 0; lane < GROUP_WIDTH; ++lane) {
    float expected = 0;
    for (int iteration = 0; iteration < 2 * limits[lane]; ++iteration) {
      for (int inner = 0; twice && inner < limits[lane]; ++inner) expected += INNER;
      expected += twice ? OUTER : INNER;
    }
    comparison.compare(lane, bitsOf(got[lane]), bitsOf(expected));
  }
  comparison.report(run, GROUP_WIDTH);
}

}  // namespace lockstep
