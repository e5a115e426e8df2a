// Tests the rocprofiler-sdk provider below what a program sees: records of any content, images of code, records after the provider has
// left. It is compiled with a room that only collects what it is given, under the address sanitizer.
#include "../sdk_agents.c"
#define lock code_lock
#include "../sdk_code.c"
#undef lock
#include "../sdk_records.c"
#include <stdio.h>

struct sdk_table sdk;
static int usable = 1, failed;
int sdk_usable(void) { return usable; }

// ---- the room ----

static struct hp_activity last;
static unsigned recorded, dropped, flushed;
static struct sdk_pair pair; // of the last dispatch
static uint64_t sampled_nanos;
int room_record(struct hp_activity a) { return last = a, recorded++, a.correlation == 99; }
void sdk_hip_seen(void) {}
int sdk_sampling_on(void) { return 1; }
int sdk_samples_gpu(uint64_t agent) { return agent == 70; }
void sdk_dispatch_seen(uint64_t dispatch, uint64_t correlation, uint64_t nanos) { pair = (struct sdk_pair){dispatch, correlation}, sampled_nanos += nanos; }
void room_flush(void) { flushed++; }
void room_drop(uint64_t n) { dropped += (unsigned)n; }
uint32_t room_copy_name(enum room_copy direction) { return 1000 + direction; }
uint32_t room_kernel_name(const char *name) { return name ? 1 : 2; }

static void expect(const char *what, long long got, long long want) {
  if (got == want) return;
  printf("%s: %lld, want %lld\n", what, got, want);
  failed = 1;
}

// ---- records ----

static void deliver(const void *payload, uint32_t category, uint32_t kind, uint64_t drops) {
  static uint64_t before;
  struct sdk_header h = {category, kind, payload};
  const struct sdk_header *list[] = {&h, NULL};
  sdk_take_records(1, 2, list, 2, &before, drops);
}

static uint64_t random_state = 88172645463325252u;
static uint64_t any(void) {
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  return random_state;
}

// A record of n bytes says so in its first 8 bytes, and all else is random. Its memory ends where it does.
static void hostile(void) {
  for (int i = 0; i < 20000; i++) {
    size_t n = 8 + any() % 256 / 8 * 8;
    uint64_t *r = malloc(n);
    for (size_t at = 1; at < n / 8; at++) r[at] = any() % 4 ? any() : any() % 3;
    r[0] = n;
    deliver(r, (uint32_t)(any() % 3), 8 + (uint32_t)(any() % 6), 0);
    free(r);
    if (!(i % 64)) sdk_finish_records(1);
  }
  deliver(NULL, SDK_TRACING, SDK_DISPATCHES, 0);
}

static void ids_and_drops(void) {
  struct sdk_code_kernel known = {sizeof known, 3, 1, "add.kd"};
  sdk_on_code_b((struct sdk_callback_b){.operation = SDK_CODE_KERNEL, .phase = SDK_ENTER, .payload = &known}, NULL, NULL);
  struct sdk_dispatch d = {.size = sizeof d, .internal = 5, .start = 10, .end = 20, .info = {.kernel = 3}};
  recorded = dropped = 0, sampled_nanos = 0;
  deliver(&d, SDK_TRACING, SDK_DISPATCHES, 0);
  expect("the id of a record without an external one", (long long)last.correlation, 5);
  d.external = (uint64_t)1 << 40;
  deliver(&d, SDK_TRACING, SDK_DISPATCHES, 3);
  expect("the id of a record with an external one", (long long)last.correlation, 1ll << 40);
  deliver(&d, SDK_TRACING, SDK_DISPATCHES, 7);
  expect("drops", dropped, 7);
  d.external = 99, d.info.number = 12; // a graph's launch, see room_record
  deliver(&d, SDK_TRACING, SDK_DISPATCHES, 7);
  expect("the correlation for samples of a graph's kernel", (long long)pair.correlation, 0);
  expect("its dispatch", (long long)pair.dispatch, 12);
  expect("ns on a GPU that is not sampled", (long long)sampled_nanos, 0);
  d.info.agent = 70;
  deliver(&d, SDK_TRACING, SDK_DISPATCHES, 7);
  expect("ns on a GPU that is", (long long)sampled_nanos, 10);
  d.external = SDK_UNHEARD;
  recorded = 0;
  deliver(&d, SDK_TRACING, SDK_DISPATCHES, 7);
  expect("records of launches that no session listened to", recorded, 0);
  uint64_t arrived = sdk_arrived;
  usable = 0, d.external = 0;
  deliver(&d, SDK_TRACING, SDK_DISPATCHES, 7);
  usable = 1;
  expect("records after the provider has left", recorded, 0);
  expect("they have arrived", (long long)(sdk_arrived - arrived), 1);
  struct sdk_copied c = {.size = sizeof c, .operation = SDK_DTOH, .bytes = 9};
  deliver(&c, SDK_TRACING, SDK_COPIES, 7);
  expect("the bytes of a copy", (long long)last.bytes, 9);
  expect("its name", last.name, 1000 + ROOM_DTOH);
}

