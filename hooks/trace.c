// The launch hook of traces, which Triton calls before each launch.
//
// The record is in the ring before the kernel is enqueued, so that the trace has the arguments of a kernel that hangs.
#define _GNU_SOURCE
#include "trace.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- the same numbers as in tritonparse/record/launch.go ----

enum { RECORD_LAUNCH = 1, RECORD_RANK = 2 };
enum { HAS_ARGUMENTS = 1, NO_FUNCTION = 2, FUNCTION_IS_TEXT = 4, CAPTURING = 8 };

enum launches { LAUNCHES_NONE, LAUNCHES_ALL, LAUNCHES_PROFILED };
static enum launches wanted;
static uint64_t sequence;
static PyObject *carrier_type; // type of the launch_metadata functions that goproton adds to kernels without one

static __thread int inside __attribute__((tls_model("initial-exec"))); // kernels that a helper launches are not traced

uint64_t trace_generation;

int trace_interrupted(void) {
  if (!py.PyErr_Occurred()) return 0;
  if (!py.PyErr_ExceptionMatches(py.PyExc_Exception)) return 1;
  return py.PyErr_Clear(), 0;
}

// ---- kernels: what their launches share ----

struct kernel {
  struct kernel *next;
  uint64_t hash; // of the name
  PyObject *metadata, *name, *carrier; // references
  py_ssize n;
  PyObject **keys; // references
  uint64_t number; // of the template; 0: not traced
};
enum { KERNELS = 1024, CHAIN = 64 };
static struct kernel *kernels[KERNELS];

struct call { PyObject *name, *function, *stream, *grid, *metadata, *arguments, *carrier; }; // borrowed, NULL if absent

static int same_names(const struct kernel *k, PyObject *arguments) {
  PyObject *key, *value;
  py_ssize position = 0, i = 0;
  if (!arguments) return k->n == 0;
  while (py.PyDict_Next(arguments, &position, &key, &value))
    if (i == k->n || k->keys[i++] != key) return 0;
  return i == k->n;
}

// same_text compares by content: code that calls Triton's hooks directly may make a new string for each launch.
static int same_text(PyObject *a, PyObject *b) {
  if (a == b) return 1;
  py_ssize na, nb;
  const char *ta = py.PyUnicode_AsUTF8AndSize(a, &na), *tb = ta ? py.PyUnicode_AsUTF8AndSize(b, &nb) : NULL;
  if (!tb) return py.PyErr_Clear(), 0;
  return na == nb && !memcmp(ta, tb, (size_t)na);
}

static uint64_t text_hash(PyObject *text) {
  py_ssize n = 0;
  const char *at = py.PyUnicode_AsUTF8AndSize(text, &n);
  if (!at) return py.PyErr_Clear(), 0;
  uint64_t h = 0xCBF29CE484222325u;
  while (n--) h = (h ^ (uint8_t)*at++) * 0x100000001B3u;
  return h;
}

static PyObject *or_none(PyObject *o) { return o ? o : py._Py_NoneStruct; }

static struct kernel *make_kernel(const struct call *c) {
  PyObject *arguments = c->arguments ? py_new_ref(c->arguments) : py.PyDict_New(), *template = py_new_ref(trace_help.template);
  PyObject *number = arguments ? py.PyObject_CallFunctionObjArgs(template, or_none(c->metadata), c->name, arguments,
                                                                 or_none(c->carrier), NULL)
                               : NULL;
  py.Py_DecRef(template);
  struct kernel *k = number ? calloc(1, sizeof *k) : NULL;
  if (k) {
    k->number = py.PyLong_AsUnsignedLongLongMask(number);
    k->metadata = c->metadata ? py_new_ref(c->metadata) : NULL;
    k->carrier = c->carrier ? py_new_ref(c->carrier) : NULL;
    k->name = py_new_ref(c->name);
    k->keys = calloc((size_t)py.PyDict_Size(arguments) + 1, sizeof *k->keys);
    PyObject *key, *value;
    py_ssize position = 0;
    while (k->keys && py.PyDict_Next(arguments, &position, &key, &value)) k->keys[k->n++] = py_new_ref(key);
  }
  py.Py_DecRef(number);
  py.Py_DecRef(arguments);
  return k;
}

static void forget_chain(struct kernel *k) {
  for (struct kernel *next; k; k = next) {
    next = k->next;
    for (py_ssize j = 0; j < k->n; j++) py.Py_DecRef(k->keys[j]);
    PyObject *all[] = {k->metadata, k->name, k->carrier};
    for (size_t j = 0; j < 3; j++) py.Py_DecRef(all[j]);
    free(k->keys), free(k);
  }
}

