#include "walk.choice.hpp"
#include <cstdio>
int main() {
  double mean, spread;
  unsigned long long units;
  while (std::scanf("%lf %lf %llu", &mean, &spread, &units) == 3) {
    const auto own = lockstep_walk::choose_for(mean, spread, units);
    std::printf("%u %u %u %u %.9g\n", own.threads_per_unit, own.block_threads, own.grid_blocks, own.units_per_thread, own.predicted_ns);
  }
}
