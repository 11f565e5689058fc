// Launches every unit on a host, by the policy and by teams whose size Kokkos chooses itself.
#include "exported.hpp"
namespace shape = lockstep_walk;
using Policy = shape::policy<>;
int wrong(const Policy& policy, long long units) {
  Kokkos::View<int*> sums("sums", units);
  Kokkos::parallel_for(policy, KOKKOS_LAMBDA(const Policy::member_type& team) {
    shape::for_each_unit(team, units, 0, [&](long long at) {
      int sum = 0;
      Kokkos::parallel_reduce(Kokkos::ThreadVectorRange(team, 10), [&](int i, int& part) { part += i; }, sum);
      Kokkos::single(Kokkos::PerThread(team), [&] { Kokkos::atomic_add(&sums(at), sum); });
    });
  });
  Kokkos::fence();
  int count = 0;
  for (long long at = 0; at < units; ++at) count += sums(at) != 45;
  return count;
}
int main() {
  Kokkos::initialize();
  const int by_policy = wrong(shape::policy_for(100003), 100003);
  const int by_auto = wrong(Policy(shape::league_for(100003), Kokkos::AUTO, shape::vector_length[0]), 100003);
  Kokkos::finalize();
  return by_policy + by_auto > 0;
}