// kernel_number is the number of a kernel's template, 0 for one that is not traced.
static uint64_t kernel_number(const struct call *c) {
  uint64_t hash = c->metadata ? 0 : text_hash(c->name), before = trace_generation;
  uintptr_t key = c->metadata ? (uintptr_t)c->metadata : (uintptr_t)hash << 4;
  struct kernel **list = &kernels[(key >> 4 ^ key >> 14) & (KERNELS - 1)];
  int n = 0;
  for (struct kernel *k = *list; k; k = k->next, n++)
    if (k->metadata == c->metadata && (k->metadata || (k->hash == hash && same_text(k->name, c->name))) && k->carrier == c->carrier &&
        same_names(k, c->arguments))
      return k->number;
  struct kernel *k = make_kernel(c); // another thread may add the same kernel meanwhile, which does no harm
  if (!k) return 0;
  uint64_t number = k->number;
  k->hash = hash;
  if (trace_generation != before) return forget_chain(k), 0;
  struct kernel *old = n < CHAIN ? NULL : *list; // some programs make new kernels all the time
  k->next = old ? NULL : *list, *list = k;
  forget_chain(old);
  return number;
}

static void forget_kernels(void) {
  for (size_t i = 0; i < KERNELS; i++) {
    struct kernel *chain = kernels[i];
    kernels[i] = NULL; // first, because releasing objects may run Python code
    forget_chain(chain);
  }
}

// ---- call paths ----

enum { PATHS = 4096 };
static struct { uint32_t node; uint64_t number; } paths[PATHS];
static uint32_t paths_generation;

// path_text writes the frames of a call path, outermost first, separated by zeros.
static void path_text(struct bytes *b, uint32_t leaf) {
  uint32_t few[64], *all = few;
  struct hp_node node = hooks_hp->node(leaf);
  uint32_t n = 0, depth = node.depth + 1;
  if (depth > 64 && !(all = malloc(depth * sizeof *all))) return;
  for (uint32_t id = leaf; id && n < depth; id = node.parent) node = hooks_hp->node(id), all[n++] = node.name;
  while (n--) {
    size_t len;
    const char *text = hooks_hp->text(all[n], &len);
    put(b, text, len);
    if (n) put_byte(b, 0);
  }
  if (all != few) free(all);
}

static uint64_t define(const char *method, size_t method_len, const void *value, size_t n) {
  PyObject *answer = hooks_call(method, method_len, value, n);
  py_ssize len;
  const char *text = answer ? py.PyUnicode_AsUTF8AndSize(answer, &len) : NULL;
  uint64_t number = text ? strtoull(text, NULL, 10) : 0;
  py.Py_DecRef(answer);
  return number;
}

static uint64_t path_number(void) {
  uint32_t node = hooks_python_path(), generation = hooks_hp->generation();
  if (!node) return 0;
  if (generation != paths_generation) memset(paths, 0, sizeof paths), paths_generation = generation;
  size_t at = (node * 0x9E3779B1u) >> 20 & (PATHS - 1);
  if (paths[at].node == node) return paths[at].number;
  struct bytes text;
  bytes_init(&text);
  path_text(&text, node);
  uint64_t before = trace_generation, number = define("trace.define", 12, text.at, text.n);
  bytes_free(&text);
  if (number && trace_generation == before) paths[at].node = node, paths[at].number = number;
  return number;
}

// ---- the process group and torch's profiler, which may change while the program runs ----

static struct watched { PyObject *object, *name; const PyObject *last; } group, profiler;

static int changed(struct watched *w) {
  if (!w->object) return 0;
  PyObject *now = py.PyObject_GetAttr(w->object, w->name);
  if (!now) return 0;
  int differs = now != w->last;
  w->last = now; // not a reference: it is only compared
  py.Py_DecRef(now);
  return differs;
}

static int torch_profiles(void) {
  PyObject *on = profiler.object ? py.PyObject_GetAttr(profiler.object, profiler.name) : NULL;
  if (!on) return 0;
  int yes = py.PyObject_IsTrue(on) > 0;
  py.Py_DecRef(on);
  return yes;
}

static int check_rank(void) {
  if (changed(&group)) py.Py_DecRef(trace_ask(trace_help.rank, NULL));
  return !trace_interrupted();
}

// ---- what Triton passes ----

