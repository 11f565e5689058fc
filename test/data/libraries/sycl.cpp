// Checks that every unit of every launch is taken by exactly the threads that share it, and prints the launches.
#include "exported.hpp"
#include <cstdio>
#include <vector>
namespace shape = lockstep_walk;
int main() {
  for (std::size_t which = 0; which < shape::launch_count; ++which)
    for (const std::size_t units : {std::size_t(0), std::size_t(1), std::size_t(999), std::size_t(50000)}) {
      const auto range = shape::range_for(units, which);
      const std::size_t groups = range.global.size / range.local.size;
      std::vector<unsigned long long> ranks(units);
      for (std::size_t group = 0; group < groups; ++group)
        for (std::size_t local = 0; local < range.local.size; ++local)
          shape::for_each_unit(sycl::nd_item<1>{group, local, groups}, units, which,
                               [&](long long at, std::size_t rank) { ranks.at(at) += rank + 1; });
      const std::size_t u = shape::threads_per_unit[which];
      for (const auto sum : ranks) if (sum != u * (u + 1) / 2) return 1;
      if (units == 999) std::printf("%zu %zu\n", range.global.size, range.local.size);
    }
}
int attributed() { return []() LOCKSTEP_WALK_SIZES { return 0; }(); }
