#pragma once

#include "host.cuh"
#include "unit-loop.cuh"
#include "words.cuh"

namespace lockstep {

__global__ void fillTable(uint32_t* table, uint32_t words) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
    table[i] = ringNext(i, words);
}

/// Returns the number of words in the table that loads walk: a power of two like `least`, and at least 8 times the
/// device's last cache, so that nearly all loads miss it. Without loads, a sector is enough.
inline uint32_t tableWords(uint32_t least) {
  if (least <= SECTOR_WORDS) return SECTOR_WORDS;
  int device = 0;
  int cacheBytes = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&cacheBytes, cudaDevAttrL2CacheSize, device), "cudaDeviceGetAttribute");
  uint32_t words = least;
  while (words < 1u << 31 && words * sizeof(uint32_t) < 8 * static_cast<size_t>(cacheBytes)) words *= 2;
  return words;
}

/// One table for all cases of a plan, whose launches may alternate. It is not freed at the end.
inline const uint32_t* sharedTable(uint32_t words) {
  static Buffer<uint32_t>* table = nullptr;
  static uint32_t filled = 0;
  if (filled != words) {
    delete table;
    filled = 0;
    table = new Buffer<uint32_t>(words);
    launch(fillTable, std::min(1024u, (words + 255) / 256), 256, table->data(), words);
    check(cudaDeviceSynchronize(), "filling the table");
    filled = words;
  }
  return table->data();
}

inline Dispatch dispatchOf(const Settings& settings) {
  const std::string& dispatch = settings.text("dispatch");
  if (dispatch == "nested") return Dispatch::nested;
  if (dispatch == "flattened") return Dispatch::flattened;
  if (dispatch == "fetching") return Dispatch::fetching;
  if (dispatch == "group-fetching") return Dispatch::groupFetching;
  throw CaseFailure{"dispatch is " + dispatch + ", not nested, flattened, fetching or group-fetching"};
}

/// Reads words that kernels use as positions in memory, so that each must be below `limit`.
inline Words indices(const std::string& path, size_t count, size_t limit) {
  Words words = readWords(path);
  if (words.size() != count)
    throw CaseFailure{path + " has " + std::to_string(words.size()) + " words instead of " + std::to_string(count)};
  for (const uint32_t word : words)
    if (word >= limit)
      throw CaseFailure{path + " names " + std::to_string(word) + ", which is not less than " + std::to_string(limit)};
  return words;
}

struct OrderedUnits {
  OrderedUnits(const Plan& plan, const Words& positions) : order(positions), lengths(orderedLengths(plan, positions)) {}
  Buffer<uint32_t> order;
  Buffer<uint32_t> lengths;

 private:
  static Words orderedLengths(const Plan& plan, const Words& positions) {
    Words ordered(positions.size());
    for (size_t position = 0; position < positions.size(); ++position) ordered[position] = plan.lengths[positions[position]];
    return ordered;
  }
};

/// Keeps the last orders on the device, since reading a million units takes longer than all launches of a case.
inline std::shared_ptr<const OrderedUnits> orderedUnits(const Plan& plan, const std::string& path) {
  constexpr size_t KEPT_BYTES = 256 << 20;
  using Kept = std::pair<std::string, std::shared_ptr<const OrderedUnits>>;
  // This list is never freed, because the driver may end before static objects do. Its first entry was used last.
  static auto& kept = *new std::vector<Kept>();
  const size_t units = plan.lengths.size();
  const auto found = std::find_if(kept.begin(), kept.end(), [&](const Kept& one) { return one.first == path; });
  if (found != kept.end()) {
    std::rotate(kept.begin(), found, found + 1);
    return kept.front().second;
  }
  const size_t most = std::max<size_t>(1, KEPT_BYTES / (2 * sizeof(uint32_t) * std::max<size_t>(units, 1)));
  while (kept.size() >= most) kept.pop_back();
  const Words positions = indices(path, units, units);
  std::shared_ptr<const OrderedUnits> made;
  try {
    made = std::make_shared<const OrderedUnits>(plan, positions);
  } catch (const CaseFailure& failure) {
    if (!failure.noMemory || kept.empty()) throw;
    kept.clear();
    made = std::make_shared<const OrderedUnits>(plan, positions);
  }
  kept.insert(kept.begin(), Kept{path, made});
  return made;
}

