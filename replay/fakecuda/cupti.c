// The fake libcupti's functions: one subscriber, enable bits, kinds, attributes, ids.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer.h"

// The version. The library is built three times, so that older ones lack the newer symbols.
#ifndef STUB_CUPTI
#define STUB_CUPTI 130000
#endif

enum { DOMAINS = 7, CBIDS = 1024, KINDS = 64, ATTRIBUTES = 32 };

static struct {
  pthread_mutex_t lock; // guards subscriber and its callback, name, attributes
  void *subscriber;
  cupti_callback_fn callback;
  void *user;
  char name[64];
  uint64_t attributes[ATTRIBUTES];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_uchar enabled[DOMAINS][CBIDS];
static atomic_uchar kinds[KINDS], kinds_ever[KINDS];

static void trace(uint32_t domain, uint32_t cbid, const void *data) {
  if (domain == DOMAIN_DRIVER) line_launch(cbid, data);
  if (!replaying()) deliver(domain, cbid, data);
}
static const struct stub_tracer events = {trace, emit_kernel, emit_work, emit_graph};

__attribute__((constructor)) static void attach(void) { stub_cuda_trace(&events); }

static _Thread_local uint32_t call; // whose callback is being called
uint32_t delivered_call(void) { return call; }

void deliver(uint32_t domain, uint32_t cbid, const void *data) {
  if (domain == DOMAIN_DRIVER) call = ((const struct cupti_callback_data *)data)->correlation_id;
  if (domain < DOMAINS && cbid < CBIDS && atomic_load_explicit(&enabled[domain][cbid], memory_order_acquire))
    state.callback(state.user, domain, cbid, data);
}

int kind_wanted(uint32_t kind) { return kind < KINDS && atomic_load(&kinds[kind]); }
int kind_ever_wanted(uint32_t kind) { return kind < KINDS && atomic_load(&kinds_ever[kind]); }

// ---- version and texts ----

static uint32_t version; // 0 until first asked for

static void find_version(void) {
  const struct capture *c = stub_cuda_capture();
  uint64_t found = STUB_CUPTI;
  for (size_t i = 0; c && i < c->count; i++)
    if (c->events[i].type == EV_INFO) {
      struct cap_cursor at = cap_open(&c->events[i]);
      found = cap_number(&at);
      break;
    }
  version = (uint32_t)stub_number("PROTON_STUB_VERSION", found);
}

uint32_t stub_version(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_version);
  return version;
}

STUB_EXPORT uint32_t cuptiGetVersion(uint32_t *out) { return *out = stub_version(), stub_result("GetVersion"); }

STUB_EXPORT uint32_t cuptiGetResultString(uint32_t result, const char **text) {
  static _Thread_local char buffer[64];
  snprintf(buffer, sizeof buffer, "STUB_RESULT_%u", result);
  *text = result ? buffer : "STUB_SUCCESS";
  return RC_OK;
}

#if STUB_CUPTI >= 20
STUB_EXPORT uint32_t cuptiGetErrorMessage(uint32_t result, const char **text) {
  static _Thread_local char buffer[64];
  snprintf(buffer, sizeof buffer, "stub: result %u was asked for", result);
  *text = buffer;
  return RC_OK;
}
#endif

// ---- subscription ----

static uint32_t subscribe(void **subscriber, cupti_callback_fn callback, void *user, const char *name, char *holder, size_t size, int with_others) {
  uint32_t result = stub_result("Subscribe");
  const char *other = getenv("PROTON_STUB_HOLDER");
  if (result) return result;
  pthread_mutex_lock(&state.lock);
  if (state.subscriber || (other && *other && !with_others)) {
    if (holder && size) snprintf(holder, size, "%s", state.subscriber ? state.name : other);
    result = RC_MULTIPLE_SUBSCRIBERS;
  } else {
    snprintf(state.name, sizeof state.name, "%s", name);
    state.callback = callback, state.user = user;
    state.subscriber = *subscriber = &state;
  }
  pthread_mutex_unlock(&state.lock);
  return result;
}

STUB_EXPORT uint32_t cuptiSubscribe(void **subscriber, cupti_callback_fn callback, void *user) {
  return callback && subscriber ? subscribe(subscriber, callback, user, "", NULL, 0, 0) : RC_INVALID_PARAMETER;
}

