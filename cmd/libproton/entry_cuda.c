// The entry point that the CUDA driver calls. Another vendor's entry point gets its own file.
#include "entry.h"

// Called in cuInit if CUDA_INJECTION64_PATH names this library. The result 1 means success.
int InitializeInjection(void) {
  gpu_starts();
  return 1;
}
