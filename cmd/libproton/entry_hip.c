// The entry point for programs that load HIP, which has no injection variable: Python's import hook and libproton-preload.so call it.
#include "entry.h"

// The program has loaded libamdhip64.
void proton_hip_loaded(void) { gpu_starts(); }
