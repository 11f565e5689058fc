#include <cstring>
extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) { static int one; *device = &one; return std::strcmp(id, "emulated:0"); }
int nvmlSystemGetDriverVersion(char* version, unsigned) { std::strcpy(version, "1.2.3"); return 0; }
int nvmlDeviceGetClockInfo(void*, int which, unsigned* mhz) {
  static unsigned sm = 1500;
  *mhz = which == 1 ? sm -= 100 : 9001;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) { *milliwatts = 250500; return 0; }
int nvmlDeviceGetTemperature(void*, int sensor, unsigned* degrees) { *degrees = 65; return sensor; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) { *reasons = 4; return 0; }
}
