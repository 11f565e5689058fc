// The unit loops that were compiled in: one set of kernels for each number of threads per unit and register cap.
#pragma once

#include "gpu.cuh"

#include <cstdint>
#include <vector>

namespace lockstep {

/// Values that the compiler does not know: what is computed with them changes nothing and is computed all the same.
struct Neutral {
  uint32_t ones = ~0u;
  uint32_t zero = 0;
  float floatZero = 0;
  double doubleZero = 0;
};

/// order: position → unit. lengths: iterations of the unit at each position. blocks: the device's block → the layout's.
/// table: one ring of sectors (`ringNext`). tableMask: its words, a power of two, less one. next: the position to fetch, for kernels that
/// fetch. stride: positions between two units of one slot; for a slot that fetches, positions that it fetches at once.
/// slotsPerBlock: of the first threads of a block; the others fill its last thread group.
struct UnitLoopArguments {
  const uint32_t* order;
  const uint32_t* lengths;
  const uint32_t* blocks;
  const uint32_t* table;
  uint32_t tableMask;
  uint32_t* next;
  uint32_t* results;
  uint32_t units;
  uint32_t stride;
  uint32_t slotsPerBlock;
  Neutral neutral;
};
using UnitLoopKernel = void (*)(UnitLoopArguments);

enum class Dispatch { nested, flattened, fetching, groupFetching };

struct UnitLoops {
  unsigned threadsPerUnit;
  /// 0: none.
  unsigned registerCap;
  /// By dispatch.
  UnitLoopKernel kernels[4];
};

/// Filled before main by every compiled set.
inline std::vector<UnitLoops>& unitLoops() {
  static std::vector<UnitLoops> all;
  return all;
}

}  // namespace lockstep
