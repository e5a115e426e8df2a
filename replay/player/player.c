// Plays a capture: one thread for each recorded thread plays its events, one at a time, in the recorded order.
#include "player.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static atomic_int playing;

int replaying(void) { return atomic_load_explicit(&playing, memory_order_relaxed); }

struct sequence {
  struct capture capture;
  const struct player_vendor *vendor;
  pthread_mutex_t lock;    // guards next
  pthread_cond_t *turns;   // by thread number
  size_t next;             // the event whose turn it is
};

struct player {
  struct sequence *sequence;
  uint32_t thread;
  int wanted; // some event is its
  pthread_t id;
};

static void play(const struct player_vendor *v, const struct capture *c, const struct cap_event *e) {
  if (e->type == EV_END) return;
  if (e->type < EV_SCOPE_ENTER || e->type > EV_END) v->play(c, e);
  else play_program(c, e);
}

// The recorded program waited for its GPU and the replay has none: without pauses, it would overflow the profiler's rings, as few
// real programs do. PROTON_STUB_PACE=0 plays at full speed.
static void pace(size_t event) {
  enum { EVENTS = 1024 };
  static const struct timespec pause = {0, 3000000}; // a full ring is 32 of these, time for a drainer on a busy machine
  const char *wanted = getenv("PROTON_STUB_PACE");
  if (event % EVENTS == 0 && !(wanted && !strcmp(wanted, "0"))) nanosleep(&pause, NULL);
}

// Plays the events of this thread, beginning with `next`, up to the first of another thread.
static size_t play_run(const struct player_vendor *v, const struct capture *c, size_t next, uint32_t thread) {
  for (; next < c->count && c->events[next].thread == thread; next++) {
    program_clock(c->events[next].time);
    play(v, c, &c->events[next]);
    pace(next + 1);
  }
  return next;
}

static void signal_all(struct sequence *s) {
  for (uint32_t i = 0; i <= s->capture.threads; i++) pthread_cond_signal(&s->turns[i]);
}

static void *player(void *argument) {
  struct player *p = argument;
  struct sequence *s = p->sequence;
  const struct capture *c = &s->capture;
  pthread_mutex_lock(&s->lock);
  for (;;) {
    while (s->next < c->count && c->events[s->next].thread != p->thread) pthread_cond_wait(&s->turns[p->thread], &s->lock);
    if (s->next == c->count) break;
    size_t next = s->next;
    pthread_mutex_unlock(&s->lock);
    next = play_run(s->vendor, c, next, p->thread);
    pthread_mutex_lock(&s->lock);
    s->next = next;
    if (next < c->count) pthread_cond_signal(&s->turns[c->events[next].thread]);
  }
  signal_all(s);
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

// Has every player end.
static void stop(struct sequence *s) {
  pthread_mutex_lock(&s->lock);
  s->next = s->capture.count;
  signal_all(s);
  pthread_mutex_unlock(&s->lock);
}

static const char *play_all(struct sequence *s) {
  const struct capture *c = &s->capture;
  struct player *players = calloc(c->threads + 1, sizeof *players);
  s->turns = calloc(c->threads + 1, sizeof *s->turns);
  if (!players || !s->turns) abort();
  pthread_mutex_init(&s->lock, NULL);
  for (uint32_t i = 0; i <= c->threads; i++) {
    players[i] = (struct player){.sequence = s, .thread = i};
    pthread_cond_init(&s->turns[i], NULL);
  }
  for (size_t i = 0; i < c->count; i++) players[c->events[i].thread].wanted = 1;
  // The first thread of a recording is the one that started the profiler: ours plays it. Threads end with
  // the capture and not with their last event, as most threads of a real program do.
  uint32_t first = c->count ? c->events[0].thread : 0;
  const char *wrong = NULL;
  for (uint32_t i = 0; i <= c->threads; i++)
    if (players[i].wanted && i != first && pthread_create(&players[i].id, NULL, player, &players[i])) {
      players[i].wanted = 0;
      wrong = "it has more threads than this system starts: raise ulimit -u";
    }
  if (!wrong) player(&players[first]);
  else stop(s);
  for (uint32_t i = 0; i <= c->threads; i++)
    if (players[i].wanted && i != first) pthread_join(players[i].id, NULL);
  free(players);
  free(s->turns);
  if (wrong) return wrong;
  return c->whole ? NULL : "the capture ends early: its program was killed, and what it did last is missing; record it again";
}

// The strings of a capture stay: kernel records on their way to the profiler point at them.
static void keep_strings(char **strings) {
  static struct kept { struct kept *next; char **strings; } *kept;
  struct kept *k = malloc(sizeof *k);
  if (!k) abort();
  *k = (struct kept){kept, strings};
  kept = k;
}

const char *player_play(const char *path, const struct player_vendor *vendor, const struct hp_api *api,
                        void (*control)(const char *, const char *)) {
  struct sequence s = {.vendor = vendor};
  const char *wrong = capture_read(&s.capture, path);
  if (wrong) return wrong;
  if ((wrong = vendor->begin(&s.capture))) {
    capture_close(&s.capture);
    return wrong;
  }
  atomic_store(&playing, 1);
  program_begin(&s.capture, api, control);
  wrong = play_all(&s);
  program_end();
  vendor->end();
  keep_strings(s.capture.strings);
  free(s.capture.events);
  return wrong;
}