// More records without names than are held are passed on without.
static void nameless_records(void) {
  struct sdk_dispatch d = {.size = sizeof d, .info = {.kernel = 1000000}};
  sdk_finish_records(1);
  recorded = 0;
  for (int i = 0; i < NAMELESS + 10; i++) deliver(&d, SDK_TRACING, SDK_DISPATCHES, 7);
  expect("records that are not held", recorded, 10);
  sdk_finish_records(0);
  expect("records that are held", recorded, 10);
  struct sdk_code_kernel k = {sizeof k, 1000000, 1, "named.kd"};
  sdk_on_code_b((struct sdk_callback_b){.operation = SDK_CODE_KERNEL, .phase = SDK_ENTER, .payload = &k}, NULL, NULL);
  sdk_finish_records(0);
  expect("records that got their name", recorded, NAMELESS + 10);
  expect("kernels beyond the table", sdk_kernel_name((uint64_t)1 << 60), 0);
}

// ---- code ----

static void code_event(uint64_t id, uint32_t phase, uint32_t storage, const char *uri, const void *memory, size_t size) {
  struct sdk_code_load l = {.size = sizeof l, .id = id, .agent = 7, .uri = uri, .load_base = 0x1000, .load_size = 0x2000, .load_delta = -16,
                            .storage = storage, .memory = (uint64_t)(uintptr_t)memory, .memory_size = size};
  if (storage == SDK_IN_FILE) l.file = -1;
  sdk_on_code_a((struct sdk_callback_a){.operation = SDK_CODE_LOAD, .phase = phase, .payload = &l}, NULL, NULL);
}

static void images_of_code(const char *folder) {
  struct sdk_code_object o;
  char path[512], uri[600];
  snprintf(path, sizeof path, "%s/image", folder);
  snprintf(uri, sizeof uri, "file://%s#offset=2&size=3", path);
  FILE *f = fopen(path, "w");
  fputs("abcdefgh", f);
  fclose(f);

  code_event(1, SDK_ENTER, SDK_IN_MEMORY, "memory://1", "image", 6);
  expect("a code object is known", sdk_code_object(1, &o), 1);
  expect("its image, which nobody wants", o.image_size, 0);
  expect("its delta", o.load_delta, -16);
  code_event(1, SDK_EXIT, SDK_IN_MEMORY, "memory://1", NULL, 0);
  expect("an unloaded code object", sdk_code_object(1, &o), 0);

  sdk_keep_images(1);
  char *memory = strdup("image");
  code_event(2, SDK_ENTER, SDK_IN_MEMORY, "memory://1", memory, 6);
  memset(memory, '?', 5);
  free(memory);
  code_event(2, SDK_EXIT, SDK_IN_MEMORY, NULL, NULL, 0);
  expect("an unloaded code object with an image", sdk_code_object(2, &o), 1);
  expect("a copy of the image", !memcmp(o.image, "image", 6), 1);
  code_event(3, SDK_ENTER, SDK_IN_FILE, uri, NULL, 0);
  expect("an image in a file", sdk_code_object(3, &o) && o.image_size == 3 && !memcmp(o.image, "cde", 3), 1);
  static const char *const bad[] = {"", "file://", "file:///nowhere#offset=0&size=3", "memory://", "file:///proc/self/maps#offset=99999999999&size=1", NULL};
  for (int i = 0; i < 6; i++) {
    code_event(10 + (uint64_t)i, SDK_ENTER, SDK_IN_FILE, bad[i], NULL, 0);
    expect(bad[i] ? bad[i] : "no URI", sdk_code_object(10 + (uint64_t)i, &o) && !o.image, 1);
  }
  code_event(20, SDK_ENTER, SDK_IN_MEMORY, NULL, "x", (size_t)SDK_IMAGES);
  expect("an image beyond the limit", sdk_code_object(20, &o) && !o.image, 1);
}

