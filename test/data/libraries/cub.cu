// Compares the sums and maxima of segments of all lengths from 0 to 600 with those that the host computes.
#include <cstdlib>
#include <cuda_runtime.h>
#include <cstdio>
#include "exported.cuh"
namespace shape = lockstep_walk;
struct Sum { __host__ __device__ float operator()(float a, float b) const { return a + b; } };
struct Max { __host__ __device__ float operator()(float a, float b) const { return a > b ? a : b; } };
template <class T> T* copied(const std::vector<T>& from) {
  T* to = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&to), from.size() * sizeof(T) + 1) != cudaSuccess) std::abort();
  if (cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice) != cudaSuccess) std::abort();
  return to;
}
int main() {
  std::vector<unsigned> offsets{0};
  for (unsigned s = 0; s < 700; ++s) offsets.push_back(offsets.back() + (s * 37) % 601 * (s % 5 != 0) % 601);
  std::vector<float> in(offsets.back());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * 7 % 101);
  const auto parts = shape::partition_segments(offsets.data(), 700);
  const float* values = copied(in);
  const unsigned *starts = copied(offsets), *segments = copied(parts.segments);
  float* out = copied(std::vector<float>(700, -1));
  const auto check = [&](auto op, float initial) {
    if (shape::reduce(values, out, starts, segments, parts.begins, op, initial) != cudaSuccess) return false;
    if (cudaDeviceSynchronize() != cudaSuccess) return false;
    std::vector<float> found(700);
    if (cudaMemcpy(found.data(), out, 700 * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return false;
    for (unsigned s = 0; s < 700; ++s) {
      float sum = initial;
      for (unsigned i = offsets[s]; i < offsets[s + 1]; ++i) sum = op(sum, in[i]);
      if (sum != found[s]) return false;
    }
    return true;
  };
  if (!check(Sum(), 3.0f) || !check(Max(), 0.0f)) return 1;
  for (unsigned which = 0; which < shape::launch_count; ++which)
    std::printf("%u %u\n", shape::threads_per_unit[which], parts.begins[which + 1] - parts.begins[which]);
}