static PyObject *get(PyObject *dict, PyObject *key) {
  PyObject *v = py.PyDict_GetItemWithError(dict, key);
  if (!v) py.PyErr_Clear();
  return v;
}

static PyObject *str_name, *str_function, *str_stream;

// find_arguments looks for (grid, metadata, arguments) among the queued calls of launch_metadata functions. It removes the call of
// a carrier, whose only purpose is to have these arguments, so that later hooks do not make it.
static void find_arguments(struct call *c, PyObject *extras, PyObject **keep) {
  py_ssize n = py.PyList_Size(extras);
  for (py_ssize i = 0; i < n; i++) {
    PyObject *pair = py.PyList_GetItem(extras, i);
    if (!pair || !py_is(pair, py.PyTuple_Type) || py.PyTuple_Size(pair) != 2) continue;
    PyObject *function = py.PyTuple_GetItem(pair, 0), *args = py.PyTuple_GetItem(pair, 1);
    if (!py_is(args, py.PyTuple_Type) || py.PyTuple_Size(args) != 3 || !py_is(py.PyTuple_GetItem(args, 2), py.PyDict_Type)) continue;
    *keep = py_new_ref(pair);
    c->grid = py.PyTuple_GetItem(args, 0), c->metadata = py.PyTuple_GetItem(args, 1), c->arguments = py.PyTuple_GetItem(args, 2);
    if (carrier_type && py_type(function) == carrier_type) {
      c->carrier = function;
      if (py.PyList_SetSlice(extras, i, i + 1, NULL)) py.PyErr_Clear();
    }
    return;
  }
}

static int put_each(struct bytes *kind, struct bytes *tensors, const struct call *c, int more) {
  if (more) {
    py.Py_DecRef(trace_ask(trace_help.prepare, c->metadata));
    if (trace_interrupted()) return 0;
  }
  PyObject *key, *value;
  py_ssize position = 0;
  int ok = 1;
  while (ok && py.PyDict_Next(c->arguments, &position, &key, &value)) {
    py.Py_IncRef(value); // helpers may let other threads run
    ok = trace_value(kind, tensors, value, more);
    py.Py_DecRef(value);
  }
  return ok;
}

static int put_arguments(struct bytes *kind, struct bytes *tensors, const struct call *c, int capturing) {
  if (!trace_grid(kind, c->grid)) return 0;
  if (capturing) return 1;
  // Kernels that `more` launches to inspect a tensor do not belong to the program: they are not traced.
  int more = trace_help.more != NULL, entered = more && hooks_hp->state_enter(hooks_hp->intern(METADATA_FRAME, sizeof METADATA_FRAME - 1)) == HP_OK;
  int ok = put_each(kind, tensors, c, more);
  if (entered) hooks_hp->state_exit();
  return ok;
}

