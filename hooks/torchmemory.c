// The memory of torch's caching allocator, by the call path that allocated it. Whenever a block is handed out or given back, the
// allocator reports it to a function of libc10 for torch.profiler; here it calls our function first. It holds the lock of the device
// then, so everything that is kept for a device has one writer at a time.
#define _GNU_SOURCE
#include "torchmemory.h"
#include "imports.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
  DEVICES = 32,          // those of one type
  BLOCKS = 1 << 18,      // allocated ones of a device whose call paths are known
  PLACES = 1 << 15,      // call paths that allocated, of a device
  PROBES = 64,
};

// Where memory was allocated. Bytes are those that are allocated now, and how much of it came since the peak.
struct place {
  uint32_t node, pynode, set, era;
  struct hp_node frame, pyframe; // what the nodes are: the numbers of forgotten ones are used again
  uint32_t peak;                 // that `since` is about
  int64_t bytes, since, shown;   // shown: how much of the peak the metric has already
};

struct block { uint64_t address; int64_t bytes; uint32_t place, era; };

struct device {
  int64_t total, most;   // as the allocator says; most: at the peak
  uint32_t peaks;        // how many there were
  uint32_t counter;      // its name in timelines
  uint32_t set;          // the last launch set that was seen: of an allocation, else of the beginning
  int64_t before_shown;  // as struct place's shown, of memory whose place is not known
  struct block blocks[BLOCKS];
  struct place places[PLACES];
};

typedef void (*report)(void *address, int64_t bytes, size_t total, size_t reserved, uint16_t device);

static struct device *_Atomic devices[2][DEVICES]; // GPUs, and the CPU for tests
static report to_torch; // the function that would be called
static int replaced[2];
static int profiling_enabled(void) { return 1; } // or the CPU's allocator reports nothing
static _Atomic uint32_t era = 1;
static _Atomic int counting;
static uint32_t alloc_bytes, allocs, peak_bytes, before_frame;

