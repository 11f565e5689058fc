#pragma once

#include "gpu.cuh"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#ifdef _WIN32
#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace lockstep {

/// The failure of one case. Later cases may still run.
struct CaseFailure {
  std::string message;
  /// Whether the device's memory is full. The case may fit if it runs alone.
  bool noMemory = false;
};

inline void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  throw CaseFailure{std::string(what) + ": " + cudaGetErrorName(code) + ", " + cudaGetErrorString(code),
                    code == cudaErrorMemoryAllocation};
}

// ---------------------------------------------------------------------------------------------------------------- records

/// Numbers that are not finite are omitted, since JSON cannot hold them.
class Record {
 public:
  explicit Record(const char* type) { text("type", type); }

  Record& text(const char* name, const std::string& value) {
    key(name);
    quote(value);
    return *this;
  }
  Record& number(const char* name, double value) {
    if (!std::isfinite(value)) return *this;
    key(name);
    digits(value);
    return *this;
  }
  Record& numberOrNull(const char* name, std::optional<double> value) {
    key(name);
    if (value && std::isfinite(*value))
      digits(*value);
    else
      line_ += "null";
    return *this;
  }
  Record& boolean(const char* name, bool value) {
    key(name);
    line_ += value ? "true" : "false";
    return *this;
  }
  template <class Number>
  Record& numbers(const char* name, const std::vector<Number>& values) {
    key(name);
    line_ += '[';
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) line_ += ',';
      const double value = static_cast<double>(values[i]);
      digits(std::isfinite(value) ? value : 0.0);
    }
    line_ += ']';
    return *this;
  }
  Record& open(const char* name) {
    key(name);
    line_ += '{';
    first_ = true;
    return *this;
  }
  Record& close() {
    line_ += '}';
    first_ = false;
    return *this;
  }
  void print() {
    line_ += "}\n";
    // A lock is needed, since the watchdog prints from another thread.
    static std::mutex printing;
    const std::lock_guard<std::mutex> lock(printing);
    std::fwrite(line_.data(), 1, line_.size(), stdout);
    std::fflush(stdout);
  }

 private:
  void key(const char* name) {
    if (!first_) line_ += ',';
    first_ = false;
    quote(name);
    line_ += ':';
  }
  void digits(double value) {
    char buffer[40];
    // 17 digits are enough to read back the same double.
    std::snprintf(buffer, sizeof buffer, value == std::floor(value) && std::fabs(value) < 1e15 ? "%.0f" : "%.17g", value);
    line_ += buffer;
  }
  void quote(const std::string& value) {
    line_ += '"';
    for (const char character : value) {
      const unsigned char code = static_cast<unsigned char>(character);
      if (code == '"' || code == '\\') {
        line_ += '\\';
        line_ += character;
      } else if (code < 0x20 || code >= 0x7f) {
        // Names of devices are ASCII. Any other character is escaped byte by byte, so that the line stays valid.
        char buffer[8];
        std::snprintf(buffer, sizeof buffer, "\\u%04x", code);
        line_ += buffer;
      } else {
        line_ += character;
      }
    }
    line_ += '"';
  }

  std::string line_ = "{";
  bool first_ = true;
};

// ------------------------------------------------------------------------------------------------------------------- plan

using Words = std::vector<uint32_t>;

/// The `key=value` words of one line of the plan.
class Settings {
 public:
  std::string id;
  std::string benchmark;

  void set(const std::string& key, const std::string& value) { values_[key] = value; }
  const std::string& text(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) throw CaseFailure{"the plan lacks " + key + " of case " + id};
    return found->second;
  }
  uint64_t whole(const std::string& key, uint64_t least, uint64_t most) const {
    const std::string& value = text(key);
    char* end = nullptr;
    errno = 0;
    const unsigned long long number = std::strtoull(value.c_str(), &end, 10);
    if (value.empty() || value[0] == '-' || *end != '\0' || errno != 0 || number < least || number > most)
      throw CaseFailure{key + " is " + value + ", not a whole number from " + std::to_string(least) + " to " +
                        std::to_string(most)};
    return number;
  }
  std::string textOr(const std::string& key, const std::string& otherwise) const {
    return values_.count(key) == 0 ? otherwise : text(key);
  }
  uint64_t wholeOr(const std::string& key, uint64_t otherwise, uint64_t least, uint64_t most) const {
    return values_.count(key) == 0 ? otherwise : whole(key, least, most);
  }

 private:
  std::map<std::string, std::string> values_;
};

