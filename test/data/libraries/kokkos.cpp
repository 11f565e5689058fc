// Checks that every unit of every launch is taken by exactly the threads that share it, and prints the launches.
#include "exported.hpp"
#include <cstdio>
#include <vector>
namespace shape = lockstep_walk;
struct Member {
  int rank, teams, thread, size;
  int league_rank() const { return rank; }
  int league_size() const { return teams; }
  int team_rank() const { return thread; }
  int team_size() const { return size; }
};
int main() {
  for (int which = 0; which < shape::launch_count; ++which)
    for (const long long units : {0ll, 1ll, 999ll, 50000ll}) {
      const auto policy = shape::policy_for(units, which);
      if (policy.team * policy.vector != shape::block_threads) return 2;
      const int per_unit = shape::threads_per_unit[which] / policy.vector;
      // A team may be smaller than in the design, for example on a host.
      for (const int size : {policy.team, 1, 3}) {
        std::vector<int> taken(units);
        for (int team = 0; team < policy.league; ++team)
          for (int thread = 0; thread < size; ++thread)
            shape::for_each_unit(Member{team, policy.league, thread, size}, units, which, [&](long long at) { ++taken.at(at); });
        for (const int times : taken) if (times != (per_unit < size ? per_unit : size)) return 1;
      }
      if (units == 999) std::printf("%d %d %d\n", policy.league, policy.team, policy.vector);
    }
}
