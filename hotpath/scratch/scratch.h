// Profile scratch: the GPU memory in which kernels with scopes leave their records, lent for one launch at a time. This is the
// interface for the code on the program's threads; drain.h has that of the other side.
//
// On the program's threads, take pops a buffer of a pool, and launched records an event behind the kernel. Neither waits for the GPU, except
// take while the pool grows: new memory has to be zero before a kernel gets it.
// A thread of this room sees that the kernel has ended, copies the buffer into pinned memory and clears its headers; then Go reads it.
#ifndef GOPROTON_SCRATCH_H
#define GOPROTON_SCRATCH_H

#include <stdint.h>

struct scratch_api {
  uint32_t size; // sizeof(struct scratch_api), checked by users of the table

  // Before a launch: memory for it, 0 where the GPU has none left. The calling thread's context is used.
  uint64_t (*take)(uint64_t bytes, uint64_t stream);
  // After the launch of a function, on the same thread.
  void (*launched)(uint64_t function, uint64_t stream);
  // The same for memory that is the caller's own, and that only work which is in order behind the launch may overwrite.
  void (*launched_in)(uint64_t function, uint64_t stream, uint64_t memory, uint64_t bytes);
  // For debugging: last waits, 10 seconds at most, until the launches so far were copied, and returns a malloc'ed copy of the slots of
  // the last one since keep(1); NULL where there is none.
  void (*keep)(int on);
  void *(*last)(uint64_t *bytes);
};

const struct scratch_api *scratch_api(void);

#endif
