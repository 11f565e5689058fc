import type { RankRow } from '../../../contract/api.ts';
import { implementationName, type CodeSource } from '../code.ts';
import { codeFormat, launchLimits } from '../code-format.ts';
import { about, isDealt, launchConstants, rounds } from '../libraries.ts';

export const sycl = codeFormat({
  id: 'sycl',
  label: 'SYCL range',
  text: 'nd_range, and the required sizes',
  words: 'c++ nd_range oneapi work-group sub-group',
  extension: 'sycl.hpp',
  name: 'SYCL',
  // SYCL uses `std::size_t` for these numbers.
  limits: (source, row) => launchLimits(source, row, Infinity),
  write: syclHeader,
});

/** Writes the `sycl::nd_range` of a design and the sizes that its kernel requires (SYCL 2020, 5.8.1), in C++17. */
function syclHeader(source: CodeSource, row: RankRow, width: number): string {
  const name = implementationName(source, row);
  const upper = name.toUpperCase();
  const { blockThreads } = row.design;
  return `${about(source, row)}
#ifndef LOCKSTEP_${upper}_SYCL_HPP
#define LOCKSTEP_${upper}_SYCL_HPP

#include <cstddef>
#include <sycl/sycl.hpp>

namespace lockstep_${name} {

${launchConstants(row, 'std::size_t')}
/// Work-items of a work-group.
constexpr std::size_t work_group_size = ${blockThreads};
/// Work-items of a sub-group of the device that the design is for.
constexpr std::size_t sub_group_size = ${width};

/// Slots of a work-group: the number of units that it takes at once.
constexpr std::size_t group_slots(std::size_t which = 0) { return work_group_size / threads_per_unit[which]; }

${
  source.isGridFixed
    ? `/// Number of work-groups for any number of units. The design fixes it.
constexpr std::size_t groups_for(std::size_t, std::size_t which = 0) { return grid_blocks[which]; }`
    : `/// Number of work-groups for another number of units, with the same work per slot.
constexpr std::size_t groups_for(std::size_t units, std::size_t which = 0) {
  const std::size_t per_group = group_slots(which) * units_per_thread;
  return (units + per_group - 1) / per_group;
}`
}

/// Returns the range to launch this number of units.
inline sycl::nd_range<1> range_for(std::size_t units, std::size_t which = 0) {
  return sycl::nd_range<1>(sycl::range<1>(groups_for(units, which) * work_group_size), sycl::range<1>(work_group_size));
}
${
  isDealt(row)
    ? `
/// Calls body(position, rank) for each unit of this work-item, with the unit's position in the order.
/// rank is the number of this work-item among the work-items of the unit.
template <class Body>
void for_each_unit(const sycl::nd_item<1>& item, long long units, std::size_t which, const Body& body) {
  const std::size_t local = item.get_local_id(0);
  const long long slots = static_cast<long long>(item.get_group_range(0) * group_slots(which));
  const long long slot = static_cast<long long>(item.get_group(0) * group_slots(which) + local / threads_per_unit[which]);
${rounds('body(at, local % threads_per_unit[which]);')}
}
`
    : ''
}
}  // namespace lockstep_${name}

/// queue.parallel_for(range_for(units), [=](sycl::nd_item<1> item) LOCKSTEP_${upper}_SIZES { ... });
#define LOCKSTEP_${upper}_SIZES [[sycl::reqd_work_group_size(${blockThreads})]] [[sycl::reqd_sub_group_size(${width})]]

#endif  // LOCKSTEP_${upper}_SYCL_HPP
`;
}
