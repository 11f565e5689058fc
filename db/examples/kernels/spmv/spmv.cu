// y = A·x, A in compressed sparse rows: five ways to share the rows among threads. spmv.kernel.json launches it.
#include <cstdint>

constexpr unsigned GROUP = 32;

// The manifest sets the number of threads of a block, and in `threadsPerRow` also the threads of a row.
#ifndef BLOCK_THREADS
#define BLOCK_THREADS 1024
#endif
#ifndef THREADS_PER_ROW
#define THREADS_PER_ROW 1
#endif

/// The parameters of every kernel. `order` has the rows in the order in which a launch takes them. A launch for one
/// class of rows takes `launchRows` of them from `firstRow` on, with `launchThreadsPerRow` threads each.
#define SPMV_PARAMETERS                                                                                                   \
  const uint32_t *__restrict__ rowStarts, const uint32_t *__restrict__ columns, const float *__restrict__ values,         \
      const float *__restrict__ x, const uint32_t *__restrict__ order, float *__restrict__ y, uint32_t rows,              \
      uint32_t gridBlocks, uint32_t firstRow, uint32_t launchRows, uint32_t launchThreadsPerRow

__global__ void threadPerRow(SPMV_PARAMETERS) {
  (void)order, (void)firstRow, (void)launchRows, (void)launchThreadsPerRow;
  for (uint32_t row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridBlocks * blockDim.x) {
    float sum = 0;
    const uint32_t end = rowStarts[row + 1];
    for (uint32_t entry = rowStarts[row]; entry < end; ++entry) sum += values[entry] * x[columns[entry]];
    y[row] = sum;
  }
}

/// Processes rows in rounds, `u` threads each. The whole block takes part in every round, since shuffles and barriers
/// need all its threads.
template <bool ORDERED>
__device__ void severalThreadsPerRow(const uint32_t *__restrict__ rowStarts, const uint32_t *__restrict__ columns,
                                     const float *__restrict__ values, const float *__restrict__ x,
                                     const uint32_t *__restrict__ order, float *__restrict__ y, uint32_t gridBlocks,
                                     uint32_t firstRow, uint32_t launchRows, uint32_t u) {
  __shared__ float partial[BLOCK_THREADS / GROUP + 1];
  const uint32_t thread = threadIdx.x;
  const uint32_t rank = thread % u;
  const uint32_t slots = gridBlocks * (blockDim.x / u);
  const uint32_t rounds = (launchRows + slots - 1) / slots;
  for (uint32_t round = 0; round < rounds; ++round) {
    const uint32_t position = round * slots + blockIdx.x * (blockDim.x / u) + thread / u;
    const bool busy = position < launchRows;
    const uint32_t row = busy && ORDERED ? order[firstRow + position] : position;
    float sum = 0;
    if (busy) {
      const uint32_t end = rowStarts[row + 1];
      for (uint32_t entry = rowStarts[row] + rank; entry < end; entry += u) sum += values[entry] * x[columns[entry]];
    }
    for (uint32_t distance = 1; distance < u && distance < GROUP; distance *= 2)
      sum += __shfl_xor_sync(0xffffffff, sum, static_cast<int>(distance));
    if (u > GROUP) {
      if (thread % GROUP == 0) partial[thread / GROUP] = sum;
      __syncthreads();
      if (busy && rank == 0)
        for (uint32_t other = 1; other < u / GROUP; ++other) sum += partial[thread / GROUP + other];
      __syncthreads();
    }
    if (busy && rank == 0) y[row] = sum;
  }
}

__global__ void threadsPerRow(SPMV_PARAMETERS) {
  (void)rows, (void)launchThreadsPerRow;
  severalThreadsPerRow<false>(rowStarts, columns, values, x, order, y, gridBlocks, firstRow, launchRows, THREADS_PER_ROW);
}

/// One launch for each class of row lengths.
__global__ void classOfRows(SPMV_PARAMETERS) {
  (void)rows;
  severalThreadsPerRow<true>(rowStarts, columns, values, x, order, y, gridBlocks, firstRow, launchRows, launchThreadsPerRow);
}

/// Gives threads equally many entries plus row ends (Merrill and Garland, "Merge-based parallel sparse matrix-vector
/// multiplication", SC 2016). A search finds the start of a thread's share, and the parts of cut rows are summed. `y`
/// is 0 before the launch.
__global__ void mergePath(SPMV_PARAMETERS) {
  (void)order, (void)firstRow, (void)launchRows, (void)launchThreadsPerRow;
  const uint32_t entries = rowStarts[rows];
  const uint32_t threads = gridBlocks * blockDim.x;
  const uint32_t share = (rows + entries + threads - 1) / threads;
  const uint32_t begin = min((blockIdx.x * blockDim.x + threadIdx.x) * share, rows + entries);
  const uint32_t end = min(begin + share, rows + entries);
  uint32_t low = begin > entries ? begin - entries : 0;
  uint32_t high = min(begin, rows);
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (rowStarts[middle + 1] < begin - middle)
      low = middle + 1;
    else
      high = middle;
  }
  uint32_t row = low;
  uint32_t entry = begin - low;
  const uint32_t headRow = row;
  float head = 0;
  float sum = 0;
  uint32_t rowEnd = rowStarts[min(row + 1, rows)];
  for (uint32_t step = begin; step < end; ++step) {
    if (entry < rowEnd) {
      sum += values[entry] * x[columns[entry]];
      ++entry;
    } else {
      if (row == headRow)
        head = sum;
      else
        y[row] = sum;
      sum = 0;
      ++row;
      rowEnd = rowStarts[min(row + 1, rows)];
    }
  }
  if (head != 0) atomicAdd(&y[headRow], head);
  if (sum != 0) atomicAdd(&y[row], sum);
}
