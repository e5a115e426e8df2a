// The places of arguments in hip_calls.c, for sdk.cpp: C++ cannot include room.h.
#include "../../hip_calls.c"

#include <string.h>

// The places of a call for rocprofiler-sdk: of first, second and stream. 0: the call is not known.
int sdk_places(const char *name, int *places) {
  for (unsigned i = 0; i < hip_call_count; i++) {
    const struct hip_offsets *at = &hip_calls[i].sdk;
    if (strcmp(hip_calls[i].name, name)) continue;
    places[0] = at->first, places[1] = at->second, places[2] = at->stream;
    return !at->absent;
  }
  return 0;
}

const char *sdk_call_name(unsigned i) { return i < hip_call_count && !hip_calls[i].sdk.absent ? hip_calls[i].name : i < hip_call_count ? "" : NULL; }
