// The callback that is subscribed if instructions are to be sampled. In addition to cupti_on_callback it follows the loading
// and unloading of code, and has sampling enabled in a context before its first launch. Calls in which CUPTI samples pass the gate.
#include "sampling.h"

static uint64_t function_of(uint32_t cbid, const struct cupti_callback_data *d) {
  const void *f = cbid == CBID_cuLaunchKernelEx || cbid == CBID_cuLaunchKernelEx_ptsz
                      ? ((const struct cuda_params_launch_kernel_ex *)d->params)->function
                      : ((const struct cuda_params_launch_kernel *)d->params)->function;
  return (uint64_t)(uintptr_t)f;
}

#define CASE(name, number) case number:

// driver_call returns whether the call is to be recorded. While no session is active, launches are followed for the gate alone: one that began
// then may still be in the driver when sampling is switched on.
static int driver_call(uint32_t cbid, const struct cupti_callback_data *d) {
  int enters = d->site == SITE_ENTER, recorded = 1;
  switch (cbid) {
  CUDA_LAUNCH_CALLS(CASE)
  CUDA_LAUNCH_EX_CALLS(CASE)
    recorded = atomic_load_explicit(&cupti_listening, memory_order_relaxed);
    if (!enters || !recorded) break;
    sampling_context_used(d->context);
    code_launched(function_of(cbid, d), d->symbol_name);
    break;
  CUDA_LAUNCH_MANY_CALLS(CASE)
  CUDA_GRAPH_LAUNCH_CALLS(CASE)
    recorded = atomic_load_explicit(&cupti_listening, memory_order_relaxed);
    if (enters && recorded) sampling_context_used(d->context);
    break;
  case CBID_cuModuleUnload: case CBID_cuLibraryUnload:
    // Not in the resource callback, because the driver holds a lock there.
    if (enters) sampling_before_unload();
    else code_unloading();
    break;
  case CBID_cuCtxDestroy: case CBID_cuCtxDestroy_v2:
    if (enters) sampling_before_destroy(((const struct cuda_params_context_destroy *)d->params)->context, -1);
    break;
  case CBID_cuDevicePrimaryCtxReset: case CBID_cuDevicePrimaryCtxReset_v2:
    if (enters) sampling_before_destroy(NULL, ((const struct cuda_params_primary_reset *)d->params)->device);
    break;
  CUDA_CODE_CALLS(CASE)
    if (enters) code_call_enters();
    else code_call_exits(cbid, d);
    break;
  default:
    return 1;
  }
  if (enters) gate_enter(); // behind what waits for the sampling thread, which waits for the gate
  else gate_leave();
  return recorded;
}

void cupti_on_sampled_callback(void *user, uint32_t domain, uint32_t cbid, const void *data) {
  if (domain == DOMAIN_DRIVER) {
    if (!driver_call(cbid, data)) return;
  } else if (domain == DOMAIN_RESOURCE) {
    const struct cupti_resource_data *r = data;
    if (cbid == RES_CONTEXT_DESTROY_STARTING) {
      sampling_destroying(r->context);
      code_unloading(); // its functions go without being unloaded, and another context may get their handles
    }
    if (cbid == RES_MODULE_LOADED) {
      if (r->descriptor) code_module_loaded(r->descriptor);
      return;
    }
  }
  cupti_on_callback(user, domain, cbid, data);
}
