// The launch hook: what Triton calls before and after each launch.
//
// The hook has four steps: 1 decide whether the launch is profiled (active, filter), 2 evaluate the launch metadata, 3 convert
// all values, 4 open the op and add its metrics. All code of the user runs before the op is open, so that an exception in it,
// or a kernel that the metadata function launches, is not attributed to the op.
#include "native.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static PyObject *filter;        // callable(name) -> bool, or NULL
static PyObject *complained;    // set: the names of kernels that a message was printed for

enum { STATES = 256 }; // about as many as a program has kernels; a collision costs an interning of 100 ns
static _Atomic uint64_t states[STATES]; // name id << 32 | id of the state "__proton_launch_metadata:<name>"

// inside: launch_enter is running, so launches of a metadata function are not hooked. op, name: the last op, whose name the
// hot path keeps until the thread enters another.
static __thread struct { uint32_t inside, op, name; } here __attribute__((tls_model("initial-exec")));

int hooks_in_launch_hook(void) { return (int)here.inside; }

// ---- complaints ----

static int first_complaint(PyObject *kernel) {
  if (!complained && !(complained = py.PySet_New(NULL))) return py.PyErr_Clear(), 1;
  int known = py.PySet_Contains(complained, kernel);
  if (known == 0 && py.PySet_Add(complained, kernel)) py.PyErr_Clear();
  if (known < 0) py.PyErr_Clear();
  return known <= 0;
}

static const char *utf8(PyObject *text) {
  py_ssize n;
  const char *s = text ? py.PyUnicode_AsUTF8AndSize(text, &n) : NULL;
  if (!s) py.PyErr_Clear();
  return s ? s : "?";
}

// complain clears the current exception and prints it, once per kernel. An exception that is not an error
// (KeyboardInterrupt, SystemExit) stays set, and complain returns 0.
static int complain(PyObject *kernel, const char *doing) {
  if (!py.PyErr_Occurred()) return 1;
  if (!py.PyErr_ExceptionMatches(py.PyExc_Exception)) return 0;
  PyObject *type, *value, *traceback;
  py.PyErr_Fetch(&type, &value, &traceback);
  PyObject *name = kernel ? py.PyObject_Str(kernel) : NULL, *text = value ? py.PyObject_Str(value) : NULL;
  PyObject *kind = type ? py.PyObject_GetAttrString(type, "__name__") : NULL;
  py.PyErr_Clear();
  if (name && first_complaint(name))
    py.PySys_WriteStderr("goproton: %s of kernel %.200s: %.100s: %.300s; the launch is recorded without it, fix the kernel's launch_metadata function\n",
                         doing, utf8(name), utf8(kind), utf8(text));
  PyObject *all[] = {type, value, traceback, name, text, kind};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) py.Py_DecRef(all[i]);
  return 1;
}

// ---- 1 decide ----

// chosen calls the filter. It returns 1 or 0, and -1 for an exception that is not an error, such as KeyboardInterrupt.
static int chosen(PyObject *name) {
  if (!filter || !name) return 1;
  PyObject *ask = py_new_ref(filter), *answer = py.PyObject_CallFunctionObjArgs(ask, name, NULL);
  int yes = answer ? py.PyObject_IsTrue(answer) : -1;
  if (answer) py.Py_DecRef(answer);
  py.Py_DecRef(ask);
  return yes >= 0 ? yes : complain(name, "choosing whether to record a launch") ? 1 : -1;
}

// ---- 2 evaluate ----

static PyObject *item(PyObject *dict, PyObject *key) { // new reference, NULL without an error
  PyObject *v = py.PyDict_GetItemWithError(dict, key);
  if (v) py.Py_IncRef(v);
  else py.PyErr_Clear();
  return v;
}

static PyObject *raw_data(PyObject *lazy) {
  PyObject *data = py.PyObject_GetAttr(lazy, hooks_str_data);
  if (data && py_is(data, py.PyDict_Type)) return data;
  if (data) py.Py_DecRef(data);
  else py.PyErr_Clear();
  return NULL;
}

