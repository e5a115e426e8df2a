// Callbacks run on the program's threads, inside its driver calls, and pass what happens to the hot path. A launch is two calls
// of it: context_seen compares the context with the last one, and launch looks up the call path, adds the op's metrics to their
// slots and stores a record in the ring. There is no lock, no allocation and no Go.
#include "counters.h"
#include "shared.h"
#include "tensor.h"
#include <stdatomic.h>
#include <string.h>

static const struct hp_vendor_api *hp;
static void *subscriber;
static _Atomic uint64_t graphs_seen;
static uint64_t base; // of correlation ids, which CUPTI counts from 1 again each time that it was left
static _Atomic int copies_wanted;

void cupti_use_hotpath(const struct hp_vendor_api *api) { hp = api; }
uint64_t cupti_graphs_seen(void) { return atomic_load(&graphs_seen); }

static uint64_t handle(const void *p) { return (uint64_t)(uintptr_t)p; }

// ---- driver API ----

// The kinds of driver functions, by callback id.
enum call { OTHER, LAUNCH, LAUNCH_EX, GRAPH, BEGIN_CAPTURE, END_CAPTURE, WORK, PROFILER_START, PROFILER_STOP, MARK };
static const uint8_t call_of[1024] = {
#define F(name, number) [number] = LAUNCH,
    CUDA_LAUNCH_CALLS(F) CUDA_LAUNCH_MANY_CALLS(F)
#undef F
#define F(name, number) [number] = LAUNCH_EX,
    CUDA_LAUNCH_EX_CALLS(F)
#undef F
#define F(name, number) [number] = GRAPH,
    CUDA_GRAPH_LAUNCH_CALLS(F)
#undef F
    [CBID_cuStreamBeginCapture] = BEGIN_CAPTURE, [CBID_cuStreamBeginCapture_ptsz] = BEGIN_CAPTURE,
    [CBID_cuStreamBeginCapture_v2] = BEGIN_CAPTURE, [CBID_cuStreamBeginCapture_v2_ptsz] = BEGIN_CAPTURE,
    [CBID_cuStreamBeginCaptureToGraph] = BEGIN_CAPTURE, [CBID_cuStreamBeginCaptureToGraph_ptsz] = BEGIN_CAPTURE,
    [CBID_cuStreamEndCapture] = END_CAPTURE, [CBID_cuStreamEndCapture_ptsz] = END_CAPTURE,
#define F(name, number) [number] = WORK,
    CUDA_COPY_CALLS(F) CUDA_SYNC_CALLS(F)
#undef F
    [CBID_cuProfilerStart] = PROFILER_START, [CBID_cuProfilerStop] = PROFILER_STOP, [CBID_cuCtxGetCurrent] = MARK,
};

static __thread uint64_t marked __attribute__((tls_model("initial-exec"))); // the id of this thread's last call of the MARK kind

static uint64_t id(const struct cupti_callback_data *d) { return base + d->correlation_id; }
uint64_t cupti_correlation_base(void) { return base; }
void cupti_correlation_from(uint64_t first) { base = first; }

static void call_enters(enum call call, const struct cupti_callback_data *d) {
  switch (call) {
  case LAUNCH:
    hp->context_seen(d->context);
    hp->launch(id(d), handle(((const struct cuda_params_launch_kernel *)d->params)->function));
    return;
  case LAUNCH_EX:
    hp->context_seen(d->context);
    hp->launch(id(d), handle(((const struct cuda_params_launch_kernel_ex *)d->params)->function));
    return;
  case GRAPH:
    atomic_store_explicit(&graphs_seen, 1, memory_order_relaxed);
    hp->context_seen(d->context);
    hp->graph_launch(id(d), handle(((const struct cuda_params_graph_launch *)d->params)->exec));
    return;
  case WORK:
    if (cupti_own_call) return;
    hp->context_seen(d->context);
    hp->work(id(d));
    return;
  case PROFILER_START: hp->profiler_api(1); return;
  case PROFILER_STOP: hp->profiler_api(0); return;
  case MARK: marked = id(d); return;
  default: return;
  }
}

// Rare cases are functions of their own: the code of a launch is then short, and saves no registers for them.
#define RARE __attribute__((noinline))

