// Reads a capture (not compressed) into an index of events. See ../../hotpath/recorder/format.h.
#ifndef GOPROTON_PLAYER_READER_H
#define GOPROTON_PLAYER_READER_H

#include <stddef.h>
#include <stdint.h>

#include "../../hotpath/recorder/format.h"

struct cap_event {
  const uint8_t *payload;
  uint32_t length;
  uint32_t thread; // from 1
  uint8_t type;
  uint64_t time;   // in ns of CLOCK_REALTIME; 0 in captures that do not say (see timed)
};

struct capture {
  const uint8_t *bytes;
  size_t size;
  struct cap_event *events;
  size_t count;
  char **strings; // [0] is NULL; NUL-terminated copies that live as long as the process
  size_t string_count;
  uint32_t threads; // highest thread number
  int whole;        // ended by EV_END
  int timed;        // it says when its events happened
};

// NULL, or what is wrong with the file. A file that was cut off reads up to the cut.
const char *capture_read(struct capture *c, const char *path);
// capture_close frees a capture that was read, strings included.
void capture_close(struct capture *c);

// A cursor over a payload; reads past its end give zeros and set `short_`.
struct cap_cursor {
  const uint8_t *at, *end;
  int short_;
};
struct cap_cursor cap_open(const struct cap_event *e);
uint64_t cap_number(struct cap_cursor *c);
const uint8_t *cap_bytes(struct cap_cursor *c, size_t length);
const char *cap_string(const struct capture *c, struct cap_cursor *cursor);

#endif