#if STUB_CUPTI >= 130000
STUB_EXPORT uint32_t cuptiSubscribe_v2(void **subscriber, cupti_callback_fn callback, void *user, struct cupti_subscriber_params *p) {
  if (!callback || !subscriber || !p || p->size < sizeof *p) return RC_INVALID_PARAMETER;
  int several = stub_several() && p->size >= sizeof(struct cupti_subscriber_params_13_2) && ((const struct cupti_subscriber_params_13_2 *)p)->several == 1;
  uint32_t result = subscribe(subscriber, callback, user, p->name ? p->name : "", p->old_name, p->old_name_size, several);
  if (!result && several) stub_named(*subscriber);
  return result;
}
#endif

static void disable_everything(void) {
  for (int d = 0; d < DOMAINS; d++)
    for (int i = 0; i < CBIDS; i++) atomic_store(&enabled[d][i], 0);
}

STUB_EXPORT uint32_t cuptiUnsubscribe(void *subscriber) {
  if (!subscriber || subscriber != state.subscriber) return RC_INVALID_PARAMETER;
  disable_everything();
  pthread_mutex_lock(&state.lock);
  state.subscriber = NULL;
  stub_named(NULL);
  pthread_mutex_unlock(&state.lock);
  return stub_result("Unsubscribe");
}

// CUPTI 11.8 knows driver functions up to 676 and no state domain.
static int known(uint32_t domain, uint32_t cbid) {
  int old = stub_version() < CUPTI_12_0;
  if (domain == 0 || domain >= (old ? (uint32_t)DOMAIN_STATE : (uint32_t)DOMAINS) || cbid >= CBIDS) return 0;
  return !(old && domain == DOMAIN_DRIVER && cbid > 676);
}

STUB_EXPORT uint32_t cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid) {
  uint32_t result = stub_result("EnableCallback");
  if (result) return result;
  if (!subscriber || subscriber != state.subscriber || !known(domain, cbid)) return RC_INVALID_PARAMETER;
  atomic_store_explicit(&enabled[domain][cbid], enable != 0, memory_order_release);
  return RC_OK;
}

STUB_EXPORT uint32_t cuptiEnableDomain(uint32_t enable, void *subscriber, uint32_t domain) {
  if (!subscriber || subscriber != state.subscriber || !known(domain, 0)) return RC_INVALID_PARAMETER;
  for (int i = 0; i < CBIDS; i++) atomic_store_explicit(&enabled[domain][i], enable != 0, memory_order_release);
  return stub_result("EnableDomain");
}

// ---- kinds and attributes ----

STUB_EXPORT uint32_t cuptiActivityEnable(uint32_t kind) {
  uint32_t result = stub_result("ActivityEnable");
  if (stub_refuses_unnamed()) return RC_MULTIPLE_SUBSCRIBERS;
  if (result) return result;
  if (!kind || kind >= KINDS) return RC_INVALID_KIND;
  if (lines_counted() && (kind == ACT_CONCURRENT_KERNEL || kind == ACT_KERNEL)) return RC_NOT_COMPATIBLE;
  atomic_store(&kinds[kind], 1);
  atomic_store(&kinds_ever[kind], 1);
  return RC_OK;
}

int stub_kernels_recorded(void) { return atomic_load(&kinds[ACT_CONCURRENT_KERNEL]); }

STUB_EXPORT uint32_t cuptiActivityDisable(uint32_t kind) {
  if (stub_refuses_unnamed()) return RC_MULTIPLE_SUBSCRIBERS;
  if (!kind || kind >= KINDS) return RC_INVALID_KIND;
  atomic_store(&kinds[kind], 0);
  return stub_result("ActivityDisable");
}

static size_t attribute_size(uint32_t attribute) {
  switch (attribute) {
  case ATTR_DEVICE_BUFFER_SIZE: case ATTR_DEVICE_BUFFER_SIZE_CDP: case ATTR_DEVICE_BUFFER_POOL_LIMIT:
  case ATTR_DEVICE_BUFFER_PRE_ALLOCATE: return sizeof(size_t);
  case ATTR_ZEROED_OUT_BUFFER: case ATTR_HOST_PINNED: return 1;
  case ATTR_PER_THREAD_BUFFER: return stub_version() >= CUPTI_12_3 ? 1 : 0;
  }
  return 0;
}

