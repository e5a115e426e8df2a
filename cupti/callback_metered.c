// The callbacks that are subscribed if a session has a budget: the others, measured. Without a budget nothing is measured, and no launch
// pays for the question. A budget may also ask to leave CUPTI for a while.
#include "meter.h"
#include "sampling.h"

#include <stdatomic.h>

static const struct hp_vendor_api *hp;

void cupti_meter_with(const struct hp_vendor_api *api) { hp = api; }

// ---- leaving CUPTI, on a thread of the program ----

// What the next launch that returns is asked for: an enum cupti_turn.
static atomic_int turn;
static atomic_int company;
static _Atomic uint64_t took; // ns of the thread that left

void cupti_leave(int in_company) { atomic_store(&company, in_company), atomic_store(&turn, CUPTI_LEAVE); }

int cupti_turn(uint64_t *nanos) {
  *nanos = atomic_load(&took);
  return atomic_load(&turn);
}

int cupti_stay(void) {
  int asked = CUPTI_LEAVE;
  return atomic_compare_exchange_strong(&turn, &asked, CUPTI_NONE);
}

// cuptiFinalize is safe where a call of the driver returns, on the thread that made it. From CUPTI 13.0 on, other threads may be inside of
// the driver meanwhile.
static void leave(const struct cupti_callback_data *d) {
  if ((!atomic_load(&company) && hp->others_live()) || hp->capturing() || cupti_graphs_seen() || cupti_ranges_seen()) {
    atomic_store(&turn, CUPTI_REFUSED);
    return;
  }
  uint64_t began = hp->now();
  uint32_t rc = cupti_leave_at(d);
  atomic_store(&took, hp->now() - began);
  atomic_store(&turn, rc ? CUPTI_UNSUBSCRIBED : CUPTI_LEFT);
}

__attribute__((cold, noinline)) static void take_turn(uint32_t domain, const struct cupti_callback_data *d) {
  int leaves = CUPTI_LEAVE;
  if (domain == DOMAIN_DRIVER && d->site == SITE_EXIT && !cupti_own_call && atomic_compare_exchange_strong(&turn, &leaves, CUPTI_LEAVES)) leave(d);
}

void cupti_on_metered_callback(void *user, uint32_t domain, uint32_t cbid, const void *data) {
  uint64_t began = hp->meter_begin(HP_METER_CALLBACK);
  cupti_on_callback(user, domain, cbid, data);
  hp->meter_end(began, HP_METER_CALLBACK);
  if (__builtin_expect(atomic_load_explicit(&turn, memory_order_relaxed) != CUPTI_NONE, 0)) take_turn(domain, data);
}

void cupti_on_metered_sampled_callback(void *user, uint32_t domain, uint32_t cbid, const void *data) {
  uint64_t began = hp->meter_begin(HP_METER_CALLBACK);
  cupti_on_sampled_callback(user, domain, cbid, data);
  hp->meter_end(began, HP_METER_CALLBACK);
}