static struct device *device_of(int cpu, int index, int make) {
  if (index >= DEVICES) return NULL;
  struct device *d = atomic_load(&devices[cpu][index]);
  if (d || !make) return d;
  d = mmap(NULL, sizeof *d, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (d == MAP_FAILED) return NULL;
  char name[32];
  int length = snprintf(name, sizeof name, cpu ? "CPU allocated" : "GPU %d allocated", index);
  d->counter = hooks_hp->intern(name, (size_t)length);
  struct device *none = NULL;
  if (!atomic_compare_exchange_strong(&devices[cpu][index], &none, d)) return munmap(d, sizeof *d), none;
  return d;
}

static int same_frame(uint32_t node, struct hp_node frame) {
  struct hp_node now = hooks_hp->node(node);
  return now.parent == frame.parent && now.name == frame.name;
}

static int current(const struct place *p) { return p->era == atomic_load(&era) && same_frame(p->node, p->frame) && same_frame(p->pynode, p->pyframe); }

// place_here finds or makes the place of the calling thread. 0: there is no room.
static uint32_t place_here(struct device *d) {
  struct leaf at = hooks_leaf();
  if (at.set) d->set = at.set;
  uint32_t first = (at.node * 2654435761u ^ at.pynode * 2246822519u) % PLACES;
  for (uint32_t i = 0; i < PROBES; i++) {
    uint32_t n = (first + i) % PLACES;
    struct place *p = &d->places[n];
    if (!n) continue;
    if (p->node == at.node && p->pynode == at.pynode && current(p)) return p->set = at.set, n;
    if (current(p) && p->set) continue;
    *p = (struct place){.node = at.node, .pynode = at.pynode, .set = at.set, .era = atomic_load(&era), .frame = hooks_hp->node(at.node), .pyframe = hooks_hp->node(at.pynode)};
    return n;
  }
  return 0;
}

static void change(struct device *d, struct place *p, int64_t bytes) {
  if (p->peak != d->peaks) p->peak = d->peaks, p->since = 0;
  p->bytes += bytes;
  p->since += bytes;
}

static uint32_t hash(uint64_t address) { return (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15u >> 40) % BLOCKS; }

static void allocated(struct device *d, uint64_t address, int64_t bytes) {
  uint32_t n = place_here(d), first = hash(address);
  struct leaf at = {d->places[n].node, d->places[n].pynode, d->places[n].set};
  if (!n) return;
  hooks_add_number(&at, alloc_bytes, (struct number){.type = HP_INT, .i = bytes});
  hooks_add_number(&at, allocs, (struct number){.type = HP_INT, .i = 1});
  for (uint32_t i = 0; i < PROBES; i++) {
    struct block *b = &d->blocks[(first + i) % BLOCKS];
    if (b->address) continue;
    *b = (struct block){address, bytes, n, atomic_load(&era)};
    change(d, &d->places[n], bytes);
    return;
  }
}

// freed: a removed block would cut off those that were stored behind it, so all places that it may be at are searched.
static void freed(struct device *d, uint64_t address) {
  uint32_t first = hash(address);
  for (uint32_t i = 0; i < PROBES; i++) {
    struct block *b = &d->blocks[(first + i) % BLOCKS];
    if (b->address != address) continue;
    b->address = 0;
    if (b->era == atomic_load(&era) && current(&d->places[b->place])) change(d, &d->places[b->place], -b->bytes);
    return;
  }
}

static void reported(int cpu, void *address, int64_t bytes, size_t total, uint16_t device) {
  int index = (int8_t)(device >> 8), on = atomic_load_explicit(&counting, memory_order_relaxed);
  struct device *d = device_of(cpu, index < 0 ? 0 : index, on);
  if (!d) return;
  on = on && hooks_hp->active();
  if (bytes < 0) freed(d, (uint64_t)address); // also while nothing is counted: the address may be used again
  else if (on && bytes) allocated(d, (uint64_t)address, bytes);
  int64_t before = (int64_t)total - bytes;
  if (on && !d->most) d->most = before;
  if (on && !d->set) d->set = hooks_leaf().set;
  d->total = (int64_t)total;
  if (on && d->total > d->most) d->most = d->total, d->peaks++;
  if (on) hooks_hp->counter(d->counter, total);
}

static void reported_on_gpu(void *address, int64_t bytes, size_t total, size_t reserved, uint16_t device) {
  reported(0, address, bytes, total, device);
  to_torch(address, bytes, total, reserved, device);
}

static void reported_on_cpu(void *address, int64_t bytes, size_t total, size_t reserved, uint16_t device) {
  reported(1, address, bytes, total, device);
  to_torch(address, bytes, total, reserved, device);
}

// ---- the peak as metrics ----

static void show(const struct leaf *at, int64_t bytes, int64_t *shown) {
  if (bytes == *shown) return;
  hooks_add_number(at, peak_bytes, (struct number){.type = HP_INT, .i = bytes - *shown});
  *shown = bytes;
}

// The session is usually deactivated by now, and its metrics are those of the launch set that was recorded last.
static void show_peak(struct device *d) {
  uint32_t set = hooks_leaf().set;
  int64_t known = 0;
  for (uint32_t n = 1; n < PLACES; n++) {
    struct place *p = &d->places[n];
    if (!p->set || !current(p)) continue;
    int64_t bytes = p->bytes - (p->peak == d->peaks ? p->since : 0);
    known += bytes;
    show(&(struct leaf){p->node, p->pynode, set ? set : p->set}, bytes, &p->shown);
  }
  uint32_t before = hooks_hp->child(0, before_frame, 0);
  if (!set) set = d->set;
  if (set) show(&(struct leaf){before, before, set}, d->most - known, &d->before_shown);
}

// ---- Python ----

static void intern_names(void) {
  alloc_bytes = hooks_hp->intern("alloc_bytes", 11), allocs = hooks_hp->intern("allocs", 6), peak_bytes = hooks_hp->intern("peak_bytes", 10);
  before_frame = hooks_hp->intern("<allocated before>", 18);
}

static const char *begin(int everywhere) {
  static const char function[] = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
  void *library = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  if (!to_torch && library) *(void **)&to_torch = dlsym(library, function);
  if (!to_torch) return "this torch does not report its memory as it is known here";
  intern_names();
  if (!replaced[0]) replaced[0] = imports_replace("/libc10_cuda.so", function, (void *)reported_on_gpu) || imports_replace("/libc10_hip.so", function, (void *)reported_on_gpu);
  if (everywhere && !replaced[1])
    replaced[1] = imports_replace("/libc10.so", "_ZN3c1022memoryProfilingEnabledEv", (void *)profiling_enabled) && imports_replace("/libc10.so", function, (void *)reported_on_cpu);
  return replaced[everywhere != 0] ? NULL : "torch's allocator of GPU memory is not loaded, or does not report as it is known here";
}

static void reset(void) {
  uint32_t set = hooks_leaf().set;
  atomic_fetch_add(&era, 1);
  for (int i = 0; i < 2 * DEVICES; i++) {
    struct device *d = atomic_load(&devices[i / DEVICES][i % DEVICES]);
    if (d) d->most = d->total, d->peaks++, d->before_shown = 0, d->set = set;
  }
}

// native_torch_memory_reset forgets who allocated what: a session begins, and no other one is recording.
PyObject *native_torch_memory_reset(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  reset();
  return py_none();
}

PyObject *native_torch_memory_begin(PyObject *self, PyObject *everywhere) {
  (void)self;
  int cpu = py.PyLong_AsUnsignedLongLongMask(everywhere) != 0;
  const char *problem = py.PyErr_Occurred() ? NULL : begin(cpu);
  if (py.PyErr_Occurred()) return NULL;
  if (problem) return py.PyUnicode_FromFormat("%s", problem);
  if (!atomic_exchange(&counting, 1)) reset();
  return py_none();
}

PyObject *native_torch_memory_end(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  atomic_store(&counting, 0); // what is freed is still seen
  return py_none();
}

PyObject *native_torch_memory_peak(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  for (int i = 0; i < 2 * DEVICES; i++) {
    struct device *d = atomic_load(&devices[i / DEVICES][i % DEVICES]);
    if (d) show_peak(d);
  }
  return py_none();
}