STUB_EXPORT uint32_t cuptiActivitySetAttribute(uint32_t which, size_t *size, void *value) {
  uint32_t result = stub_result("ActivitySetAttribute");
  if (stub_refuses_unnamed()) return RC_MULTIPLE_SUBSCRIBERS;
  size_t wanted = attribute_size(which);
  if (result) return result;
  if (!wanted || !size || !value) return RC_INVALID_PARAMETER;
  if (*size < wanted) return RC_PARAMETER_SIZE;
  pthread_mutex_lock(&state.lock);
  memcpy(&state.attributes[which], value, wanted);
  pthread_mutex_unlock(&state.lock);
  *size = wanted;
  return RC_OK;
}

STUB_EXPORT uint32_t cuptiActivityGetAttribute(uint32_t which, size_t *size, void *value) {
  size_t wanted = attribute_size(which);
  if (!wanted || !size || !value || *size < wanted) return RC_INVALID_PARAMETER;
  pthread_mutex_lock(&state.lock);
  memcpy(value, &state.attributes[which], wanted);
  pthread_mutex_unlock(&state.lock);
  return RC_OK;
}

// ---- ids ----

static uint32_t identify(enum capture_answer function, void *handle, uint64_t *value) {
  uint32_t result = RC_OK;
  if (!handle) return RC_INVALID_PARAMETER;
  if (replaying()) return replayed_answer(function, handle, &result, value) ? result : (uint32_t)RC_INVALID_PARAMETER;
  *value = stub_cuda_object_id(handle);
  return *value ? RC_OK : RC_INVALID_PARAMETER;
}

static uint32_t identify32(enum capture_answer function, void *handle, uint32_t *id) {
  uint64_t value = 0;
  uint32_t result = identify(function, handle, &value);
  if (!result) *id = (uint32_t)value;
  return result;
}

STUB_EXPORT uint32_t cuptiGetGraphId(void *graph, uint32_t *id) { return identify32(ANS_GRAPH_ID, graph, id); }
STUB_EXPORT uint32_t cuptiGetGraphNodeId(void *node, uint64_t *id) { return identify(ANS_NODE_ID, node, id); }
STUB_EXPORT uint32_t cuptiGetContextId(void *context, uint32_t *id) { return identify32(ANS_CONTEXT_ID, context, id); }
#if STUB_CUPTI >= 21
STUB_EXPORT uint32_t cuptiGetGraphExecId(void *exec, uint32_t *id) { return identify32(ANS_EXEC_ID, exec, id); }
#endif

STUB_EXPORT uint32_t cuptiGetDeviceId(void *context, uint32_t *id) {
  if (replaying()) return identify32(ANS_DEVICE_ID, context, id);
  if (!stub_cuda_object_id(context)) return RC_INVALID_CONTEXT;
  *id = ((const uint32_t *)context)[1]; // struct context of the fake driver: id, device
  return RC_OK;
}

STUB_EXPORT uint32_t cuptiGetTimestamp(uint64_t *nanoseconds) { return *nanoseconds = stub_cuda_now(), stub_refuses_unnamed() ? RC_MULTIPLE_SUBSCRIBERS : RC_OK; }

// ---- the end ----

STUB_EXPORT uint32_t cuptiFinalize(void) {
  if (stub_several()) {
    fprintf(stderr, "stub: cuptiFinalize while another subscriber exists\n");
    abort();
  }
  uint32_t calls = getenv("PROTON_STUB_FULL") ? stub_cuda_calls() : 0;
  if (calls) {
    fprintf(stderr, "stub: cuptiFinalize while %u driver calls are in progress\n", calls);
    abort();
  }
  disable_everything();
  for (int i = 0; i < KINDS; i++) atomic_store(&kinds[i], 0), atomic_store(&kinds_ever[i], 0);
  pthread_mutex_lock(&state.lock);
  state.subscriber = NULL;
  memset(state.attributes, 0, sizeof state.attributes);
  pthread_mutex_unlock(&state.lock);
  forget_callbacks();
  return stub_result("Finalize");
}
