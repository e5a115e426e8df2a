#include "replay_clock.h"

#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "replay_records.h"

#define UNKNOWN UINT64_MAX // a time

enum {
  AFTER_LAUNCH = 5000,        // ns from a launch to its kernel on an idle GPU: about what an H200 needs
  BETWEEN_EVENTS = 200,       // ns between events whose times are not known
  CLOCKS_AGREE = 1000000000,  // ns: if no launch and kernel are closer, the clocks of CPU and GPU are unrelated
};

// ---- what the GPU's records say ----

// By correlation id: the start of the first GPU work, and the start and end of a host's wait.
struct work {
  struct map starts, waits;
  uint64_t first; // the first start of all; 0: no record is timed
};

static void note_record(struct work *w, uint32_t kind, const uint8_t *record) {
  uint64_t times[2];
  uint32_t id;
  if (!record_times(record, kind, times)) return;
  memcpy(&id, record + record_fields(kind).correlation, sizeof id);
  if (!w->first || times[0] < w->first) w->first = times[0];
  if (kind == ACT_SYNCHRONIZATION) {
    map_put(&w->waits, id, 0, times[0], times[1]);
    return;
  }
  const struct map_entry *known = map_get(&w->starts, id, 0);
  if (!known || times[0] < known->value[0]) map_put(&w->starts, id, 0, times[0], 0);
}

static void note_buffer(struct work *w, const struct cap_event *e) {
  struct records records;
  uint32_t kind, size;
  records_open(&records, e);
  for (const uint8_t *record; (record = records_next(&records, &kind, &size));) note_record(w, kind, record);
}

// ---- the events' times ----

// Reads an event's site and correlation id; 0 if the event is not a callback.
static int callback(const struct cap_event *e, uint32_t *site, uint32_t *correlation) {
  struct cap_cursor in = cap_open(e);
  if (e->type != EV_CALLBACK) return 0;
  cap_number(&in); // domain
  cap_number(&in); // cbid
  *site = (uint32_t)cap_number(&in);
  *correlation = (uint32_t)cap_number(&in);
  return !in.short_;
}

// The latest time at which an event can have happened, according to the GPU's records; 0 for unknown.
static uint64_t latest(const struct work *w, const struct cap_event *e) {
  uint32_t site, correlation;
  if (!callback(e, &site, &correlation)) return 0;
  const struct map_entry *wait = map_get(&w->waits, correlation, 0);
  if (wait) return site == SITE_ENTER ? wait->value[0] : wait->value[1];
  const struct map_entry *start = map_get(&w->starts, correlation, 0);
  return start && site == SITE_ENTER && start->value[0] > AFTER_LAUNCH ? start->value[0] - AFTER_LAUNCH : 0;
}

// Whether an event is the end of something. Its time is close to that of the event before it; any other event's is close to that
// of the next one.
static int ends_something(const struct cap_event *e) {
  uint32_t site, correlation;
  switch (e->type) {
  case EV_SCOPE_EXIT: case EV_STATE_EXIT: case EV_OP_EXIT: case EV_END: return 1;
  }
  return callback(e, &site, &correlation) && site != SITE_ENTER;
}

// Gives times to the events of a capture that has none: from the last event to the first, each as late as possible; then, from
// the first to the last, each end of something as early as possible. Both keep the order of the events.
static void derive_times(struct capture *c, const struct work *w) {
  uint64_t bound = UNKNOWN;
  for (size_t i = c->count; i-- > 0;) {
    uint64_t at = latest(w, &c->events[i]);
    if (bound != UNKNOWN && bound > BETWEEN_EVENTS) bound -= BETWEEN_EVENTS;
    if (at && at < bound) bound = at;
    c->events[i].time = bound;
  }
  for (size_t i = 1; i < c->count; i++) {
    struct cap_event *e = &c->events[i];
    uint64_t before = c->events[i - 1].time;
    int free_to_move = e->time == UNKNOWN || (ends_something(e) && !latest(w, e));
    if (free_to_move && before != UNKNOWN && before + BETWEEN_EVENTS < e->time) e->time = before + BETWEEN_EVENTS;
  }
}

// The difference to add to the GPU's times to have them in the clock of the events: 0, unless a kernel starts before its launch
// or the clocks are unrelated.
static uint64_t between_clocks(const struct capture *c, const struct work *w) {
  uint64_t nearest = UNKNOWN; // a difference, in two's complement
  for (size_t i = 0; i < c->count; i++) {
    uint32_t site, correlation;
    if (!callback(&c->events[i], &site, &correlation) || site != SITE_ENTER) continue;
    const struct map_entry *start = map_get(&w->starts, correlation, 0);
    if (!start) continue;
    uint64_t apart = start->value[0] - c->events[i].time;
    if (nearest == UNKNOWN || (int64_t)apart < (int64_t)nearest) nearest = apart;
  }
  return nearest < CLOCKS_AGREE || nearest == UNKNOWN ? 0 : AFTER_LAUNCH - nearest;
}

int64_t set_event_times(struct capture *c, uint64_t begin) {
  struct work w = {0};
  for (size_t i = 0; i < c->count; i++)
    if (c->events[i].type == EV_BUFFER) note_buffer(&w, &c->events[i]);
  if (!c->timed) derive_times(c, &w);
  uint64_t between = between_clocks(c, &w);
  uint64_t first = c->count && c->events[0].time != UNKNOWN ? c->events[0].time : w.first;
  for (size_t i = 0; i < c->count; i++) {
    struct cap_event *e = &c->events[i];
    e->time = e->time == UNKNOWN ? begin : begin + (e->time - first);
    if (i && e->time < c->events[i - 1].time) e->time = c->events[i - 1].time;
  }
  map_free(&w.starts);
  map_free(&w.waits);
  return (int64_t)(begin - first + between);
}
