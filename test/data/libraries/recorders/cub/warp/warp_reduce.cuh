#pragma once
namespace cub {
template <class T, int WIDTH> struct WarpReduce {
  struct TempStorage {};
  explicit WarpReduce(TempStorage&) {}
  template <class Op> T Reduce(T value, Op op, int valid) {
    const int lane = threadIdx.x % WIDTH;
    T sum = value;
    for (int other = 1; other < WIDTH; ++other) {
      const T theirs = __shfl_sync(0xffffffffu, value, static_cast<int>(threadIdx.x % 32) / WIDTH * WIDTH + other);
      if (lane == 0 && other < valid) sum = op(sum, theirs);
    }
    return sum;
  }
};
}
