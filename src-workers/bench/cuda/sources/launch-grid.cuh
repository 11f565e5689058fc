// Runs the same arithmetic in every thread over a launch shape: the sum of a binomial series (Hasan et al. 2014,
// doi:10.1007/978-3-662-44917-2_65). The paper only names the series; the program is our own.
#pragma once

#include "host.cuh"
#include "words.cuh"

namespace lockstep {

/// The next series begins after this many terms, so that terms do not become denormal.
constexpr uint32_t SERIES_TERMS = 64;
constexpr uint64_t GRID_CHECKED = 16;

// Every operation is rounded separately, so that host and device get the same bits.
#ifdef LOCKSTEP_DEVICE
#define LOCKSTEP_TIMES(a, b) __fmul_rn(a, b)
#define LOCKSTEP_PLUS(a, b) __fadd_rn(a, b)
#define LOCKSTEP_OVER(a, b) __fdiv_rn(a, b)
#else
// A compiler may fuse a product and a sum. Storing the product in memory forces it to be rounded.
__host__ __device__ inline float rounded(float value) {
  volatile float stored = value;
  return stored;
}
#define LOCKSTEP_TIMES(a, b) rounded((a) * (b))
#define LOCKSTEP_PLUS(a, b) rounded((a) + (b))
#define LOCKSTEP_OVER(a, b) rounded((a) / (b))
#endif

/// Computes (1 + x)^alpha by its series, repeatedly, with `elements` terms in total.
__host__ __device__ inline float binomialSeries(uint32_t thread, uint32_t elements) {
  const float alpha = LOCKSTEP_OVER(static_cast<float>(thread % 97 + 1), 128.0f);
  const float x = 0.75f;
  float sum = 0;
  float term = 1;
  LOCKSTEP_ROLLED
  for (uint32_t element = 0; element < elements; ++element) {
    const uint32_t k = element % SERIES_TERMS;
    if (k == 0) term = 1;
    sum = LOCKSTEP_PLUS(sum, term);
    const float order = static_cast<float>(k);
    term = LOCKSTEP_OVER(LOCKSTEP_TIMES(LOCKSTEP_TIMES(term, LOCKSTEP_PLUS(alpha, -order)), x), LOCKSTEP_PLUS(order, 1.0f));
  }
  return sum;
}

__global__ void launchGrid(float* __restrict__ sums, uint32_t elements) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  sums[thread] = binomialSeries(thread, elements);
}

inline void runLaunchGrid(Case& run) {
  const Settings& settings = run.settings;
  const unsigned blocks = static_cast<unsigned>(settings.whole("blocks", 1, 1u << 21));
  const unsigned threads = static_cast<unsigned>(settings.whole("threads", 1, 1u << 16));
  const uint32_t elements = static_cast<uint32_t>(settings.whole("elements", 1, UINT32_MAX));
  const uint64_t all = static_cast<uint64_t>(blocks) * threads;
  if (all > UINT32_MAX) throw CaseFailure{std::to_string(all) + " threads in total exceed the limit of 2^32"};
  Buffer<float> sums(all);
  run.compiled(launchGrid, threads, true);
  run.repeat([&] { sums.fill(0xa5); }, [&] { launch(launchGrid, blocks, threads, sums.data(), elements); },
             [](bool, double) {});
  Comparison comparison("as bits, the sum of thread");
  const std::vector<float> got = sums.read();
  for (const uint64_t thread : spread(all, GRID_CHECKED))
    comparison.compare(thread, bitsOf(got[thread]), bitsOf(binomialSeries(static_cast<uint32_t>(thread), elements)));
  comparison.report(run, all);
}

}  // namespace lockstep
