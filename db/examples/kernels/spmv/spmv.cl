// y = A·x, A in compressed sparse rows: five ways to share the rows among threads. spmv.kernel.json launches it and
// defines BLOCK_THREADS and THREADS_PER_ROW; spmv.cu explains `order` and the parameters of a class of rows.
#ifndef THREADS_PER_ROW
#define THREADS_PER_ROW 1
#endif

#define SPMV_PARAMETERS                                                                                                   \
  __global const uint *rowStarts, __global const uint *columns, __global const float *values, __global const float *x,    \
      __global const uint *order, __global float *y, uint rows, uint gridBlocks, uint firstRow, uint launchRows,          \
      uint launchThreadsPerRow

__kernel void threadPerRow(SPMV_PARAMETERS) {
  for (uint row = get_global_id(0); row < rows; row += get_global_size(0)) {
    float sum = 0;
    const uint end = rowStarts[row + 1];
    for (uint entry = rowStarts[row]; entry < end; ++entry) sum += values[entry] * x[columns[entry]];
    y[row] = sum;
  }
}

/// Processes rows in rounds, `u` threads each. The whole block takes part in every round, since a barrier needs all its
/// threads.
void severalThreadsPerRow(__global const uint *rowStarts, __global const uint *columns, __global const float *values,
                          __global const float *x, __global const uint *order, __global float *y, uint firstRow,
                          uint launchRows, uint u, bool ordered, __local float *partial) {
  const uint thread = get_local_id(0);
  const uint rank = thread % u;
  const uint slots = get_num_groups(0) * (BLOCK_THREADS / u);
  const uint rounds = (launchRows + slots - 1) / slots;
  for (uint round = 0; round < rounds; ++round) {
    const uint position = round * slots + get_group_id(0) * (BLOCK_THREADS / u) + thread / u;
    const bool busy = position < launchRows;
    const uint row = busy && ordered ? order[firstRow + position] : position;
    float sum = 0;
    if (busy) {
      const uint end = rowStarts[row + 1];
      for (uint entry = rowStarts[row] + rank; entry < end; entry += u) sum += values[entry] * x[columns[entry]];
    }
    partial[thread] = sum;
    for (uint distance = u / 2; distance > 0; distance /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (rank < distance) partial[thread] += partial[thread + distance];
    }
    if (busy && rank == 0) y[row] = partial[thread];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

__kernel void threadsPerRow(SPMV_PARAMETERS) {
  __local float partial[BLOCK_THREADS];
  severalThreadsPerRow(rowStarts, columns, values, x, order, y, 0, launchRows, THREADS_PER_ROW, false, partial);
}

/// One launch for each class of row lengths.
__kernel void classOfRows(SPMV_PARAMETERS) {
  __local float partial[BLOCK_THREADS];
  severalThreadsPerRow(rowStarts, columns, values, x, order, y, firstRow, launchRows, launchThreadsPerRow, true, partial);
}

/// Adds a part of a row to its result, which is 0 before the launch.
void addTo(__global float *sum, float value) {
  volatile __global uint *bits = (volatile __global uint *)sum;
  for (uint seen = *bits;;) {
    const uint found = atomic_cmpxchg(bits, seen, as_uint(as_float(seen) + value));
    if (found == seen) return;
    seen = found;
  }
}

/// Gives threads equally many entries plus row ends (see spmv.cu).
__kernel void mergePath(SPMV_PARAMETERS) {
  const uint entries = rowStarts[rows];
  const uint threads = get_global_size(0);
  const uint share = (rows + entries + threads - 1) / threads;
  const uint begin = min((uint)get_global_id(0) * share, rows + entries);
  const uint end = min(begin + share, rows + entries);
  uint low = begin > entries ? begin - entries : 0;
  uint high = min(begin, rows);
  while (low < high) {
    const uint middle = (low + high) / 2;
    if (rowStarts[middle + 1] < begin - middle)
      low = middle + 1;
    else
      high = middle;
  }
  uint row = low;
  uint entry = begin - low;
  const uint headRow = row;
  float head = 0;
  float sum = 0;
  uint rowEnd = rowStarts[min(row + 1, rows)];
  for (uint step = begin; step < end; ++step) {
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
  if (head != 0) addTo(&y[headRow], head);
  if (sum != 0) addTo(&y[row], sum);
}
