// Loads a real libamdhip64 on a machine without an AMD GPU, and prints what the room sees of it: which functions that version lacks, and
// the results. It includes driver.c as it is.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "../../driver.c"
#include "../../loaded.c"

void record_driver(void) {} // nothing is recorded

__thread int room_own_call;

#define HAS(name) \
  if (!hip.name) printf("without hip" #name "\n");

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IONBF, 0);
  if (argc != 2 || hip_find()) return 2; // nothing may load HIP but the program
  if (!dlopen(argv[1], RTLD_NOW)) return printf("%s\n", dlerror()), 1;
  if (!hip_find()) return printf("%s was loaded and is not found\n", argv[1]), 3;
  printf("found %s\n", strrchr(hip_path(), '/') + 1);
  HAS(GetDevice) HAS(SetDevice) HAS(GetDeviceCount) HAS(DeviceSynchronize) HAS(GetStreamDeviceId) HAS(DriverGetVersion) HAS(RuntimeGetVersion) HAS(StreamIsCapturing)
  HAS(StreamGetCaptureInfo) HAS(GetDevicePropertiesR0600) HAS(DeviceGetAttribute) HAS(DeviceGetName) HAS(DeviceGetPCIBusId) HAS(KernelNameRef)
  HAS(KernelNameRefByPtr)
  uint64_t capture;
  struct hip_device device;
  int number = 0;
  printf("devices: result %d, %d\n", hip.GetDeviceCount(&number), number);
  printf("current device: %d\n", room_vendor.current_device());
  printf("NULL stream is captured: %d\n", hip_capture_of(NULL, &capture));
  printf("device 0 is described: %d\n", hip_describe(0, &device));
  printf("synchronize: %d\n", hip_synchronize(0));
  return 0;
}
