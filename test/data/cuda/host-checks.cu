#include "../../../src-workers/bench/cuda/sources/probes.cuh"

// Prints the lines that the host finds, and whether a device counts as idle some time after its work.
int main() {
  // The latencies are like those of a GPU: 40 or 41 cycles for a hit, 250 for every `links`-th load, which misses, and
  // 2000 for the first load of a page, which waits for an address translation.
  for (const size_t links : {4, 16, 32, 2000}) {
    lockstep::Words latencies;
    for (size_t i = 0; i < 1024; ++i) latencies.push_back(i % 512 == 0 ? 2000 : i % links == 0 ? 250 : 40 + i % 2);
    std::printf("%g ", lockstep::spacing(latencies));
  }
  lockstep::Activity activity;
  const auto start = lockstep::Activity::Clock::now();
  std::printf("%d", activity.idle(start));
  activity.worked(start);
  for (const int ms : {0, 50, 99, 101, 5000}) std::printf(" %d", activity.idle(start + std::chrono::milliseconds(ms)));
}
