#include "walk.choice.hpp"
#include <vector>
namespace walk = lockstep_walk;
template <unsigned THREADS>
__global__ void __launch_bounds__(walk::max_block_threads) rows(const unsigned* offsets, unsigned* sums, unsigned long long units) {
  const unsigned long long slots = gridDim.x * (blockDim.x / THREADS);
  for (unsigned long long at = blockIdx.x * (blockDim.x / THREADS) + threadIdx.x / THREADS; at < units; at += slots)
    for (unsigned i = offsets[at] + threadIdx.x % THREADS; i < offsets[at + 1]; i += THREADS) atomicAdd(&sums[at], 1u);
}
void launch(const std::vector<unsigned>& offsets, const unsigned* on_device, unsigned* sums) {
  const unsigned long long units = offsets.size() - 1;
  const auto own = walk::choose_rows(offsets.data(), units);
  walk::with_threads(own, [&](auto threads) { rows<threads><<<own.grid_blocks, own.block_threads>>>(on_device, sums, units); });
}
