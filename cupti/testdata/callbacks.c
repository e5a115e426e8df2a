// Tests which callbacks callback.c enables while sessions begin and end, and what it reports of captures and contexts. It is
// compiled with a CUPTI that only stores which callbacks are enabled, and a hot path that only counts.
#include "../callback.c"
#include <stdio.h>

struct cupti_table cupti;
struct cuda_table cuda;
uint32_t cupti_share(void **s, cupti_callback_fn f, char *holder, size_t size) { (void)s, (void)f, (void)holder, (void)size; return RC_NOT_SUPPORTED; }
void cupti_tensors_gone(void *context) { (void)context; }

static unsigned char enabled[8][1024];
static int captures, contexts_gone, failed;

static uint32_t subscribe(void **s, cupti_callback_fn f, void *user) { (void)f, (void)user; return *s = &enabled, 0; }
static uint32_t unsubscribe(void *s) { (void)s; memset(enabled, 0, sizeof enabled); return 0; }
static uint32_t enable(uint32_t on, void *s, uint32_t domain, uint32_t cbid) { (void)s; enabled[domain][cbid] = (unsigned char)on; return 0; }

static int capturing(void) { return captures; }
static _Atomic uint32_t watch; // as in the hot path: not 0 during a capture
static void capture(int delta) { captures += delta, watch = (uint32_t)captures; }
static void context_gone(void *c) { (void)c; contexts_gone++; }
static void returned(uint64_t corr, uint32_t function) { (void)corr, (void)function; }

static void deliver(uint32_t domain, uint32_t cbid, const void *data) {
  if (enabled[domain][cbid]) cupti_on_callback(NULL, domain, cbid, data);
}

static void driver_exit_with(uint32_t cbid, uint32_t result) {
  struct cupti_callback_data d = {.site = SITE_EXIT, .return_value = &result};
  deliver(DOMAIN_DRIVER, cbid, &d);
}

static void driver_exit(uint32_t cbid) { driver_exit_with(cbid, CU_OK); }

static uint32_t get_current(void **context) {
  struct cupti_callback_data d = {.site = SITE_ENTER, .correlation_id = 77};
  deliver(DOMAIN_DRIVER, CBID_cuCtxGetCurrent, &d);
  d.site = SITE_EXIT;
  deliver(DOMAIN_DRIVER, CBID_cuCtxGetCurrent, &d);
  return *context = NULL, CU_OK;
}

static void context_destroyed(void) {
  struct cupti_resource_data r = {0};
  deliver(DOMAIN_RESOURCE, RES_CONTEXT_DESTROY_STARTING, &r);
}

static int per_range(void) { return enabled[DOMAIN_NVTX][NVTX_RangePushA] + enabled[DOMAIN_NVTX][NVTX_RangePop]; }
static int per_launch(void) { return enabled[DOMAIN_DRIVER][CBID_cuLaunchKernel] + enabled[DOMAIN_DRIVER][CBID_cuGraphLaunch]; }

static void expect(const char *what, int got, int want) {
  if (got == want) return;
  printf("%s: %d, want %d\n", what, got, want);
  failed = 1;
}

__thread int cupti_own_call;
int cupti_read(uint8_t *b, size_t v, void **c, struct hp_activity *o, int m) { return (void)b, (void)v, (void)c, (void)o, (void)m, 0; }

int main(void) {
  const struct hp_vendor_api api = {.capturing = capturing, .capture = capture, .context_gone = context_gone, .exits_matter = &watch, .launched = returned};
  char holder[8];
  cupti.Subscribe = subscribe, cupti.Unsubscribe = unsubscribe, cupti.EnableCallback = enable, cuda.cuCtxGetCurrent = get_current;
  cupti_use_hotpath(&api);
  cupti_subscribe(cupti_on_callback, holder, sizeof holder, 0);

  cupti_listen(1, 1, 0);
  expect("launch callbacks of an active session", per_launch(), 2);
  driver_exit(CBID_cuStreamBeginCapture_v2);
  cupti_listen(0, 1, 0);
  expect("launch callbacks of a deactivated session, whose graphs must be known before CUPTI is left", per_launch(), 1);
  expect("the callback of kernels", enabled[DOMAIN_DRIVER][CBID_cuLaunchKernel], 0);
  expect("the callback of graphs that are instantiated", enabled[DOMAIN_RESOURCE][RES_GRAPHEXEC_CREATED], 1);
  expect("callbacks of NVTX, in which ranges may end", per_range(), 2);
  driver_exit(CBID_cuStreamEndCapture);
  expect("captures in progress after one that ended while deactivated", captures, 0);

  context_destroyed();
  expect("contexts known to be gone, destroyed while deactivated", contexts_gone, 1);

  cupti_listen(1, 1, 0);
  cupti_listen(0, 1, 0);
  driver_exit(CBID_cuStreamBeginCapture_v2);
  expect("captures in progress after one began with nothing active", captures, 1);
  driver_exit_with(CBID_cuStreamEndCapture, CU_CAPTURE_WRONG_THREAD);
  expect("captures in progress after another thread tried to end it", captures, 1);
  driver_exit(CBID_cuStreamEndCapture);
  expect("captures in progress after its end", captures, 0);

  cupti_listen(1, 1, 0);
  cupti_listen(0, 1, 1);
  expect("launch callbacks of a deactivated session that samples", per_launch(), 2);
  cupti_listen(0, 1, 0);
  expect("launch callbacks after its end", per_launch(), 1);

  expect("the correlation id of a mark", (int)cupti_mark(), 77);
  expect("the callback of marks after one", enabled[DOMAIN_DRIVER][CBID_cuCtxGetCurrent], 0);

  cupti_listen(1, 1, 0);
  driver_exit(CBID_cuStreamBeginCapture);
  cupti_unsubscribe();
  expect("the correlation id of a mark after leaving CUPTI", (int)cupti_mark(), 0);
  expect("callbacks of NVTX after leaving CUPTI", per_range(), 0);
  expect("captures in progress after leaving CUPTI", captures, 0);
  return failed;
}
