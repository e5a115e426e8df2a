// Writing the file: its lock, its buffer, and tables of the strings, answers and images that have been written.
#ifndef GOPROTON_RECORDER_FILE_H
#define GOPROTON_RECORDER_FILE_H

#include "recorder.h"

// Creates the file and names its writer. 0, or an errno.
int record_open(const char *path, const char *writer);
// 1 between record_open and record_close, 0 in a forked child.
int record_on(void);
// Writes what is buffered and ends the file. Later events are not recorded. 0, or the first errno of any write.
int record_close(void);

void event_number(struct event *e, uint64_t value);
void event_bytes(struct event *e, const void *bytes, size_t length);
void event_write(struct event *e, enum capture_event type);
uint64_t record_string(const char *text, size_t length);
uint64_t record_cstring(const char *text);
int record_is_new(uint64_t key, uint64_t value);

#endif
