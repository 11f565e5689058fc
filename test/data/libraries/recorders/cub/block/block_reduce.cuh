#pragma once
namespace cub {
template <class T, int THREADS> struct BlockReduce {
  struct TempStorage { T values[THREADS]; };
  TempStorage& storage;
  explicit BlockReduce(TempStorage& own) : storage(own) {}
  template <class Op> T Reduce(T value, Op op, int valid) {
    storage.values[threadIdx.x] = value;
    __syncthreads();
    for (int other = 1; threadIdx.x == 0 && other < valid; ++other) value = op(value, storage.values[other]);
    return value;
  }
};
}
