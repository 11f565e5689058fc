// Kernels that compilers unroll although their loops contain branches. Their PTX is beside this file, for
// test/unit/inspect-phases.test.ts: nvcc 13.0, in this folder, folders removed from the .file lines
//   nvcc -O3 -lineinfo -arch=sm_90 -ptx branches.cu -o branches.ptx
#define KERNEL extern "C" __global__ void

// The size of a step depends on the field, and the number of steps is limited.
KERNEL walk(const float4 *__restrict__ field, const float *__restrict__ start, float *out, float end, float tolerance) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, steps = 0;
  float x = start[i], h = .1f;
  while (x < end) {
    float4 a = field[int(x)];
    float error = h * (a.x - a.y);
    if (error < tolerance) { x += h * a.z; h *= 1.5f; } else h *= .5f;
    if (++steps > 10000) break;
  }
  out[i] = x + steps;
}
// Each thread takes a vertex and collects its unvisited neighbours.
KERNEL level(const int *__restrict__ offsets, const int *__restrict__ list, const int *__restrict__ from, int count,
             int *distance, int *next, int *found, int depth) {
  for (int u = blockIdx.x * blockDim.x + threadIdx.x; u < count; u += gridDim.x * blockDim.x) {
    int vertex = from[u], end = offsets[vertex + 1];
    for (int k = offsets[vertex]; k < end; k++) {
      int to = list[k];
      if (distance[to] < 0 && atomicCAS(&distance[to], -1, depth) == -1) next[atomicAdd(found, 1)] = to;
    }
  }
}
