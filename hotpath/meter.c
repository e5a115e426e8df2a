#include "meter.h"
#include "names.h"
#include "paths.h"
#include "reclaim.h"
#include "thread.h"

static _Atomic uint64_t longest; // longest reading that counts, in ticks

// What hp_meter_begin returns if it is not a time. A time has at least these bits.
enum { OFF, NESTED, UNREAD, EARLIEST };

// ---- on the program's threads ----

static void add(_Atomic uint64_t *counter, uint64_t n) {
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed); // of this thread alone
}

static uint64_t draw(struct hp_meter *m) { // xorshift
  if (!m->random) m->random = hp_ticks() | 1;
  m->random ^= m->random << 13, m->random ^= m->random >> 7, m->random ^= m->random << 17;
  return m->random >> 16;
}

// first reports whether this is the first section at a site since the meter was started.
static int first(struct hp_meter_account *a, uint32_t run) {
  if (a->run == run) return 0;
  a->run = run, a->left = 0;
  return 1;
}

// chosen reports whether the section is to be read.
static int chosen(struct hp_meter *m, int site, uint32_t run) {
  struct hp_meter_account *a = &m->site[site];
  first(a, run);
  if (a->left) return a->left--, 0;
  a->left = (uint32_t)draw(m) & (2 * HP_METER_EVERY - 1);
  return 1;
}

// A hook may call Python code of the program, which takes longer. An observer calls none.
static void note(struct hp_meter *m, int site, uint64_t ticks) {
  struct hp_meter_account *a = &m->site[site];
  if (ticks > atomic_load_explicit(&longest, memory_order_relaxed) * (site == HP_METER_HOOK ? 10 : 1)) {
    add(&a->cut, 1);
    return;
  }
  add(&a->readings, 1);
  add(&a->ticks, ticks);
}

uint64_t hp_meter_begin(int site) {
  uint32_t run = hp_load(&hp_g.metered);
  struct hp_thread *t = run ? hp_living() : NULL;
  if (!t) return OFF;
  struct hp_meter *m = &t->meter;
  if (m->depth++) return NESTED;
  if (!chosen(m, site, run)) return UNREAD;
  m->reading = 1, m->walked = 0;
  return hp_ticks() | EARLIEST;
}

void hp_meter_end(uint64_t began, int site) {
  if (began == OFF) return;
  uint64_t now = began >= EARLIEST ? hp_ticks() : 0;
  struct hp_thread *t = hp_living();
  if (!t || !t->meter.depth) return; // the thread forked, or has ended its state meanwhile
  struct hp_meter *m = &t->meter;
  m->depth--;
  if (began == NESTED) return;
  add(&m->site[site].calls, 1);
  if (began == UNREAD) return;
  m->reading = 0;
  uint64_t took = now - began;
  note(m, site, took > m->walked ? took - m->walked : 0);
}

uint32_t hp_meter_walk(struct hp_thread *t, uint32_t (*walk)(void)) {
  struct hp_meter *m = &t->meter;
  uint32_t run = hp_load(&hp_g.metered);
  add(&m->site[HP_METER_PATH].calls, 1);
  // Within a section that is read, the walk is read, too, because the time of the walk is subtracted from the section's.
  if (!(m->depth ? first(&m->site[HP_METER_PATH], run) | (int)m->reading : chosen(m, HP_METER_PATH, run))) return walk();
  uint64_t began = hp_ticks();
  uint32_t node = walk();
  uint64_t took = hp_ticks() - began;
  m->walked += took;
  note(m, HP_METER_PATH, took);
  return node;
}

int hp_path_left_out(struct hp_thread *t) {
  uint32_t every = hp_load(&hp_g.paths_every);
  if (!every) return 0;         // since the caller looked
  if (hp_captures()) return 0; // every replay of a graph has the call paths of its capture
  if (!t->op_open) return (draw(&t->meter) & (every - 1)) != 0;
  if (t->thinned.op != t->op_seq) t->thinned.op = t->op_seq, t->thinned.out = (draw(&t->meter) & (every - 1)) != 0;
  return (int)t->thinned.out;
}

int hp_launch_left_out(struct hp_thread *t) {
  int out = hp_load(&hp_g.paths_every) && hp_path_left_out(t);
  add(out ? &t->meter.left_out : &t->meter.taken, 1);
  return out;
}

uint32_t hp_path_in_place(struct hp_thread *t) {
  enum { DEEPEST = 128 }; // the most scopes that are kept; the outermost ones are left out
  struct { uint32_t name, set; } scopes[DEEPEST];
  int n = 0;
  for (uint32_t at = hp_load(&t->scope); at && n < DEEPEST; n++) {
    struct hp_node node = hp_node_get(at);
    scopes[n].name = node.name, scopes[n].set = node.set;
    at = node.parent;
  }
  uint32_t path = hp_step(t, 0, hp_load(&hp_g.left_out_name), 0);
  while (n-- > 0) path = hp_step(t, path, scopes[n].name, scopes[n].set);
  return path;
}

// ---- for Go ----

void hp_meter_run(int on, uint64_t limit) {
  static uint32_t runs; // Go starts one meter at a time
  atomic_store(&longest, limit);
  if (on && !++runs) runs = 1;
  atomic_store(&hp_g.metered, on ? runs : 0);
  if (!on) hp_paths_thin(1);
}

void hp_paths_thin(uint32_t every) {
  if (!hp_load(&hp_g.left_out_name)) atomic_store(&hp_g.left_out_name, hp_intern(HP_PATH_LEFT_OUT, sizeof HP_PATH_LEFT_OUT - 1));
  if (!hp_load(&hp_g.left_out_name)) every = 1; // no room for the name: counted as lost
  atomic_store(&hp_g.paths_every, every > 1 ? every : 0);
  void (*thin)(uint32_t) = atomic_load(&hp_g.thinner);
  if (thin) thin(every);
}

void hp_set_thinner(void (*thin)(uint32_t every)) {
  uint32_t every = hp_load(&hp_g.paths_every);
  atomic_store(&hp_g.thinner, thin);
  thin(every ? every : 1);
}

struct hp_meter_sums hp_meter_sums(void) {
  struct hp_meter_sums s = {0};
  for (struct hp_thread *t = atomic_load(&hp_g.threads); t; t = t->next) {
    for (int i = 0; i < HP_METER_SITES; i++) {
      struct hp_meter_account *a = &t->meter.site[i];
      s.calls[i] += atomic_load_explicit(&a->calls, memory_order_relaxed);
      s.readings[i] += atomic_load_explicit(&a->readings, memory_order_relaxed);
      s.ticks[i] += atomic_load_explicit(&a->ticks, memory_order_relaxed);
      s.cut[i] += atomic_load_explicit(&a->cut, memory_order_relaxed);
    }
    s.taken += atomic_load_explicit(&t->meter.taken, memory_order_relaxed);
    s.left_out += atomic_load_explicit(&t->meter.left_out, memory_order_relaxed);
  }
  return s;
}

uint64_t hp_ticks_now(void) { return hp_ticks(); }

uint64_t hp_meter_empty(void) {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 1000; i++) {
    uint64_t began = hp_ticks(), took = hp_ticks() - began;
    if (took < least) least = took;
  }
  return least;
}
