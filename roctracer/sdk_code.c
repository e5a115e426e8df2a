// Code objects and their kernels, reported on threads of the program that load code, which is rare: here is a lock, and memory is
// allocated.
#define _GNU_SOURCE
#include "sdk.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// ---- names of kernels ----
// The library numbers kernels from 1 on and uses no number twice, so a name stays right when other code is loaded at an address.

enum { CHUNK = 1 << 12, CHUNKS = 1 << 12 };
typedef _Atomic uint32_t chunk[CHUNK];
static _Atomic(chunk *) names[CHUNKS];

uint32_t sdk_kernel_name(uint64_t kernel) {
  chunk *c = kernel / CHUNK < CHUNKS ? atomic_load_explicit(&names[kernel / CHUNK], memory_order_acquire) : NULL;
  return c ? atomic_load_explicit(&(*c)[kernel % CHUNK], memory_order_acquire) : 0;
}

static void name_kernel(uint64_t kernel, const char *name) {
  if (kernel / CHUNK >= CHUNKS || !name) return;
  pthread_mutex_lock(&lock);
  chunk *c = atomic_load(&names[kernel / CHUNK]);
  if (!c && (c = calloc(1, sizeof *c))) atomic_store_explicit(&names[kernel / CHUNK], c, memory_order_release);
  if (c) atomic_store_explicit(&(*c)[kernel % CHUNK], room_kernel_name(name), memory_order_release);
  pthread_mutex_unlock(&lock);
}

// ---- code objects ----

static struct sdk_code_object *objects; // guarded by lock, as is what follows
static int images_wanted;
static size_t images; // bytes

void sdk_keep_images(int on) { images_wanted = on; }

size_t sdk_read_file(const char *uri, size_t most, uint8_t **image) {
  static const char scheme[] = "file://";
  char path[4096];
  const char *from = strncmp(uri, scheme, strlen(scheme)) ? NULL : uri + strlen(scheme);
  size_t length = from ? strcspn(from, "#") : 0;
  if (!length || length >= sizeof path) return 0;
  memcpy(path, from, length);
  path[length] = 0;
  const char *offset = strstr(from + length, "offset="), *size = strstr(from + length, "size=");
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  off_t begin = offset ? strtoll(offset + 7, NULL, 0) : 0, end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
  size_t bytes = size ? strtoull(size + 5, NULL, 0) : (size_t)(end > begin ? end - begin : 0);
  if (fd >= 0 && bytes && bytes <= most && (*image = malloc(bytes)) && pread(fd, *image, bytes, begin) != (ssize_t)bytes) {
    free(*image);
    *image = NULL;
  }
  if (fd >= 0) close(fd);
  return *image ? bytes : 0;
}

// The image is there only while the callback lasts.
static void copy_image(struct sdk_code_object *o, const struct sdk_code_load *l) {
  if (l->storage == SDK_IN_FILE && l->uri) o->image_size = sdk_read_file(l->uri, SDK_IMAGES - images, &o->image);
  if (l->storage == SDK_IN_MEMORY && l->memory && l->memory_size <= SDK_IMAGES - images && (o->image = malloc(l->memory_size))) {
    memcpy(o->image, (const void *)(uintptr_t)l->memory, l->memory_size);
    o->image_size = l->memory_size;
  }
  images += o->image_size;
}

static void loaded(const struct sdk_code_load *l) {
  struct sdk_code_object *o = calloc(1, sizeof *o);
  sdk_hip_seen();
  if (!o) return;
  *o = (struct sdk_code_object){.id = l->id, .agent = l->agent, .load_base = l->load_base, .load_size = l->load_size, .load_delta = l->load_delta};
  pthread_mutex_lock(&lock);
  if (l->uri) o->uri = strdup(l->uri);
  if (images_wanted) copy_image(o, l);
  o->next = objects, objects = o;
  pthread_mutex_unlock(&lock);
}

// Samples of code come after it was unloaded, so an object whose image is kept stays.
static void unloaded(uint64_t id) {
  pthread_mutex_lock(&lock);
  for (struct sdk_code_object **at = &objects; *at; at = &(*at)->next) {
    struct sdk_code_object *o = *at;
    if (o->id != id) continue;
    if (!o->image) *at = o->next, free(o->uri), free(o);
    break;
  }
  pthread_mutex_unlock(&lock);
}

int sdk_code_object(uint64_t id, struct sdk_code_object *out) {
  pthread_mutex_lock(&lock);
  const struct sdk_code_object *o = objects;
  while (o && o->id != id) o = o->next;
  if (o) *out = *o;
  pthread_mutex_unlock(&lock);
  return o != NULL;
}

// ---- callbacks ----

static void code(int32_t operation, uint32_t phase, const void *payload) {
  const struct sdk_code_load *l = payload;
  const struct sdk_code_kernel *k = payload;
  if (!payload) return;
  if (operation == SDK_CODE_LOAD && l->size >= sizeof *l) phase == SDK_ENTER ? loaded(l) : unloaded(l->id);
  if (operation == SDK_CODE_KERNEL && phase == SDK_ENTER && k->size >= sizeof *k) name_kernel(k->kernel, k->name);
}

void sdk_on_code_a(struct sdk_callback_a r, uint64_t *user, void *data) { code(r.operation, r.phase, r.payload); }
void sdk_on_code_b(struct sdk_callback_b r, uint64_t *user, void *data) { code(r.operation, r.phase, r.payload); }
