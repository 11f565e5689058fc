#pragma once
#define KOKKOS_INLINE_FUNCTION inline
namespace Kokkos {
struct DefaultExecutionSpace {};
struct HostSpace {};
template <class, class> struct SpaceAccessibility { static constexpr bool accessible = false; };
inline constexpr int AUTO = 0;
template <unsigned MAX_THREADS, unsigned MIN_BLOCKS> struct LaunchBounds {};
template <class Space, class Bounds> struct TeamPolicy {
  int league, team, vector;
  TeamPolicy(int league_size, int team_size, int vector_length) : league(league_size), team(team_size), vector(vector_length) {}
};
}