struct Plan {
  unsigned warmUps = 0;
  unsigned repeats = 1;
  double caseTimeLimitMs = 60000;
  uint32_t seed = 0;
  unsigned alternating = 1;
  /// Whether the second-level cache is filled with other data before each launch.
  bool flush = false;
  Words lengths;
  Words expected;
  std::vector<Settings> cases;
};

using Bytes = std::vector<unsigned char>;

inline Bytes readBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw CaseFailure{"cannot open " + path};
  const std::streamoff size = file.tellg();
  if (size < 0) throw CaseFailure{"cannot read " + path};
  Bytes bytes(static_cast<size_t>(size));
  file.seekg(0);
  if (size > 0 && !file.read(reinterpret_cast<char*>(bytes.data()), size)) throw CaseFailure{"cannot read " + path};
  return bytes;
}

inline Words readWords(const std::string& path) {
  const Bytes raw = readBytes(path);
  if (raw.size() % 4 != 0) throw CaseFailure{path + " is not made of 32-bit words"};
  Words words(raw.size() / 4);
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = static_cast<uint32_t>(raw[4 * i]) | static_cast<uint32_t>(raw[4 * i + 1]) << 8 |
               static_cast<uint32_t>(raw[4 * i + 2]) << 16 | static_cast<uint32_t>(raw[4 * i + 3]) << 24;
  return words;
}

/// Reads a plan: one setting or case per line, with `lockstep-cuda-plan 1` as first and `end` as last line.
inline Plan readPlan(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw CaseFailure{"cannot open the plan " + path};
  std::string line;
  if (!std::getline(file, line) || line != "lockstep-cuda-plan 1")
    throw CaseFailure{path + " begins with \"" + line + "\", not with \"lockstep-cuda-plan 1\""};
  Plan plan;
  bool complete = false;
  while (!complete && std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "end") {
      complete = true;
      continue;
    }
    Settings settings;
    if (word == "case") words >> settings.id >> settings.benchmark;
    std::string pair;
    while (words >> pair) {
      const size_t equals = pair.find('=');
      if (equals == std::string::npos) throw CaseFailure{path + " has \"" + pair + "\", which is not key=value"};
      settings.set(pair.substr(0, equals), pair.substr(equals + 1));
    }
    if (word == "run") {
      plan.warmUps = static_cast<unsigned>(settings.whole("warm-ups", 0, 1000000));
      plan.repeats = static_cast<unsigned>(settings.whole("repeats", 1, 1000000));
      plan.caseTimeLimitMs = static_cast<double>(settings.whole("case-time-limit-ms", 1, 1000000000));
      plan.seed = static_cast<uint32_t>(settings.whole("seed", 0, UINT32_MAX));
      plan.alternating = static_cast<unsigned>(settings.wholeOr("alternating", 1, 1, 1000));
      const std::string cache = settings.textOr("cache", "warm");
      if (cache != "warm" && cache != "flush") throw CaseFailure{"cache is " + cache + ", not warm or flush"};
      plan.flush = cache == "flush";
    } else if (word == "units") {
      plan.lengths = readWords(settings.text("lengths"));
      plan.expected = readWords(settings.text("expected"));
      if (plan.lengths.size() != plan.expected.size())
        throw CaseFailure{std::to_string(plan.lengths.size()) + " lengths but " + std::to_string(plan.expected.size()) +
                          " expected results"};
    } else if (word == "case") {
      plan.cases.push_back(settings);
    } else {
      throw CaseFailure{path + " has a line that begins with \"" + word + "\", not with run, units, case or end"};
    }
  }
  if (!complete) throw CaseFailure{path + " is cut short: its last line must be \"end\""};
  return plan;
}

// ----------------------------------------------------------------------------------------------------------------- device