// nothing_queued reports whether no metadata function of this LazyDict is left to call, so that its data are complete.
static int nothing_queued(PyObject *lazy) {
  PyObject *extras = py.PyObject_GetAttr(lazy, hooks_str_extras);
  if (!extras) return py.PyErr_Clear(), 0;
  int none = py_type(extras) == py.PyList_Type && py.PyList_Size(extras) == 0;
  py.Py_DecRef(extras);
  return none;
}

// metadata_state returns the state for work that a kernel's metadata function launches. As in Triton's profiler, the state is
// two frames in the tree: a mark by which viewers hide the work, and the kernel's name.
static uint32_t metadata_state(PyObject *kernel) {
  static const char mark[] = METADATA_FRAME, prefix[] = METADATA_FRAME ":";
  char text[512];
  py_ssize n = 0;
  uint32_t id = kernel ? hooks_name(kernel).id : 0;
  _Atomic uint64_t *slot = &states[id % STATES];
  uint64_t known = atomic_load_explicit(slot, memory_order_relaxed);
  if (id && known >> 32 == id) return (uint32_t)known;
  const char *name = id ? py.PyUnicode_AsUTF8AndSize(kernel, &n) : NULL;
  if (id && !name) py.PyErr_Clear();
  if (!name || (size_t)n > sizeof text - sizeof prefix) return hooks_hp->intern(mark, sizeof mark - 1);
  memcpy(text, prefix, sizeof prefix - 1);
  memcpy(text + sizeof prefix - 1, name, (size_t)n);
  uint32_t state = hooks_hp->intern(text, sizeof prefix - 1 + (size_t)n);
  if (state) atomic_store_explicit(slot, (uint64_t)id << 32 | state, memory_order_relaxed);
  return state;
}

// evaluated returns lazy.get(), or `data` if that fails. Kernels that the metadata function launches stand below the metadata
// state. It returns NULL only for an exception that is not an error, such as KeyboardInterrupt.
static PyObject *evaluated(PyObject *lazy, PyObject *data, PyObject *kernel) {
  int entered = hooks_hp->state_enter(metadata_state(kernel)) == HP_OK;
  PyObject *all = py.PyObject_VectorcallMethod(hooks_str_get, &lazy, 1, NULL);
  if (entered) hooks_hp->state_exit();
  if (all && py_is(all, py.PyDict_Type)) return all;
  if (all) {
    py.Py_DecRef(all);
    py.PyErr_Format(py.PyExc_TypeError, "the metadata are not a dict");
  }
  if (!complain(kernel, "evaluating the launch metadata")) return NULL;
  return data ? py_new_ref(data) : py.PyDict_New();
}

// ---- 3 convert ----

struct metric { struct name name; struct number value; PyObject *key, *tensor; };
enum { FEW = 16 };
struct launch {
  PyObject *name;    // the kernel's name in the metadata: an owned reference, or NULL
  uint64_t function; // CUfunction, 0 when not known
  struct metric few[FEW], *all;
  py_ssize n, room;
  int tensors;
};

static void keep_function(struct launch *l, PyObject *value) {
  if (!py_is(value, py.PyLong_Type)) return;
  l->function = py.PyLong_AsUnsignedLongLongMask(value);
}

// keep stores one item of the metadata. A real number or a tensor is a metric; lists, strings and None are not.
static void keep(struct launch *l, PyObject *key, PyObject *value) {
  struct name name = hooks_name(key);
  if (name.kind == NAME_NAME) l->name = py_new_ref(value);
  if (name.kind == NAME_FUNCTION) keep_function(l, value);
  if (!name.id || name.kind >= NAME_NAME || l->n == l->room) return;
  struct metric *to = &l->all[l->n];
  to->name = name;
  to->tensor = NULL;
  switch (hooks_value(value, &to->value)) {
  case VALUE_NUMBER:
    hooks_number_for(name.kind, &to->value);
    l->n++;
    break;
  case VALUE_TENSOR:
    to->key = py_new_ref(key);
    to->tensor = py_new_ref(value);
    l->tensors = 1;
    l->n++;
    break;
  case VALUE_ERROR: complain(l->name, "reading a metric"); break;
  case VALUE_NONE:
  case VALUE_VECTOR: break;
  }
}

