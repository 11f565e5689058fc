// Computes powers of small matrices, one power per unit. The time of a work group is compared with the times of its
// units (Swatman et al. 2022, Algorithm 1, doi:10.1109/MASCOTS56607.2022.00026).
#pragma once

#include "host.cuh"
#include "words.cuh"

namespace lockstep {

/// Rows and columns, as in the paper. If matrices were much smaller, reading the clock would dominate the time.
constexpr unsigned MATRIX = 16;
constexpr unsigned CELLS = MATRIX * MATRIX;
/// 8 MiB in total. Further units use the matrices again.
constexpr unsigned MATRICES = 8192;
constexpr unsigned MATRIX_BLOCK = 256;
/// Number of units whose result the CPU also computes, and number of groups whose cycles are reported one by one.
constexpr uint64_t MATRIX_CHECKED = 256;
constexpr uint64_t MATRIX_GROUPS_TOLD = 1024;

__host__ __device__ inline uint32_t matrixCell(uint32_t matrix, uint32_t cell) {
  return mix(matrix * CELLS + cell + 0x2545f491u);
}

/// Fills the matrices. Their layout is cell-major, so the lanes of a group read neighbouring words.
__global__ void fillMatrices(uint32_t* matrices) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < MATRICES * CELLS; i += gridDim.x * blockDim.x)
    matrices[i] = matrixCell(i % MATRICES, i / MATRICES);
}

/// Runs one work group of n units in each thread group; lanes beyond n leave at once. All numbers are modulo 2^32, so
/// that the CPU gets the same results.
/// @param own cycles until the unit itself was done
/// @param whole cycles until the last unit of its group was done
template <bool SYNCHRONISED>
__global__ void matrixPower(const uint32_t* __restrict__ matrices, const uint32_t* __restrict__ lengths, uint32_t groups,
                            uint32_t unitsPerGroup, uint32_t* __restrict__ digests, uint32_t* __restrict__ own,
                            uint32_t* __restrict__ whole) {
  const uint32_t lane = threadIdx.x % GROUP_WIDTH;
  const uint32_t group = blockIdx.x * (MATRIX_BLOCK / GROUP_WIDTH) + threadIdx.x / GROUP_WIDTH;
  if (group >= groups || lane >= unitsPerGroup) return;
  const LaneMask mask = unitsPerGroup == GROUP_WIDTH ? ALL_LANES : (LaneMask(1) << unitsPerGroup) - 1;
  (void)mask;
  const uint32_t unit = group * unitsPerGroup + lane;
  const uint32_t length = lengths[unit];
  uint32_t depth = length;
  for (uint32_t other = 0; other < unitsPerGroup; ++other) {
    const uint32_t theirs = __shfl_sync(mask, length, static_cast<int>(other));
    depth = theirs > depth ? theirs : depth;
  }
  const uint32_t* __restrict__ matrix = matrices + unit % MATRICES;

  uint32_t power[CELLS];
  for (uint32_t cell = 0; cell < CELLS; ++cell) power[cell] = cell % (MATRIX + 1) == 0 ? 1 : 0;

  const auto multiply = [&] {
#pragma unroll 1
    for (uint32_t row = 0; row < MATRIX; ++row) {
      uint32_t product[MATRIX] = {};
      // Only a few columns of loads are in flight at a time, since the loads of all columns would not fit in registers.
#pragma unroll 4
      for (uint32_t k = 0; k < MATRIX; ++k) {
        const uint32_t factor = power[row * MATRIX + k];
#pragma unroll
        for (uint32_t column = 0; column < MATRIX; ++column)
          product[column] += factor * matrix[(k * MATRIX + column) * MATRICES];
      }
#pragma unroll
      for (uint32_t column = 0; column < MATRIX; ++column) power[row * MATRIX + column] = product[column];
    }
  };

  __syncwarp(mask);
  const long long start = clock64();
  long long ready = start;
  if constexpr (SYNCHRONISED) {
    // Lanes that are done stay in the loop, so that all lanes synchronise the same number of times.
#pragma unroll 1
    for (uint32_t k = 0; k < depth; ++k) {
      if (k < length) {
        multiply();
        ready = clock64();
      }
      __syncwarp(mask);
    }
  } else {
#pragma unroll 1
    for (uint32_t k = 0; k < length; ++k) {
      multiply();
      ready = clock64();
    }
  }
  const long long end = clock64();
  // The group is done when its last lane is done, whether or not lanes wait for each other.
  long long last = end;
  for (uint32_t other = 0; other < unitsPerGroup; ++other) {
    const long long theirs = __shfl_sync(mask, end, static_cast<int>(other));
    last = theirs > last ? theirs : last;
  }

  uint32_t digest = 0;
  for (uint32_t cell = 0; cell < CELLS; ++cell) digest = mix(digest + power[cell]);
  digests[unit] = digest;
  own[unit] = static_cast<uint32_t>(ready - start);
  whole[unit] = static_cast<uint32_t>(last - start);
}

