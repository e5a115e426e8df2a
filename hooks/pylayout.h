// The offsets of the fields that a stack walk reads in this interpreter.
#ifndef GOPROTON_PYLAYOUT_H
#define GOPROTON_PYLAYOUT_H

#include "pyframes.h"
#include <string.h>

struct layout {
  // Thread state, frames: known by version; from 3.13 on the interpreter publishes them.
  uint16_t current;      // in the thread state: the current frame, or the C frame that holds it
  uint16_t in_cframe;    // 3.11, 3.12: the current frame within the C frame
  uint8_t has_cframe;
  uint8_t lasti_scale;   // 3.9, 3.10: f_lasti is an int, in units of this many bytes; 0: an instruction pointer
  uint8_t shim;          // frames with an owner of this value or more run no Python code
  uint16_t code, previous, instr, owner;
  // Code objects: found by searching samples for the values of their attributes.
  uint16_t name, file, table, line, code_size;
  uint16_t version;      // 3.12 on: a number that no other code object of the process has had; 0: not found
  // Strings: found by trying known forms on known strings.
  uint8_t ascii_data, compact_data, kind_shift;
};
extern struct layout py_at;

// layout_known fills py_at from the version and from a tuple of three code objects with different names and
// lines. On failure it returns 0 and a reason.
int layout_known(PyObject *samples, const char **reason);

// layout_text reads a str without the GIL, as UTF-8; a lone surrogate is written as an escape. Of longer text it keeps the end.
size_t layout_text(PyObject *str, char *room, size_t size);

static inline uint64_t word_at(const void *p, size_t at) {
  uint64_t w;
  memcpy(&w, (const char *)p + at, sizeof w);
  return w;
}
static inline char *pointer_at(const void *p, size_t at) { return (char *)(uintptr_t)word_at(p, at); }
static inline int int_at(const void *p, size_t at) {
  int i;
  memcpy(&i, (const char *)p + at, sizeof i);
  return i;
}

// Public since 3.3 and never moved: length, hash and state of a str; size and data of a bytes object.
enum { STR_LENGTH = 16, STR_HASH = 24, STR_STATE = 32, VAR_SIZE = 16, BYTES_DATA = 32 };
static inline unsigned str_state(const void *s) { return (unsigned)int_at(s, STR_STATE) >> py_at.kind_shift; }
enum { STATE_KIND = 7, STATE_COMPACT = 8, STATE_ASCII = 16 };

#endif
