// Reclaiming call paths that are no longer used, so that a program that makes new ones for weeks does not fill the arena.
// The drainer does it, in steps, while the program runs:
//
//   1. hp_nodes_unindex replaces the index by an empty one. Threads make anew what they look up from now on, so no thread
//      finds an old call path, except one that it holds already. Two ids for one call path cost memory only.
//   2. Go waits until every thread has left the section that it was in (hp_threads_outside).
//   3. hp_thread_nodes lists the call paths that a thread holds. With those that Go's own tables hold, and their parents,
//      they stay; hp_node_free gives the others to the threads for new call paths.
//
// The names of scopes, states and ops go through the same steps (names.h): hp_nodes_end_free frees those that no call path has
// any more. What a thread makes between the steps stays until the next time.
//
// A thread looks up call paths, and changes which ones it holds, only between hp_paths_begin and hp_paths_end. Leaving a
// scope needs no section: the parent of a call path that is held stays too. Neither does a launch whose leaf is known.
#ifndef GOPROTON_RECLAIM_H
#define GOPROTON_RECLAIM_H

#include "names.h"
#include "thread.h"

static inline void hp_paths_begin(struct hp_thread *t) {
  if (t->making_depth++) return;
  atomic_store_explicit(&t->making, hp_load(&t->making) + 1, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst); // before the look-up, and before any change of what the thread holds
}

static inline void hp_paths_end(struct hp_thread *t) {
  if (--t->making_depth) return;
  atomic_store_explicit(&t->making, hp_load(&t->making) + 1, memory_order_release);
}

void hp_nodes_unindex(void);
int hp_threads_outside(void);
enum { HP_HELD = HP_MEMO + HP_STATES + 10 };
// hp_thread_nodes returns how many call paths it has written to out, or -1 while the thread is in a section.
int hp_thread_nodes(struct hp_thread *t, uint32_t out[HP_HELD]);
// hp_nodes_old is the number of the first call path that was made after hp_nodes_unindex: older ones can be freed.
uint32_t hp_nodes_old(void);
// hp_node_free frees one call path. It returns 0 if the call path is free already, or pinned.
int hp_node_free(uint32_t id);
// hp_nodes_end_free frees the frame names that no call path has any more, and ends what hp_nodes_unindex began. It returns
// how many names, and bytes of text, it freed.
struct hp_name_space hp_nodes_end_free(void);
// hp_node_pin keeps a call path for good: its number is given to the program.
void hp_node_pin(uint32_t id);
// hp_nodes_used is the number of call paths that are not free.
uint32_t hp_nodes_used(void);

#endif
