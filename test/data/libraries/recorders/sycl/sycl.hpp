#pragma once
#include <cstddef>
namespace sycl {
template <int> struct range { std::size_t size; explicit range(std::size_t n) : size(n) {} };
template <int N> struct nd_range {
  range<N> global, local;
  nd_range(range<N> all, range<N> group) : global(all), local(group) {}
};
template <int> struct nd_item {
  std::size_t group, local, groups;
  std::size_t get_group(int) const { return group; }
  std::size_t get_local_id(int) const { return local; }
  std::size_t get_group_range(int) const { return groups; }
};
}
