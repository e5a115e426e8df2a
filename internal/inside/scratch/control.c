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

// It is asked for by who waits for it.
uint64_t scratch_under_way(void) {
  scratch_want();
  uint64_t ready = atomic_load(&scratch.finished); // first: it never passes the other
  return atomic_load(&scratch.launched) - ready;
}

uint64_t scratch_copied(void) { return atomic_load(&scratch.copied_bytes); }

uint64_t scratch_moves(void) { return atomic_load(&scratch.finished); }

void scratch_lost(struct scratch_losses *out) {
  *out = (struct scratch_losses){
      .no_room = atomic_load(&scratch.no_room), .no_room_bytes = atomic_load(&scratch.no_room_bytes), .unknown = atomic_load(&scratch.unknown),
      .foreign = atomic_load(&scratch.foreign), .elsewhere = atomic_load(&scratch.elsewhere), .failed = atomic_load(&scratch.failed), .error = atomic_load(&scratch.error),
      .too_many = atomic_load(&scratch.too_many), .replays = atomic_load(&scratch.replays),
  };
}
