// Host of a person's own kernel: reads its arguments, times its launches by events, compares its outputs with their references. The file that
// includes this is generated (bench/kernel/cuda-program.ts); it is started in the folder of the arguments' files, and prints what
// bench/program/output.ts reads.
#pragma once

#include "host.cuh"

namespace lockstep {

/// What names in braces stand for in a manifest.
struct KernelLaunch {
  uint64_t units = 0;
  uint64_t unitsPerThread = 0;
  uint64_t blockThreads = 0;
  uint64_t threadsPerUnit = 0;
  uint64_t gridBlocks = 0;
  uint64_t firstUnit = 0;
  uint64_t launchUnits = 0;
};

enum class Element { u32, i32, f32, f64 };

struct KernelArgument {
  const char* name;
  Element type;
  /// File of an input, or of what an output holds before each launch; null of a scalar and of zeros; "order" for that of the design.
  const char* file;
  /// Elements of an output; 0 of everything else.
  uint64_t count;
  /// File that an output is compared with; null where it is not.
  const char* reference;
  double absolute;
  double relative;
};

using LaunchKernel = void (*)(const KernelLaunch&, void* const*);

inline size_t elementBytes(Element type) { return type == Element::f64 ? 8 : 4; }

template <class T>
double elementAs(const unsigned char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<double>(value);
}

inline double elementAt(Element type, const Bytes& bytes, size_t at) {
  const unsigned char* element = bytes.data() + at * elementBytes(type);
  switch (type) {
    case Element::u32:
      return elementAs<uint32_t>(element);
    case Element::i32:
      return elementAs<int32_t>(element);
    case Element::f32:
      return elementAs<float>(element);
    default:
      return elementAs<double>(element);
  }
}

/// `--name value` words.
class KernelOptions {
 public:
  KernelOptions(int count, char** words) {
    for (int i = 1; i + 1 < count; i += 2) values_[words[i]] = words[i + 1];
  }
  const std::string& text(const char* name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) throw CaseFailure{std::string("specify ") + name};
    return found->second;
  }
  uint64_t whole(const char* name) const { return std::strtoull(text(name).c_str(), nullptr, 10); }

 private:
  std::map<std::string, std::string> values_;
};

/// `--launches FIRST:UNITS:THREADS:BLOCKS,…`
inline std::vector<KernelLaunch> readLaunches(const KernelOptions& options) {
  std::vector<KernelLaunch> launches;
  std::istringstream list(options.text("--launches"));
  for (std::string text; std::getline(list, text, ',');) {
    KernelLaunch launch;
    launch.units = options.whole("--units");
    launch.unitsPerThread = options.whole("--units-per-thread");
    launch.blockThreads = options.whole("--block");
    char colon = ' ';
    std::istringstream numbers(text);
    numbers >> launch.firstUnit >> colon >> launch.launchUnits >> colon >> launch.threadsPerUnit >> colon >> launch.gridBlocks;
    if (!numbers) throw CaseFailure{"--launches has " + text + ", which is not FIRST:UNITS:THREADS:BLOCKS"};
    launches.push_back(launch);
  }
  return launches;
}

class KernelArrays {
 public:
  KernelArrays(const KernelArgument* arguments, size_t count, const KernelOptions& options)
      : arguments_(arguments), pointers_(count), initial_(count) {
    for (size_t i = 0; i < count; ++i) {
      const KernelArgument& argument = arguments[i];
      if (argument.file == nullptr && argument.count == 0) {
        buffers_.push_back(nullptr);
        continue;
      }
      if (argument.file != nullptr)
        initial_[i] = readBytes(std::string(argument.file) == "order" ? options.text("--order") : argument.file);
      else
        initial_[i] = Bytes(argument.count * elementBytes(argument.type));
      buffers_.push_back(std::make_unique<Buffer<unsigned char>>(initial_[i]));
      pointers_[i] = buffers_[i]->data();
      if (argument.count == 0) initial_[i] = Bytes();
    }
  }
  void* const* pointers() const { return pointers_.data(); }

  /// Outputs as they are before a launch: it may add to what it finds.
  void restore() {
    for (size_t i = 0; i < initial_.size(); ++i)
      if (!initial_[i].empty())
        check(cudaMemcpy(buffers_[i]->data(), initial_[i].data(), initial_[i].size(), cudaMemcpyHostToDevice),
              "cudaMemcpy to the device");
  }

  void compare() const {
    bool correct = true;
    double maxError = 0;
    for (size_t i = 0; i < initial_.size(); ++i) {
      const KernelArgument& argument = arguments_[i];
      if (argument.reference == nullptr) continue;
      const Bytes found = buffers_[i]->read();
      const Bytes reference = readBytes(argument.reference);
      for (size_t at = 0; at < argument.count; ++at) {
        const double expected = elementAt(argument.type, reference, at);
        const double element = elementAt(argument.type, found, at);
        const double error = std::fabs(element - expected);
        if (!(error <= maxError)) maxError = error;
        if (error <= argument.absolute + argument.relative * std::fabs(expected)) continue;
        if (correct)
          std::fprintf(stderr, "element %zu of %s is %.9g instead of %.9g\n", at, argument.name, element, expected);
        correct = false;
      }
    }
    std::printf("{\"correct\":%s", correct ? "true" : "false");
    if (std::isfinite(maxError)) std::printf(",\"maxError\":%.17g", maxError);
    std::printf("}\n");
  }

 private:
  const KernelArgument* arguments_;
  std::vector<std::unique_ptr<Buffer<unsigned char>>> buffers_;
  std::vector<void*> pointers_;
  std::vector<Bytes> initial_;
};

inline void measureKernel(const KernelArgument* arguments, size_t count, LaunchKernel launch, const KernelOptions& options) {
  const int device = static_cast<int>(options.whole("--device"));
  check(cudaSetDevice(device), "cudaSetDevice");
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  std::printf("{\"device\":\"%s\",\"multiprocessors\":%d}\n", properties.name, properties.multiProcessorCount);
  const std::vector<KernelLaunch> launches = readLaunches(options);
  KernelArrays arrays(arguments, count, options);
  const auto all = [&] {
    for (const KernelLaunch& one : launches) launch(one, arrays.pointers());
  };
  // The first launch loads the kernel, and the clocks of an idle device rise meanwhile: neither is timed.
  all();
  check(cudaDeviceSynchronize(), "kernel");
  constexpr long long WAKING_CYCLES = 1 << 26;
  lockstep::launch(occupy, 1, 1, WAKING_CYCLES);
  check(cudaDeviceSynchronize(), "kernel");
  Stopwatch stopwatch;
  for (uint64_t i = 0; i < options.whole("--repeats"); ++i) {
    arrays.restore();
    std::printf("{\"timeNs\":%.0f}\n", stopwatch.timeNs(all, [] {}));
    std::fflush(stdout);
  }
  arrays.compare();
}

inline int runKernel(const KernelArgument* arguments, size_t count, LaunchKernel launch, int words, char** texts) {
  try {
    measureKernel(arguments, count, launch, KernelOptions(words, texts));
    return 0;
  } catch (const CaseFailure& failure) {
    std::fprintf(stderr, "%s\n", failure.message.c_str());
    return 1;
  }
}

}  // namespace lockstep
