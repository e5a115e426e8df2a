// The functions that launches run, and the images that these come from. A sample names a function by the hash of its module
// and its index in the symbol table; a launch names it by a handle. The driver calls that made the handle connect the two:
// their arguments are the module and the name. No such call is reported for kernels of the CUDA runtime: only the name in
// their launches is known.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sampling.h"

// ---- images ----

enum { IMAGES_MAX = 512 << 20 }; // bytes that are kept in all

struct image {
  uint64_t hash;
  uint64_t crc; // CUPTI's; 0: not computed yet
  void *bytes;
  size_t size;
  uint32_t registration; // the value of `registration` when it was loaded; 0: before code_register
};

struct handle {
  uint64_t key; // 0: free
  struct code_function function; // name: NULL for handles of modules
};

struct handles {
  struct handle *entries;
  size_t used, capacity; // a power of two
};

static struct {
  pthread_mutex_t lock; // guards everything below
  struct image *images;
  size_t image_count, image_room, image_bytes;
  struct handles functions; // CUfunction, CUkernel
  struct handles modules;   // CUmodule, CUlibrary
  char **strings;           // interned, a hash set
  size_t string_count, string_room;
} code = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic uint64_t events, not_kept;
static _Atomic uint32_t registration; // how often code_register has succeeded
static __thread uint64_t loaded_here; // the hash of the last module that this thread's current call has loaded; 0: none

static uint64_t mix(uint64_t h, uint64_t word) {
  h = (h ^ word) * 1099511628211u;
  return h ^ h >> 32;
}

uint64_t code_hash(const void *image, size_t size) {
  const uint8_t *p = image;
  uint64_t h = size ^ 14695981039346656037u, word;
  for (; size >= 8; size -= 8, p += 8) {
    memcpy(&word, p, 8);
    h = mix(h, word);
  }
  if (size) {
    word = 0;
    memcpy(&word, p, size);
    h = mix(h, word);
  }
  return h;
}

static void compute_crc(const void *image, size_t size, uint64_t *crc) { *crc = code_hash(image, size); }

uint32_t code_register(void) {
  uint32_t rc = cupti_sampling.RegisterComputeCrcCallback(compute_crc);
  if (!rc) atomic_fetch_add(&registration, 1);
  return rc;
}

// ---- the tables, lock held ----

static uint64_t spread(uint64_t key) { return key * 0x9E3779B97F4A7C15u >> 20; }

static struct handle *cell(struct handles *t, uint64_t key) {
  size_t at = spread(key) & (t->capacity - 1);
  while (t->entries[at].key && t->entries[at].key != key) at = (at + 1) & (t->capacity - 1);
  return &t->entries[at];
}

static void put(struct handles *t, uint64_t key, struct code_function function) {
  if ((t->used + 1) * 2 > t->capacity) {
    struct handles bigger = {.capacity = t->capacity ? t->capacity * 2 : 256};
    bigger.entries = calloc(bigger.capacity, sizeof *bigger.entries);
    if (!bigger.entries) return; // its samples are then known by the function's name alone
    for (size_t i = 0; i < t->capacity; i++)
      if (t->entries[i].key) *cell(&bigger, t->entries[i].key) = t->entries[i];
    bigger.used = t->used;
    free(t->entries);
    *t = bigger;
  }
  struct handle *h = cell(t, key);
  t->used += !h->key;
  *h = (struct handle){key, function};
}

static struct code_function get(struct handles *t, uint64_t key) {
  return t->capacity && key ? cell(t, key)->function : (struct code_function){0};
}

static size_t text_hash(const char *text) {
  uint64_t h = 14695981039346656037u;
  for (; *text; text++) h = (h ^ (uint8_t)*text) * 1099511628211u;
  return h ^ h >> 32;
}

