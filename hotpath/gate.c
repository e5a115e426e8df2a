#include "gate.h"
#include "wake.h"
#include <string.h>

enum { LONGEST = 256 };

// Names are compared as texts, because a text may have several ids, and other ids after reclaiming.
static char wanted[LONGEST];
static size_t wanted_length;
static _Atomic uint32_t depth; // scopes of the name that are open, in all threads; 0 or 1 with hp_profiler_api
static _Atomic(void (*)(void)) changed;

static void tell(void) {
  void (*call)(void) = atomic_load(&changed);
  if (call && !hp_load(&hp_g.dead)) call();
}

void hp_gate_set(const char *name, size_t length, void (*call)(void)) {
  atomic_store(&hp_g.gated, 0);
  atomic_fetch_and(&hp_g.frames, ~(uint32_t)HP_FRAMES_GATE);
  atomic_store(&depth, 0);
  atomic_store(&changed, call);
  wanted_length = length < LONGEST ? length : LONGEST;
  if (name) memcpy(wanted, name, wanted_length);
  atomic_store(&hp_g.gated, !name ? HP_GATE_API : wanted_length ? HP_GATE_SCOPE : 0);
  if (hp_load(&hp_g.gated) == HP_GATE_SCOPE) atomic_fetch_or(&hp_g.frames, HP_FRAMES_GATE);
}

int hp_gate_is_open(void) { return atomic_load(&depth) != 0; }

void hp_profiler_api(int start) {
  if (hp_load(&hp_g.gated) == HP_GATE_API && atomic_exchange(&depth, start ? 1 : 0) != (start ? 1u : 0u)) tell();
}

static int is_gate(const char *name, size_t length) {
  return hp_load(&hp_g.gated) == HP_GATE_SCOPE && length == wanted_length && !memcmp(name, wanted, length);
}

void hp_gate_enter(struct hp_thread *t, const char *name, size_t length) {
  if (!is_gate(name, length)) return;
  t->gates++;
  if (!atomic_fetch_add(&depth, 1)) tell();
}

// t->gates does not count a scope that was open before the gate was set.
void hp_gate_leave(struct hp_thread *t, const char *name, size_t length) {
  if (!t->gates || !is_gate(name, length)) return;
  t->gates--;
  if (atomic_fetch_sub(&depth, 1) == 1) tell();
}

void hp_gate_abandon(struct hp_thread *t) {
  if (!t->gates) return;
  atomic_fetch_sub(&depth, t->gates);
  t->gates = 0;
  hp_kick();
}
