// Lists the devices of this machine, one JSON line each, or says why there is none. It has no device code, so it can be
// compiled before the devices are known. Its output decides for which devices the other programs are compiled.
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
