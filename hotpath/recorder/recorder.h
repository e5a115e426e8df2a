// The recorder as a vendor's room calls it, to record what its library reports.
//
// Unlike the hot path the recorder locks and allocates: a run that is being recorded is a diagnostic run and is slower.
// Rooms do not link against it (cgo links each package on its own): they get this table, and NULL while nothing is
// recorded.
#ifndef GOPROTON_RECORDER_H
#define GOPROTON_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "format.h"

// An event under construction, owned by one thread.
struct event {
  uint8_t *bytes;
  size_t length, capacity;
};

struct recorder_api {
  // 1 while the file is open, 0 in a forked child.
  int (*on)(void);
  void (*number)(struct event *e, uint64_t value);
  void (*bytes)(struct event *e, const void *bytes, size_t length);
  // Appends the event to the file with the calling thread's number, and frees it.
  void (*write)(struct event *e, enum capture_event type);
  // The number of a string, written as an event when new. 0 for NULL.
  uint64_t (*string)(const char *text, size_t length);
  // 1 the first time a key is seen with this value; for answers and images that need to be written once.
  int (*is_new)(uint64_t key, uint64_t value);
  // Writes the calling thread's Python call path when it has changed since the last time. Asked for at every event that
  // a python context could want it for, so that one capture serves both contexts.
  void (*python_path)(void);
  // The library of the driver, from dlopen: a recording says if that is a fake.
  void (*driver_seen)(void *library);
  // The process has turned out to use a GPU: what is recorded is worth keeping.
  void (*gpu_seen)(void);
};

const struct recorder_api *recorder_api(void);

#endif