// A program is watched for a hang: which stream the launch went to, and whether it failed.
static void launch_returned(enum call call, uint32_t cbid, const struct cupti_callback_data *d, uint32_t result) {
  const struct cuda_params_launch_kernel *one = d->params;
  const struct cuda_params_launch_kernel_ex *ex = d->params;
  const struct cuda_params_graph_launch *graph = d->params;
  if (call == LAUNCH_EX) hp->returned(id(d), handle(ex->function), handle(ex->config->stream), result, d->symbol_name);
  else if (call == GRAPH) hp->returned(id(d), handle(graph->exec), handle(graph->stream), result, NULL);
  else if (cbid == CBID_cuLaunchKernel || cbid == CBID_cuLaunchKernel_ptsz || cbid == CBID_cuLaunchCooperativeKernel || cbid == CBID_cuLaunchCooperativeKernel_ptsz)
    hp->returned(id(d), handle(one->function), handle(one->stream), result, d->symbol_name);
}

RARE static void call_exits(enum call call, uint32_t cbid, const struct cupti_callback_data *d) {
  if (call == PROFILER_START || call == PROFILER_STOP || call == MARK) return;
  uint32_t result = d->return_value ? *(const uint32_t *)d->return_value : CU_OK;
  if (call == LAUNCH || call == LAUNCH_EX || call == GRAPH) launch_returned(call, cbid, d, result);
  if (call == BEGIN_CAPTURE && result == CU_OK) hp->capture(+1);
  else if (call == END_CAPTURE && result != CU_ILLEGAL_STATE && result != CU_CAPTURE_WRONG_THREAD) hp->capture(-1);
  else if (call != BEGIN_CAPTURE && call != END_CAPTURE && (call != WORK || !cupti_own_call)) hp->launched(id(d), cbid);
}

static void driver_call(uint32_t cbid, const struct cupti_callback_data *d) {
  enum call call = cbid < sizeof call_of ? call_of[cbid] : OTHER;
  if (d->site == SITE_ENTER) call_enters(call, d);
  else if (call == BEGIN_CAPTURE || __builtin_expect(atomic_load_explicit(hp->exits_matter, memory_order_relaxed) != 0, 0)) call_exits(call, cbid, d);
}

// ---- resources ----

// Looking up the id of a node takes time, so nodes that copy or fill are looked up only where a session wants copies.
static int node_wanted(uint32_t type) {
  return type == NODE_KERNEL || ((type == NODE_MEMCPY || type == NODE_MEMSET) && atomic_load_explicit(&copies_wanted, memory_order_relaxed));
}

static void graph_resource(uint32_t cbid, const struct cupti_graph_data *g) {
  uint32_t graph = 0;
  uint64_t node = 0, original = 0;
  switch (cbid) {
  case RES_GRAPHNODE_CREATED:
    if (!node_wanted(g->node_type) || cupti.GetGraphNodeId(g->node, &node)) return;
    if (cupti.GetGraphId(g->graph, &graph)) return;
    hp->node_created(graph, node);
    return;
  case RES_GRAPHNODE_CLONED:
    if (!node_wanted(g->node_type) || cupti.GetGraphNodeId(g->node, &node)) return;
    if (cupti.GetGraphNodeId(g->original_node, &original) || cupti.GetGraphId(g->graph, &graph)) return;
    hp->node_cloned(graph, node, original);
    return;
  case RES_GRAPH_DESTROY_STARTING:
    if (!cupti.GetGraphId(g->graph, &graph)) hp->graph_destroyed(graph);
    return;
  case RES_GRAPHEXEC_CREATED:
    atomic_fetch_add_explicit(&graphs_seen, 1, memory_order_relaxed);
    return;
  case RES_GRAPHEXEC_DESTROY_STARTING:
    // Before 12.3 CUPTI does not report an executable graph's id; its nodes then stay until the session ends.
    if (cupti.GetGraphExecId && !cupti.GetGraphExecId(g->graph_exec, &graph)) hp->exec_destroyed(graph);
    return;
  }
}

RARE static void resource(uint32_t cbid, const struct cupti_resource_data *r) {
  if (cbid == RES_CONTEXT_DESTROY_STARTING) hp->context_gone(r->context), cupti_tensors_gone(r->context);
  else graph_resource(cbid, r->descriptor);
}

// ---- NVTX: ranges are scopes ----

// A program that has ranges keeps CUPTI: while it is left they would not be reported. The end of one that began then is ignored.
static _Atomic int ranges_seen;
static __thread uint32_t ranges __attribute__((tls_model("initial-exec"))); // of this thread that are open
int cupti_ranges_seen(void) { return atomic_load(&ranges_seen); }

RARE static void nvtx(uint32_t cbid, const struct cupti_nvtx_data *n) {
  atomic_store_explicit(&ranges_seen, 1, memory_order_relaxed);
  if (cbid == NVTX_RangePushA) {
    ranges++;
    hp->range_push(((const struct nvtx_params_message *)n->params)->message);
  } else if (cbid == NVTX_RangePop && ranges) {
    ranges--;
    hp->range_pop();
  }
}

