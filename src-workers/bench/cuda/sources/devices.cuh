#pragma once

#include "host.cuh"

namespace lockstep {

#ifdef LOCKSTEP_HIP
inline std::string version(int number) { return std::to_string(number / 10000000) + "." + std::to_string(number / 100000 % 100); }
#else
inline std::string version(int number) { return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10); }
#endif

/// Such as `compute capability 9.0` or `gfx90a`.
inline std::string architecture(const cudaDeviceProp& properties) {
#ifdef LOCKSTEP_HIP
  return properties.gcnArchName;
#else
  return "compute capability " + std::to_string(properties.major) + "." + std::to_string(properties.minor);
#endif
}

#if defined(LOCKSTEP_HIP) || defined(LOCKSTEP_EMULATED_HIP)
inline constexpr const char *BACKEND = "hip", *PLATFORM = "HIP", *COMPILER = "hipcc";
#else
inline constexpr const char *BACKEND = "cuda", *PLATFORM = "CUDA", *COMPILER = "nvcc";
#endif

inline std::string compiler() {
#if defined(LOCKSTEP_HIP)
  return __VERSION__;
#elif defined(__CUDACC__)
  return std::to_string(__CUDACC_VER_MAJOR__) + "." + std::to_string(__CUDACC_VER_MINOR__) + "." +
         std::to_string(__CUDACC_VER_BUILD__);
#else
  return "none";
#endif
}

/// If the driver is too old or missing, the runtime itself only says "insufficient".
inline std::string noDevices(cudaError_t code) {
  int driver = 0;
  int runtime = 0;
  if (code != cudaErrorInsufficientDriver || cudaDriverGetVersion(&driver) != cudaSuccess ||
      cudaRuntimeGetVersion(&runtime) != cudaSuccess)
    return std::string("looking for ") + PLATFORM + " devices: " + cudaGetErrorName(code) + ", " + cudaGetErrorString(code);
#ifdef LOCKSTEP_HIP
  return "the driver is too old for this program's HIP " + version(runtime);
#else
  if (driver == 0) return "no NVIDIA driver is loaded on this machine";
  // The oldest driver for each major release, on Linux and on Windows (release notes of the toolkit).
  static const std::map<int, std::pair<const char*, const char*>> oldest = {
      {11, {"450.80", "452.39"}}, {12, {"525.60", "528.33"}}, {13, {"580.65", "580.88"}}};
  const auto needed = oldest.find(runtime / 1000);
#ifdef _WIN32
  const char* number = needed == oldest.end() ? nullptr : needed->second.second;
#else
  const char* number = needed == oldest.end() ? nullptr : needed->second.first;
#endif
  return "the driver is for CUDA " + version(driver) + " and older, and this program was built with CUDA " +
         version(runtime) + ", which needs " + (number ? std::string("driver ") + number + " or newer" : "a newer driver") +
         ": update the driver, or build with CUDA " + std::to_string(driver / 1000) + " (set NVCC=/path/to/nvcc)";
#endif
}

/// This must be the first call of the runtime.
inline int countDevices() {
  orderDevices();
  int devices = 0;
  const cudaError_t looked = cudaGetDeviceCount(&devices);
  if (looked != cudaSuccess) throw CaseFailure{noDevices(looked)};
  return devices;
}

inline std::string busId(int device) {
  char id[32] = "";
  check(cudaDeviceGetPCIBusId(id, sizeof id, device), "cudaDeviceGetPCIBusId");
  return id;
}

inline void describe(int device, const Nvml& nvml) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  int driver = 0;
  int runtime = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  const std::string driverText = nvml.driver().empty() ? std::string(PLATFORM) + " " + version(driver) : nvml.driver();
  const auto stated = [&](cudaDeviceAttr which) { return static_cast<double>(attribute(which, device)); };
  const double clockKhz = stated(cudaDevAttrClockRate);
  Record("device")
      .text("backend", BACKEND)
      .text("name", properties.name)
      .text("fingerprint", std::string(BACKEND) + "; " + properties.name + "; " + architecture(properties) + "; driver " +
                               driverText + "; runtime " + version(runtime) + "; compiler " + compiler())
      .text("driver", driverText)
      .open("versions")
      .text((std::string(BACKEND) + " driver").c_str(), version(driver))
      .text((std::string(BACKEND) + " runtime").c_str(), version(runtime))
      .text(COMPILER, compiler())
      .close()
      .number("threadGroupWidth", properties.warpSize)
      .number("multiprocessors", properties.multiProcessorCount)
      .numberOrNull("clockMhz", clockKhz > 0 ? std::optional<double>(clockKhz / 1000) : std::nullopt)
      .text("timer", "device")
      .open("properties")
      .number("ordinal", device)
#ifdef LOCKSTEP_HIP
      .text("architecture", architecture(properties))
#else
      .text("computeCapability", std::to_string(properties.major) + "." + std::to_string(properties.minor))
#endif
      .text("pciBusId", busId(device))
      .number("memoryBytes", static_cast<double>(properties.totalGlobalMem))
      .number("memoryClockMhz", stated(cudaDevAttrMemoryClockRate) / 1000)
      .number("memoryBusBits", stated(cudaDevAttrGlobalMemoryBusWidth))
      .number("l2Bytes", stated(cudaDevAttrL2CacheSize))
      .number("maxThreadsPerBlock", stated(cudaDevAttrMaxThreadsPerBlock))
      .number("maxThreadsPerMultiprocessor", stated(cudaDevAttrMaxThreadsPerMultiProcessor))
      .number("maxBlocksPerMultiprocessor", stated(cudaDevAttrMaxBlocksPerMultiprocessor))
      .number("registersPerMultiprocessor", stated(cudaDevAttrMaxRegistersPerMultiprocessor))
      .number("registersPerBlock", stated(cudaDevAttrMaxRegistersPerBlock))
      .number("sharedMemoryBytesPerMultiprocessor", stated(cudaDevAttrMaxSharedMemoryPerMultiprocessor))
      .number("sharedMemoryBytesPerBlockOptIn", stated(cudaDevAttrMaxSharedMemoryPerBlockOptin))
      .number("errorCorrection", stated(cudaDevAttrEccEnabled))
      // Whether the system ends long launches, because the device draws a screen.
      .number("launchTimeLimit", stated(cudaDevAttrKernelExecTimeout))
      .close()
      .print();
}

}  // namespace lockstep
