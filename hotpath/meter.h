// The meter measures how long the profiler's own code takes on the program's threads, for sessions with a budget. Of all calls a
// random part is read with the processor's cycle counter, one of 16 on average: a reading costs about as much as a quarter of a launch's
// callback. The intervals are random because the calls of a loop are not: with every 16th call, a loop of 16 launches would
// have the same one read each time. The first section of each kind in a thread is read, so that rare sections have a reading, too.
//
// A section is a piece of work that is measured: a callback, a call of a hook, or a walk of Python's stack. A section inside of a
// callback or hook is part of that and is not counted again. Only a walk has an account of its own: its time is subtracted from the
// section around it.
#ifndef GOPROTON_METER_H
#define GOPROTON_METER_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

// An observer is a hook that is thinned out like call paths: see set_thinner of struct hp_api.
enum hp_meter_site { HP_METER_CALLBACK, HP_METER_HOOK, HP_METER_PATH, HP_METER_OBSERVER, HP_METER_SITES };

#define HP_PATH_LEFT_OUT "(path not taken)" // the frame in place of a Python call path

enum { HP_METER_EVERY = 16 }; // a power of two; the mean interval is half a call more

// Counters only grow. Each thread writes its own counters; Go adds up the counters of all threads.
struct hp_meter {
  uint32_t depth;   // of callbacks and hooks that are open
  uint32_t reading; // the open section is read
  uint64_t random;
  uint64_t walked;  // ticks of walks within the section that is read
  struct hp_meter_account {
    _Atomic uint64_t calls, readings, ticks, cut;
    uint32_t run;  // the value of hp_g.metered at the last section
    uint32_t left; // sections until the next reading
  } site[HP_METER_SITES];
  _Atomic uint64_t taken, left_out; // launches whose Python call path was taken, and was not
};

struct hp_meter_sums { uint64_t calls[HP_METER_SITES], readings[HP_METER_SITES], ticks[HP_METER_SITES], cut[HP_METER_SITES], taken, left_out; };

static inline uint64_t hp_ticks(void) {
#if defined __x86_64__
  return __builtin_ia32_rdtsc();
#elif defined __aarch64__
  uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

// ---- on the program's threads: see struct hp_api ----

uint64_t hp_meter_begin(int site);
void hp_meter_end(uint64_t began, int site);
// hp_meter_walk is walk(), measured.
struct hp_thread;
uint32_t hp_meter_walk(struct hp_thread *t, uint32_t (*walk)(void));
// hp_launch_left_out decides, at a launch, whether its Python call path is left out, and counts it. Draws are random, and one for all
// work of an op. hp_path_left_out is the same without the count.
int hp_launch_left_out(struct hp_thread *t);
int hp_path_left_out(struct hp_thread *t);
// hp_path_in_place is the call path in the place of one that is left out: a frame that says so, with the thread's scopes below it.
uint32_t hp_path_in_place(struct hp_thread *t);

// ---- for Go ----

// hp_meter_run begins or ends to measure. A reading of more than limit ticks, of a hook ten times as many, is one of a thread that was
// interrupted: it is counted and left out.
void hp_meter_run(int on, uint64_t limit);
// hp_paths_thin has the Python call path of one launch in `every` taken, a power of two; 1 means every launch. It tells the thinner.
void hp_paths_thin(uint32_t every);
void hp_set_thinner(void (*thin)(uint32_t every));
struct hp_meter_sums hp_meter_sums(void);
uint64_t hp_ticks_now(void);
// hp_meter_empty is what a reading of nothing takes.
uint64_t hp_meter_empty(void);

#endif