static void collect(struct launch *l, PyObject *dict) {
  PyObject *key, *value;
  py_ssize position = 0, size = py.PyDict_Size(dict);
  l->name = NULL;
  l->function = 0;
  l->n = l->tensors = 0;
  l->all = size > FEW ? malloc((size_t)size * sizeof *l->all) : NULL;
  l->room = l->all ? size : FEW;
  if (!l->all) l->all = l->few;
  while (py.PyDict_Next(dict, &position, &key, &value)) {
    PyObject *t = py_type(value);
    if (t == py.PyLong_Type || t == py.PyFloat_Type || t == py.PyUnicode_Type) {
      keep(l, key, value);
      continue;
    }
    py.Py_IncRef(key); // other conversions may run Python code
    py.Py_IncRef(value);
    keep(l, key, value);
    py.Py_DecRef(key);
    py.Py_DecRef(value);
  }
}

static void release(struct launch *l) {
  for (py_ssize i = 0; l->tensors && i < l->n; i++) {
    if (!l->all[i].tensor) continue;
    py.Py_DecRef(l->all[i].tensor);
    py.Py_DecRef(l->all[i].key);
  }
  if (l->name) py.Py_DecRef(l->name);
  if (l->all != l->few) free(l->all);
}

// ---- 4 open the op ----

// A key that is an int on one launch and a float on the next keeps its first type.
static void add_converted(const struct leaf *at, struct metric *m) {
  if (hooks_add_number(at, m->name.id, m->value) != HP_TYPE_CHANGED) return;
  struct number other = m->value;
  hooks_number_for(other.type == HP_INT ? NAME_FLOPS : NAME_BYTES, &other);
  hooks_add_number(at, m->name.id, other);
}

static void add_numbers(struct launch *l) {
  // The op of a function handle keeps its metrics until the launch, where the call path is complete. During a graph capture, and
  // for a timeline, the hot path must find out itself that the metrics belong to an op. In all other cases the leaf is looked up once, because each
  // look-up walks the Python stack in a session in python context.
  struct leaf at, *once = NULL;
  if (l->n > 1 && !l->function && !*hooks_hp->watch) at = hooks_leaf_begin(), once = &at;
  for (py_ssize i = 0; i < l->n; i++)
    if (!l->all[i].tensor) add_converted(once, &l->all[i]);
  if (once) hooks_hp->leaf_end();
}

// The tensor handler may launch kernels. It therefore runs in the metadata state, while no op is open.
static int pass_tensors(struct launch *l, uint32_t name, PyObject *kernel) {
  hooks_hp->op_enter(name, 0);
  struct leaf at = hooks_leaf();
  hooks_hp->op_exit();
  int entered = hooks_hp->state_enter(metadata_state(kernel ? kernel : l->name)) == HP_OK, ok = 1;
  for (py_ssize i = 0; ok && i < l->n; i++)
    if (l->all[i].tensor && hooks_tensor(l->all[i].key, l->all[i].tensor, at)) ok = complain(l->name, "passing a tensor metric on");
  if (entered) hooks_hp->state_exit();
  return ok;
}

// name_of returns the name in the metadata, which may have any type, or else the compiled name. Like every frame name it is
// to be used before any Python code can run.
static uint32_t name_of(PyObject *name, PyObject *kernel) {
  if (!name || name == py._Py_NoneStruct) return kernel ? hooks_frame_name(kernel) : 0;
  uint32_t id = hooks_frame_name(name);
  if (id || py_is(name, py.PyUnicode_Type)) return id;
  PyObject *text = py.PyObject_Str(name);
  if (!text) complain(kernel, "reading the name");
  else id = hooks_frame_name(text), py.Py_DecRef(text);
  return id ? id : kernel ? hooks_frame_name(kernel) : 0;
}

static int open_op(struct launch *l, PyObject *kernel) {
  uint32_t id = name_of(l->name, kernel);
  if (id && l->tensors) {
    if (!pass_tensors(l, id, kernel)) return 0;
    id = name_of(l->name, kernel); // the handler is Python code
  }
  if (!id) return !py.PyErr_Occurred();
  uint32_t op = hooks_hp->op_enter(id, l->function);
  if (!op) return 1;
  here.op = op;
  here.name = id;
  if (l->n) add_numbers(l);
  return 1;
}

