// Kernels whose PTX is beside this file, for test/unit/inspect-phases.test.ts: some of those that a cycle-level simulator
// (GPGPU-Sim) timed. The PTX is what it simulated: nvcc -O3 -arch=sm_70 -ptx, with its comments taken out and its version set
// to one that the simulator reads.
//
// Irregular loops of the kind that Lockstep models. len[i]: iterations of unit i (>= 1).
// slots = threads / U; round j of slot s takes unit j*slots + s (Lockstep's dealing).
#define FULL 0xffffffffu
struct Chain {  // 16 FMAs, one dependent chain: ILP 1
  static __device__ __forceinline__ float step(float a, float b, float c) {
#pragma unroll
    for (int k = 0; k < 16; k++) a = fmaf(a, b, c);
    return a;
  }
};
template <int U> __device__ __forceinline__ float reduce(float a) {
#pragma unroll
  for (int d = U / 2; d > 0; d >>= 1) a += __shfl_xor_sync(FULL, a, d);
  return a;
}
template <int U> __device__ __forceinline__ void nested(const int *__restrict__ len, float *__restrict__ out,
    int units, int m, float b, float c) {
  const int tid = blockIdx.x * blockDim.x + threadIdx.x, lane = tid % U, slots = gridDim.x * blockDim.x / U;
  int i = tid / U;
#pragma unroll 1
  for (int j = 0; j < m; j++, i += slots) {
    float a = i;
    if (i < units) {
      const int n = len[i];
#pragma unroll 1
      for (int k = lane; k < n; k += U) { asm volatile("// lockstep:loop"); a = Chain::step(a, b, c); }
    }
    a = reduce<U>(a);
    if (i < units && lane == 0) out[i] = a;
  }
}
#define NESTED(U) extern "C" __global__ void nested##U(const int *len, float *out, int units, int m, float b, \
    float c) { nested<U>(len, out, units, m, b, c); }
NESTED(1) NESTED(8) NESTED(32)

// 4 chains of 4 FMAs: ILP 4, one thread per unit
extern "C" __global__ void ilp1(const int *__restrict__ len, float *__restrict__ out, int units, int m, float b,
    float c) {
  const int tid = blockIdx.x * blockDim.x + threadIdx.x, slots = gridDim.x * blockDim.x;
  int i = tid;
#pragma unroll 1
  for (int j = 0; j < m; j++, i += slots) {
    if (i >= units) continue;
    const int n = len[i];
    float a0 = i, a1 = 1, a2 = 2, a3 = 3;
#pragma unroll 1
    for (int k = 0; k < n; k++) {
      asm volatile("// lockstep:loop");
#pragma unroll
      for (int q = 0; q < 4; q++) { a0 = fmaf(a0, b, c); a1 = fmaf(a1, b, c); a2 = fmaf(a2, b, c); a3 = fmaf(a3, b,
    c); }
    }
    out[i] = a0 + a1 + a2 + a3;
  }
}
// one loop over all iterations of the slot's units
extern "C" __global__ void flat1(const int *__restrict__ len, float *__restrict__ out, int units, int m, float b,
    float c) {
  const int tid = blockIdx.x * blockDim.x + threadIdx.x, slots = gridDim.x * blockDim.x;
  int i = tid;
  if (i >= units) return;
  int left = len[i];
  float a = i;
#pragma unroll 1
  while (true) {
    asm volatile("// lockstep:loop");
    a = Chain::step(a, b, c);
    if (--left == 0) {
      out[i] = a;
      i += slots;
      if (i >= units) break;
      left = len[i];
      a = i;
    }
  }
}
// CSR SpMV, U threads per row
template <int U> __device__ __forceinline__ void spmv(const int *__restrict__ ptr, const int *__restrict__ col,
    const float *__restrict__ val, const float *__restrict__ x, float *__restrict__ y, int rows, int m) {
  const int tid = blockIdx.x * blockDim.x + threadIdx.x, lane = tid % U, slots = gridDim.x * blockDim.x / U;
  int i = tid / U;
#pragma unroll 1
  for (int j = 0; j < m; j++, i += slots) {
    float a = 0;
    if (i < rows) {
      const int end = ptr[i + 1];
#pragma unroll 1
      for (int k = ptr[i] + lane; k < end; k += U) { asm volatile("// lockstep:loop"); a = fmaf(val[k], x[col[k]],
    a); }
    }
    a = reduce<U>(a);
    if (i < rows && lane == 0) y[i] = a;
  }
}
#define SPMV(U) extern "C" __global__ void spmv##U(const int *p, const int *c, const float *v, const float *x, \
    float *y, int rows, int m) { spmv<U>(p, c, v, x, y, rows, m); }
SPMV(1) SPMV(8)
// One loop over all iterations of the slot's units that stays one: the asm hides that a lane that has not ended
// goes on, from which nvcc makes two nested loops of `flat1` (jump threading), so that lanes wait at the end of every unit.
extern "C" __global__ void flatone1(const int *__restrict__ len, float *__restrict__ out, int units, int m,
    float b, float c) {
  const int tid = blockIdx.x * blockDim.x + threadIdx.x, slots = gridDim.x * blockDim.x;
  int i = tid;
  if (i >= units) return;
  int left = len[i];
  float a = i;
#pragma unroll 1
  do {
    asm volatile("// lockstep:loop");
    a = Chain::step(a, b, c);
    if (--left == 0) {
      out[i] = a;
      i += slots;
      if (i < units) { left = len[i]; a = i; }
    }
    asm volatile("" : "+r"(left));
  } while (left > 0);
}
// each lane fetches its next unit, in one loop
extern "C" __global__ void fetchone1(const int *__restrict__ len, float *__restrict__ out, int units, int *counter,
    float b, float c) {
  int i = atomicAdd(counter, 1);
  if (i >= units) return;
  int left = len[i];
  float a = i;
#pragma unroll 1
  do {
    asm volatile("// lockstep:loop");
    a = Chain::step(a, b, c);
    if (--left == 0) {
      out[i] = a;
      i = atomicAdd(counter, 1);
      if (i < units) { left = len[i]; a = i; }
    }
    asm volatile("" : "+r"(left));
  } while (left > 0);
}
