// Lists the devices of this machine, one JSON line each, or says why there is none. The program has no device code, so
// it can be compiled before the devices are known.
#include "devices.cuh"

int main() {
  try {
    const int devices = lockstep::countDevices();
    for (int i = 0; i < devices; ++i) lockstep::describe(i, lockstep::Nvml(lockstep::busId(i)));
    return 0;
  } catch (const lockstep::CaseFailure& failure) {
    lockstep::Record("lost").text("message", failure.message).print();
    return 1;
  }
}
