// Tests the ring and the bytes of records without Python, also when memory is exhausted. tracering_test.go compiles it with
// sanitizers.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int none_left, slept, child;
static void *some(size_t n) { return none_left ? NULL : malloc(n); }
static void *more(void *p, size_t n) { return none_left ? NULL : realloc(p, n); }
static int nap(const struct timespec *t, struct timespec *rest) { return (void)t, (void)rest, slept++, 0; }
#define malloc some
#define realloc more
#define nanosleep nap
#include "../../bytes.c"
#include "../../tracering.c"

struct py_table py;
uint64_t trace_generation;
int hooks_in_child(void) { return child; }
void hooks_retake_gil(void *state) { py.PyEval_RestoreThread(state); }
static void *save(void) { return NULL; }
static void restore(void *state) { (void)state; }

enum { CAPACITY = 4096 };
static _Alignas(8) uint8_t memory[RING_HEADER + CAPACITY];

static uint64_t at(int what) { return atomic_load(word(what)); }

static void small_things(struct bytes *b) {
  for (int i = 0; i < 2000; i++) put_byte(b, 1), put_fixed(b, 2), put_uint(b, UINT64_MAX), put_int(b, -1);
}

static void where_memory_ends(void) {
  static uint8_t large[5000];
  struct bytes b;
  bytes_init(&b);
  small_things(&b);
  assert(!b.incomplete && b.n == 2000 * (1 + 8 + 10 + 1));
  none_left = 1;
  put(&b, large, sizeof large), small_things(&b), put(&b, large, sizeof large);
  assert(b.incomplete);
  none_left = 0;
  bytes_free(&b);
  bytes_init(&b);
  none_left = 1;
  put(&b, large, sizeof large), small_things(&b);
  assert(b.incomplete && b.at == b.few);
  none_left = 0;
  bytes_free(&b);
}

static void a_ring_that_is_full(void) {
  uint8_t record[100] = {0};
  int pushed = 0;
  while (ring_push(record, 50, record, 50)) pushed++;
  assert(pushed == CAPACITY / 104 && at(RING_LOST) == 1 && slept == 5000);
  assert(!ring_push(record, 1, record, 99) && at(RING_LOST) == 2 && slept == 5000); // it has waited once
  atomic_store(word(RING_READ), at(RING_WRITTEN));                                  // the writer has read all
  assert(ring_push(record, 100, NULL, 0) && slept == 5000);
  assert(!ring_push(memory, CAPACITY, NULL, 0) && at(RING_LOST) == 3); // this one does not fit into the ring
  ring_lost();
  assert(at(RING_LOST) == 4);
}

static void who_may_not_write(void) {
  uint64_t before = at(RING_WRITTEN);
  child = 1;
  assert(!ring_push("x", 1, NULL, 0) && at(RING_WRITTEN) == before);
  child = 0;
  ring_open(0);
  assert(!ring_push("x", 1, NULL, 0));
  ring_lost();
}

int main(void) {
  py.PyEval_SaveThread = save, py.PyEval_RestoreThread = restore;
  atomic_store((_Atomic uint64_t *)(void *)(memory + RING_CAPACITY), CAPACITY);
  where_memory_ends();
  ring_open((uint64_t)(uintptr_t)memory);
  a_ring_that_is_full();
  who_may_not_write();
  puts("fine");
  return 0;
}
