// Kernels whose PTX is beside this file, for test/unit/inspect.test.ts: nvcc 13.0, in this folder
//   nvcc -O3 -lineinfo -arch=sm_90 -ptx kernels.cu -o kernels.ptx
// and the folders were removed from the .file lines. test/integration/inspect.test.ts compiles them again.

extern "C" __global__ void csr(const int *__restrict__ offsets, const int *__restrict__ columns,
                               const float *__restrict__ values, const float *__restrict__ x, float *y, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = offsets[row]; k < offsets[row + 1]; k++) sum += values[k] * x[columns[k]];
  y[row] = sum;
}

extern "C" __global__ void collatz(const unsigned *start, unsigned *steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = start[i], c = 0;
  while (v != 1) {
    v = v & 1 ? 3 * v + 1 : v >> 1;
    c++;
  }
  steps[i] = c;
}

struct Node {
  int left, right;
  double key;
};

extern "C" __global__ void chase(const Node *nodes, const double *keys, int *out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int at = 0, depth = 0;
    double key = keys[i];
    while (at >= 0) {
      Node node = nodes[at];
      at = key < node.key ? node.left : node.right;
      depth++;
    }
    out[i] = depth;
  }
}

extern "C" __global__ void marked(const int *lengths, float *y, int units) {
  __shared__ float tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= units) return;
  float v = y[i];
  tile[threadIdx.x] = v;
  __syncthreads();
  // All threads do equally many iterations. Without the mark, the loop below would be taken for the loop of the unit.
  for (int k = 0; k < units; k++) {
    asm volatile("// lockstep:loop");
    v = __expf(v * 1.5f + tile[(threadIdx.x + k) & 255]);
  }
  for (int k = lengths[i]; k > 0; k--) v = v * v + 0.25f;
  y[i] = v;
}

extern "C" __global__ void branches(const int *kinds, const float *left, const float *right, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
#pragma unroll 1
  for (int k = kinds[i]; k > 0; k = kinds[k]) {
    if (k & 1) {
      sum += left[k];
      y[k] = sum;
    } else {
      sum *= right[k];
      y[k + n] = sum;
    }
  }
  y[i] = sum;
}

extern "C" __global__ void mandelbrot(int *counts, int width, float scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float cr = (i % width) * scale - 2.0f, ci = (i / width) * scale - 1.0f, zr = 0.0f, zi = 0.0f;
  int count = 0;
  while (zr * zr + zi * zi < 4.0f && count < 1000) {
    float next = zr * zr - zi * zi + cr;
    zi = 2.0f * zr * zi + ci;
    zr = next;
    count++;
  }
  counts[i] = count;
}

extern "C" __global__ void newton(const double *a, double *roots, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = a[i], target = x;
  while (fabs(x * x - target) > 1e-9) x = 0.5 * (x + target / x);
  roots[i] = x;
}

extern "C" __global__ void histogram(const unsigned char *values, unsigned *bins, const int *ends) {
  __shared__ unsigned mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (int k = ends[threadIdx.x]; k < ends[threadIdx.x + 1]; k++) atomicAdd(&mine[values[k]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

// Two resident blocks of 1024 threads leave 32 registers per thread, so the compiler has to spill.
extern "C" __global__ void __launch_bounds__(1024, 2) spilling(const float *in, float *out, int n) {
  float v[48];
  int i = threadIdx.x;
  for (int k = 0; k < 48; k++) v[k] = in[i * 48 + k];
  for (int round = in[i]; round > 0; round--)
    for (int k = 0; k < 48; k++) v[k] = v[k] * v[(k + 7) % 48] + v[(k + 29) % 48];
  for (int k = 0; k < 48; k++) out[i * 48 + k] = v[k];
}

namespace walks {
template <typename Value>
__global__ void walk(const Value *table, Value *out, int n) {
  extern __shared__ int dynamic[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Value at = table[i];
  dynamic[threadIdx.x] = n;
  while (at > 0) at = table[at & 1023] - dynamic[threadIdx.x];
  out[i] = at;
}
template __global__ void walk<int>(const int *, int *, int);
}
