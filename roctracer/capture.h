// The payloads of AMD's events in a capture. Their writers (record*.c) and their player (replay/fakehip) share this file.
#ifndef GOPROTON_ROCTRACER_CAPTURE_H
#define GOPROTON_ROCTRACER_CAPTURE_H

#include "format.h"
#include "room.h"

// What HIP answered. An answer is written when it differs from the last one to the same question.
enum capture_answer {
  ANS_DEVICE = 1,  // hipGetDevice, of the event's thread
  ANS_CAPTURE = 2, // hipStreamGetCaptureInfo, of a stream: the status, and 4 times the number of the capture
  ANS_NAME = 3,    // hipKernelNameRef and hipKernelNameRefByPtr, of a function: a string
};

enum capture_work { WORK_OTHER, WORK_KERNEL, WORK_COPY };
enum capture_ranges { RANGE_OF_SDK, RANGE_OF_ROCTX }; // by librocprofiler-sdk-roctx, or libroctx64
enum capture_code { CODE_LOADED = 1, CODE_UNLOADED = 2, CODE_KERNEL = 3 };

// Equal samples of a GPU, as an event has them; their number follows. Of a record without a place only category, kind and size are set.
struct capture_sample { uint64_t category, kind, size, code, offset, dispatch, internal, issue, reason; };

// The argument that points to the word which an event keeps as its target, NULL for none, and where behind it the word lies. What a
// call writes there is known at its exit.
static inline const void **capture_target(const struct hip_call *call, struct hip_arguments *a, int exited, size_t *at) {
  *at = call->in_config ? HIP_CONFIG_STREAM : 0;
  if (call->what == HIP_LIST_LAUNCH) return &a->first;
  if (call->in_config) return &a->stream;
  if (exited && call->what == HIP_INSTANTIATE) return &a->first;
  if (exited && call->what == HIP_END_CAPTURE) return &a->second;
  return NULL;
}

#endif
