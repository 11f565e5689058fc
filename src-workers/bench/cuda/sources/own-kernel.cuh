// Host of the user's own kernel. A generated file includes it (bench/kernel/cuda-program.ts). The program is started in
// the folder of the arguments' files, and bench/program/output.ts reads its output.
#pragma once

#include "host.cuh"

#include <limits>

namespace lockstep {

struct KernelLaunch {
  uint64_t units = 0;
  uint64_t unitsPerThread = 0;
  uint64_t blockThreads = 0;
  uint64_t threadsPerUnit = 0;
  uint64_t gridBlocks = 0;
  uint64_t firstUnit = 0;
  uint64_t launchUnits = 0;
};

/// Half precision and bfloat16 on the host, as bits, since the types of CUDA and HIP differ.
struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

template <class T>
double asDouble(T value) {
  return static_cast<double>(value);
}
inline double asDouble(BFloat16 value) {
  const uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
  float single;
  std::memcpy(&single, &bits, sizeof single);
  return single;
}
inline double asDouble(Float16 value) {
  const int exponent = value.bits >> 10 & 0x1f;
  const int fraction = value.bits & 0x3ff;
  const double size = exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                      : exponent == 0 ? std::ldexp(fraction, -24)
                                      : std::ldexp(fraction + 1024, exponent - 25);
  return value.bits >> 15 ? -size : size;
}

/// 64-bit integers are compared exactly, since a double cannot hold all of them.
struct ValueType {
  size_t bytes;
  double (*read)(const unsigned char*);
  double (*error)(const unsigned char*, const unsigned char*);
};

template <class T>
T valueAt(const unsigned char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <class T>
ValueType valueType() {
  const auto read = [](const unsigned char* bytes) { return asDouble(valueAt<T>(bytes)); };
  const auto error = [](const unsigned char* found, const unsigned char* expected) {
    const T a = valueAt<T>(found), b = valueAt<T>(expected);
    if constexpr (std::is_integral_v<T>)
      return static_cast<double>(static_cast<uint64_t>(std::max(a, b)) - static_cast<uint64_t>(std::min(a, b)));
    else
      return asDouble(a) == asDouble(b) ? 0 : std::fabs(asDouble(a) - asDouble(b));
  };
  return {sizeof(T), read, error};
}

/// Whether elements of a parameter's type `Found` fit the manifest: `COUNT` values of the type `Value`, or for a struct
/// any type of that size. Characters and bool count as integers, signed or unsigned.
template <class Found, class Value, size_t COUNT, bool STRUCT>
constexpr bool isElement() {
  using Plain = std::remove_cv_t<Found>;
  if constexpr (std::is_void_v<Plain>) {
    return true;
  } else {
    constexpr bool sameSize = sizeof(Plain) == COUNT * sizeof(Value);
    if constexpr (STRUCT || !std::is_arithmetic_v<Plain>)
      return sameSize;
    else
      return sameSize && std::is_integral_v<Plain> == std::is_integral_v<Value> &&
             (sizeof(Plain) == 1 || std::is_signed_v<Plain> == std::is_signed_v<Value>);
  }
}

/// Fails if the parameter cannot hold the number.
template <class T>
T numberAs(double value, const char* name) {
  if constexpr (std::is_integral_v<T>) {
    // 2 to the number of bits. The largest value of the type may not be a double.
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (value != std::floor(value) || value >= end || value < (std::is_signed_v<T> ? -end : 0)) {
      std::ostringstream text;
      text << "the argument " << name << " is " << value << ", but its parameter is "
           << (std::is_signed_v<T> ? "an" : "an unsigned") << " integer of " << 8 * sizeof(T) << " bits";
      throw CaseFailure{text.str()};
    }
    return static_cast<T>(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    return T(static_cast<float>(value));
  }
}

struct KernelArgument {
  const char* name;
  ValueType type;
  uint64_t values;
  /// File of an input, of a struct, or of an output's contents before each launch. Null for a number, and for an output
  /// that begins with zeros. "order" stands for the order of units of the design.
  const char* file;
  bool isStruct;
  /// 0 for any argument but an output.
  uint64_t count;
  /// Null if the output has no reference.
  const char* reference;
  double absolute;
  double relative;

  size_t elementBytes() const { return type.bytes * values; }
};

using LaunchKernel = void (*)(const KernelLaunch&, void* const*);

template <class... Parameters>
void launchEntry(void (*kernel)(Parameters...), const KernelLaunch& one, double sharedBytes,
                 std::decay_t<Parameters>... arguments) {
  if (!(sharedBytes >= 0 && sharedBytes == std::floor(sharedBytes) && sharedBytes < 1 << 30)) {
    std::ostringstream text;
    text << "sharedBytes of the manifest gives " << sharedBytes << " here, but must give a whole number of bytes";
    throw CaseFailure{text.str()};
  }
  // If a kernel uses more shared memory than this, it must opt in.
  constexpr double USUAL_SHARED_BYTES = 48 << 10;
  const std::string what = std::to_string(static_cast<size_t>(sharedBytes)) + " bytes of dynamic shared memory";
  if (sharedBytes > USUAL_SHARED_BYTES)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(sharedBytes)),
          what.c_str());
  check(tryLaunch(kernel, dim3(static_cast<unsigned>(one.gridBlocks)), dim3(static_cast<unsigned>(one.blockThreads)),
                  static_cast<size_t>(sharedBytes), arguments...),
        sharedBytes > 0 ? ("launch with " + what).c_str() : "launch");
}

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

/// Parses `--launches FIRST:UNITS:THREADS:BLOCKS,…`.
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
        initial_[i] = Bytes(argument.count * argument.elementBytes());
      if (argument.isStruct) {
        structs_.push_back(std::move(initial_[i]));
        buffers_.push_back(nullptr);
        pointers_[i] = structs_.back().data();
      } else {
        buffers_.push_back(std::make_unique<Buffer<unsigned char>>(initial_[i]));
        pointers_[i] = buffers_[i]->data();
      }
      if (argument.count == 0) initial_[i] = Bytes();
    }
  }
  void* const* pointers() const { return pointers_.data(); }

  /// Restores the outputs before a launch, since a launch may add to them.
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
      for (size_t at = 0; at < argument.count * argument.values; ++at) {
        const size_t byte = at * argument.type.bytes;
        const double expected = argument.type.read(reference.data() + byte);
        const double error = argument.type.error(found.data() + byte, reference.data() + byte);
        if (!(error <= maxError)) maxError = error;
        if (error == 0 || error <= argument.absolute + argument.relative * std::fabs(expected)) continue;
        if (correct)
          std::fprintf(stderr, "element %zu of %s is %.9g instead of %.9g\n", at / argument.values, argument.name,
                       argument.type.read(found.data() + byte), expected);
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
  std::vector<Bytes> structs_;
};

inline void measureKernel(const KernelArgument* arguments, size_t count, LaunchKernel launch, const KernelOptions& options) {
  orderDevices();
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
  // The first launch loads the kernel and raises the clocks of an idle device, so it is not timed.
  all();
  check(cudaDeviceSynchronize(), "kernel");
#ifdef LOCKSTEP_EMULATED_TARGET
  // An emulation has no times, so only results are compared.
  arrays.compare();
#else
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
#endif
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