inline void runUnitLoop(Case& run) {
  const Settings& settings = run.settings;
  const Plan& plan = run.bench.plan;
  const uint32_t units = static_cast<uint32_t>(plan.lengths.size());
  if (units == 0) throw CaseFailure{"the plan has no units"};
  const unsigned threadsPerUnit = static_cast<unsigned>(settings.whole("u", 1, GROUP_WIDTH));
  const unsigned block = static_cast<unsigned>(settings.whole("block", 1, UINT32_MAX));
  const unsigned grid = static_cast<unsigned>(settings.whole("grid", 1, INT32_MAX));
  const unsigned cap = static_cast<unsigned>(settings.whole("cap", 0, 1024));
  const Dispatch dispatch = dispatchOf(settings);

  const auto compiled = std::find_if(unitLoops().begin(), unitLoops().end(), [&](const UnitLoops& loops) {
    return loops.threadsPerUnit == threadsPerUnit && loops.registerCap == cap;
  });
  if (compiled == unitLoops().end())
    throw CaseFailure{"this program was not compiled for " + std::to_string(threadsPerUnit) +
                      " threads per unit and a register cap of " + std::to_string(cap)};
  if (block % threadsPerUnit != 0)
    throw CaseFailure{"blocks of " + std::to_string(block) + " threads are not a multiple of the " +
                      std::to_string(threadsPerUnit) + " threads per unit"};
  const UnitLoopKernel kernel = compiled->kernels[static_cast<int>(dispatch)];
  // The lanes of a unit exchange values with all lanes of their group, so the last group must be full.
  const unsigned filledBlock = (block + GROUP_WIDTH - 1) / GROUP_WIDTH * GROUP_WIDTH;

  const uint64_t slots = static_cast<uint64_t>(grid) * (block / threadsPerUnit);
  // Every slot fetches once more after the last unit, and the counter must stay within 32 bits.
  const uint64_t fetched = dispatch == Dispatch::fetching ? settings.whole("fetch", 1, UINT32_MAX) : 1;
  if ((dispatch == Dispatch::fetching || dispatch == Dispatch::groupFetching) && slots * fetched + units > UINT32_MAX)
    throw CaseFailure{std::to_string(slots) + " slots that fetch " + std::to_string(fetched) +
                      " units at once are too many for a counter of 32 bits"};

  const auto ordered = orderedUnits(plan, settings.text("order"));
  const Buffer<uint32_t> blocks(indices(settings.text("blocks"), grid, grid));
  const uint32_t words = tableWords(static_cast<uint32_t>(settings.whole("table", SECTOR_WORDS, 1u << 31)));
  const uint32_t* table = sharedTable(words);
  Buffer<uint32_t> next(1);
  Buffer<uint32_t> results(units);
  const size_t sharedBytes =
      reserveShared(kernel, filledBlock, static_cast<unsigned>(settings.whole("resident", 0, UINT32_MAX)));
  const int registers = run.compiled(kernel, filledBlock, true, sharedBytes).numRegs;
  // The assembler exceeds a register cap that is too low for it.
  if (cap > 0 && registers > static_cast<int>(cap))
    throw CaseFailure{"the compiler could not keep to " + std::to_string(cap) + " registers per thread; it used " +
                      std::to_string(registers)};
  const UnitLoopArguments call{
      ordered->order.data(), ordered->lengths.data(), blocks.data(), table, words - 1, next.data(), results.data(), units,
      static_cast<uint32_t>(dispatch == Dispatch::fetching ? fetched : std::min<uint64_t>(slots, units)),
      block / threadsPerUnit, Neutral{}};
  run.repeat(
      [&] {
        next.fill(0);
        results.fill(0xa5);
      },
      [&] {
        check(tryLaunch(kernel, dim3(grid), dim3(filledBlock), sharedBytes, call), "launch");
      },
      [](bool, double) {});

  Comparison comparison("unit");
  comparison.compare(results.read(), plan.expected);
  comparison.report(run, units);
}

}  // namespace lockstep
