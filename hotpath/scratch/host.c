// Host memory for the slots of finished launches: pinned for copies, plain for the replays of graphs. Nothing here runs on a
// thread of the program, except for a launch whose memory is its caller's own.
#include <pthread.h>
#include <stdlib.h>

#include "drain.h"
#include "driver.h"

static struct host { uint8_t *memory; uint64_t capacity; uint8_t pinned; uint32_t next, readers; } hosts[HOSTS];
static uint32_t idle[2], unused, made = 1; // unused: numbers without memory; idle: by pinned; a list is short, because sizes repeat
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// A buffer that is much larger than needed is left to others.
static uint32_t take_idle(uint64_t bytes, int pinned) {
  for (uint32_t *at = &idle[pinned]; *at; at = &hosts[*at].next) {
    uint32_t h = *at;
    if (hosts[h].capacity < bytes || hosts[h].capacity / 4 > bytes) continue;
    *at = hosts[h].next;
    return h;
  }
  return 0;
}

static void *allocate(uint64_t bytes, int pinned) {
  void *memory = NULL;
  if (!pinned) return malloc(bytes);
  struct scratch_apart before = scratch_apart_begin();
  uint32_t failed = cu.host_allocate(&memory, bytes, 1 /* for all contexts */);
  scratch_apart_end(before);
  return failed ? NULL : memory;
}

// release_idle frees what no launch has, when there is no room for a size that none of it fits.
static void release_idle(void) {
  for (int pinned = 0; pinned < 2; pinned++)
    for (uint32_t h; (h = idle[pinned]);) {
      idle[pinned] = hosts[h].next;
      struct scratch_apart before = scratch_apart_begin();
      if (pinned) cu.host_release(hosts[h].memory);
      else free(hosts[h].memory);
      scratch_apart_end(before);
      atomic_fetch_sub(&scratch.host_bytes, hosts[h].capacity);
      hosts[h].next = unused;
      unused = h;
    }
}

static uint32_t number(void) {
  uint32_t h = unused;
  if (h) unused = hosts[h].next;
  return h ? h : made < HOSTS ? made++ : 0;
}

static uint32_t make(uint64_t bytes, int pinned) {
  uint64_t rounded = (bytes + 0xffff) & ~0xffffull, before = atomic_load(&scratch.host_bytes);
  if (before && before + rounded > atomic_load(&scratch.limit) / 4) return 0;
  uint32_t h = number();
  void *memory = h ? allocate(rounded, pinned) : NULL;
  if (!memory) {
    if (h) hosts[h].next = unused, unused = h;
    return 0;
  }
  atomic_fetch_add(&scratch.host_bytes, rounded);
  hosts[h] = (struct host){.memory = memory, .capacity = rounded, .pinned = (uint8_t)pinned};
  return h;
}

uint32_t scratch_host_get(uint64_t bytes, int pinned, uint32_t readers) {
  pthread_mutex_lock(&lock);
  uint32_t h = take_idle(bytes, pinned);
  if (!h) h = make(bytes, pinned);
  if (!h) release_idle(), h = make(bytes, pinned);
  if (h) hosts[h].readers = readers;
  pthread_mutex_unlock(&lock);
  return h;
}

uint8_t *scratch_host_memory(uint32_t h) { return hosts[h].memory; }

uint64_t scratch_host_capacity(uint32_t h) { return hosts[h].capacity; }

void scratch_recycle(uint32_t h) {
  pthread_mutex_lock(&lock);
  if (--hosts[h].readers == 0) {
    hosts[h].next = idle[hosts[h].pinned];
    idle[hosts[h].pinned] = h;
  }
  pthread_mutex_unlock(&lock);
}
