// The fake libcupti's counters by instruction (SASS metrics). It takes one configuration in the life of a process, counts nothing while kernels
// are recorded, and before 13.5 only the first function, as the real one does. What an instruction counts follows from its place in the
// code and from the number of warps, or it is what a capture has recorded of the launch.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cupti/abi_lines.h"
#include "replay.h"

enum { ID = 100, CONTEXTS = 16, COUNTED = 64, INSTRUCTION = 16, WITHOUT_CODE = 4, THREADS = 32 };

static const char *const metrics[] = {
    "smsp__sass_inst_executed", "smsp__sass_thread_inst_executed", "smsp__sass_inst_executed_op_global", "smsp__sass_sectors_mem_global",
    "smsp__sass_sectors_mem_global_ideal", "smsp__sass_sectors_mem_local", "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared",
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal",
};
enum { METRICS = sizeof metrics / sizeof *metrics };

// A function that has run since the last flush.
struct ran { const char *name; const void *image; uint32_t context; uint64_t warps; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards what follows
static void *contexts[CONTEXTS];
static int configured, zeros;
static struct ran ran[COUNTED];
static size_t ran_count;
static const char *first; // the only function that 13.0 counts
static const struct cap_event *played; // counts that come before the end of their launch
static _Thread_local uint64_t warps; // of the launch that this thread begins

int lines_counted(void) {
  int n = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < CONTEXTS; i++) n += contexts[i] != NULL;
  pthread_mutex_unlock(&lock);
  return n;
}

// ---- code ----

static uint64_t number(const uint8_t *p, size_t at, size_t bytes) {
  uint64_t v = 0;
  memcpy(&v, p + at, bytes);
  return v;
}

// The section headers of an ELF file are read one by one: the name's place, kind, place, size and link.
struct section { uint64_t name, kind, at, size, link; };
static struct section section(const uint8_t *elf, uint64_t i) {
  size_t at = (size_t)(number(elf, 40, 8) + i * number(elf, 58, 2));
  return (struct section){number(elf, at, 4), number(elf, at + 4, 4), number(elf, at + 24, 8), number(elf, at + 32, 8), number(elf, at + 40, 4)};
}

// The number of a function's instructions, and its place in the symbol table.
static uint64_t instructions_of(const struct ran *r, uint32_t *index) {
  enum { SYMTAB = 2, SYMBOL = 24 };
  const uint8_t *elf = r->image;
  *index = 0;
  for (uint64_t i = 0; elf && i < number(elf, 60, 2); i++) {
    struct section s = section(elf, i), names = section(elf, s.link);
    for (uint64_t k = 0; s.kind == SYMTAB && k < s.size / SYMBOL; k++) {
      size_t at = (size_t)(s.at + k * SYMBOL);
      if ((elf[at + 4] & 15) != 2 || strcmp((const char *)elf + names.at + number(elf, at, 4), r->name)) continue;
      *index = (uint32_t)k;
      return number(elf, at + 16, 8) / INSTRUCTION;
    }
  }
  return WITHOUT_CODE;
}

static uint64_t hashed(const uint8_t *image, size_t size) { // as code_hash of cupti/code.c
  uint64_t h = size ^ 14695981039346656037u;
  for (size_t at = 0; at < size; at += 8) {
    uint64_t word = number(image, at, size - at < 8 ? size - at : 8);
    h = (h ^ word) * 1099511628211u;
    h ^= h >> 32;
  }
  return h;
}

static struct cap_cursor recorded(const struct cap_event *e, uint32_t *launch, const char **chip, uint64_t *module, uint32_t *crc, uint64_t *count) {
  struct cap_cursor at = cap_open(e);
  *launch = (uint32_t)cap_number(&at);
  *chip = cap_string(stub_cuda_capture(), &at);
  *module = cap_number(&at), *crc = (uint32_t)cap_number(&at), *count = cap_number(&at);
  return at;
}

// The checksum of a recorded module; of another, made up.
STUB_EXPORT uint32_t cuptiGetCubinCrc(struct cupti_crc_params *p) {
  const struct capture *c = stub_cuda_capture();
  uint64_t hash = hashed(p->image, p->image_size), module, count;
  uint32_t launch, crc;
  const char *chip;
  p->crc = (uint32_t)(hash >> 7);
  for (size_t i = 0; c && i < c->count; i++) {
    if (c->events[i].type != EV_LINES) continue;
    recorded(&c->events[i], &launch, &chip, &module, &crc, &count);
    if (module == hash) p->crc = crc;
  }
  return stub_result("GetCubinCrc");
}