static char **string_cell(char **strings, size_t room, const char *text) {
  size_t at = text_hash(text) & (room - 1);
  while (strings[at] && strcmp(strings[at], text)) at = (at + 1) & (room - 1);
  return &strings[at];
}

static const char *intern(const char *text) {
  if (!text) return NULL;
  if ((code.string_count + 1) * 2 > code.string_room) {
    size_t room = code.string_room ? code.string_room * 2 : 256;
    char **strings = calloc(room, sizeof *strings);
    if (!strings) return NULL;
    for (size_t i = 0; i < code.string_room; i++)
      if (code.strings[i]) *string_cell(strings, room, code.strings[i]) = code.strings[i];
    free(code.strings);
    code.strings = strings, code.string_room = room;
  }
  char **at = string_cell(code.strings, code.string_room, text);
  if (!*at && (*at = strdup(text))) code.string_count++;
  return *at;
}

static struct image *image_of(uint64_t hash) {
  for (size_t i = code.image_count; i-- > 0;)
    if (code.images[i].hash == hash) return &code.images[i];
  return NULL;
}

static struct image *keep(uint64_t hash, const void *bytes, size_t size) {
  struct image *known = image_of(hash);
  if (known) return known;
  if (code.image_count == code.image_room) {
    size_t room = code.image_room ? code.image_room * 2 : 64;
    struct image *images = realloc(code.images, room * sizeof *images);
    if (!images) return NULL;
    code.images = images, code.image_room = room;
  }
  void *copy = code.image_bytes + size <= IMAGES_MAX ? malloc(size) : NULL;
  if (copy) memcpy(copy, bytes, size), code.image_bytes += size;
  else atomic_fetch_add(&not_kept, 1);
  code.images[code.image_count] = (struct image){.hash = hash, .bytes = copy, .size = copy ? size : 0};
  return &code.images[code.image_count++];
}

// ---- callbacks ----

void code_module_loaded(const struct cupti_module_data *m) {
  atomic_fetch_add(&events, 1);
  if (!m->cubin || !m->cubin_size) return;
  loaded_here = code_hash(m->cubin, m->cubin_size);
  pthread_mutex_lock(&code.lock);
  struct image *i = keep(loaded_here, m->cubin, m->cubin_size);
  if (i) i->registration = atomic_load(&registration);
  pthread_mutex_unlock(&code.lock);
}

void code_known(uint64_t function, const char *name, const void *image, size_t size) {
  uint64_t hash = code_hash(image, size);
  atomic_fetch_add(&events, 1); // its samples may have been read before: sampling_read.c looks it up again
  pthread_mutex_lock(&code.lock);
  keep(hash, image, size);
  put(&code.functions, function, (struct code_function){hash, intern(name)});
  pthread_mutex_unlock(&code.lock);
}

void code_call_enters(void) { loaded_here = 0; }

static uint64_t key(const void *handle) { return (uint64_t)(uintptr_t)handle; }
static uint64_t target(void **handle) { return handle ? key(*handle) : 0; }

static void call_exits(uint32_t cbid, const void *params) {
  const struct cuda_params_load *load = params;
  const struct cuda_params_get *of = params;
  const struct cuda_params_module_get_function *named = params;
  uint64_t made = target(load->handle);
  struct code_function function = {loaded_here, NULL};
  if (!made) return;
  switch (cbid) {
  case CBID_cuModuleGetFunction:
  case CBID_cuLibraryGetKernel:
    function.module = get(&code.modules, key(named->module)).module;
    if (!function.module) function.module = loaded_here; // the driver may load a library's code only now
    function.name = intern(named->name);
    put(&code.functions, made, function);
    return;
  case CBID_cuKernelGetFunction:
    function = get(&code.functions, key(of->of));
    if (!function.module) function.module = loaded_here;
    if (function.name) put(&code.functions, made, function);
    return;
  case CBID_cuLibraryGetModule:
    if (!function.module) function = get(&code.modules, key(of->of));
    // fall through
  default: // a load
    put(&code.modules, made, function);
  }
}