void cupti_on_callback(void *user, uint32_t domain, uint32_t cbid, const void *data) {
  (void)user;
  if (__builtin_expect(domain == DOMAIN_DRIVER, 1)) driver_call(cbid, data);
  else if (domain == DOMAIN_RESOURCE) resource(cbid, data);
  else if (domain == DOMAIN_NVTX) nvtx(cbid, data);
}

// ---- subscription ----

// Every version has Subscribe. After a refusal, Subscribe_v2 of 13.0 reports the name of the other subscriber; if that one has
// unsubscribed in the meantime, it subscribes.
uint32_t cupti_subscribe(cupti_callback_fn callback, char *holder, size_t holder_size, int share) {
  holder[0] = 0;
  if (share) return cupti_share(&subscriber, callback, holder, holder_size);
  uint32_t rc = cupti.Subscribe(&subscriber, callback, NULL);
  if (rc != RC_MULTIPLE_SUBSCRIBERS || !cupti.Subscribe_v2) return rc;
  struct cupti_subscriber_params p = {sizeof p, "goproton", holder, holder_size};
  return cupti.Subscribe_v2(&subscriber, callback, NULL, &p);
}

atomic_int cupti_listening;

// Threads that are in a launch have ids that are a little greater than that of the call that returns here.
uint32_t cupti_leave_at(const struct cupti_callback_data *d) {
  enum { IN_PROGRESS = 1 << 16 };
  uint64_t next = id(d) + IN_PROGRESS;
  cupti_unsubscribe();
  uint32_t rc = cupti.Finalize();
  if (!rc) base = next;
  return rc;
}

uint32_t cupti_unsubscribe(void) {
  uint32_t rc = subscriber ? cupti.Unsubscribe(subscriber) : 0;
  subscriber = NULL;
  cupti_listening = 0;
  while (hp->capturing()) hp->capture(-1); // CUPTI does not report their ends any more
  return rc;
}

#define F(name, number) number,
static const uint32_t driver_ids[] = {CUDA_LAUNCH_CALLS(F) CUDA_LAUNCH_MANY_CALLS(F) CUDA_LAUNCH_EX_CALLS(F)};
static const uint32_t graph_ids[] = {CUDA_GRAPH_LAUNCH_CALLS(F)};
#undef F
static const uint32_t capture_ids[] = {
    CBID_cuStreamBeginCapture, CBID_cuStreamBeginCapture_ptsz, CBID_cuStreamBeginCapture_v2,
    CBID_cuStreamBeginCapture_v2_ptsz, CBID_cuStreamEndCapture, CBID_cuStreamEndCapture_ptsz,
};
// Older libraries refuse these ids: that is not an error.
static const uint32_t newer_capture_ids[] = {CBID_cuStreamBeginCaptureToGraph, CBID_cuStreamBeginCaptureToGraph_ptsz};
static const uint32_t resource_ids[] = {
    RES_GRAPH_DESTROY_STARTING, RES_GRAPHNODE_CREATED,
    RES_GRAPHNODE_CLONED, RES_GRAPHEXEC_DESTROY_STARTING,
};
static const uint32_t nvtx_ids[] = {NVTX_RangePushA, NVTX_RangePop};
static const uint32_t profiler_ids[] = {CBID_cuProfilerStart, CBID_cuProfilerStop};

static uint32_t enable_all(int on, uint32_t domain, const uint32_t *ids, size_t n) {
  uint32_t first = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t rc = cupti.EnableCallback((uint32_t)on, subscriber, domain, ids[i]);
    if (rc && !first) first = rc;
  }
  return first;
}

#define ENABLE(on, domain, ids) enable_all(on, domain, ids, sizeof ids / sizeof *ids)

// Some stay enabled while no session is active: a later flush must neither touch a context that was destroyed then, nor synchronise with
// a capture that began then, and CUPTI is not left after a graph that ran then.
static uint32_t keep_listening(void) {
  static const uint32_t context_ids[] = {RES_CONTEXT_DESTROY_STARTING, RES_GRAPHEXEC_CREATED};
  uint32_t rc = ENABLE(1, DOMAIN_DRIVER, capture_ids);
  if (!rc) rc = ENABLE(1, DOMAIN_DRIVER, graph_ids);
  ENABLE(1, DOMAIN_DRIVER, newer_capture_ids);
  return rc ? rc : ENABLE(1, DOMAIN_RESOURCE, context_ids);
}

