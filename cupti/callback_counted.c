// The callback that is subscribed if counters are to be measured. In addition to cupti_on_callback it has launches chosen, and keeps what
// other threads do out of a launch that is measured: their launches and copies pass the gate.
#include "counters.h"
#include "sampling.h"

static atomic_int by_line; // instructions are counted, so loaded code is kept
void cupti_counted_by_line(int yes) { atomic_store(&by_line, yes); }

static atomic_int copies_recorded;
void cupti_counted_copies(int recorded) { atomic_store(&copies_recorded, recorded); }

static const struct cuda_launch_config *config_of(const struct cupti_callback_data *d) { return ((const struct cuda_params_launch_kernel_ex *)d->params)->config; }

static int is_cooperative(const struct cuda_launch_config *c) {
  const struct cuda_launch_attribute *all = c ? c->attributes : NULL;
  for (uint32_t i = 0; all && i < c->num_attributes; i++)
    if (all[i].id == LAUNCH_COOPERATIVE) return all[i].value != 0;
  return 0;
}

#define CASE(name, number) case number:

// While no session is active, calls are followed for the gate alone, and for the end of a launch that is measured.
static int listening(void) { return atomic_load_explicit(&cupti_listening, memory_order_relaxed); }

static void launch(uint32_t cbid, const struct cupti_callback_data *d, uint64_t function, int cooperative) {
  if (d->site != SITE_ENTER) {
    int was = counters_exit(d);
    if (listening()) cupti_on_callback(NULL, DOMAIN_DRIVER, cbid, d);
    if (!was && !counters_inside()) gate_leave();
    return;
  }
  if (listening()) cupti_on_callback(NULL, DOMAIN_DRIVER, cbid, d);
  if (atomic_load_explicit(&by_line, memory_order_relaxed)) code_launched(function, d->symbol_name);
  if (!counters_enter(d, function, cooperative) && !counters_inside()) gate_enter();
}

// What is not to happen while another thread measures.
static void apart(uint32_t cbid, const struct cupti_callback_data *d, int recorded) {
  if (d->site == SITE_ENTER && !counters_inside()) gate_enter();
  if (recorded) cupti_on_callback(NULL, DOMAIN_DRIVER, cbid, d);
  if (d->site != SITE_ENTER && !counters_inside()) gate_leave();
}

static void capture(uint32_t cbid, const struct cupti_callback_data *d) {
  if (d->site == SITE_ENTER) counters_capture_begins();
  cupti_on_callback(NULL, DOMAIN_DRIVER, cbid, d);
  if (d->site != SITE_ENTER) counters_capture_began();
}

static void driver_call(uint32_t cbid, const struct cupti_callback_data *d) {
  if (cupti_own_call && cbid != CBID_cuCtxGetCurrent) return; // what CUPTI does to count a launch; the gate is closed
  switch (cbid) {
  case CBID_cuLaunchCooperativeKernel: case CBID_cuLaunchCooperativeKernel_ptsz:
    return launch(cbid, d, (uintptr_t)((const struct cuda_params_launch_kernel *)d->params)->function, 1);
  CUDA_LAUNCH_EX_CALLS(CASE)
    return launch(cbid, d, (uintptr_t)((const struct cuda_params_launch_kernel_ex *)d->params)->function, is_cooperative(config_of(d)));
  case CBID_cuLaunch: case CBID_cuLaunchGrid: case CBID_cuLaunchGridAsync: case CBID_cuLaunchKernel: case CBID_cuLaunchKernel_ptsz:
    return launch(cbid, d, (uintptr_t)((const struct cuda_params_launch_kernel *)d->params)->function, 0);
  CUDA_GRAPH_LAUNCH_CALLS(CASE)
    if (d->site == SITE_ENTER) counters_graph_launched();
    return apart(cbid, d, 1);
  CUDA_LAUNCH_MANY_CALLS(CASE)
    return apart(cbid, d, listening());
  CUDA_COPY_CALLS(CASE)
    return apart(cbid, d, listening() && atomic_load_explicit(&copies_recorded, memory_order_relaxed));
  case CBID_cuStreamBeginCapture: case CBID_cuStreamBeginCapture_ptsz: case CBID_cuStreamBeginCapture_v2: case CBID_cuStreamBeginCapture_v2_ptsz:
  case CBID_cuStreamBeginCaptureToGraph: case CBID_cuStreamBeginCaptureToGraph_ptsz:
    return capture(cbid, d);
  case CBID_cuCtxDestroy: case CBID_cuCtxDestroy_v2:
    if (d->site == SITE_ENTER) counters_before_destroy(((const struct cuda_params_context_destroy *)d->params)->context, -1);
    return;
  case CBID_cuDevicePrimaryCtxReset: case CBID_cuDevicePrimaryCtxReset_v2:
    if (d->site == SITE_ENTER) counters_before_destroy(NULL, ((const struct cuda_params_primary_reset *)d->params)->device);
    return;
  case CBID_cuModuleUnload: case CBID_cuLibraryUnload:
    if (d->site != SITE_ENTER) code_unloading();
    return;
  CUDA_CODE_CALLS(CASE)
    return d->site == SITE_ENTER ? code_call_enters() : code_call_exits(cbid, d);
  }
  cupti_on_callback(NULL, DOMAIN_DRIVER, cbid, d);
}

void cupti_on_counted_callback(void *user, uint32_t domain, uint32_t cbid, const void *data) {
  if (domain == DOMAIN_DRIVER) {
    driver_call(cbid, data);
    return;
  }
  const struct cupti_resource_data *r = data;
  if (domain == DOMAIN_RESOURCE && cbid == RES_MODULE_LOADED) {
    if (r->descriptor) code_module_loaded(r->descriptor);
    return;
  }
  if (domain == DOMAIN_RESOURCE && cbid == RES_CONTEXT_DESTROY_STARTING) {
    counters_destroying(r->context);
    if (atomic_load(&by_line)) code_unloading(); // another context may get the handles of its functions
  }
  cupti_on_callback(user, domain, cbid, data);
}
