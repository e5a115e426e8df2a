#define _GNU_SOURCE
#include "reader.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct cap_cursor cap_open(const struct cap_event *e) {
  return (struct cap_cursor){e->payload, e->payload + e->length, 0};
}

uint64_t cap_number(struct cap_cursor *c) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
    uint8_t b = *c->at++;
    value |= (uint64_t)(b & 0x7f) << shift;
    if (b < 0x80) return value;
  }
  c->short_ = 1;
  return 0;
}

const uint8_t *cap_bytes(struct cap_cursor *c, size_t length) {
  if ((size_t)(c->end - c->at) < length) {
    c->short_ = 1;
    return NULL;
  }
  const uint8_t *p = c->at;
  c->at += length;
  return p;
}

const char *cap_string(const struct capture *c, struct cap_cursor *cursor) {
  uint64_t n = cap_number(cursor);
  return n <= c->string_count ? c->strings[n] : NULL;
}

static int add_string(struct capture *c, const struct cap_event *e) {
  if (!(c->string_count & (c->string_count + 1))) { // full at 0, 1, 3, 7, ...: double
    char **more = realloc(c->strings, (c->string_count + 1) * 2 * sizeof *more);
    if (!more) return 0;
    c->strings = more;
  }
  char *text = malloc(e->length + 1u);
  if (!text) return 0;
  memcpy(text, e->payload, e->length);
  text[e->length] = 0;
  c->strings[++c->string_count] = text;
  return 1;
}

static int add_event(struct capture *c, struct cap_event e) {
  if (!(c->count & (c->count - 1))) {
    struct cap_event *more = realloc(c->events, (c->count ? c->count * 2 : 1) * sizeof *more);
    if (!more) return 0;
    c->events = more;
  }
  c->events[c->count++] = e;
  if (e.thread > c->threads) c->threads = e.thread;
  return 1;
}

static const char *read_events(struct capture *c) {
  struct cap_cursor in = {c->bytes + CAPTURE_MAGIC_SIZE, c->bytes + c->size, 0};
  uint64_t time = 0;
  while (in.at < in.end) {
    struct cap_event e = {.type = *in.at++};
    uint64_t thread = cap_number(&in), length = cap_number(&in);
    if (thread > 65535 || length > UINT32_MAX) return "it is damaged: record it again";
    e.thread = (uint32_t)thread, e.length = (uint32_t)length;
    e.payload = cap_bytes(&in, length);
    if (in.short_) return NULL; // cut off: what is there is good
    if (e.type == EV_END) c->whole = 1;
    if (e.type == EV_WRITER) continue;
    if (e.type == EV_TIME) {
      struct cap_cursor at = cap_open(&e);
      time += cap_number(&at);
      c->timed = 1;
      continue;
    }
    e.time = time;
    if (e.type == EV_STRING ? !add_string(c, &e) : !add_event(c, e)) return "there is not enough memory for it";
  }
  return NULL;
}

void capture_close(struct capture *c) {
  for (size_t i = 1; i <= c->string_count; i++) free(c->strings[i]);
  free(c->strings);
  free(c->events);
  munmap((void *)(uintptr_t)c->bytes, c->size);
  memset(c, 0, sizeof *c);
}

static const char *give_up(struct capture *c, const char *why) {
  capture_close(c);
  return why;
}

const char *capture_read(struct capture *c, const char *path) {
  struct stat s;
  memset(c, 0, sizeof *c);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "it cannot be opened: check its name";
  if (fstat(fd, &s) || s.st_size < CAPTURE_MAGIC_SIZE) {
    close(fd);
    return "it is not a capture: record one with PROTON_RECORD";
  }
  c->size = (size_t)s.st_size;
  void *bytes = mmap(NULL, c->size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (bytes == MAP_FAILED) return "it cannot be mapped into memory: free some";
  c->bytes = bytes;
  if (memcmp(c->bytes, CAPTURE_MAGIC, CAPTURE_MAGIC_SIZE))
    return give_up(c, memcmp(c->bytes, "\037\213", 2) ? "it is not a capture: record one with PROTON_RECORD"
                                                      : "it is compressed: gunzip it first");
  c->strings = calloc(1, sizeof *c->strings);
  const char *wrong = c->strings ? read_events(c) : "there is not enough memory for it";
  return wrong ? give_up(c, wrong) : NULL;
}
