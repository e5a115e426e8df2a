#ifndef GOPROTON_ROCTRACER_STUB_REGISTER_H
#define GOPROTON_ROCTRACER_STUB_REGISTER_H

#include "stub.h"

// The fake HIP's table of functions: what a tracing library needs of it.
struct stub_table { uint64_t size; stub_listen_fn *listen; };

void hand_out(stub_listen_fn *listen);

#endif