void code_call_exits(uint32_t cbid, const struct cupti_callback_data *d) {
  if (d->return_value && *(const uint32_t *)d->return_value != CU_OK) return;
  pthread_mutex_lock(&code.lock);
  call_exits(cbid, d->params);
  pthread_mutex_unlock(&code.lock);
}

// The name in a launch is compared at the first launch of a handle, and again after modules were unloaded: the handle may then
// be another function's. The table is shared, because a library that is loaded late gets little memory per thread.
enum { SEEN = 1024 };
static _Atomic uint64_t seen[SEEN];

static void forget_seen(void) {
  for (size_t i = 0; i < SEEN; i++) atomic_store_explicit(&seen[i], 0, memory_order_relaxed);
}

void code_launched(uint64_t function, const char *name) {
  _Atomic uint64_t *here = &seen[spread(function) % SEEN];
  if (atomic_load_explicit(here, memory_order_relaxed) == function || !name) return;
  pthread_mutex_lock(&code.lock);
  struct code_function known = get(&code.functions, function);
  if (!known.name || strcmp(known.name, name)) put(&code.functions, function, (struct code_function){0, intern(name)});
  atomic_store_explicit(here, function, memory_order_relaxed);
  pthread_mutex_unlock(&code.lock);
}

void code_unloading(void) {
  atomic_fetch_add(&events, 1);
  pthread_mutex_lock(&code.lock);
  forget_seen();
  pthread_mutex_unlock(&code.lock);
}

// ---- questions ----

struct code_function code_function(uint64_t handle) {
  pthread_mutex_lock(&code.lock);
  struct code_function function = get(&code.functions, handle);
  pthread_mutex_unlock(&code.lock);
  return function;
}

const void *code_image(uint64_t hash, size_t *size) {
  pthread_mutex_lock(&code.lock);
  struct image *i = image_of(hash);
  const void *bytes = i ? i->bytes : NULL;
  *size = i ? i->size : 0;
  pthread_mutex_unlock(&code.lock);
  return bytes;
}

static uint64_t crc_of(struct image *i) {
  struct cupti_crc_params p = {sizeof p, i->size, i->bytes, 0};
  if (!i->crc && i->bytes && !cupti_sampling.GetCubinCrc(&p)) i->crc = p.crc;
  return i->crc;
}

// CUPTI's CRC is weak: on an H200 a kernel with the constant 1.0 and one with 4.0 had the same. Samples of images that were
// loaded under the current registration carry our hash, so a CRC belongs to an earlier image. If no earlier image has it, it
// belongs to one that was loaded both before and after.
uint64_t code_by_crc(uint64_t crc, uint32_t *images) {
  uint64_t earlier = 0, any = 0;
  *images = 0;
  pthread_mutex_lock(&code.lock);
  for (size_t i = 0; crc && i < code.image_count; i++) {
    struct image *image = &code.images[i];
    if (crc_of(image) != crc) continue;
    any = image->hash;
    if (image->registration && image->registration == atomic_load(&registration)) continue;
    earlier = image->hash;
    ++*images;
  }
  pthread_mutex_unlock(&code.lock);
  if (*images > 1) return 0;
  return earlier ? earlier : any;
}

size_t code_modules(size_t from, uint64_t *out, size_t max) {
  size_t n = 0;
  pthread_mutex_lock(&code.lock);
  for (; from + n < code.image_count && n < max; n++) out[n] = code.images[from + n].hash;
  pthread_mutex_unlock(&code.lock);
  return n;
}

const char *code_intern(const char *text) {
  pthread_mutex_lock(&code.lock);
  const char *s = intern(text);
  pthread_mutex_unlock(&code.lock);
  return s;
}

uint64_t code_not_kept(void) { return atomic_load(&not_kept); }
uint64_t code_events(void) { return atomic_load(&events); }
