// Tests sampling*.c, code.c and callback_sampled.c with a CUPTI that makes up samples, and threads that launch, load, unload and
// destroy contexts. sampling_test.go compiles it with sanitizers. Every sample must be returned once.
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../sampling.h"

struct cupti_sampling_table cupti_sampling;
struct cuda_table cuda;
__thread int cupti_own_call;
atomic_int cupti_listening = 1;
void cupti_on_callback(void *user, uint32_t domain, uint32_t cbid, const void *data) { (void)user, (void)domain, (void)cbid, (void)data; }

enum { THREADS = 4, ROUNDS = 60 };
static _Atomic uint64_t made, pending;
static atomic_int enabled;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *sampled[2]; // by device: CUPTI samples one context of a device at a time
static __thread void *current;

static int device_of(void *context) { return (uintptr_t)context % 4 == 3; }

static uint32_t enable(struct cupti_sampling_params *p) { return p->context ? (usleep(2000), atomic_fetch_add(&enabled, 1), 0) : 3; }
static uint32_t disable(struct cupti_sampling_params *p) {
  pthread_mutex_lock(&lock);
  if (sampled[device_of(p->context)] == p->context) sampled[device_of(p->context)] = NULL;
  pthread_mutex_unlock(&lock);
  return atomic_fetch_sub(&enabled, 1), 0;
}
static atomic_int starts, dear; // dear: ms that a start takes
static uint32_t start(struct cupti_sampling_params *p) {
  atomic_fetch_add(&starts, 1);
  usleep(1000 * (unsigned)atomic_load(&dear));
  pthread_mutex_lock(&lock);
  void **here = &sampled[device_of(p->context)];
  if (*here && *here != p->context) exit(4); // CUPTI crashes then
  *here = p->context;
  pthread_mutex_unlock(&lock);
  return 0;
}
static _Atomic uint64_t backlog; // samples that CUPTI decodes only when sampling is stopped
static uint32_t stop(struct cupti_sampling_params *p) {
  if (p->context) atomic_fetch_add(&pending, atomic_exchange(&backlog, 0));
  return 0;
}
static uint32_t push(void *context) { return current = context, 0; }
static uint32_t pop(void **context) { return *context = current, current = NULL, 0; }
static uint32_t get_device(int *device) { return *device = device_of(current), 0; }
static uint32_t attribute(int *value, uint32_t what, int device) {
  *value = what == DEV_MULTIPROCESSORS ? 132 : what == DEV_PCI_DOMAIN ? getpid() : device; // a PCI address that no other process claims
  return 0;
}
static uint32_t count_reasons(struct cupti_sampling_reasons_params *p) { return *p->count = 4, 0; }
static uint32_t reasons(struct cupti_sampling_reasons_params *p) {
  static const char *const names[] = {"smsp__pcsamp_sample_count", "smsp__pcsamp_warps_issue_stalled_wait", "smsp__pcsamp_warps_issue_stalled_wait_not_issued",
                                      "smsp__pcsamp_warps_issue_stalled_selected"};
  for (size_t i = 0; i < p->number; i++) p->indices[i] = (uint32_t)i, strcpy(p->names[i], names[i]);
  return 0;
}
static uint32_t refusal; // of configurations
static atomic_int slow;  // ms that one takes
static atomic_int configured;
static uint32_t configure(struct cupti_sampling_settings_params *p) {
  usleep(1000 * (unsigned)atomic_load(&slow));
  return (void)p, atomic_fetch_add(&configured, 1), refusal;
}
static const uint64_t early[8] = {1, 2, 3}; // an image that was loaded before code_register: CUPTI identifies it by its CRC
enum { EARLY = 0x1eebf38b };
// The second word does not count: images that differ only there have the same CRC.
static uint32_t crc(struct cupti_crc_params *p) {
  const uint64_t *image = p->image;
  return p->crc = p->image_size == sizeof early && image[0] == early[0] && image[2] == early[2] ? EARLY : 7, 0;
}
static uint32_t know_hash(cupti_crc_fn compute) { return compute ? 0 : 1; }
static _Atomic uint64_t module = 1; // of the next samples
static _Atomic uint32_t unreadable;

static uint32_t get(struct cupti_sampling_data_params *p) {
  if (unreadable) return unreadable;
  uint64_t n = atomic_exchange(&pending, 0);
  struct cupti_sampling_pc *pc = p->data->pcs;
  p->data->count = n != 0, p->data->total_samples = n;
  if (!n) return 0;
  pc->module = module, pc->offset = 16, pc->function = 9, pc->name = "kernel", pc->stall_count = 3;
  pc->stalls[0] = (struct cupti_sampling_stall){1, (uint32_t)n};
  pc->stalls[1] = (struct cupti_sampling_stall){2, (uint32_t)n / 2};
  pc->stalls[2] = (struct cupti_sampling_stall){0, 1000}; // not a stall reason: not counted
  return 0;
}

