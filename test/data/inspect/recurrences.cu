// Loops whose iterations wait for each other (`waits_…`), and loops that threads can divide (`deals_…`). Their PTX
// is beside this file, for test/unit/inspect-phases.test.ts: nvcc 13.0, in this folder
//   nvcc -w -O3 -arch=sm_90 -ptx recurrences.cu -o recurrences.ptx
#define KERNEL(name)                                                                                       \
  extern "C" __global__ void name(const int *__restrict__ len, const float *__restrict__ a,                \
                                  const unsigned *__restrict__ s, float *f, unsigned *u, int n)
#define UNIT                                      \
  int i = blockIdx.x * blockDim.x + threadIdx.x;  \
  const int m = len[i], next = len[i + 1];
#define ITERATIONS _Pragma("unroll 1") for (int k = 0; k < m; k++)
#define ELEMENTS _Pragma("unroll 1") for (int k = m; k < next; k++)

// The value is only read after the loop.
KERNEL(waits_sine) { UNIT float v = a[i]; ITERATIONS v = v * 0.99f + __sinf(v); f[i] = v; }
KERNEL(waits_root) { UNIT double v = a[i]; ITERATIONS v = sqrt(v) + 1.0; f[i] = v; }
KERNEL(waits_random) { UNIT unsigned x = s[i]; ITERATIONS x = x * 1664525u + 1013904223u; u[i] = x; }
KERNEL(waits_long_random) {
  UNIT unsigned long long x = s[i];
  ITERATIONS x = x * 6364136223846793005u + 7;
  u[i] = x >> 32;
}
KERNEL(waits_xorshift) { UNIT unsigned x = s[i]; ITERATIONS { x ^= x << 13; x ^= x >> 17; x ^= x << 5; } u[i] = x; }
KERNEL(waits_logistic) { UNIT float v = a[i]; ITERATIONS v = 3.7f * v * (1.f - v); f[i] = v; }
KERNEL(waits_swing) { UNIT float v = a[i], w = 0; ITERATIONS { w -= v * 0.1f; v += w * 0.1f; } f[i] = v; }
KERNEL(waits_horner) { UNIT float v = 0; ITERATIONS v = v * a[i] + s[k]; f[i] = v; }
KERNEL(waits_decay) { UNIT float v = 0; ITERATIONS v = v * 0.9f + a[k * n + i]; f[i] = v; }
KERNEL(waits_fibonacci) { UNIT unsigned x = s[i], y = 1; ITERATIONS { unsigned t = x + y; x = y; y = t; } u[i] = x; }
KERNEL(waits_hash) { UNIT unsigned h = 5381; ITERATIONS h = (h ^ s[k * n + i]) * 16777619u; u[i] = h; }
KERNEL(waits_largest) { UNIT float v = 0, w = 0; ELEMENTS { v = fmaxf(0.f, v + a[k]); w = fmaxf(w, v); } f[i] = w; }
KERNEL(waits_table) {
  __shared__ unsigned table[1024];
  table[threadIdx.x] = s[threadIdx.x];
  __syncthreads();
  UNIT unsigned x = 0;
  ELEMENTS x = table[x * 256 + (s[k] & 255)];
  u[i] = x;
}
KERNEL(waits_states) {
  UNIT int x = 0;
  ELEMENTS { unsigned c = s[k]; x = x == 0 ? (c == 34 ? 1 : 0) : (c == 34 ? 0 : c == 92 ? 2 : 1); }
  u[i] = x;
}
// The end of the loop depends on the value.
KERNEL(waits_gcd) { UNIT unsigned x = s[i], y = m; while (y) { unsigned t = x % y; x = y; y = t; } u[i] = x; }
KERNEL(waits_until_random) {
  UNIT unsigned x = s[i], c = m; while ((x & 1023u) != 7u) { x = x * 1664525u + 1013904223u; c++; }
  u[i] = c;
}
KERNEL(waits_until_shifted) {
  UNIT unsigned x = s[i], c = m; while (x % 1000u != 3u) { x ^= x << 13; x ^= x << 5; c++; }
  u[i] = c;
}
KERNEL(waits_digits) { UNIT unsigned x = s[i], c = m; while (x) { c += x % 10; x /= 10; } u[i] = c; }
KERNEL(waits_bits) { UNIT unsigned x = s[i]; float v = m; while (x) { v += a[__ffs(x)]; x &= x - 1; } f[i] = v; }
KERNEL(waits_list) { UNIT unsigned x = s[i], c = m; while (x) { x = s[x]; c++; } u[i] = c; }
KERNEL(waits_search) {
  UNIT int lo = 0, hi = m; while (lo < hi) { int c = (lo + hi) / 2; if (a[c] < f[i]) lo = c + 1; else hi = c; }
  u[i] = lo;
}

