// Kernels that compilers unroll, like many public ones. test/unit/inspect-unrolled.test.ts reads their PTX (nvcc 13.0,
// run in this folder, folders removed from the .file lines) and their machine code (nvdisasm 12.5, only the code):
//   nvcc -O3 -lineinfo -arch=sm_90 -ptx unrolled.cu -o unrolled.ptx
//   nvcc -O3 -lineinfo -arch=sm_80 -cubin unrolled.cu -o sm_80.cubin && nvdisasm -c -g sm_80.cubin
#include <cuda_fp16.h>
#include <mma.h>
#define KERNEL extern "C" __global__ void

// Each thread takes a row of a sparse matrix.
KERNEL row(const int *__restrict__ ptr, const int *__restrict__ col, const float *__restrict__ val,
           const float *__restrict__ x, float *y, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  float sum = 0;
  int end = ptr[i + 1];
  for (int k = ptr[i]; k < end; k++) sum += val[k] * x[col[k]];
  y[i] = sum;
}
// Each thread takes a column of a three-dimensional grid.
KERNEL column(const float *__restrict__ in, float *__restrict__ out, int nx, int ny, int nz) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  int at = i + j * nx, plane = nx * ny;
  float below = in[at], here = in[at + plane];
  at += plane;
  for (int k = 1; k < nz - 1; k++) {
    float above = in[at + plane];
    out[at] = 0.5f * here + 0.1f * (below + above) + 0.2f * in[at - nx] + 0.3f * in[at + nx];
    below = here;
    here = above;
    at += plane;
  }
}
// The source itself has four steps per pass, and the loop may end after each of them.
KERNEL steps(int *counts, float scale, int limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, left = limit;
  float cr = i * scale, ci = cr * 0.5f, zr = cr, zi = ci;
  while (left > 4) {
#define STEP                         \
  {                                  \
    float r2 = zr * zr, i2 = zi * zi; \
    if (r2 + i2 > 4.0f) break;       \
    zi = 2.0f * zr * zi + ci;        \
    zr = r2 - i2 + cr;               \
  }
    STEP STEP STEP STEP left -= 4;
  }
  counts[i] = left;
}
// The loop over the data is the loop of the unit, not the one that combines the results of blocks.
KERNEL bins(unsigned *joined, const unsigned *data, unsigned n) {
  __shared__ unsigned own[8 * 256];
  for (int k = threadIdx.x; k < 8 * 256; k += 256) own[k] = 0;
  __syncthreads();
  unsigned *mine = own + threadIdx.x / 32 * 256;
  for (unsigned k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
    unsigned word = data[k];
    atomicAdd(mine + (word & 255), 1u);
    atomicAdd(mine + (word >> 24), 1u);
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < 256; bin += 64) {
    unsigned sum = 0;
    for (int k = 0; k < 8; k++) sum += own[bin + k * 256];
    joined[blockIdx.x * 256 + bin] = sum;
  }
}
// Loads a tile of bodies into shared memory, waits for the whole block, and then computes with the tile.
KERNEL bodies(const float4 *__restrict__ all, float4 *out, int tiles) {
  __shared__ float4 tile[256];
  float4 mine = all[blockIdx.x * 256 + threadIdx.x];
  float ax = 0, ay = 0;
  for (int t = 0; t < tiles; t++) {
    tile[threadIdx.x] = all[t * 256 + threadIdx.x];
    __syncthreads();
#pragma unroll 32
    for (int k = 0; k < 256; k++) {
      float dx = tile[k].x - mine.x, dy = tile[k].y - mine.y;
      float w = tile[k].w * __frsqrt_rn(dx * dx + dy * dy + 0.01f);
      ax += dx * w;
      ay += dy * w;
    }
    __syncthreads();
  }
  out[blockIdx.x * 256 + threadIdx.x] = make_float4(ax, ay, 0, 0);
}
// 32 threads take the elements of a row in turn.
KERNEL lanes(const int *__restrict__ ptr, const float *__restrict__ val, float *y) {
  int i = blockIdx.x, end = ptr[i + 1];
  float sum = 0;
#pragma unroll 4
  for (int k = ptr[i] + threadIdx.x % 32; k < end; k += 32) sum += val[k] * val[k];
  y[i * 32 + threadIdx.x] = sum;
}
// Arithmetic on pairs of halves, and matrices for tensor cores.
KERNEL halves(const __half2 *__restrict__ a, __half2 *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half2 sum = a[i];
#pragma unroll 1
  for (int k = 0; k < n; k++) sum = __hfma2(sum, a[k], sum);
  b[i] = sum;
}
KERNEL tensor(const __half *a, const __half *b, float *c, int n) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
#pragma unroll 1
  for (int k = 0; k < n; k += 16) {
    wmma::load_matrix_sync(left, a + blockIdx.x * 16 * n + k, n);
    wmma::load_matrix_sync(right, b + k, n);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(c + blockIdx.x * 256, sum, 16, wmma::mem_row_major);
}
