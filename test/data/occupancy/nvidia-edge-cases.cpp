// Prints launches at the limits of the occupancy rules, with the answer of NVIDIA's own function. To write the table:
//   g++ -I"$CUDA_HOME/include" -o /tmp/edges nvidia-edge-cases.cpp && /tmp/edges 800 > nvidia-edge-cases.csv
// Another number of rows or another seed (the second argument) gives new rows for a test.
// The device properties are those that the CUDA runtime reports for each compute capability.
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "cuda_occupancy.h"

struct Capability {
  int major, minor, threadsPerSm, registersPerBlock, registersPerSm, sharedKib, optInKib;
};

static const std::vector<Capability> capabilities = {
    {3, 5, 2048, 65536, 65536, 48, 48},     {3, 7, 2048, 65536, 131072, 112, 48},  {5, 0, 2048, 65536, 65536, 64, 48},
    {5, 2, 2048, 65536, 65536, 96, 48},     {5, 3, 2048, 32768, 65536, 64, 48},    {6, 0, 2048, 65536, 65536, 64, 48},
    {6, 1, 2048, 65536, 65536, 96, 48},     {6, 2, 2048, 32768, 65536, 64, 48},    {7, 0, 2048, 65536, 65536, 96, 96},
    {7, 2, 2048, 65536, 65536, 96, 96},     {7, 5, 1024, 65536, 65536, 64, 64},    {8, 0, 2048, 65536, 65536, 164, 163},
    {8, 6, 1536, 65536, 65536, 100, 99},    {8, 7, 1536, 65536, 65536, 164, 163},  {8, 8, 1536, 65536, 65536, 100, 99},
    {8, 9, 1536, 65536, 65536, 100, 99},
    {9, 0, 2048, 65536, 65536, 228, 227},   {10, 0, 2048, 65536, 65536, 228, 227}, {10, 1, 1536, 65536, 65536, 228, 227},
    {10, 3, 2048, 65536, 65536, 228, 227},  {11, 0, 1536, 65536, 65536, 228, 227}, {12, 0, 1536, 65536, 65536, 100, 99},
    {12, 1, 1536, 65536, 65536, 100, 99},
};

static const std::vector<int> edgeBlocks = {1,   2,   31,  32,  33,  63,  64,  65,  96,  97,   127,  128,  129, 160,
                                            192, 193, 255, 256, 257, 384, 511, 512, 513, 640,  672,  768,  769, 832,
                                            896, 992, 993, 1023, 1024, 1025, 1056, 2048, 65535};
static const std::vector<int> edgeRegisters = {0,  1,  7,  8,  9,  16,  17,  24,  25,  31,  32,  33,  40,  41,   48,
                                               56, 63, 64, 65, 80, 81,  96,  97,  112, 128, 129, 168, 169, 200,  224,
                                               254, 255, 256, 257, 300, 65535};

int main(int argc, char** argv) {
  const int rows = argc > 1 ? std::atoi(argv[1]) : 800;
  std::mt19937 random(argc > 2 ? std::atoi(argv[2]) : 1);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::printf("compute_capability,block_threads,registers_per_thread,dynamic_shared_memory_bytes,blocks_per_sm,limiting_factors\n");
  for (int row = 0; row < rows; row++) {
    const Capability& c = capabilities[row % capabilities.size()];
    const int shared = c.sharedKib * 1024;
    const std::vector<int> edgeShared = {0,     1,          127,           128,         129,           255,        256,
                                         257,   1023,       1024,          1025,        49151,         49152,      49153,
                                         65535, 65536,      shared - 2048, shared - 1025, shared - 1024, shared - 1023, shared - 1,
                                         shared, shared + 1, 2 * shared,    shared / 2,  shared / 2 - 1024, shared / 4 - 1024,
                                         shared / 8 - 1024, shared / 16 - 1024, shared / 24 - 1024};
    const int block = below(2) ? edgeBlocks[below(edgeBlocks.size())] : 1 + below(1100);
    const int registers = below(2) ? edgeRegisters[below(edgeRegisters.size())] : below(260);
    int bytes = below(2) ? edgeShared[below(edgeShared.size())] : below(shared / (1 + below(32)));
    if (bytes < 0 || below(6) == 0) bytes = 0;

    cudaOccDeviceProp device;
    device.computeMajor = c.major;
    device.computeMinor = c.minor;
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = c.threadsPerSm;
    device.regsPerBlock = c.registersPerBlock;
    device.regsPerMultiprocessor = c.registersPerSm;
    device.warpSize = 32;
    device.sharedMemPerBlock = 49152;
    device.sharedMemPerMultiprocessor = shared;
    device.numSms = 1;
    device.sharedMemPerBlockOptin = c.optInKib * 1024;
    device.reservedSharedMemPerBlock = c.major >= 8 ? 1024 : 0;
    cudaOccFuncAttributes kernel;
    kernel.maxThreadsPerBlock = 1024;
    kernel.numRegs = registers;
    kernel.sharedSizeBytes = 0;
    kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = INT_MAX;
    kernel.numBlockBarriers = 0;
    cudaOccDeviceState state;
    cudaOccResult result;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, block, bytes) != CUDA_OCC_SUCCESS) {
      std::fprintf(stderr, "the header refused %d.%d %d %d %d\n", c.major, c.minor, block, registers, bytes);
      return 1;
    }
    std::printf("%d.%d,%d,%d,%d,%d,%u\n", c.major, c.minor, block, registers, bytes, result.activeBlocksPerMultiprocessor,
                result.limitingFactors);
  }
}