/// Makes CUDA number the devices by their place on the bus, as the driver's tools do. It must precede all other calls.
inline void orderDevices() {
#if !defined(LOCKSTEP_HIP) && defined(_WIN32)
  if (std::getenv("CUDA_DEVICE_ORDER") == nullptr) _putenv_s("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
#elif !defined(LOCKSTEP_HIP)
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
#endif
}

template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) {
    check(cudaMalloc(reinterpret_cast<void**>(&data_), std::max<size_t>(count, 1) * sizeof(T)), "cudaMalloc");
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    if (!values.empty())
      check(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy to the device");
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { (void)cudaFree(data_); }

  T* data() const { return data_; }
  size_t count() const { return count_; }
  void fill(int byte) { check(cudaMemset(data_, byte, count_ * sizeof(T)), "cudaMemset"); }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    if (count_ > 0)
      check(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy from the device");
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

template <class... Parameters>
cudaError_t tryLaunch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t sharedBytes,
                      std::decay_t<Parameters>... arguments) {
  void* pointers[] = {static_cast<void*>(&arguments)...};
  return cudaLaunchKernel(kernel, grid, block, pointers, sharedBytes, nullptr);
}

template <class... Parameters>
void launch(void (*kernel)(Parameters...), unsigned grid, unsigned block, std::decay_t<Parameters>... arguments) {
  check(tryLaunch(kernel, dim3(grid), dim3(block), 0, arguments...), "launch");
}

/// How a multiprocessor divides its memory into cache and shared memory. The driver does not report its own choice.
enum class Carveout { driver = -1, mostL1 = 0, mostShared = 100 };
template <class Kernel>
void divideMemory(Kernel* kernel, Carveout carveout) {
#ifdef LOCKSTEP_HIP
  // On HIP devices, the two memories are separate.
  (void)kernel, (void)carveout;
#else
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, static_cast<int>(carveout)),
        "cudaFuncSetAttribute");
#endif
}

/// Returns the dynamic shared memory that limits a multiprocessor to `resident` blocks, as the registers of the real
/// kernel do. Returns 0 if no more blocks fit anyway, or if `resident` is 0.
template <class Kernel>
size_t reserveShared(Kernel* kernel, unsigned block, unsigned resident) {
  constexpr size_t STEP = 256;
  const auto fitting = [&](size_t bytes) {
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(block), bytes),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    return static_cast<unsigned>(blocks);
  };
  divideMemory(kernel, Carveout::driver);
  if (resident == 0 || fitting(0) <= resident) return 0;
  // With less shared memory, fewer than `resident` blocks might fit.
  divideMemory(kernel, Carveout::mostShared);
  int device = 0;
  int limit = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, limit), "cudaFuncSetAttribute");
  // With more memory per block, never more blocks fit, so bisection finds the smallest size that is enough.
  size_t enough = static_cast<size_t>(limit) / STEP;
  if (fitting(enough * STEP) > resident) return enough * STEP;
  for (size_t short_of = 0; enough - short_of > 1;) {
    const size_t middle = (enough + short_of) / 2;
    (fitting(middle * STEP) > resident ? short_of : enough) = middle;
  }
  return enough * STEP;
}

