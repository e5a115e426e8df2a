// Functions for Go, that is, for the sessions and the drainer. No launch calls them or waits for them, so they may be slow.
#ifndef GOPROTON_CONTROL_H
#define GOPROTON_CONTROL_H

#include "thread.h"

// hp_init reserves memory and registers the fork guard. 0 when the system refuses.
int hp_init(void);
// hp_session_begins informs the threads that a session starts; the calling thread's scopes are the ones that
// threads without scopes inherit. fresh: no session exists, so forget all call paths.
void hp_session_begins(int fresh);
// hp_inherit_nothing ends the inheritance: threads without scopes stay without.
void hp_inherit_nothing(void);
// hp_set_active publishes which sessions are active, as sets, and what they want. Zero sets switch the hot path off.
void hp_set_active(uint32_t launch_set, uint32_t scope_set, int shadow, int python, int tracing);
// hp_watch has launches that fail, and the streams of the others, recorded when they return.
void hp_watch(int on);
// hp_leave has what is launched outside of sessions not recorded either, until the next active session.
void hp_leave(void);

struct hp_thread *hp_first_thread(void);
// hp_others_live returns whether a thread other than the calling one has launched something or opened a scope, and still runs.
int hp_others_live(void);
// hp_lives returns whether the calling thread has.
int hp_lives(void);
// hp_thread_due returns the first state, beginning with t, that has records to drain or whose thread has exited.
struct hp_thread *hp_thread_due(struct hp_thread *t);
// hp_thread_turn returns how many threads were attached before this one.
uint32_t hp_thread_turn(struct hp_thread *t);
// hp_ring_ready returns how many records can be read in one piece, and the first. hp_ring_taken removes n of them.
uint32_t hp_ring_ready(struct hp_thread *t, struct hp_record **first);
void hp_ring_taken(struct hp_thread *t, uint32_t n);
// hp_thread_retire frees the state of an exited thread once its ring is drained.
void hp_thread_retire(struct hp_thread *t);
uint64_t hp_lost_records(void);

#endif