KERNEL(deals_sum) { UNIT float v = 0; ELEMENTS v += a[k] * a[s[k]]; f[i] = v; }
KERNEL(deals_double) { UNIT double v = 0; ELEMENTS v += (double)a[k] * a[s[k]]; f[i] = v; }
KERNEL(deals_long) { UNIT long long v = 0; ELEMENTS v += (long long)s[k] * n; u[i] = v >> 3; }
KERNEL(deals_bytes) { UNIT int v = 0; ELEMENTS v = __dp4a((int)s[k], n, v); u[i] = v; }
KERNEL(deals_some) { UNIT float v = 0; int c = 0; ELEMENTS if (s[k] & 1) { v += a[k]; c++; } f[i] = v; u[i] = c; }
KERNEL(deals_until) { UNIT float v = 0; int k = 0; while (v < 100.f && k < m) { v += a[k * n + i]; k++; } f[i] = k; }
KERNEL(deals_product) { UNIT float v = 1; ELEMENTS v *= a[k]; f[i] = v; }
KERNEL(deals_whole_product) { UNIT unsigned v = 1; ELEMENTS v *= s[k]; u[i] = v; }
KERNEL(deals_most) { UNIT float v = 0; ELEMENTS v = fmaxf(v, a[k]); f[i] = v; }
KERNEL(deals_least) { UNIT int v = 99; ELEMENTS v = min(v, (int)s[k]); u[i] = v; }
KERNEL(deals_place) { UNIT float v = 0; int b = -1; ELEMENTS if (a[k] > v) { v = a[k]; b = k; } f[i] = v; u[i] = b; }
KERNEL(deals_xor) { UNIT unsigned v = 0; ELEMENTS v ^= s[k]; u[i] = v; }
KERNEL(deals_or) { UNIT unsigned v = 0; ELEMENTS v |= s[k]; u[i] = v; }
KERNEL(deals_and) { UNIT unsigned v = n; ELEMENTS v &= s[k]; u[i] = v; }
KERNEL(deals_any) { UNIT bool v = false; ELEMENTS v = v || a[k] > 3.f; u[i] = v; }
KERNEL(deals_powers) { UNIT float v = 0; for (int k = 1; k < m; k <<= 1) v += a[k]; f[i] = v; }
KERNEL(deals_ring) { UNIT float v = 0; int r = 0; ELEMENTS { v += a[k] * a[r]; r = r + 1 == n ? 0 : r + 1; } f[i] = v; }
KERNEL(deals_modulo) { UNIT float v = 0; int r = 0; ELEMENTS { v += a[k] * a[r]; r = (r + 1) % n; } f[i] = v; }
KERNEL(deals_buffers) { UNIT float v = 0; int r = 0; ELEMENTS { v += a[k] * a[r]; r = 1 - r; } f[i] = v; }
KERNEL(deals_list) { UNIT int c = 0; ELEMENTS if (a[k] > 0.5f) u[i * 64 + c++] = k; u[i] = c; }
KERNEL(deals_inner) {
  UNIT float v = 0;
  ELEMENTS {
    asm volatile("// lockstep:loop");
    float t = a[k];
    for (int j = 0; j < n; j++) t = __sinf(t) + a[j];
    v += t;
  }
  f[i] = v;
}
// One loop runs over all iterations of all units of a thread, which are in a list.
KERNEL(deals_flat) {
  UNIT float v = next;
  int k = m;
  do {
    v += a[k++];
    if (k >= len[i + 1]) {
      f[i] = v;
      i = s[i];
      k = len[i];
      v = 0;
    }
    asm volatile("" : "+r"(k));
  } while (i < n);
}
// The lanes of a group already take the iterations in turn, and each lane has its own value.
KERNEL(deals_lanes) {
  int i = blockIdx.x;
  float v = 0;
  for (int k = threadIdx.x; k < len[i]; k += blockDim.x) v = v * 0.9f + a[k];
  atomicAdd(f + i, v);
}
