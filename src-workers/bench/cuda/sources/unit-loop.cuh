// The unit loops that were compiled in: one set of kernels for each register cap.
#pragma once

#include "gpu.cuh"

#include <cstdint>
#include <vector>

namespace lockstep {

/// order: position → unit. lengths: iterations of the unit at each position. blocks: the device's block → the layout's.
/// next: the position to fetch, for kernels that fetch. stride: positions between two units of one slot; for a slot that fetches,
/// positions that it fetches at once.
using UnitLoopKernel = void (*)(const uint32_t* order, const uint32_t* lengths, const uint32_t* blocks,
                                const uint32_t* table, uint32_t* next, uint32_t* results, uint32_t units,
                                uint32_t stride);

enum class Dispatch { nested, flattened, fetching, groupFetching };

struct UnitLoops {
  /// 0: none.
  unsigned registerCap;
  /// Words of the table that loads walk.
  uint32_t tableWords;
  /// [dispatch][log2 of the threads per unit]
  UnitLoopKernel kernels[4][6];
};

/// Filled before main by every compiled set.
inline std::vector<UnitLoops>& unitLoops() {
  static std::vector<UnitLoops> all;
  return all;
}

}  // namespace lockstep