int lines_chip(const char **chip) {
  const struct capture *c = stub_cuda_capture();
  for (size_t i = 0; c && i < c->count; i++)
    if (c->events[i].type == EV_LINES) {
      uint32_t launch, crc;
      uint64_t module, count;
      recorded(&c->events[i], &launch, chip, &module, &crc, &count);
      return *chip != NULL;
    }
  return 0;
}

void play_lines(const struct cap_event *e) { played = e; }

// ---- launches ----

static uint64_t warps_of(const uint32_t grid[3], const uint32_t block[3]) {
  return (uint64_t)grid[0] * grid[1] * grid[2] * ((block[0] * block[1] * block[2] + THREADS - 1) / THREADS);
}

void line_launch(uint32_t cbid, const struct cupti_callback_data *d) {
  const struct cuda_params_launch_kernel *one = d->params;
  if (d->site != SITE_ENTER) return;
  warps = 1;
  switch (cbid) {
  case CBID_cuLaunchKernel: case CBID_cuLaunchKernel_ptsz: case CBID_cuLaunchCooperativeKernel: case CBID_cuLaunchCooperativeKernel_ptsz:
    warps = warps_of(one->grid, one->block);
  }
}

static int enabled(uint32_t context) {
  for (int i = 0; i < CONTEXTS; i++)
    if (contexts[i] && stub_cuda_object_id(contexts[i]) == context) return 1;
  return 0;
}

void count_lines(const struct stub_kernel *k) {
  pthread_mutex_lock(&lock);
  if (enabled(k->context)) {
    if (!first) first = k->name;
    struct ran *r = ran;
    while (r < ran + ran_count && (r->name != k->name || r->context != k->context || r->image != k->image)) r++;
    if ((stub_version() >= CUPTI_13_5 || first == k->name) && r < ran + COUNTED) {
      if (r == ran + ran_count) *r = (struct ran){k->name, k->image, k->context, 0}, ran_count++;
      r->warps += warps ? warps : 1;
    }
  }
  pthread_mutex_unlock(&lock);
}

// What instruction i counts. Every fourth reads global memory, at more sectors than it had to; the ones behind them use shared memory.
static uint64_t counted(uint64_t i, uint32_t metric, uint64_t of) {
  uint64_t times = of * (1 + i % 3), global = i % 4 == 0, shared = i % 4 == 1;
  switch (metric) {
  case 0: return times;
  case 1: return times * (THREADS - i % 5);
  case 2: return global * times;
  case 3: return global * times * (4 + i % 29);
  case 4: return global * times * 4;
  case 6: return shared * times * (1 + i % 32);
  case 7: return shared * times;
  }
  return 0; // nothing uses local memory
}

// ---- the interface ----

STUB_EXPORT uint32_t cuptiSassMetricsGetProperties(struct cupti_line_metric_params *p) {
  for (uint32_t i = 0; i < METRICS; i++)
    if (!strcmp(p->name, metrics[i])) return p->id = ID + i, stub_result("SassMetricsGetProperties");
  return RC_INVALID_PARAMETER;
}

STUB_EXPORT uint32_t cuptiSassMetricsSetConfig(struct cupti_line_config_params *p) {
  uint32_t result = stub_result("SassMetricsSetConfig");
  if (result) return result;
  if (p->size < COUNTERS_SIZE(cupti_line_config_params, device) || !p->count) return RC_INVALID_PARAMETER;
  pthread_mutex_lock(&lock);
  if (configured++) result = RC_OUT_OF_MEMORY; // also after UnsetConfig
  pthread_mutex_unlock(&lock);
  return result;
}

STUB_EXPORT uint32_t cuptiSassMetricsEnable(struct cupti_line_enable_params *p) {
  uint32_t result = stub_result("SassMetricsEnable");
  if (result) return result;
  pthread_mutex_lock(&lock);
  int at = 0;
  while (at < CONTEXTS && contexts[at]) at++;
  if (!configured || at == CONTEXTS || enabled((uint32_t)stub_cuda_object_id(p->context))) result = RC_INVALID_OPERATION;
  else contexts[at] = p->context, zeros = stub_kernels_recorded(), first = NULL;
  pthread_mutex_unlock(&lock);
  return result;
}