inline uint32_t matrixPowerOnHost(uint32_t unit, uint32_t length) {
  std::vector<uint32_t> power(CELLS, 0);
  for (unsigned i = 0; i < MATRIX; ++i) power[i * MATRIX + i] = 1;
  std::vector<uint32_t> product(CELLS);
  for (uint32_t iteration = 0; iteration < length; ++iteration) {
    for (unsigned row = 0; row < MATRIX; ++row)
      for (unsigned column = 0; column < MATRIX; ++column) {
        uint32_t sum = 0;
        for (unsigned k = 0; k < MATRIX; ++k)
          sum += power[row * MATRIX + k] * matrixCell(unit % MATRICES, k * MATRIX + column);
        product[row * MATRIX + column] = sum;
      }
    power = product;
  }
  uint32_t digest = 0;
  for (const uint32_t cell : power) digest = mix(digest + cell);
  return digest;
}

/// Returns the random bits number `index` of the stream `seed`: the finaliser of splitmix64 (Steele, Lea, Flood 2014,
/// doi:10.1145/2660193.2660195) applied to a counter, so that the draw of any unit can be computed alone.
inline uint32_t randomWord(uint32_t seed, uint64_t index) {
  uint64_t z = (static_cast<uint64_t>(seed) << 32) + (index + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return static_cast<uint32_t>((z ^ (z >> 31)) >> 32);
}

/// A law is a rising list of lengths l, each after 2^32 · P(length <= l). The last takes the remaining probability.
inline Words drawLengths(const Words& law, uint64_t units, uint32_t seed) {
  const size_t points = law.size() / 2;
  if (points == 0 || law.size() % 2 != 0) throw CaseFailure{"a law of lengths must consist of pairs of words"};
  Words cumulative(points - 1);
  for (size_t i = 0; i + 1 < points; ++i) cumulative[i] = law[2 * i];
  Words lengths(units);
  for (uint64_t unit = 0; unit < units; ++unit) {
    const uint32_t drawn = randomWord(seed, unit);
    const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), drawn) - cumulative.begin();
    lengths[unit] = law[2 * static_cast<size_t>(found) + 1];
  }
  return lengths;
}

