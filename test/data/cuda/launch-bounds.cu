#include HEADER
namespace shape = SHAPE;
__global__ void BOUNDS walk(const unsigned* lengths, float* out, unsigned units) {
  const unsigned slots = gridDim.x * (blockDim.x / shape::threads_per_unit);
  unsigned unit = (blockIdx.x * blockDim.x + threadIdx.x) / shape::threads_per_unit;
  for (unsigned m = 0; m < shape::units_per_thread && unit < units; ++m, unit += slots) {
    float sum = 0.0f;
    for (unsigned i = threadIdx.x % shape::threads_per_unit; i < lengths[unit]; i += shape::threads_per_unit) sum += 0.5f * sum + 1.0f;
    atomicAdd(&out[unit], sum);
  }
}
void launch(const unsigned* lengths, float* out, unsigned units) {
  walk<<<shape::grid_for(units), shape::block_threads>>>(lengths, out, units);
  walk<<<shape::grid_blocks, shape::block_threads>>>(lengths, out, units);
}
static_assert(shape::grid_for(100000ull) == shape::grid_blocks, "the design's units have its blocks");
static_assert(shape::grid_for(1ull) == shape::grid_blocks, "fewer units leave the blocks that the design fixes");
static_assert(shape::grid_for(shape::units_per_block * (shape::grid_blocks + 1ull)) == shape::grid_blocks + 1u, "no slot has more units");