STUB_EXPORT uint32_t cuptiSassMetricsDisable(struct cupti_line_disable_params *p) {
  uint32_t result = RC_INVALID_OPERATION;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < CONTEXTS; i++)
    if (contexts[i] == p->context) contexts[i] = NULL, result = RC_OK;
  p->dropped = ran_count, ran_count = 0;
  pthread_mutex_unlock(&lock);
  return result ? result : stub_result("SassMetricsDisable");
}

static int of_this_launch(const struct cap_event *e) {
  uint32_t launch = 0, crc;
  uint64_t module, count;
  const char *chip;
  if (e) recorded(e, &launch, &chip, &module, &crc, &count);
  return launch && launch == delivered_call();
}

// Both may be called for a context that is enabled. With out, the records are written there; their number is returned.
static size_t records(void *context, struct cupti_line_record *out) {
  uint32_t id = (uint32_t)stub_cuda_object_id(context), index;
  size_t n = 0;
  for (struct ran *r = ran; r < ran + ran_count; r++) {
    if (r->context != id) continue;
    struct cupti_crc_params crc = {.image = r->image, .image_size = 0};
    uint64_t all = instructions_of(r, &index);
    if (out && r->image) crc.image_size = stub_cuda_elf_size(r->image), cuptiGetCubinCrc(&crc);
    for (uint64_t i = 0; i < all; i++)
      for (uint32_t m = 0; m < METRICS; m++) {
        uint64_t value = counted(i, m, r->warps);
        if (!value) continue;
        if (out) {
          out[n].crc = (uint32_t)crc.crc, out[n].function = index, out[n].name = r->name, out[n].offset = (uint32_t)(i * INSTRUCTION);
          *out[n].values = (struct cupti_line_value){ID + m, zeros ? 0 : value};
        }
        n++;
      }
  }
  return n;
}

static size_t recorded_records(struct cupti_line_record *out, size_t room) {
  uint32_t launch, crc;
  uint64_t module, count;
  const char *chip;
  struct cap_cursor at = recorded(played, &launch, &chip, &module, &crc, &count);
  if (!out) return count < (size_t)(at.end - at.at) ? count : (size_t)(at.end - at.at); // each takes several bytes
  for (size_t i = 0; i < count && i < room; i++) {
    out[i].crc = crc, out[i].function = (uint32_t)cap_number(&at), out[i].name = cap_string(stub_cuda_capture(), &at), out[i].offset = (uint32_t)cap_number(&at);
    const char *metric = cap_string(stub_cuda_capture(), &at);
    uint64_t id = METRICS;
    for (uint32_t m = 0; metric && m < METRICS; m++)
      if (!strcmp(metric, metrics[m])) id = m;
    *out[i].values = (struct cupti_line_value){ID + id, cap_number(&at)};
  }
  return room;
}

STUB_EXPORT uint32_t cuptiSassMetricsGetDataProperties(struct cupti_line_data_params *p) {
  uint32_t result = stub_result("SassMetricsGetDataProperties");
  pthread_mutex_lock(&lock);
  int known = replaying();
  for (int i = 0; i < CONTEXTS; i++) known |= contexts[i] == p->context;
  if (!known) result = RC_INVALID_OPERATION;
  else p->records = of_this_launch(played) ? recorded_records(NULL, 0) : records(p->context, NULL), p->instances = p->records != 0;
  pthread_mutex_unlock(&lock);
  return result;
}

STUB_EXPORT uint32_t cuptiSassMetricsFlushData(struct cupti_line_flush_params *p) {
  uint32_t result = stub_result("SassMetricsFlushData");
  if (result) return result;
  if (stub_cuda_captures()) {
    fprintf(stderr, "stub: instructions are counted while a stream is captured\n");
    abort();
  }
  pthread_mutex_lock(&lock);
  if (of_this_launch(played)) recorded_records(p->out, p->records), played = NULL;
  else if (records(p->context, NULL) != p->records) result = RC_INVALID_PARAMETER;
  else records(p->context, p->out), ran_count = 0;
  pthread_mutex_unlock(&lock);
  return result;
}
