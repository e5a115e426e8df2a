// The entry point of the CUDA driver. Another vendor's has a file like this one.
#include "entry.h"

// Called in cuInit where CUDA_INJECTION64_PATH names this library. 1 = go on.
int InitializeInjection(void) {
  gpu_starts();
  return 1;
}
