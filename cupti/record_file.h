// Writing events: the one lock, the buffer, the string table. Used by record*.c only.
#ifndef GOPROTON_CUPTI_RECORD_FILE_H
#define GOPROTON_CUPTI_RECORD_FILE_H

#include "capture.h"

// An event under construction, owned by one thread.
struct event {
  uint8_t *bytes;
  size_t length, capacity;
};

void event_number(struct event *e, uint64_t value);
void event_bytes(struct event *e, const void *bytes, size_t length);
// Appends the event to the file with the calling thread's number, and frees it.
void event_write(struct event *e, enum capture_event type);

// The number of a string, written as an event when new. 0 for NULL.
uint64_t record_string(const char *text, size_t length);
uint64_t record_cstring(const char *text);

// 1 the first time a key is seen with this value; for answers and images that need to be written once.
int record_is_new(uint64_t key, uint64_t value);

#endif