__global__ void occupy(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

/// Tells whether the device was idle for so long that it may have lowered its clocks.
class Activity {
 public:
  using Clock = std::chrono::steady_clock;
  void worked(Clock::time_point now) { last_ = now; }
  bool idle(Clock::time_point now) const { return !last_ || now - *last_ > AWAKE; }

 private:
  /// Devices lower their clocks only after seconds, far later than this.
  static constexpr std::chrono::milliseconds AWAKE{100};
  std::optional<Clock::time_point> last_;
};

/// Measures the time between two events around a launch. The device must be busy while the host submits them: otherwise
/// the first event would be over before the launch arrives, so the time would include work of the host.
class Stopwatch {
 public:
  Stopwatch() {
    check(cudaEventCreate(&start_), "cudaEventCreate");
    check(cudaEventCreate(&stop_), "cudaEventCreate");
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    (void)cudaEventDestroy(start_);
    (void)cudaEventDestroy(stop_);
  }
  /// @param meanwhile runs on the host after everything is submitted
  template <class Work, class Meanwhile>
  double timeNs(Work&& work, Meanwhile&& meanwhile) {
    launch(occupy, 1, 1, HAND_OVER_CYCLES);
    check(cudaEventRecord(start_, nullptr), "cudaEventRecord");
    work();
    check(cudaEventRecord(stop_, nullptr), "cudaEventRecord");
    meanwhile();
    check(cudaEventSynchronize(stop_), "kernel");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_, stop_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e6;
  }

 private:
  /// So many cycles last at least a tenth of a millisecond at any clock; submitting takes a few hundredths.
  static constexpr long long HAND_OVER_CYCLES = 1 << 18;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

/// Values that NVML does not report are missing.
struct Conditions {
  std::optional<double> clockMhz;
  std::optional<double> memoryClockMhz;
  std::optional<double> powerW;
  std::optional<double> temperatureC;
  /// Why clocks are reduced: bits as in NVML's nvmlClocksThrottleReason….
  std::optional<double> throttleReasons;
};

/// NVML belongs to the driver, so it is loaded at run time. Its types and constants are those of nvml.h.
class Nvml {
 public:
  explicit Nvml(const std::string& busId) {
#ifdef _WIN32
    library_ = LoadLibraryA("nvml.dll");
#else
    library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW);
#endif
    if (library_ == nullptr) return;
    const auto init = find<int (*)()>("nvmlInit_v2");
    const auto byBusId = find<int (*)(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    const auto driver = find<int (*)(char*, unsigned)>("nvmlSystemGetDriverVersion");
    clock_ = find<int (*)(void*, int, unsigned*)>("nvmlDeviceGetClockInfo");
    power_ = find<int (*)(void*, unsigned*)>("nvmlDeviceGetPowerUsage");
    temperature_ = find<int (*)(void*, int, unsigned*)>("nvmlDeviceGetTemperature");
    throttle_ = find<int (*)(void*, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons");
    if (init == nullptr || byBusId == nullptr || init() != 0) return;
    char version[96] = "";
    if (driver != nullptr && driver(version, sizeof version) == 0) driver_ = version;
    if (byBusId(busId.c_str(), &device_) != 0) device_ = nullptr;
  }
  Conditions conditions() const {
    Conditions found;
    if (device_ == nullptr) return found;
    constexpr int OF_MULTIPROCESSORS = 1, OF_MEMORY = 2, OF_GPU = 0;
    unsigned value = 0;
    unsigned long long bits = 0;
    if (clock_ && clock_(device_, OF_MULTIPROCESSORS, &value) == 0) found.clockMhz = value;
    if (clock_ && clock_(device_, OF_MEMORY, &value) == 0) found.memoryClockMhz = value;
    if (power_ && power_(device_, &value) == 0) found.powerW = value / 1000.0;
    if (temperature_ && temperature_(device_, OF_GPU, &value) == 0) found.temperatureC = value;
    if (throttle_ && throttle_(device_, &bits) == 0) found.throttleReasons = static_cast<double>(bits);
    return found;
  }
  const std::string& driver() const { return driver_; }

 private:
  template <class Function>
  Function find(const char* name) {
#ifdef _WIN32
    return reinterpret_cast<Function>(GetProcAddress(library_, name));
#else
    return reinterpret_cast<Function>(dlsym(library_, name));
#endif
  }
#ifdef _WIN32
  HMODULE library_ = nullptr;
#else
  void* library_ = nullptr;
#endif
  void* device_ = nullptr;
  int (*clock_)(void*, int, unsigned*) = nullptr;
  int (*power_)(void*, unsigned*) = nullptr;
  int (*temperature_)(void*, int, unsigned*) = nullptr;
  int (*throttle_)(void*, unsigned long long*) = nullptr;
  std::string driver_;
};

inline int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

// ------------------------------------------------------------------------------------------------------------------- cases

/// Exit code of the program if a launch hung (EX_TEMPFAIL of sysexits.h). Another start measures the other cases.
constexpr int EXIT_HUNG = 75;

inline std::string seconds(double milliseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", milliseconds / 1000);
  return text;
}

/// Only the end of the process stops a kernel that does not return. The current case is first reported as failed.
class Watchdog {
 public:
  using Clock = std::chrono::steady_clock;
  Watchdog() : thread_([this] { watch(); }) {}
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() {
    change([this] { ended_ = true; });
    thread_.join();
  }
  /// @param limitMs the limit of the case, for the message
  void arm(const std::string& id, double leftMs, double limitMs) {
    change([&] {
      id_ = id;
      limitMs_ = limitMs;
      deadline_ = Clock::now() + std::chrono::milliseconds(static_cast<long long>(leftMs));
    });
  }
  void disarm() {
    change([this] { deadline_.reset(); });
  }

 private:
  template <class Change>
  void change(Change&& change) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      change();
    }
    changed_.notify_one();
  }
  void watch() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!ended_) {
      if (!deadline_) {
        changed_.wait(lock);
      } else if (Clock::now() < *deadline_) {
        changed_.wait_until(lock, *deadline_);
      } else {
        Record("failed").text("case", id_).text("message", "Stopped within a launch (limit " + seconds(limitMs_) + ").").print();
        std::_Exit(EXIT_HUNG);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Clock::time_point> deadline_;
  std::string id_;
  double limitMs_ = 0;
  bool ended_ = false;
  std::thread thread_;
};

/// Lets several threads run one at a time. Thread 0 chooses which is next.
class Turns {
 public:
  void pass(unsigned to, unsigned own) {
    give(to);
    await(own);
  }
  void give(unsigned to) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      holder_ = to;
      if (to != 0) ++count_;
    }
    changed_.notify_all();
  }
  unsigned count() const { return count_; }
  void await(unsigned own) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return holder_ == own; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned holder_ = 0;
  unsigned count_ = 0;
};

