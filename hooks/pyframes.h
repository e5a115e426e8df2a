// Python call paths: what the files that read Python's stack share. pylayout.c finds the offsets of fields in this interpreter,
// pywalk.c reads the stack with them, pypublic.c reads it through the public API. pyframes.c compares the two and chooses.
#ifndef GOPROTON_PYFRAMES_H
#define GOPROTON_PYFRAMES_H

#include "native.h"
#include <stdatomic.h>

enum { FRAMES_MAX = 1024, FRAME_TEXT = 2048 };

// frame_text writes "file:line@function" into room of FRAME_TEXT bytes and returns its length. Of a long file name it keeps the
// end.
size_t frame_text(char *room, const char *file, size_t file_len, int line, const char *name, size_t name_len);
// frame_hidden reports whether a frame belongs to the goproton package or to Triton's hook chain: call paths leave those out.
int frame_hidden(const char *file, size_t file_len, const char *name, size_t name_len);
uint32_t frames_truncated(void); // id of "<truncated>", the first frame of the call path of a stack that is too deep

// ---- pyend.c: the end of the interpreter ----

// Python frees the states and frames of other threads when it ends. After our atexit callback has run, only the thread that
// ran it may be walked. This variable is that thread's state, NULL before. A walk first sets its flag and then reads this
// variable; the callback first sets this variable and then waits for the flags. So at least one of the two notices the other.
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
