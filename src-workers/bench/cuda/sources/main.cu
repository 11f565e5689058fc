// Measures the cases of a plan on one CUDA or HIP device and prints one JSON line per finding.
//
//   lockstep-cuda --plan FILE [--device N] [--done FILE]   measures; cases listed in FILE, one per line, are skipped
//   --turns                                                reports the case of the next launch, if launches alternate
//
// Exit code 75: a launch hung, and its case is reported as failed. Another start without it measures the other cases.
//
// The paths in the plan are relative to the folder in which the program is started.
#include <random>
#include <set>

#include "devices.cuh"
#include "divergent-loops.cuh"
#include "host.cuh"
#include "launch-grid.cuh"
#include "matrix-power.cuh"
#include "probes.cuh"
#include "run-unit-loop.cuh"

namespace lockstep {
namespace {

void checkCode(int device) {
  cudaFuncAttributes attributes;
  const cudaError_t code = cudaFuncGetAttributes(&attributes, nothing);
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  if (properties.warpSize != static_cast<int>(GROUP_WIDTH))
    throw CaseFailure{"this program was built for thread groups of " + std::to_string(GROUP_WIDTH) + " lanes, but the device has " +
                      std::to_string(properties.warpSize) + ": compile with -DLOCKSTEP_GROUP_WIDTH=" +
                      std::to_string(properties.warpSize)};
  if (code == cudaSuccess) return;
  throw CaseFailure{std::string(cudaGetErrorName(code)) + ": this program, built by " + COMPILER + " " + compiler() +
                    ", does not run on " + architecture(properties)};
}

/// Returns whether the case should be tried again alone, because memory was full.
bool measure(const Bench& bench, const Settings& settings, unsigned turn, bool alone) {
  static const std::map<std::string, void (*)(Case&)> benchmarks = {{"unit-loop", runUnitLoop},
                                                                    {"matrix-power", runMatrixPower},
                                                                    {"divergent-loops", runDivergentLoops},
                                                                    {"launch-grid", runLaunchGrid},
                                                                    {"probe", runProbe}};
  const auto failed = [&](const std::string& message) {
    Record("failed").text("case", settings.id).text("message", message).print();
  };
  try {
    const auto benchmark = benchmarks.find(settings.benchmark);
    if (benchmark == benchmarks.end())
      throw CaseFailure{"benchmark " + settings.benchmark + " does not run on this backend"};
    check(cudaSetDevice(bench.device), "cudaSetDevice");
    Case run(bench, settings, turn);
    benchmark->second(run);
  } catch (const CaseFailure& failure) {
    if (failure.noMemory && !alone) return true;
    failed(failure.message);
  } catch (const std::bad_alloc&) {
    failed("the host has not enough memory");
  }
  return false;
}

struct Running {
  Running(const Settings* settings, unsigned turn, bool alone) : settings(settings), turn(turn), alone(alone) {}
  const Settings* settings;
  unsigned turn;
  bool alone;
  bool ended = false;
  bool again = false;
  std::thread thread;
};

/// Launches cases in random order, so that changes of the device affect all alike. Returns false if the device is lost.
bool measureAll(const Bench& bench, std::vector<const Settings*> cases, bool sayTurns) {
  std::mt19937 random(bench.plan.seed);
  std::vector<std::unique_ptr<Running>> running;
  std::reverse(cases.begin(), cases.end());
  std::vector<const Settings*> crowded;
  unsigned turns = 0;
  const Running* last = nullptr;
  const auto begin = [&](const Settings* settings, bool alone) {
    running.push_back(std::make_unique<Running>(settings, ++turns, alone));
    Running& one = *running.back();
    one.thread = std::thread([&bench, &one] {
      bench.turns.await(one.turn);
      one.again = measure(bench, *one.settings, one.turn, one.alone);
      one.ended = true;
      bench.turns.give(0);
    });
  };
  while (!cases.empty() || !running.empty() || !crowded.empty()) {
    size_t at;
    if (!cases.empty() && running.size() < bench.plan.alternating) {
      begin(cases.back(), bench.plan.alternating == 1);
      cases.pop_back();
      at = running.size() - 1;
    } else if (!running.empty()) {
      at = random() % running.size();
    } else {
      begin(crowded.back(), true);
      crowded.pop_back();
      at = 0;
    }
    Running& one = *running[at];
    if (sayTurns && bench.plan.alternating > 1 && &one != last) Record("turn").text("case", one.settings->id).print();
    last = &one;
    bench.turns.pass(one.turn, 0);
    if (!one.ended) continue;
    one.thread.join();
    const std::string id = one.settings->id;
    if (one.again) crowded.push_back(one.settings);
    last = nullptr;
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
    // The error of a rejected launch disappears when it is read. An error of the device itself stays.
    (void)cudaGetLastError();
    const cudaError_t left = cudaDeviceSynchronize();
    if (left == cudaSuccess) continue;
    const std::string hint = left == cudaErrorLaunchTimeout
                                 ? "; it draws a screen, so the system ends long launches: measure fewer units (--units), use another "
                                   "device, or raise TdrDelay on Windows"
                                 : "";
    Record("lost").text("message", std::string("the device stopped with ") + cudaGetErrorName(left) + ", " +
                                       cudaGetErrorString(left) + ", in case " + id + hint).print();
    return false;
  }
  return true;
}

std::set<std::string> readDone(const std::string& path) {
  std::set<std::string> done;
  std::ifstream file(path);
  if (!file) throw CaseFailure{"cannot open " + path};
  std::string line;
  while (std::getline(file, line)) done.insert(line);
  return done;
}

int program(int count, char** words) {
  std::string planPath;
  std::string donePath;
  bool sayTurns = false;
  int device = 0;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto next = [&]() -> std::string {
      if (i + 1 >= count) throw CaseFailure{word + " needs a value"};
      return words[++i];
    };
    if (word == "--plan")
      planPath = next();
    else if (word == "--done")
      donePath = next();
    else if (word == "--turns")
      sayTurns = true;
    else if (word == "--device") {
      const std::string value = next();
      char* end = nullptr;
      device = static_cast<int>(std::strtol(value.c_str(), &end, 10));
      if (value.empty() || *end != '\0') throw CaseFailure{"device " + value + " is not a number"};
    } else {
      throw CaseFailure{"unknown option " + word + ". Use --plan FILE [--device N] [--done FILE] [--turns]"};
    }
  }
  const int devices = countDevices();
  if (device < 0 || device >= devices)
    throw CaseFailure{"device " + std::to_string(device) + " does not exist; this machine has " + std::to_string(devices)};
  const Plan plan = readPlan(planPath);
  const std::set<std::string> done = donePath.empty() ? std::set<std::string>() : readDone(donePath);
  const auto start = std::chrono::steady_clock::now();
  check(cudaSetDevice(device), "cudaSetDevice");
  const Nvml nvml(busId(device));
  describe(device, nvml);
  checkCode(device);
  Watchdog watchdog;
  Turns turns;
  std::unique_ptr<Buffer<uint32_t>> other;
  if (plan.flush) other = std::make_unique<Buffer<uint32_t>>(2 * std::max(attribute(cudaDevAttrL2CacheSize, device), 1 << 20) / 4);
  const Bench bench{device, plan, nvml, watchdog, turns, other};
  std::vector<const Settings*> cases;
  for (const Settings& settings : plan.cases)
    if (done.count(settings.id) == 0) cases.push_back(&settings);
  // Threads of other cases may still wait for their turn, so the process ends without joining them.
  if (!measureAll(bench, std::move(cases), sayTurns)) std::_Exit(1);
  Record("done")
      .number("elapsedMs", std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count())
      .print();
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int count, char** words) {
  try {
    return lockstep::program(count, words);
  } catch (const lockstep::CaseFailure& failure) {
    lockstep::Record("lost").text("message", failure.message).print();
    return 1;
  }
}