inline void runMatrixPower(Case& run) {
  const Settings& settings = run.settings;
  const uint32_t n = static_cast<uint32_t>(settings.whole("n", 1, GROUP_WIDTH));
  const uint64_t groups = settings.whole("groups", 1, 1u << 24);
  const bool synchronised = settings.whole("synchronised", 0, 1) == 1;
  const std::string& execution = settings.text("execution");
  if (execution != "lockstep" && execution != "independent")
    throw CaseFailure{"execution is " + execution + ", not lockstep or independent"};
  const uint64_t units = groups * n;
  const Words lengths = drawLengths(readWords(settings.text("law")), units, run.bench.plan.seed);

  const uint32_t together = execution == "lockstep" ? n : 1;
  const uint32_t launched = static_cast<uint32_t>(units / together);
  const unsigned grid = (launched + MATRIX_BLOCK / GROUP_WIDTH - 1) / (MATRIX_BLOCK / GROUP_WIDTH);
  const auto kernel = synchronised ? matrixPower<true> : matrixPower<false>;

  const Buffer<uint32_t> matrices(MATRICES * CELLS);
  const Buffer<uint32_t> lengthsOnDevice(lengths);
  Buffer<uint32_t> digests(units);
  const Buffer<uint32_t> own(units);
  const Buffer<uint32_t> whole(units);
  launch(fillMatrices, 256, 256, matrices.data());
  check(cudaDeviceSynchronize(), "filling the matrices");

  run.compiled(kernel, MATRIX_BLOCK, false);

  std::vector<double> meanLoss, aggregateLoss, lockstepTotal, ownTotal;
  std::vector<double> groupLockstep(groups), groupOwn(groups);
  run.repeat([&] { digests.fill(0xa5); },
             [&] {
               launch(kernel, grid, MATRIX_BLOCK, matrices.data(), lengthsOnDevice.data(), launched, together,
                      digests.data(), own.data(), whole.data());
             },
             [&](bool counts, double) {
               if (!counts) return;
               const Words ownCycles = own.read();
               const Words wholeCycles = whole.read();
               double sumOfLosses = 0, lockstepSum = 0, ownSum = 0;
               for (uint64_t group = 0; group < groups; ++group) {
                 double lockstep = 0, alone = 0;
                 for (uint64_t unit = group * n; unit < (group + 1) * n; ++unit) {
                   lockstep += wholeCycles[unit];
                   alone += ownCycles[unit];
                 }
                 groupLockstep[group] = lockstep;
                 groupOwn[group] = alone;
                 // A group without work has no loss.
                 sumOfLosses += alone > 0 ? lockstep / alone : 1;
                 lockstepSum += lockstep;
                 ownSum += alone;
               }
               meanLoss.push_back(sumOfLosses / static_cast<double>(groups));
               aggregateLoss.push_back(ownSum > 0 ? lockstepSum / ownSum : 1);
               lockstepTotal.push_back(lockstepSum);
               ownTotal.push_back(ownSum);
             });

  double expectedMeanLoss = 0, iterations = 0, lockstepIterations = 0;
  std::vector<double> depth(groups), work(groups);
  for (uint64_t group = 0; group < groups; ++group) {
    for (uint64_t unit = group * n; unit < (group + 1) * n; ++unit) {
      depth[group] = std::max(depth[group], static_cast<double>(lengths[unit]));
      work[group] += lengths[unit];
    }
    expectedMeanLoss += work[group] > 0 ? n * depth[group] / work[group] : 1;
    iterations += work[group];
    lockstepIterations += n * depth[group];
  }
  std::vector<double> toldLockstep, toldOwn, toldDepth, toldWork;
  for (const uint64_t group : spread(groups, MATRIX_GROUPS_TOLD)) {
    toldLockstep.push_back(groupLockstep[group]);
    toldOwn.push_back(groupOwn[group]);
    toldDepth.push_back(depth[group]);
    toldWork.push_back(work[group]);
  }
  Record values = run.values();
  // Separate units do not wait for each other, so they have no loss.
  if (together > 1 || n == 1) values.numbers("meanLoss", meanLoss).numbers("aggregateLoss", aggregateLoss);
  values.numbers("lockstepCycles", lockstepTotal)
      .numbers("ownCycles", ownTotal)
      .number("meanLossOfLengths", expectedMeanLoss / static_cast<double>(groups))
      .number("aggregateLossOfLengths", iterations > 0 ? lockstepIterations / iterations : 1)
      .number("iterations", iterations)
      .number("lockstepIterations", lockstepIterations)
      .numbers("groupLockstepCycles", toldLockstep)
      .numbers("groupOwnCycles", toldOwn)
      .numbers("groupDepth", toldDepth)
      .numbers("groupIterations", toldWork)
      .close()
      .print();

  Comparison comparison("power of unit");
  const Words got = digests.read();
  for (const uint64_t unit : spread(units, MATRIX_CHECKED))
    comparison.compare(unit, got[unit], matrixPowerOnHost(static_cast<uint32_t>(unit), lengths[unit]));
  comparison.report(run, units);
}

}  // namespace lockstep