static void call(uint32_t cbid, uint32_t site, void *context, const void *params) {
  uint32_t ok = CU_OK;
  struct cupti_callback_data d = {.site = site, .params = params, .return_value = &ok, .symbol_name = "kernel", .context = context};
  cupti_on_sampled_callback(NULL, DOMAIN_DRIVER, cbid, &d);
}

static void call_whole(uint32_t cbid, void *context, const void *params) {
  call(cbid, SITE_ENTER, context, params);
  call(cbid, SITE_EXIT, context, params);
}

static void *program(void *argument) {
  uintptr_t me = 1 + (uintptr_t)argument;
  for (uintptr_t i = 0; i < ROUNDS; i++) {
    void *context = (void *)(i % 20 == 19 ? 1000 + me : 1 + me % 2), *module = (void *)(me << 16 | i), *function = (void *)(me << 24 | i);
    uint64_t image[8] = {me, i % 7};
    struct cupti_module_data m = {.cubin_size = sizeof image, .cubin = (char *)image};
    struct cupti_resource_data r = {.context = context, .descriptor = &m};
    struct cuda_params_module_load_data load = {&module, image};
    struct cuda_params_module_get_function find = {&function, module, "kernel"};
    struct cuda_params_launch_kernel launch = {.function = function};
    struct cuda_params_module_unload unload = {module};
    call(CBID_cuModuleLoadData, SITE_ENTER, context, &load);
    cupti_on_sampled_callback(NULL, DOMAIN_RESOURCE, RES_MODULE_LOADED, &r);
    call(CBID_cuModuleLoadData, SITE_EXIT, context, &load);
    call(CBID_cuModuleGetFunction, SITE_ENTER, context, &find);
    call(CBID_cuModuleGetFunction, SITE_EXIT, context, &find);
    call(CBID_cuLaunchKernel, SITE_ENTER, context, &launch);
    struct code_function f = code_function((uintptr_t)function);
    size_t size;
    if (f.module != code_hash(image, sizeof image) || strcmp(f.name, "kernel") || !code_image(f.module, &size) || size != sizeof image) exit(2);
    atomic_fetch_add(&made, 10), atomic_fetch_add(&pending, 10);
    call(CBID_cuLaunchKernel, SITE_EXIT, context, &launch);
    if (i % 15 == 7) call(CBID_cuModuleUnload, SITE_ENTER, context, &unload), call(CBID_cuModuleUnload, SITE_EXIT, context, &unload);
    struct cuda_params_context_destroy destroy = {context};
    if (i % 20 == 19) call(CBID_cuCtxDestroy_v2, SITE_ENTER, context, &destroy);
    if (i % 20 == 19) cupti_on_sampled_callback(NULL, DOMAIN_RESOURCE, RES_CONTEXT_DESTROY_STARTING, &r), call(CBID_cuCtxDestroy_v2, SITE_EXIT, context, &destroy);
    usleep(1000);
  }
  return NULL;
}

static void take(uint64_t expected, uint64_t *samples, uint64_t *not_issued) {
  for (struct sampled_batch *b = sampling_take(), *next; b; b = next) {
    for (size_t at = 0; at < b->used;) {
      const struct sampled *s = (const void *)(b->bytes + at);
      if (s->module != expected || s->offset != 16 || s->function != 9 || strcmp(s->name, "kernel") || s->stall_count != 1) exit(3);
      *samples += s->stalls[0].samples, *not_issued += s->stalls[0].not_issued;
      at += (sizeof *s + s->stall_count * sizeof *s->stalls + 7) & ~(size_t)7;
    }
    next = b->next;
    free(b);
  }
}

static void sampled_as(uint64_t expected) {
  uint64_t samples = 0, not_issued = 0;
  atomic_fetch_add(&pending, 10);
  sampling_finish();
  take(expected, &samples, &not_issued);
  if (samples != 10) exit(11);
}

// Images with the same CRC: a sample of one of those that were loaded before CUPTI knew our hash belongs to no image. A sample
// of one that was loaded later does.
static void images_of_one_crc(void) {
  static uint64_t other[8] = {1, 5, 3}, later[8] = {1, 6, 3};
  struct cupti_module_data m = {.cubin_size = sizeof later, .cubin = (char *)later};
  struct sampling_facts f;
  uint32_t images;
  if (code_register()) exit(12);
  code_known(0x78, "kernel", other, sizeof other);
  code_module_loaded(&m);
  sampled_as(EARLY);
  sampling_facts(&f);
  if (code_by_crc(EARLY, &images) || images != 2 || f.same_crc != 10 || f.unseen) exit(13);
  module = code_hash(later, sizeof later);
  sampled_as(module);
  sampling_facts(&f);
  if (f.same_crc != 10) exit(14);
}

