// What Go asks of this room.
#include "drain.h"
#include "driver.h"

int scratch_start(uint64_t limit) {
  atomic_store(&scratch.limit, limit);
  if (!scratch_begin_copying()) return 0;
  atomic_store(&scratch.recording, 1);
  return 1;
}

void scratch_addressable(uint64_t most) { atomic_store(&scratch.most, most); }

void scratch_stop(void) { atomic_store(&scratch.recording, 0); }

// ---- how far the launches are ----

uint64_t scratch_launched(void) { return atomic_load(&scratch.batches[0].launched) + atomic_load(&scratch.batches[1].launched); }
uint64_t scratch_finished(void) { return atomic_load(&scratch.batches[0].finished) + atomic_load(&scratch.batches[1].finished); }

// A question that is asked while a launch is counted would miss it, and the next one too, so the launch is counted again.
uint8_t scratch_count_launch(void) {
  for (;;) {
    uint32_t batch = atomic_load(&scratch.batch);
    atomic_fetch_add(&scratch.batches[batch].launched, 1);
    if (atomic_load(&scratch.batch) == batch) return (uint8_t)batch;
    atomic_fetch_sub(&scratch.batches[batch].launched, 1);
  }
}

// It is asked for by who waits for it.
uint64_t scratch_under_way(void) {
  scratch_want();
  uint64_t ready = scratch_finished(); // first: it never passes the other
  return scratch_launched() - ready;
}

// Launches that an earlier question was given up on may be left in the batch that begins: they are not waited for twice.
void scratch_ask(void) { atomic_fetch_xor(&scratch.batch, 1); }

uint64_t scratch_asked(void) {
  scratch_want();
  struct scratch_batch *b = &scratch.batches[atomic_load(&scratch.batch) ^ 1];
  uint64_t ready = atomic_load(&b->finished);
  return atomic_load(&b->launched) - ready;
}

uint64_t scratch_copied(void) { return atomic_load(&scratch.copied_bytes); }

void scratch_lost(struct scratch_losses *out) {
  *out = (struct scratch_losses){
      .no_room = atomic_load(&scratch.no_room), .no_room_bytes = atomic_load(&scratch.no_room_bytes), .unknown = atomic_load(&scratch.unknown),
      .foreign = atomic_load(&scratch.foreign), .elsewhere = atomic_load(&scratch.elsewhere), .failed = atomic_load(&scratch.failed), .error = atomic_load(&scratch.error),
      .too_many = atomic_load(&scratch.too_many), .replays = atomic_load(&scratch.replays),
  };
}
