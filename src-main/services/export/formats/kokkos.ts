import type { RankRow } from '../../../contract/api.ts';
import { implementationName, launchNumbers, type CodeSource } from '../code.ts';
import { codeFormat, launchLimits, MAX_COUNT } from '../code-format.ts';
import { about, isDealt, launchConstants, rounds } from '../libraries.ts';

export const kokkos = codeFormat({
  id: 'kokkos',
  label: 'Kokkos policy',
  text: 'TeamPolicy: league, team and vector',
  words: 'c++ teampolicy launchbounds',
  extension: 'kokkos.hpp',
  name: 'Kokkos',
  // Kokkos uses `int` for these numbers.
  limits: (source, row) => launchLimits(source, row, MAX_COUNT),
  write: kokkosHeader,
});

/** A team is a block. The vector lanes of a thread are the threads of a unit in a thread group. The code is C++17. */
function kokkosHeader(source: CodeSource, row: RankRow, width: number): string {
  const name = implementationName(source, row);
  const guard = `LOCKSTEP_${name.toUpperCase()}_KOKKOS_HPP`;
  const { blockThreads } = row.design;
  const [, [, threadsPerUnit]] = launchNumbers(row);
  return `${about(source, row)}
#ifndef ${guard}
#define ${guard}

#include <Kokkos_Core.hpp>

namespace lockstep_${name} {

${launchConstants(row, 'int')}
/// Threads of a team, including vector lanes. A team is a block of the prediction.
constexpr int block_threads = ${blockThreads};
/// Vector lanes of each thread of a team, by launch: as many as a unit has threads, but at most a thread group.
constexpr int vector_length[launch_count] = {${threadsPerUnit.map((threads) => Math.min(threads, width)).join(', ')}};

/// Threads of a team without vector lanes, as Kokkos counts them.
constexpr int team_size(int which = 0) { return block_threads / vector_length[which]; }

/// Slots of a team: the number of units that it takes at once.
constexpr int team_slots(int which = 0) { return block_threads / threads_per_unit[which]; }

${
  source.isGridFixed
    ? `/// Number of teams for any number of units. The design fixes it.
constexpr int league_for(long long, int which = 0) { return grid_blocks[which]; }`
    : `/// Number of teams for another number of units, with the same work per slot.
constexpr int league_for(long long units, int which = 0) {
  const long long per_team = static_cast<long long>(team_slots(which)) * units_per_thread;
  return static_cast<int>((units + per_team - 1) / per_team);
}`
}

template <class Space = Kokkos::DefaultExecutionSpace>
using policy = Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<block_threads, ${row.residentBlocks}>>;

/// Returns the policy to launch this number of units: Kokkos::parallel_for(policy_for(units), KOKKOS_LAMBDA(const member& team) { ... });
/// On the host, teams are smaller than a block, so Kokkos chooses their size.
template <class Space = Kokkos::DefaultExecutionSpace>
policy<Space> policy_for(long long units, int which = 0) {
  if constexpr (Kokkos::SpaceAccessibility<Space, Kokkos::HostSpace>::accessible)
    return policy<Space>(league_for(units, which), Kokkos::AUTO, vector_length[which]);
  else
    return policy<Space>(league_for(units, which), team_size(which), vector_length[which]);
}
${
  isDealt(row)
    ? `
/// Returns how many threads of a team share a unit, each with its vector lanes. In a small team, all threads share one.
template <class Member>
KOKKOS_INLINE_FUNCTION int unit_threads(const Member& team, int which = 0) {
  const int per_unit = threads_per_unit[which] / vector_length[which];
  return per_unit < team.team_size() ? per_unit : team.team_size();
}

/// Calls body(position) for each unit of this thread of a team, with the unit's position in the order. If a unit has more threads than
/// vector lanes, several threads of the team call body for it. The calling thread is number team.team_rank() % unit_threads(team, which) among them.
/// A team may have any size.
template <class Member, class Body>
KOKKOS_INLINE_FUNCTION void for_each_unit(const Member& team, long long units, int which, const Body& body) {
  const int per_unit = unit_threads(team, which);
  const int own = team.team_rank() / per_unit;
  const long long of_team = team.team_size() / per_unit;
  // Threads beyond the last whole unit have no work.
  if (own >= of_team) return;
  const long long slots = team.league_size() * of_team;
  const long long slot = team.league_rank() * of_team + own;
${rounds('body(at);')}
}
`
    : ''
}
}  // namespace lockstep_${name}

#endif  // ${guard}
`;
}
