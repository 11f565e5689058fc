#include "walk.choice.hpp"
#include <cstdio>
#include <cstdlib>
#include <vector>
namespace walk = lockstep_walk;
int main() {
  std::vector<int> lengths;
  std::vector<long long> offsets{0};
  double sum = 0, squares = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    const int length = static_cast<int>(i % 7 * (i % 13));
    lengths.push_back(length);
    offsets.push_back(offsets.back() + length);
    sum += length;
    squares += length * length;
  }
  const double mean = sum / 1000;
  const auto same = [](walk::choice a, walk::choice b) {
    return a.threads_per_unit == b.threads_per_unit && a.block_threads == b.block_threads && a.grid_blocks == b.grid_blocks &&
           a.units_per_thread == b.units_per_thread;
  };
  const auto own = walk::choose(lengths.data(), 1000);
  if (!same(own, walk::choose_rows(offsets.data(), 1000))) return 1;
  if (!same(own, walk::choose_for(mean, std::sqrt(squares / 1000 - mean * mean) / mean, 1000))) return 2;
  // One unit that is far longer than all others is seen among few lengths, and among many rows.
  for (const unsigned count : {30000u, 300000u}) {
    lengths.assign(count, 3);
    lengths[count - 5] = 50000;
    offsets.resize(1);
    for (const int length : lengths) offsets.push_back(offsets.back() + length);
    const auto all = walk::choose(lengths.data(), count, count);
    if (!same(all, walk::choose_rows(offsets.data(), count)) || all.predicted_ns < 2 * walk::choose_for(3, 0, count).predicted_ns) return 6;
    if (count <= walk::read_all && !same(all, walk::choose(lengths.data(), count))) return 7;
  }
  // The lengths alternate between two values, so a sample of a million must have both, and must not read more lengths.
  unsigned long long asked = 0, long_ones = 0;
  walk::choose_by([&](unsigned long long at) { ++asked; long_ones += at % 2; if (at >= 1000000) std::abort(); return at % 2 ? 100 : 1; }, 1000000);
  if (asked != walk::sample_size || long_ones < 400 || long_ones > 624) return 3;
  if (walk::choose(lengths.data(), 0).grid_blocks != 0) return 4;
  unsigned given = 0;
  walk::with_threads(own, [&](auto threads) { given = threads; });
  if (given != own.threads_per_unit) return 5;
}
