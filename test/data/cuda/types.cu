#include <cstdint>
struct Pair { float weight; int32_t place; };
struct Limits { double least; int64_t most; char name[8]; };
namespace own {
template <class T, int TIMES>
__global__ void copy(const int8_t* a, const unsigned char* b, const short* c, const unsigned long long* d, const double* e,
                     const Pair* f, Limits limits, bool twice, long long offset, float scale, unsigned n,
                     unsigned long long* sums, double* products, Pair* pairs, unsigned short* sizes) {
  extern SHARED T held[];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  held[threadIdx.x] = i < n ? f[i].place : 0;
  __syncthreads();
  if (i >= n) return;
  sums[i] = d[i] + a[i] + b[i] + c[i] + offset + (twice ? limits.most : 0);
  products[i] = e[i] * scale + limits.least;
  pairs[i] = {f[i].weight, held[(threadIdx.x + 1) % n] * TIMES * FACTOR};
  sizes[i] = static_cast<unsigned short>(limits.name[0] + PLUS);
}
}  // namespace own
int main() { return 1; }