// A function that was loaded before sampling began, and whose image is reported afterwards.
static void early_function(void) {
  struct sampling_options o = {.mode = SAMPLING_CONTINUOUS, .version = CUPTI_13_0};
  struct cuda_params_launch_kernel launch = {.function = (void *)0x77};
  struct sampling_facts f;
  uint64_t samples = 0, not_issued = 0, hash = code_hash(early, sizeof early);
  if (sampling_begin(&o)) exit(5);
  sampling_run(1);
  module = EARLY;
  call_whole(CBID_cuLaunchKernel, (void *)1, &launch);
  if (code_function(0x77).module) exit(6);
  code_known(0x77, "kernel", early, sizeof early);
  call_whole(CBID_cuLaunchKernel, (void *)1, &launch);
  if (code_function(0x77).module != hash) exit(7);
  atomic_fetch_add(&pending, 10);
  atomic_fetch_add(&backlog, 20);
  sampling_finish();
  take(hash, &samples, &not_issued);
  sampling_facts(&f);
  if (samples != 30 || f.unseen || f.same_crc) exit(8);
  images_of_one_crc();
  sampling_end();
}

// CUPTI's sampling is not called for a GPU that another process has claimed.
static void claimed(void) {
  struct sampling_options o = {.mode = SAMPLING_CONTINUOUS, .version = CUPTI_13_0};
  struct cuda_params_launch_kernel launch = {.function = (void *)0x77};
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  struct sampling_facts f;
  int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "goproton samples %x:0:0", getpid());
  int other = socket(AF_UNIX, SOCK_DGRAM, 0), before = atomic_load(&enabled);
  if (bind(other, (void *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) || sampling_begin(&o)) exit(9);
  sampling_run(1);
  call_whole(CBID_cuLaunchKernel, (void *)1, &launch);
  sampling_facts(&f);
  if (!f.claimed || atomic_load(&enabled) != before) exit(10);
  sampling_end();
  close(other);
}

static void begin(void) {
  struct sampling_options o = {.mode = SAMPLING_CONTINUOUS, .version = CUPTI_13_0};
  if (sampling_begin(&o)) exit(11);
  sampling_run(1);
}

static void *launch(void *context) {
  struct cuda_params_launch_kernel launch = {.function = (void *)0x77};
  call_whole(CBID_cuLaunchKernel, context, &launch);
  return NULL;
}

// Threads that wait for sampling to be enabled continue when the session ends.
static void ends_while_threads_wait(void) {
  pthread_t first, second;
  begin();
  atomic_store(&slow, 300);
  pthread_create(&first, NULL, launch, (void *)1);
  usleep(50000);
  pthread_create(&second, NULL, launch, (void *)3); // on the other GPU: it would be enabled after the first
  usleep(50000);
  sampling_end();
  pthread_join(first, NULL), pthread_join(second, NULL);
  atomic_store(&slow, 0);
  launch((void *)5); // a callback that is late changes nothing
}

static void *launch_without_end(void *context) {
  struct cuda_params_launch_kernel launch = {.function = (void *)0x77};
  call(CBID_cuLaunchKernel, SITE_ENTER, context, &launch);
  return NULL;
}

static void *end_launch(void *context) {
  struct cuda_params_launch_kernel launch = {.function = (void *)0x77};
  call(CBID_cuLaunchKernel, SITE_EXIT, context, &launch);
  return NULL;
}

static sem_t entered;
static void *stuck_launch(void *release) {
  launch_without_end((void *)1);
  sem_post(&entered);
  sem_wait(release);
  return end_launch((void *)1);
}

// Sampling is not switched while a launch is going on that began while no session was active. A thread that stays in one is waited for
// only once.
static void switched_during_a_launch(void) {
  pthread_t thread;
  sem_t release;
  sem_init(&entered, 0, 0), sem_init(&release, 0, 0);
  begin();
  launch((void *)1);
  sampling_run(0);
  cupti_listening = 0;
  int before = atomic_load(&starts);
  pthread_create(&thread, NULL, stuck_launch, &release);
  sem_wait(&entered);
  cupti_listening = 1;
  sampling_run(1);
  if (atomic_load(&starts) != before) exit(19);
  for (int i = 0; i < 250; i++) sampling_run(1); // ten minutes, if each waited
  if (atomic_load(&starts) != before) exit(20);
  sem_post(&release);
  pthread_join(thread, NULL);
  sampling_run(1);
  if (atomic_load(&starts) != before + 1) exit(21);
  sampling_end();
}