uint32_t cupti_listen(int on, int with_nvtx, int keep_launches) {
  uint32_t rc = RC_OK;
  if (!on) cupti_listening = 0;
  if (on || !keep_launches) rc = ENABLE(on, DOMAIN_DRIVER, driver_ids);
  if (on && !rc) rc = keep_listening();
  if (!rc) rc = ENABLE(on, DOMAIN_RESOURCE, resource_ids);
  if (on) cupti_listening = 1;
  if (with_nvtx && on) ENABLE(1, DOMAIN_NVTX, nvtx_ids); // for good: a range may end while no session is active, as other scopes may
  return rc;
}

uint32_t cupti_listen_launches(int on) { return ENABLE(on, DOMAIN_DRIVER, driver_ids); }

uint32_t cupti_watch(int ranges, int profilers) {
  if (ranges) ENABLE(1, DOMAIN_NVTX, nvtx_ids);
  return ENABLE(profilers, DOMAIN_DRIVER, profiler_ids);
}

// The function is harmless in every state of the driver. Its callback is enabled for the moment only, because torch calls it often.
uint64_t cupti_mark(void) {
  static const uint32_t ids[] = {CBID_cuCtxGetCurrent};
  void *context;
  marked = 0;
  if (!subscriber || ENABLE(1, DOMAIN_DRIVER, ids)) return 0;
  cupti_own_call = 1;
  cuda.cuCtxGetCurrent(&context);
  cupti_own_call = 0;
  ENABLE(0, DOMAIN_DRIVER, ids);
  return marked;
}

// An older library refuses the ids that it does not know. All know the first of a list: its result counts.
static uint32_t switch_work(int on, int *was_on, const uint32_t *ids, size_t n) {
  if (on == *was_on) return RC_OK;
  *was_on = on;
  enable_all(on, DOMAIN_DRIVER, ids + 1, n - 1);
  return enable_all(on, DOMAIN_DRIVER, ids, 1);
}

uint32_t cupti_listen_work(int copies, int waits) {
#define F(name, number) number,
  static const uint32_t copy_ids[] = {CUDA_COPY_CALLS(F)}, wait_ids[] = {CUDA_SYNC_CALLS(F)};
#undef F
  static int copies_on, waits_on;
  atomic_store(&copies_wanted, copies);
  uint32_t copy_rc = switch_work(copies, &copies_on, copy_ids, sizeof copy_ids / sizeof *copy_ids);
  uint32_t wait_rc = switch_work(waits, &waits_on, wait_ids, sizeof wait_ids / sizeof *wait_ids);
  return copy_rc ? copy_rc : wait_rc;
}

// A context that is destroyed is not measured any more.
uint32_t cupti_listen_counted(void) {
  static const uint32_t ids[] = {CBID_cuCtxDestroy, CBID_cuCtxDestroy_v2, CBID_cuDevicePrimaryCtxReset, CBID_cuDevicePrimaryCtxReset_v2};
  return ENABLE(1, DOMAIN_DRIVER, ids);
}

// These callbacks are never disabled: a module that is loaded while no session is active may be sampled later.
uint32_t cupti_listen_code(void) {
  static const uint32_t ids[] = {
      CBID_cuModuleLoad, CBID_cuModuleLoadData, CBID_cuModuleLoadDataEx, CBID_cuModuleLoadFatBinary, CBID_cuModuleUnload,
      CBID_cuModuleGetFunction, CBID_cuCtxDestroy, CBID_cuCtxDestroy_v2, CBID_cuDevicePrimaryCtxReset, CBID_cuDevicePrimaryCtxReset_v2,
  };
  static const uint32_t newer[] = { // 11.8 refuses these
      CBID_cuLibraryLoadData, CBID_cuLibraryLoadFromFile, CBID_cuLibraryUnload, CBID_cuLibraryGetKernel,
      CBID_cuLibraryGetModule, CBID_cuKernelGetFunction,
  };
  static const uint32_t resources[] = {RES_MODULE_LOADED};
  uint32_t rc = ENABLE(1, DOMAIN_DRIVER, ids);
  ENABLE(1, DOMAIN_DRIVER, newer);
  return rc ? rc : ENABLE(1, DOMAIN_RESOURCE, resources);
}

const char *cupti_call_name(uint32_t cbid) {
  switch (cbid) {
#define F(name, number) case number: return #name;
  CUDA_ALL_LAUNCH_CALLS(F)
  CUDA_COPY_CALLS(F)
  CUDA_SYNC_CALLS(F)
#undef F
  }
  return "";
}

// ---- activity buffers ----

static void request(uint8_t **buffer, size_t *size, size_t *max_records) {
  *buffer = hp->buffer_get(size);
  *max_records = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
  (void)context, (void)stream, (void)size;
  if (buffer) hp->buffer_done(buffer, valid, cupti_read);
}

uint32_t cupti_register_buffers(void) { return cupti.ActivityRegisterCallbacks(request, complete); }