struct Bench {
  int device;
  const Plan& plan;
  const Nvml& nvml;
  Watchdog& watchdog;
  Turns& turns;
  /// A buffer twice as large as the second-level cache. Writing it evicts everything else. Empty if caches stay warm.
  const std::unique_ptr<Buffer<uint32_t>>& other;
};

/// Other cases may run between two launches of a case.
class Case {
 public:
  /// @param turn number of the case's thread in `Turns`
  Case(const Bench& bench, const Settings& settings, unsigned turn) : bench(bench), settings(settings), turn_(turn) {
    begin();
  }
  ~Case() { bench.watchdog.disarm(); }

  const Bench& bench;
  const Settings& settings;

  void sample(unsigned repeat, bool warmUp, double timeNs, const Conditions& conditions) const {
    Record("sample")
        .text("case", settings.id)
        .number("repeat", repeat)
        .boolean("warmUp", warmUp)
        .number("timeNs", timeNs)
        .numberOrNull("clockMhz", conditions.clockMhz)
        .number("memoryClockMhz", conditions.memoryClockMhz.value_or(NAN))
        .number("powerW", conditions.powerW.value_or(NAN))
        .number("temperatureC", conditions.temperatureC.value_or(NAN))
        .number("throttleReasons", conditions.throttleReasons.value_or(NAN))
        .print();
  }

  /// Raises the clocks of an idle device by work of a third of a second at most, far below the limit of launches on a
  /// device that draws a screen. After work, the device is not woken, since this takes longer than a short case.
  void wake() const {
    if (!activity_.idle(Activity::Clock::now())) return;
    constexpr long long CYCLES = 1 << 26;
    launch(occupy, 1, 1, CYCLES);
    check(cudaDeviceSynchronize(), "kernel");
    activity_.worked(Activity::Clock::now());
  }

  /// Runs warm-ups and then repeats at raised clocks. `before` is not timed; `after` is told whether the launch counts.
  template <class Before, class Work, class After>
  void repeat(Before&& before, Work&& work, After&& after) {
    // The initial contents of the cache hardly affect a launch longer than this.
    constexpr double LONG_NS = 5e6;
    Stopwatch stopwatch;
    double lastNs = 0;
    wake();
    launches_ = bench.plan.warmUps + bench.plan.repeats;
    for (done_ = 0; done_ < launches_; ++done_) {
      const bool others = done_ > 0 && pass();
      checkTime();
      before();
      if (bench.plan.flush) {
        bench.other->fill(static_cast<int>(done_));
      } else if (others && lastNs < LONG_NS) {
        // This untimed launch replaces what other cases have left in the cache.
        work();
        before();
      }
      const bool warmUp = done_ < bench.plan.warmUps;
      // The conditions are read now, because the device is busy or was busy just before.
      Conditions conditions;
      lastNs = stopwatch.timeNs(work, [&] { conditions = bench.nvml.conditions(); });
      activity_.worked(Activity::Clock::now());
      sample(warmUp ? done_ : done_ - bench.plan.warmUps, warmUp, lastNs, conditions);
      after(!warmUp, lastNs);
    }
  }

