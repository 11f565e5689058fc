// The unit loops in the program: one set of kernels for each number of threads per unit and register cap.
#pragma once

#include "gpu.cuh"

#include <cstdint>
#include <vector>

namespace lockstep {

/// Values that the compiler does not know. Operations with them have no effect, but the compiler cannot remove them.
struct Neutral {
  uint32_t ones = ~0u;
  uint32_t zero = 0;
  float floatZero = 0;
  double doubleZero = 0;
};

struct UnitLoopArguments {
  const uint32_t* order;
  const uint32_t* lengths;
  /// For each block of the device, the block of the layout that it runs.
  const uint32_t* blocks;
  /// A single ring of all sectors (`ringNext`).
  const uint32_t* table;
  /// The number of words in the table, a power of two, minus one.
  uint32_t tableMask;
  /// The next free position, for kernels that fetch.
  uint32_t* next;
  uint32_t* results;
  uint32_t units;
  /// Distance between two units of a slot, in positions; or the number of positions that a slot fetches at once.
  uint32_t stride;
  /// The first threads of a block form this number of slots. Further threads only fill the last thread group.
  uint32_t slotsPerBlock;
  Neutral neutral;
};
using UnitLoopKernel = void (*)(UnitLoopArguments);

enum class Dispatch { nested, flattened, fetching, groupFetching };

struct UnitLoops {
  unsigned threadsPerUnit;
  /// 0 if there is no cap.
  unsigned registerCap;
  UnitLoopKernel kernels[4];
};

/// Returns the sets of kernels. Every compiled set adds itself before main starts.
inline std::vector<UnitLoops>& unitLoops() {
  static std::vector<UnitLoops> all;
  return all;
}

}  // namespace lockstep
