// The pool of activity buffers: a vendor's library takes one on an application thread and returns it full, Go reads it and
// puts it back zeroed.
#ifndef GOPROTON_BUFFER_H
#define GOPROTON_BUFFER_H

#include "vendor.h"

enum { HP_BUFFERS = 1024 }; // half of them for bursts of threads, which have a buffer each
static const size_t hp_buffer_size = (size_t)2 << 20; // 8,400 to 10,500 kernel records of CUPTI, by its version

// On application threads.
uint8_t *hp_buffer_get(size_t *size);
void hp_buffer_done(uint8_t *buffer, size_t valid, hp_activity_reader reader);

// A thread that has launched something ends.
void hp_buffer_owner_ended(void);

// Whether the vendor's library should be asked for its buffers: it has many, or those of threads that have ended. It is asked now.
int hp_buffers_due(void);
void hp_buffers_asked(void);

// For Go: make `free` buffers ready; take the oldest full one of the first so many that came back (its index, or -1); read activities from it, fewer than
// max at its end; give it back zeroed.
void hp_buffers_prepare(int free);
// hp_buffers_in_use is how many the vendor's library or the drainer has. hp_buffers_trim gives the pages of free ones back to the system, of
// those beyond `keep` with the ones in use.
int hp_buffers_in_use(void);
void hp_buffers_trim(int keep);
uint64_t hp_buffers_returned(void);
int hp_buffer_take(uint64_t of);
size_t hp_buffer_filled(int index); // bytes
int hp_buffer_read(int index, void **cursor, struct hp_activity *out, int max);
void hp_buffer_recycle(int index);
uint64_t hp_buffers_refused(void);
// hp_buffers_reclaim takes back what was lent and never returned. Only when the vendor library is gone.
void hp_buffers_reclaim(void);
// hp_buffers_mark remembers how far each lent buffer is filled. hp_buffers_marked is a checksum of what was filled then, of the
// buffers that are still lent: the vendor library completes records in place, so a change means that the GPU has finished something.
void hp_buffers_mark(void);
uint64_t hp_buffers_marked(void);
// hp_buffers_discard has full buffers emptied at once instead of kept for Go, while there is no drainer.
void hp_buffers_discard(int on);

#endif
