// The activity records in a buffer of a capture that check_capture has accepted.
#ifndef GOPROTON_STUB_REPLAY_RECORDS_H
#define GOPROTON_STUB_REPLAY_RECORDS_H

#include "check.h"

struct records {
  struct { uint32_t kind, size; } kinds[CHECK_KINDS];
  size_t count; // of kinds
  struct cap_cursor in;
};

void records_open(struct records *r, const struct cap_event *buffer);
// records_next returns the next record, NULL at the end of the buffer.
const uint8_t *records_next(struct records *r, uint32_t *kind, uint32_t *size);

// The offsets of a record's times (the end follows the start) and of its correlation id; 0 for kinds that are not replayed.
struct record_fields { size_t start, correlation; };
struct record_fields record_fields(uint32_t kind);
// Reads a record's start and end; 0 if the GPU did not time it.
int record_times(const uint8_t *record, uint32_t kind, uint64_t times[2]);

#endif