// ---- the hook: each function returns 0 only for an exception that is not an error, such as KeyboardInterrupt ----

static int enter_with(PyObject *dict, PyObject *kernel) {
  struct launch l;
  collect(&l, dict);
  int yes = l.name == kernel ? 1 : chosen(l.name); // the filter was called with the compiled name before
  int ok = yes > 0 ? open_op(&l, kernel) : yes == 0;
  release(&l);
  return ok;
}

// enter_unevaluated calls the filter with the compiled name first, and evaluates the metadata only of a kernel that is profiled.
static int enter_unevaluated(PyObject *lazy, PyObject *data, int plain) {
  PyObject *kernel = data ? item(data, hooks_str_name) : NULL;
  int yes = chosen(kernel), ok = yes == 0;
  if (yes > 0) {
    PyObject *dict = plain ? py_new_ref(data) : evaluated(lazy, data, kernel);
    ok = dict && enter_with(dict, kernel);
    if (dict) py.Py_DecRef(dict);
  }
  if (kernel) py.Py_DecRef(kernel);
  return ok;
}

static int enter(PyObject *lazy) {
  PyObject *data = py_type(lazy) == py.PyDict_Type ? py_new_ref(lazy) : raw_data(lazy);
  int plain = data == lazy || (data && nothing_queued(lazy));
  int ok = plain && !filter ? enter_with(data, NULL) : enter_unevaluated(lazy, data, plain);
  if (data) py.Py_DecRef(data);
  return ok;
}

PyObject *native_launch_enter(PyObject *self, PyObject *lazy) {
  (void)self;
  if (lazy == py._Py_NoneStruct || here.inside || !hooks_hp->active()) return py_none();
  uint64_t began = hooks_meter_begin();
  here.inside = 1;
  int ok = enter(lazy);
  here.inside = 0;
  hooks_meter_end(began);
  return ok ? py_none() : NULL;
}

PyObject *native_launch_exit(PyObject *self, PyObject *lazy) {
  (void)self, (void)lazy;
  uint64_t began = hooks_meter_begin();
  if (!here.inside) hooks_hp->op_exit();
  hooks_meter_end(began);
  return py_none();
}

PyObject *native_set_launch_filter(PyObject *self, PyObject *f) {
  (void)self;
  if (f != py._Py_NoneStruct && !py.PyCallable_Check(f))
    return py.PyErr_SetString(py.PyExc_TypeError, "set the launch filter: pass a callable that takes a kernel name, or None"), NULL;
  PyObject *old = filter;
  filter = f == py._Py_NoneStruct ? NULL : py_new_ref(f);
  if (old) py.Py_DecRef(old);
  return py_none();
}

// ---- the function forms ----

PyObject *native_enter_op(PyObject *self, PyObject *const *args, py_ssize n) {
  (void)self;
  if (n < 1 || n > 2) return py.PyErr_SetString(py.PyExc_TypeError, "enter_op takes a name and a function handle"), NULL;
  uint64_t function = n > 1 ? py.PyLong_AsUnsignedLongLongMask(args[1]) : 0;
  if (py.PyErr_Occurred()) return NULL;
  uint32_t name = hooks_frame_name(args[0]);
  if (!name && !py_is(args[0], py.PyUnicode_Type))
    return py.PyErr_Format(py.PyExc_TypeError, "enter op %R: the name must be a str", args[0]);
  uint32_t op = hooks_hp->op_enter(name, function);
  if (op) here.op = op, here.name = name;
  return py.PyLong_FromUnsignedLong(op);
}

PyObject *native_exit_op(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  hooks_hp->op_exit();
  return py_none();
}

PyObject *native_last_op(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  PyObject *pair = py.PyTuple_New(2), *op = py.PyLong_FromUnsignedLong(here.op);
  PyObject *name = here.op ? hooks_text(here.name) : py_none();
  if (pair && op && name && !py.PyTuple_SetItem(pair, 0, op) && !py.PyTuple_SetItem(pair, 1, name)) return pair;
  return NULL; // out of memory
}
