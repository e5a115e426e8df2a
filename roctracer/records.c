// Activities on their way to Go's drainer. The tracing libraries deliver records on a thread of their own, and they are valid in
// that callback only: each is copied once, into a buffer of the hot path's pool.
#include "graphs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards what follows
static uint8_t *buffer;
static size_t size, used;
static int64_t to_realtime; // what makes CLOCK_REALTIME of CLOCK_BOOTTIME, as of the beginning of the buffer
static _Atomic uint64_t dropped;

static int64_t clock_now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// The reading that took the least time is the most exact one. The distance changes with each step of CLOCK_REALTIME.
int64_t room_to_realtime(void) {
  int64_t narrowest = INT64_MAX, distance = 0;
  for (int i = 0; i < 4; i++) {
    int64_t before = clock_now(CLOCK_REALTIME), theirs = clock_now(CLOCK_BOOTTIME), after = clock_now(CLOCK_REALTIME);
    if (after < before || after - before >= narrowest) continue;
    narrowest = after - before;
    distance = before + narrowest / 2 - theirs;
  }
  return distance;
}

static void hand_over(void) {
  if (buffer) room_hp->buffer_done(buffer, used, NULL);
  buffer = NULL;
}

static void convert_times(struct hp_activity *a) {
  int taken = a->start && a->start < a->end; // the library can fail to take them
  a->start += (uint64_t)to_realtime, a->end += (uint64_t)to_realtime;
  if (!taken || a->start >= a->end) a->start = a->end = 0; // also times that no clock shows
}

int room_record(struct hp_activity a) {
  if (a.kind == HP_KERNEL) graph_resolve(&a);
  pthread_mutex_lock(&lock);
  if (buffer && used + sizeof a > size) hand_over();
  if (!buffer && (buffer = room_hp->buffer_get(&size))) used = 0, to_realtime = room_to_realtime();
  if (buffer) {
    convert_times(&a);
    memcpy(buffer + used, &a, sizeof a);
    used += sizeof a;
  } else {
    room_drop(1);
  }
  pthread_mutex_unlock(&lock);
  return a.graph != 0;
}

void room_flush(void) {
  graphs_tidy();
  pthread_mutex_lock(&lock);
  hand_over();
  pthread_mutex_unlock(&lock);
}

void room_drop(uint64_t records) { atomic_fetch_add(&dropped, records); }
uint64_t room_dropped(void) { return atomic_exchange(&dropped, 0); }
