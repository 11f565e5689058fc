#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include "headers.inc"
struct Digest {
  using value = unsigned;
  const unsigned* lengths;
  unsigned *sums, *calls;
  __device__ unsigned iterations(unsigned unit) const { return lengths[unit]; }
  __device__ unsigned step(unsigned unit, unsigned i) const { return (unit + 1u) * 2654435761u ^ i * 40503u; }
  __device__ void end(unsigned unit, unsigned sum) const {
    atomicAdd(&sums[unit], sum);
    atomicAdd(&calls[unit], 1u);
  }
};
template <class T> T* copied(const std::vector<T>& from) {
  if (from.empty()) return nullptr;
  void* to = nullptr;
  if (cudaMalloc(&to, from.size() * sizeof(T)) != cudaSuccess) std::abort();
  if (cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice) != cudaSuccess) std::abort();
  return static_cast<T*>(to);
}
constexpr unsigned UNITS = 1500u;
std::vector<unsigned> lengths;

/// Returns the number of threads that reported the end of each unit, or 0 if a sum is wrong.
template <class Prepare, class Launch>
void check(const char* name, Prepare prepare, Launch launch) {
  const std::vector<unsigned> none(UNITS);
  Digest work{copied(lengths), copied(none), copied(none)};
  const auto lists = prepare(lengths.data());
  const auto order = lists.order;
  unsigned* counter = copied(std::vector<unsigned>(1));
  if (launch(work, lists, counter) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) std::abort();
  std::vector<unsigned> sums(UNITS), calls(UNITS);
  if (cudaMemcpy(sums.data(), work.sums, UNITS * sizeof(unsigned), cudaMemcpyDeviceToHost) != cudaSuccess) std::abort();
  if (cudaMemcpy(calls.data(), work.calls, UNITS * sizeof(unsigned), cudaMemcpyDeviceToHost) != cudaSuccess) std::abort();
  bool right = true;
  for (unsigned unit = 0; unit < UNITS; ++unit) {
    unsigned sum = 0;
    for (unsigned i = 0; i < lengths[unit]; ++i) sum += (unit + 1u) * 2654435761u ^ i * 40503u;
    right = right && sum == sums[unit];
  }
  unsigned descents = 0;
  for (unsigned at = 1; at < order.size(); ++at) descents += lengths[order[at]] < lengths[order[at - 1]];
  std::printf("%s %d %u %u %u\n", name, right, *std::min_element(calls.begin(), calls.end()), *std::max_element(calls.begin(), calls.end()), descents);
}
#define CHECK(name)                                                                                                     \
  check(#name, [](const unsigned* of) { return lockstep_walk_##name::prepare(of, UNITS); },                              \
        [](auto work, const auto& lists, unsigned* counter) {                                                            \
          return lockstep_walk_##name::launch(work, lengths.data(), UNITS,                                               \
                                              lockstep_walk_##name::device_lists{copied(lists.order), copied(lists.blocks), \
                                                                                copied(lists.padded), copied(lists.starts)}, \
                                              counter);                                                                  \
        })
int main() {
  // Long tails, and every seventh unit empty.
  for (unsigned unit = 0, x = 1; unit < UNITS; ++unit) {
    x = x * 1664525u + 1013904223u;
    lengths.push_back(unit % 7 == 0 ? 0 : 600 / (1 + (x >> 16) % 300));
  }
#include "checks.inc"
}