static uint64_t handle(PyObject *function, int *flags) {
  if (!function || function == py._Py_NoneStruct) return *flags |= NO_FUNCTION, 0;
  if (py_type(function) == py.PyLong_Type) return py.PyLong_AsUnsignedLongLongMask(function);
  uint64_t number = trace_definition(function, trace_help.handle);
  *flags |= number ? FUNCTION_IS_TEXT : NO_FUNCTION;
  return number;
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// ---- launch kinds: a launch is tagged with the number of its kind, by which the profile sums times ----

enum { TAGS = 1 << 16, OTHERS = 65535 };
static struct { uint64_t print; uint32_t tag; } tags[TAGS]; // by what the launches of a kind share
static int tags_used_up;

// A kernel with too many kinds (one of its arguments is a seed, say) has one number for all further ones.
enum { RESTS = 1 << 10, REST = 1 << 16 };
static struct { uint64_t what; uint32_t tag; } rests[RESTS];

static uint64_t fingerprint(uint64_t h, const uint8_t *at, size_t n) {
  uint64_t word = 0;
  for (; n >= 8; at += 8, n -= 8) {
    memcpy(&word, at, 8);
    h = (h ^ word) * 0x9E3779B97F4A7C15u, h ^= h >> 29;
  }
  word = 0;
  memcpy(&word, at, n);
  h = (h ^ word ^ (uint64_t)n << 56) * 0xD6E8FEB86659FD93u, h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93u; // again, because slots are chosen by the lowest bits, on which the last bytes have had no effect yet
  return h ^ h >> 32;
}

// A kind may also have one of the slots after its own. If two kinds shared one slot, their launches would ask for their numbers
// again and again, which takes longer than the rest of a launch.
enum { NEAR = 8 };

static size_t tag_slot(uint64_t print) {
  size_t own = print & (TAGS - 1);
  for (size_t i = 0; i < NEAR; i++) {
    size_t at = (own + i) & (TAGS - 1);
    if (tags[at].print == print || !tags[at].print) return at;
  }
  return own;
}

// tag_of returns the number of a launch kind: `what` is the kernel, `print` the hash of the kind. The first launch of a kind asks
// the writer, which takes about 20 us.
static uint32_t tag_of(uint64_t what, uint64_t print, const struct bytes *head, const struct bytes *tensors) {
  size_t at = tag_slot(print), rest = what * 0x9E3779B97F4A7C15u >> 54;
  if (tags[at].print == print) return tags[at].tag;
  if (rests[rest].tag && rests[rest].what == what) return rests[rest].tag;
  if (tags_used_up) return OTHERS;
  struct bytes record;
  bytes_init(&record);
  put(&record, head->at, head->n), put(&record, tensors->at, tensors->n);
  uint64_t before = trace_generation;
  uint32_t tag = (uint32_t)define("trace.kind", 10, record.at, record.n);
  bytes_free(&record);
  if (trace_generation != before) return 0;
  if (tag == OTHERS) return tags_used_up = 1, OTHERS;
  if (tag & REST) {
    tag &= REST - 1;
    rests[rest].what = what, rests[rest].tag = tag;
    return tag;
  }
  at = tag_slot(print); // other threads may have run
  tags[at].print = print, tags[at].tag = tag;
  return tag;
}

struct record { struct bytes head, kind, tensors; int flags; uint64_t function, kernel, generation; };

// push adds a record to the ring, and tags the launch that follows with its kind.
static int push(const struct record *r) {
  uint32_t tag = 0;
  if (r->head.incomplete || r->kind.incomplete || r->tensors.incomplete) {
    if (trace_generation == r->generation) ring_lost();
    return 1;
  }
  if ((r->flags & ~CAPTURING) == HAS_ARGUMENTS && hooks_hp->active()) {
    uint64_t what = r->function ^ r->kernel << 48 ^ (uint64_t)r->flags << 40;
    tag = tag_of(what, fingerprint(what, r->kind.at, r->kind.n), &r->head, &r->tensors);
  }
  int ok = !trace_interrupted();
  if (trace_generation == r->generation) ring_push(r->head.at, r->head.n, r->tensors.at, r->tensors.n);
  if (tag) hooks_hp->tag_launch(tag, r->function);
  return ok;
}

static void put_head(struct record *r, uint64_t path, int64_t stream) {
  struct bytes *head = &r->head;
  put_byte(head, RECORD_LAUNCH);
  put_fixed(head, now()), put_fixed(head, r->function), put_byte(head, (uint8_t)r->flags);
  put_uint(head, path), put_uint(head, r->kernel), put_uint(head, ++sequence);
  put_int(head, stream), put_int(head, hooks_hp->current_device());
  put_uint(head, r->kind.n), put(head, r->kind.at, r->kind.n);
}

// record makes the record of a launch. It returns 0 only for an exception that is not an error, such as KeyboardInterrupt.
static int record(const struct call *c, uint64_t kernel) {
  struct record r; // clearing it as a whole would take a measurable part of the launch
  r.flags = 0, r.kernel = kernel, r.generation = trace_generation;
  bytes_init(&r.head), bytes_init(&r.kind), bytes_init(&r.tensors);
  int64_t stream = c->stream && py_is(c->stream, py.PyLong_Type) ? (int64_t)py.PyLong_AsUnsignedLongLongMask(c->stream) : 0;
  r.function = handle(c->function, &r.flags);
  int ok = !trace_interrupted();
  uint64_t path = ok ? path_number() : 0;
  ok = ok && !trace_interrupted();
  if (ok && c->metadata) {
    r.flags |= HAS_ARGUMENTS | (hooks_hp->stream_capturing((void *)(uintptr_t)stream) ? CAPTURING : 0);
    ok = put_arguments(&r.kind, &r.tensors, c, r.flags & CAPTURING);
  }
  if (ok) put_head(&r, path, stream), ok = push(&r);
  bytes_free(&r.head), bytes_free(&r.kind), bytes_free(&r.tensors);
  return ok;
}

static int launch(PyObject *lazy) {
  PyObject *data = py_type(lazy) == py.PyDict_Type ? py_new_ref(lazy) : py.PyObject_GetAttr(lazy, hooks_str_data);
  PyObject *extras = data && data != lazy ? py.PyObject_GetAttr(lazy, hooks_str_extras) : NULL, *keep = NULL;
  int ok = !trace_interrupted();
  if (ok && data && py_is(data, py.PyDict_Type)) {
    struct call c = {.name = get(data, str_name), .function = get(data, str_function), .stream = get(data, str_stream)};
    if (extras && py_is(extras, py.PyList_Type)) find_arguments(&c, extras, &keep);
    uint64_t before = trace_generation, kernel = c.name && py_is(c.name, py.PyUnicode_Type) ? kernel_number(&c) : 0;
    ok = !trace_interrupted();
    if (ok && kernel && trace_generation == before) ok = record(&c, kernel) && !trace_interrupted();
  }
  PyObject *all[] = {data, extras, keep};
  for (size_t i = 0; i < 3; i++) py.Py_DecRef(all[i]);
  return ok;
}

PyObject *native_trace_launch(PyObject *self, PyObject *lazy) {
  (void)self;
  if (!wanted || inside || lazy == py._Py_NoneStruct || hooks_in_child()) return py_none();
  inside = 1;
  int ok = check_rank(), skip = ok && wanted == LAUNCHES_PROFILED && !hooks_hp->active() && !torch_profiles();
  ok = ok && !trace_interrupted();
  if (ok && !skip) ok = launch(lazy);
  inside = 0;
  return ok ? py_none() : NULL;
}

// ---- on and off ----

static void replace(PyObject **at, PyObject *with) {
  PyObject *old = *at;
  *at = with && with != py._Py_NoneStruct ? py_new_ref(with) : NULL;
  if (old) py.Py_DecRef(old);
}

PyObject *native_trace_open(PyObject *self, PyObject *const *args, py_ssize n) {
  (void)self;
  PyObject **helpers[] = {&carrier_type,      &trace_help.classify, &trace_help.describe, &trace_help.inlined,
                          &trace_help.handle, &trace_help.grid,     &trace_help.dtype,    &trace_help.define,
                          &trace_help.template, &trace_help.rank,   &trace_help.more,     &trace_help.prepare};
  enum { HELPERS = sizeof helpers / sizeof *helpers };
  if (n != 2 + HELPERS)
    return py.PyErr_Format(py.PyExc_TypeError, "trace_open takes the ring, which launches, and %d objects", (int)HELPERS), NULL;
  uint64_t address = py.PyLong_AsUnsignedLongLongMask(args[0]);
  long mode = (long)py.PyLong_AsUnsignedLongLongMask(args[1]);
  if (py.PyErr_Occurred() || !trace_values_init()) return NULL;
  if (!(str_name = py.PyUnicode_InternFromString("name")) || !(str_function = py.PyUnicode_InternFromString("function")) ||
      !(str_stream = py.PyUnicode_InternFromString("stream")))
    return NULL;
  hooks_walker_ready();
  trace_generation++;
  for (size_t i = 0; i < HELPERS; i++) replace(helpers[i], args[2 + i]);
  forget_kernels();
  trace_values_forget();
  memset(paths, 0, sizeof paths);
  memset(tags, 0, sizeof tags);
  memset(rests, 0, sizeof rests);
  sequence = 0;
  tags_used_up = 0;
  ring_open(address);
  wanted = (enum launches)mode;
  return py_none();
}

PyObject *native_trace_close(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  wanted = LAUNCHES_NONE;
  trace_generation++;
  ring_open(0);
  forget_kernels();
  trace_values_forget();
  return py_none();
}

PyObject *native_trace_rank(PyObject *self, PyObject *rank) {
  (void)self;
  int overflow = 0;
  long long r = py.PyLong_AsLongLongAndOverflow(rank, &overflow);
  if (py.PyErr_Occurred()) return NULL;
  struct bytes head;
  bytes_init(&head);
  put_byte(&head, RECORD_RANK), put_int(&head, r);
  ring_push(head.at, head.n, NULL, 0);
  bytes_free(&head);
  return py_none();
}

PyObject *native_trace_watch(PyObject *self, PyObject *const *args, py_ssize n) {
  (void)self;
  if (n != 3) return py.PyErr_SetString(py.PyExc_TypeError, "trace_watch takes 'group' or 'profiler', an object and an attribute"), NULL;
  struct watched *w = py.PyUnicode_CompareWithASCIIString(args[0], "group") ? &profiler : &group;
  replace(&w->object, args[1]);
  replace(&w->name, args[2]);
  w->last = NULL;
  return py_none();
}
