// Cooperative groups in the CPU emulation of CUDA: blocks and tiles of a thread group. A grid cannot synchronise.
#pragma once

#include <cuda_runtime.h>

namespace cooperative_groups {

struct thread_block {
  void sync() const { __syncthreads(); }
  unsigned thread_rank() const { return cuda_shim::machine.current->number; }
  unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
  unsigned num_threads() const { return size(); }
  dim3 group_index() const { return blockIdx; }
  dim3 thread_index() const { return threadIdx; }
  dim3 group_dim() const { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

struct grid_group {
  unsigned long long thread_rank() const {
    const unsigned long long block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    return block * this_thread_block().size() + this_thread_block().thread_rank();
  }
  unsigned long long size() const { return 1ull * gridDim.x * gridDim.y * gridDim.z * this_thread_block().size(); }
};
inline grid_group this_grid() { return {}; }

template <unsigned SIZE, class Parent = void>
struct thread_block_tile {
  static_assert(SIZE <= cuda_shim::WIDTH && (SIZE & (SIZE - 1)) == 0, "a tile has a power of two of lanes of a thread group");
  thread_block_tile() = default;
  template <class Other>
  thread_block_tile(const thread_block_tile<SIZE, Other>&) {}
  static unsigned lane() { return cuda_shim::machine.current->lane(); }
  static cuda_shim::Mask mask() {
    const cuda_shim::Mask lanes = SIZE == cuda_shim::WIDTH ? ~cuda_shim::Mask(0) : (cuda_shim::Mask(1) << SIZE) - 1;
    return lanes << (lane() / SIZE * SIZE);
  }
  void sync() const { __syncwarp(mask()); }
  unsigned thread_rank() const { return lane() % SIZE; }
  static constexpr unsigned size() { return SIZE; }
  static constexpr unsigned num_threads() { return SIZE; }
  unsigned meta_group_rank() const { return this_thread_block().thread_rank() / SIZE; }
  unsigned meta_group_size() const { return (this_thread_block().size() + SIZE - 1) / SIZE; }
  template <class T>
  T shfl(T value, int source) const { return __shfl_sync(mask(), value, source, SIZE); }
  template <class T>
  T shfl_up(T value, unsigned distance) const { return __shfl_up_sync(mask(), value, distance, SIZE); }
  template <class T>
  T shfl_down(T value, unsigned distance) const { return __shfl_down_sync(mask(), value, distance, SIZE); }
  template <class T>
  T shfl_xor(T value, int distance) const { return __shfl_xor_sync(mask(), value, distance, SIZE); }
  unsigned ballot(int predicate) const { return static_cast<unsigned>(__ballot_sync(mask(), predicate) >> (lane() / SIZE * SIZE)); }
  int any(int predicate) const { return ballot(predicate) != 0; }
  int all(int predicate) const { return ballot(!predicate) == 0; }
};
template <unsigned SIZE, class Parent>
thread_block_tile<SIZE, Parent> tiled_partition(const Parent&) {
  return {};
}

template <class Group>
void sync(const Group& group) {
  group.sync();
}

template <class T>
struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <unsigned SIZE, class Parent, class T, class Operator>
T reduce(const thread_block_tile<SIZE, Parent>& tile, T value, Operator combine) {
  for (unsigned distance = SIZE / 2; distance > 0; distance /= 2) value = combine(value, tile.shfl_xor(value, static_cast<int>(distance)));
  return value;
}

}  // namespace cooperative_groups