// CUPTI is not called while it is held, and a call that is under way has ended when sampling_hold returns.
static void held(void) {
  pthread_t thread;
  begin();
  int before = atomic_load(&configured);
  sampling_hold(1);
  pthread_create(&thread, NULL, launch, (void *)1);
  usleep(50000);
  if (atomic_load(&configured) != before) exit(22);
  sampling_hold(0);
  pthread_join(thread, NULL);
  if (atomic_load(&configured) != before + 1) exit(23);
  atomic_store(&slow, 100);
  pthread_create(&thread, NULL, launch, (void *)3); // on the other GPU
  usleep(30000);
  sampling_hold(1);
  if (atomic_load(&configured) != before + 2) exit(24);
  sampling_hold(0);
  pthread_join(thread, NULL);
  atomic_store(&slow, 0);
  sampling_end();
}

// The time of a context's first start is that for which its first launch waits, and not that of a switch, which a budget counts.
static void first_start(void) {
  struct sampling_facts f;
  atomic_store(&dear, 20);
  begin();
  launch((void *)1);
  sampling_facts(&f);
  if (f.switching_ns || f.waited_ns < 20000000) exit(25);
  sampling_run(0);
  sampling_run(1);
  sampling_facts(&f);
  if (f.switching_ns < 20000000) exit(26);
  atomic_store(&dear, 0);
  sampling_end();
}

// A thread that is cancelled while it waits does not keep the lock.
static void cancelled(void) {
  pthread_t thread;
  begin();
  atomic_store(&slow, 100);
  pthread_create(&thread, NULL, launch, (void *)1);
  usleep(20000);
  pthread_cancel(thread);
  pthread_join(thread, NULL);
  atomic_store(&slow, 0);
  sampling_end();
}

// Sampling that was enabled and cannot be configured is disabled again.
static void refused(void) {
  struct sampling_facts f;
  int before = atomic_load(&enabled);
  begin();
  refusal = 1;
  launch((void *)1);
  refusal = 0;
  sampling_facts(&f);
  if (f.refused != 1 || strcmp(f.refused_doing, "configure sampling") || atomic_load(&enabled) != before) exit(13);
  sampling_end();
}

// Samples that cannot be read are reported.
static void unread(void) {
  struct sampling_facts f = {0};
  begin();
  launch((void *)1);
  unreadable = 7;
  for (int i = 0; i < 200 && !f.refused; i++) sampling_finish(), sampling_facts(&f);
  unreadable = 0;
  sampling_end();
  if (f.refused != 7 || strcmp(f.refused_doing, "read samples")) exit(14);
}

// The file of a claim is not a standard file, and is not closed after its number has gone to another file.
static void claims(void) {
  struct claim claim, other;
  char name[] = "claimed-XXXXXX";
  int file, standard = dup(0);
  close(0);
  if (!claim_gpu(0, &claim) || claim.fd < 3 || claim_gpu(0, &other)) exit(15);
  if (dup2(standard, 0) || dup2(file = mkstemp(name), claim.fd) != claim.fd) exit(16);
  unlink(name), close(file), file = claim.fd;
  claim_release(&claim);
  if (write(file, "mine", 4) != 4) exit(17);
  close(file);
  if (!claim_gpu(0, &claim) || !claim.fd) exit(18);
  claim_release(&claim);
}

int main(void) {
  uint64_t samples = 0, not_issued = 0;
  pthread_t threads[THREADS];
  cupti_sampling = (struct cupti_sampling_table){enable, disable, start, stop, count_reasons, reasons, configure, get, know_hash, crc};
  cuda.cuCtxPushCurrent_v2 = push, cuda.cuCtxPopCurrent_v2 = pop, cuda.cuCtxGetDevice = get_device, cuda.cuDeviceGetAttribute = attribute;
  for (int session = 0; session < 2; session++) {
    struct sampling_options o = {.mode = SAMPLING_CONTINUOUS, .version = CUPTI_13_0};
    if (sampling_begin(&o)) return 1;
    sampling_run(1);
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, program, (void *)i);
    for (int i = 0; i < 5; i++) usleep(10000), take(1, &samples, &not_issued);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    sampling_finish();
    sampling_run(0);
    sampling_end();
    take(1, &samples, &not_issued);
  }
  struct sampling_facts f;
  sampling_facts(&f);
  early_function();
  claimed();
  ends_while_threads_wait();
  switched_during_a_launch();
  held();
  first_start();
  cancelled();
  refused();
  unread();
  claims();
  printf("samples %s, half of them not issued: %s, reasons %u %s %s\n", samples == atomic_load(&made) ? "complete" : "missing",
         not_issued <= samples / 2 && not_issued > samples / 2 - 2000 ? "yes" : "no", f.reason_count, f.reasons[0], f.reasons[1]);
  return 0;
}
