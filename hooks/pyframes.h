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
// frame_hidden reports whether a frame belongs to our own package or to Triton's hook chain. Call paths leave those out.
int frame_hidden(const char *file, size_t file_len, const char *name, size_t name_len);
uint32_t frames_truncated(void); // id of "<truncated>", the root-most frame of a stack that is too deep

// ---- pyend.c: the end of the interpreter ----

// Python frees the states and frames of other threads when it ends. After our atexit callback has run, only the thread
// that ran it may be walked. This variable is that thread's state, and NULL before. A walk first sets its flag and then
// reads this variable. The callback first sets this variable and then waits for the flags. So one always sees the other.
extern _Atomic(void *) frames_last_thread;
static inline int frames_gone(const void *state) {
  const void *last = atomic_load(&frames_last_thread);
  return !state || (last && last != state);
}
int frames_watch_the_end(void); // registers the callback; 0 with a Python error

// ---- pypublic.c: any thread; takes the GIL ----
uint32_t public_walk(void);
int public_walks(void); // how many are under way
// public_stack lists the calling thread's frames, leaf first: the interned text of each, 0 when hidden.
int public_stack(uint32_t *names, int room);

#endif