  void checkTime() const {
    const double spentMs = spentBefore_ + sinceBegin();
    if (spentMs <= bench.plan.caseTimeLimitMs) return;
    const std::string launches =
        launches_ == 0 ? "" : ", " + std::to_string(done_) + " of " + std::to_string(launches_) + " launches done";
    throw CaseFailure{"Stopped after " + seconds(spentMs) + " (limit " + seconds(bench.plan.caseTimeLimitMs) + ")" +
                      launches + "."};
  }

  /// @param spills whether all local memory of the kernel consists of spilled registers
  template <class Kernel>
  cudaFuncAttributes compiled(Kernel* kernel, unsigned blockThreads, bool spills, size_t sharedBytes = 0) const {
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(blockThreads), sharedBytes),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    Record("compiled")
        .text("case", settings.id)
        .number("registersPerThread", attributes.numRegs)
        .number("sharedMemoryBytes", static_cast<double>(attributes.sharedSizeBytes + sharedBytes))
        .numberOrNull("spillBytes",
                      spills ? std::optional<double>(static_cast<double>(attributes.localSizeBytes)) : std::nullopt)
        .number("residentBlocks", blocks)
        .print();
    return attributes;
  }

  void checked(bool correct, const std::string& message) const {
    Record("check").text("case", settings.id).boolean("correct", correct).text("message", message).print();
  }

  Record values() const {
    Record record("values");
    record.text("case", settings.id).open("values");
    return record;
  }

 private:
  /// Returns whether any other case ran.
  bool pass() {
    if (bench.plan.alternating == 1) return false;
    bench.watchdog.disarm();
    spentBefore_ += sinceBegin();
    const unsigned before = bench.turns.count();
    bench.turns.pass(0, turn_);
    begin();
    return bench.turns.count() > before + 1;
  }
  void begin() {
    begun_ = std::chrono::steady_clock::now();
    // More than the limit is allowed here, because `checkTime` detects a launch that ends only a little late.
    const double limitMs = bench.plan.caseTimeLimitMs;
    bench.watchdog.arm(settings.id, std::max(0.0, limitMs - spentBefore_) + std::max(500.0, limitMs / 4), limitMs);
  }
  double sinceBegin() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun_).count();
  }

  /// Shared by all cases, one of which runs at a time.
  inline static Activity activity_;

  unsigned turn_;
  unsigned launches_ = 0;
  unsigned done_ = 0;
  double spentBefore_ = 0;
  std::chrono::steady_clock::time_point begun_;
};

/// `what` and the position name a result in the message, such as `unit 5 is 7 instead of 8`.
class Comparison {
 public:
  explicit Comparison(std::string what) : what_(std::move(what)) {}
  void compare(uint64_t at, uint32_t got, uint32_t expected) {
    ++compared_;
    if (got == expected) return;
    if (different_++ == 0)
      first_ = what_ + " " + std::to_string(at) + " is " + std::to_string(got) + " instead of " + std::to_string(expected);
  }
  void compare(const Words& got, const Words& expected) {
    if (got == expected)
      compared_ += got.size();
    else
      for (size_t at = 0; at < expected.size(); ++at) compare(at, got[at], expected[at]);
  }
  void report(const Case& run, uint64_t all) const {
    const std::string of = std::to_string(compared_) + " of " + std::to_string(all) + " results compared";
    run.checked(different_ == 0 && compared_ > 0,
                different_ == 0 ? of : first_ + " (" + of + ", " + std::to_string(different_) + " wrong)");
  }

 private:
  std::string what_;
  std::string first_;
  uint64_t compared_ = 0;
  uint64_t different_ = 0;
};

inline uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Returns at most `most` of the positions 0 … count − 1, evenly spread, always with the first and the last.
inline std::vector<uint64_t> spread(uint64_t count, uint64_t most) {
  const uint64_t chosen = std::min(count, most);
  std::vector<uint64_t> positions(chosen);
  for (uint64_t i = 0; i < chosen; ++i) positions[i] = chosen == 1 ? 0 : i * (count - 1) / (chosen - 1);
  return positions;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.empty() ? NAN : values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace lockstep
