// Kernels whose PTX is beside this file, for test/unit/inspect-phases.test.ts: nvcc 13.0, in this folder
//   nvcc -O3 -arch=sm_90 -ptx phases.cu -o phases.ptx
#define ALL 0xffffffffu
#define KERNEL extern "C" __global__ void

// A padded matrix, stored column by column, so that neighbouring lanes read neighbouring words.
KERNEL ell(const int *__restrict__ len, const float *__restrict__ val, const int *__restrict__ col,
           const float *__restrict__ x, float *y, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  float sum = 0;
  int n = len[i];
#pragma unroll 1
  for (int k = 0; k < n; k++) sum += val[i + k * rows] * x[col[i + k * rows]];
  y[i] = sum;
}
// Slices of 32 rows, each stored column by column.
KERNEL sell(const int *__restrict__ slice, const int *__restrict__ len, const double *__restrict__ val, double *y,
            int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  double sum = 0;
  int n = len[i], at = slice[i / 32] + i % 32;
#pragma unroll 1
  for (int k = 0; k < n; k++) sum += val[at + 32 * k];
  y[i] = sum;
}
// A block takes each row, and sums it by a tree in shared memory.
KERNEL blockrow(const int *__restrict__ ptr, const float *__restrict__ val, float *y) {
  __shared__ float part[1024];
  int row = blockIdx.x;
  float sum = 0;
#pragma unroll 1
  for (int k = ptr[row] + threadIdx.x; k < ptr[row + 1]; k += blockDim.x) sum += val[k];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[row] = part[0];
}
// A tree that sums two values; a shuffle moves each double as two halves.
KERNEL minmax(const int *__restrict__ ptr, const double *__restrict__ val, double2 *y, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, lane = t % 8;
  for (int row = t / 8; row < rows; row += gridDim.x * blockDim.x / 8) {
    double lo = 1e300, hi = -1e300;
#pragma unroll 1
    for (int k = ptr[row] + lane; k < ptr[row + 1]; k += 8) {
      double v = val[k];
      lo = fmin(lo, v);
      hi = fmax(hi, v);
    }
    for (int d = 4; d > 0; d /= 2) {
      lo = fmin(lo, __shfl_down_sync(ALL, lo, d));
      hi = fmax(hi, __shfl_down_sync(ALL, hi, d));
    }
    if (lane == 0) y[row] = make_double2(lo, hi);
  }
}
// Four lanes share each iteration.
KERNEL shared4(const int *__restrict__ len, const float *__restrict__ m, float *y, int units) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, lane = t % 4, i = t / 4;
  if (i >= units) return;
  float v = lane;
  int n = len[i];
#pragma unroll 1
  for (int k = 0; k < n; k++) {
    float a = v * m[lane];
    a += __shfl_xor_sync(ALL, a, 1);
    a += __shfl_xor_sync(ALL, a, 2);
    v = a * 0.5f;
  }
  if (lane == 0) y[i] = v;
}
struct Node {
  float from, to;
  int left, right;
};
// A stack of nodes, and a growing list of hits. The code that extends the list must not be taken for the end of a unit.
KERNEL traverse(const Node *__restrict__ nodes, const float *__restrict__ rays, int *hits, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int stack[32], top = 0, at = 0, count = 0;
  float ray = rays[i];
  while (at >= 0) {
    Node node = nodes[at];
    if (node.left < 0) {
      hits[i * 64 + count++] = node.right;
      at = top ? stack[--top] : -1;
    } else if (ray > node.from && ray < node.to) {
      stack[top++] = node.right;
      at = node.left;
    } else
      at = top ? stack[--top] : -1;
  }
}
// A loop does four iterations per pass, and another one does the remaining iterations.
KERNEL unrolled(const int *__restrict__ ptr, const int *__restrict__ col, const float *__restrict__ val,
                const float *__restrict__ x, float *y, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
#pragma unroll 4
  for (int k = ptr[row]; k < ptr[row + 1]; k++) {
    asm volatile("// lockstep:loop");
    sum += val[k] * x[col[k]];
  }
  y[row] = sum;
}
// One loop runs over all iterations of all units of a thread.
KERNEL flat(unsigned *steps, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = i + 1, c = 0;
  do {
    if (v == 1) {
      steps[i] = c;
      i += gridDim.x * blockDim.x;
      v = i + 1;
      c = 0;
    } else {
      v = v & 1 ? 3 * v + 1 : v >> 1;
      c++;
    }
    asm volatile("" : "+r"(v));
  } while (i < n);
}
// A warp takes the elements of a row in turn, and nothing combines its lanes.
KERNEL push(const int *__restrict__ ptr, const int *__restrict__ col, int *count, int rows) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, row = t / 32;
  if (row >= rows) return;
  for (int k = ptr[row] + t % 32; k < ptr[row + 1]; k += 32) atomicAdd(&count[col[k]], 1);
}
// Running sums. The compiler knows that the first sum is 0, and stores an integer 0. The branch into the remainder of
// the loop belongs to the remainder.
KERNEL running(const int *__restrict__ ptr, const float *__restrict__ val, float *__restrict__ sums, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  float sum = 0;
#pragma unroll 2
  for (int k = ptr[i], end = ptr[i + 1]; k < end; sum += val[k++]) sums[k] = sum;
}
// Each thread reads a word of each of its records of 128 bytes.
KERNEL records(const int *__restrict__ ptr, const float *__restrict__ val, float *y, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  float sum = 0;
#pragma unroll 1
  for (int k = ptr[i]; k < ptr[i + 1]; k++) sum += val[32 * k];
  y[i] = sum;
}
// All threads share out an array, and the compiler unrolls the loop.
KERNEL fill(float *out, float value, int n) {
#pragma unroll 4
  for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) out[k] = value;
}