// ---- numbers of GPUs ----

static uint32_t four(uint32_t version, sdk_on_agents cb, size_t size, void *data) {
  static struct sdk_agent a[5];
  const struct sdk_agent *list[5];
  for (int i = 0; i < 5; i++) {
    a[i] = (struct sdk_agent){.size = i == 4 ? 296 : 304, .id = 70 + (uint64_t)i, .type = i ? SDK_GPU : 1, .node = (uint32_t)i, .uuid = 0xab00 + (uint64_t)i};
    list[4 - i] = &a[i];
  }
  return cb(version, list, size == SDK_AGENT_SIZE ? 5 : 0, data) ? SDK_ERROR : SDK_OK;
}

static void numbers_of_gpus(void) {
  static const struct { const char *rocr, *hip, *cuda, *want; } cases[] = {
      {NULL, NULL, NULL, "0123"}, {"", NULL, NULL, "----"}, {"2,0", NULL, NULL, "1-0-"}, {"2,0", "1", NULL, "0---"}, {"2,0", "1,0", NULL, "0-1-"},
      {NULL, NULL, "3", "---0"}, {NULL, "1", "3", "-0--"}, {NULL, "", "3", "---0"}, {"9", NULL, NULL, "----"}, {"1,-1,2", NULL, NULL, "-0--"},
      {"1,1,2", NULL, NULL, "-01-"}, {"GPU-ab02,GPU-ab01", NULL, NULL, "10--"}, {"GPU-ab04", NULL, NULL, "----"}, {"GPU-zz", NULL, NULL, "----"},
      {" 1 , 3 ", NULL, NULL, "-0-1"}, {"1,", NULL, NULL, "-0--"}, {"0x1", NULL, NULL, "----"}, {"99999999999999999999999999999999999999", NULL, NULL, "----"},
  };
  sdk.query_available_agents = four;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *const names[] = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}, *const values[] = {cases[i].rocr, cases[i].hip, cases[i].cuda};
    for (int v = 0; v < 3; v++) values[v] ? setenv(names[v], values[v], 1) : unsetenv(names[v]);
    expect("agents", sdk_find_gpus(), SDK_OK);
    char got[5] = "----";
    for (int g = 0; g < 4; g++)
      if (gpus[g].ordinal >= 0) got[g] = (char)('0' + gpus[g].ordinal);
    if (strcmp(got, cases[i].want)) printf("case %zu: GPUs are %s, want %s\n", i, got, cases[i].want), failed = 1;
  }
  expect("GPUs", sdk_gpu_count(), 4);
  expect("the host is no GPU", sdk_is_gpu(70), 0);
}

int main(int argc, char **argv) {
  hostile();
  ids_and_drops();
  nameless_records();
  images_of_code(argc > 1 ? argv[1] : "/tmp");
  numbers_of_gpus();
  expect("buffers are handed over", flushed > 0, 1);
  return failed;
}
