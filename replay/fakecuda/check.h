// Checks a capture before it is played.
#ifndef GOPROTON_STUB_CHECK_H
#define GOPROTON_STUB_CHECK_H

#include "../../cupti/capture.h"
#include "reader.h"

enum { CHECK_KINDS = 64, CHECK_RECORD_MAX = 512 };

// check_capture returns NULL, or what is wrong with the capture, in memory that the next call overwrites.
const char *check_capture(const struct capture *c);

#endif
