// Python call paths: what the three files that read Python's stack share.
//
// pylayout.c knows where this interpreter keeps things, pywalk.c reads the stack with that knowledge,
// pypublic.c reads it through the public API and checks the other two; pyframes.c chooses.
#ifndef GOPROTON_PYFRAMES_H
#define GOPROTON_PYFRAMES_H

#include "native.h"
#include <stdatomic.h>

enum { FRAMES_MAX = 1024, FRAME_TEXT = 2048 };

// frame_text writes "file:line@function" into room of FRAME_TEXT bytes and returns its length; a long file
// keeps its end.
size_t frame_text(char *room, const char *file, size_t file_len, int line, const char *name, size_t name_len);
// frame_hidden: frames of our own package and of Triton's hook chain are no part of the program.
int frame_hidden(const char *file, size_t file_len, const char *name, size_t name_len);
uint32_t frames_truncated(void); // id of "<truncated>", the root-most frame of a stack that is too deep

// Python frees the states and frames of other threads when it ends. From the atexit callbacks on, only the
// thread that ran them may be walked; this is its state, NULL before.
extern _Atomic(void *) frames_last_thread;
static inline int frames_gone(const void *state) {
  const void *last = atomic_load_explicit(&frames_last_thread, memory_order_acquire);
  return !state || (last && last != state);
}

// ---- pypublic.c: any thread; takes the GIL ----
uint32_t public_walk(void);
// public_stack lists the calling thread's frames, leaf first: the interned text of each, 0 when hidden.
int public_stack(uint32_t *names, int room);

#endif
