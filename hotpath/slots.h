// Slots hold the sums of the program's own metrics: one slot for each metric of each call path. The slots of one launch
// set, that is, of one phase of the active sessions, are one arena. Publishing another launch set closes the arena and
// opens a free one; Go takes the sums out of the closed one and recycles it, so memory does not grow with the number of
// phases.
//
// An arena is recycled only after every thread has left it: a thread names the arena in hp_thread.adding before it checks
// that the arena is still open for its launch set. A value that finds no open arena goes to Go as a record instead
// (HP_LATE_METRIC), so that nothing is added to a phase that it does not belong to.
#ifndef GOPROTON_SLOTS_H
#define GOPROTON_SLOTS_H

#include "thread.h"

// hp_slots_init reserves the arenas. 0 when the system has no address space for them.
int hp_slots_init(void);
// hp_slots_publish closes the open arena and opens one for another launch set, if there is a free one. Set 0 opens none.
void hp_slots_publish(uint32_t set);

// hp_slots_add adds one value to n slots of one launch set, or, for a property, replaces what they hold. The status is
// HP_OK, HP_FULL, HP_TYPE_CHANGED, or HP_CLOSED: then nothing was added.
int hp_slots_add(struct hp_thread *t, const struct hp_slot *keys, int n, uint64_t bits);

// hp_metric_is_property reports whether a metric's raw name has the mark "(pty)".
int hp_metric_is_property(uint32_t name);

enum { HP_ARENAS = 4 };
// hp_slots returns the slots of one arena and its launch set; index 0 is unused. A free arena has set 0.
const struct hp_slot *hp_slots(int arena, uint32_t *set, uint32_t *count);
// hp_slots_left reports that an arena is closed and that no thread adds to it any more.
int hp_slots_left(int arena);
// hp_slots_recycle empties an arena that every thread has left.
void hp_slots_recycle(int arena);
uint64_t hp_slots_lost(void);

#endif
