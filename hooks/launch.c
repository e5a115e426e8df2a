// The launch hook: what Triton calls before and after each launch.
//
// Passes: 1 decide (active, filter), 2 evaluate the launch metadata, 3 convert all values, 4 open the op and
// add its metrics. Everything that can run user code comes before the op is open, so that no failure and no
// kernel launched by the metadata function can end up in it.
#include "native.h"
#include <stdlib.h>

static PyObject *filter;        // callable(name) -> bool, or NULL
static PyObject *complained;    // names of kernels that have had their warning
static uint32_t metadata_state; // "__proton_launch_metadata"

// Per thread: inside launch_enter, so that launches made by a metadata function are not hooked; the last op.
static __thread struct { uint32_t inside, op, name; } here __attribute__((tls_model("initial-exec")));

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

// complain takes the current exception and says so, once per kernel. An exception that is not an error
// (KeyboardInterrupt, SystemExit) stays set, and 0 is returned.
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
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]) py.Py_DecRef(all[i]);
  return 1;
}

// ---- 1 decide ----

// chosen asks the filter; -1 only for KeyboardInterrupt and the like.
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

// nothing_queued: no metadata function waits in this LazyDict, so its data are all there is.
static int nothing_queued(PyObject *lazy) {
  PyObject *extras = py.PyObject_GetAttr(lazy, hooks_str_extras);
  if (!extras) return py.PyErr_Clear(), 0;
  int none = py_type(extras) == py.PyList_Type && py.PyList_Size(extras) == 0;
  py.Py_DecRef(extras);
  return none;
}

// evaluated returns lazy.get(), or `data` when that fails. Kernels that the metadata function launches get
// the metadata state as their frame. NULL only with KeyboardInterrupt and the like.
static PyObject *evaluated(PyObject *lazy, PyObject *data, PyObject *kernel) {
  int entered = hooks_hp->state_enter(metadata_state) == HP_OK;
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
struct metrics { struct metric few[FEW], *all; py_ssize n, room; int tensors; };

// keep converts one item, if it is a metric: a real number or a tensor. Lists, strings and None are not.
static void keep(struct metrics *m, PyObject *key, PyObject *value, PyObject *kernel) {
  struct name name = hooks_name(key);
  if (!name.id || name.kind == NAME_OWN || m->n == m->room) return;
  struct metric *to = &m->all[m->n];
  *to = (struct metric){.name = name};
  switch (hooks_value(value, &to->value)) {
  case VALUE_NUMBER:
    hooks_number_for(name.kind, &to->value);
    m->n++;
    break;
  case VALUE_TENSOR:
    to->key = py_new_ref(key);
    to->tensor = py_new_ref(value);
    m->tensors = 1;
    m->n++;
    break;
  case VALUE_ERROR: complain(kernel, "reading a metric"); break;
  case VALUE_NONE:
  case VALUE_VECTOR: break;
  }
}

static void collect(struct metrics *m, PyObject *dict, PyObject *kernel) {
  PyObject *key, *value;
  py_ssize position = 0, size = py.PyDict_Size(dict);
  m->n = m->tensors = 0;
  m->all = size > FEW ? malloc((size_t)size * sizeof *m->all) : NULL;
  m->room = m->all ? size : FEW;
  if (!m->all) m->all = m->few;
  while (py.PyDict_Next(dict, &position, &key, &value)) {
    PyObject *t = py_type(value);
    if (t == py.PyLong_Type || t == py.PyFloat_Type) {
      keep(m, key, value, kernel);
      continue;
    }
    py.Py_IncRef(key); // other conversions may run Python code
    py.Py_IncRef(value);
    keep(m, key, value, kernel);
    py.Py_DecRef(key);
    py.Py_DecRef(value);
  }
}

static void release(struct metrics *m) {
  for (py_ssize i = 0; m->tensors && i < m->n; i++) {
    if (!m->all[i].tensor) continue;
    py.Py_DecRef(m->all[i].tensor);
    py.Py_DecRef(m->all[i].key);
  }
  if (m->all != m->few) free(m->all);
}

// ---- 4 open the op ----

static int add_number(const struct leaf *at, uint32_t name, struct number v) {
  if (at) return hooks_hp->metric_at(at->node, at->pynode, at->set, name, v.type, v.bits);
  return v.type == HP_INT ? hooks_hp->metric_int(name, v.i) : hooks_hp->metric_double(name, v.d);
}

// A key that is an int on one launch and a float on the next keeps its first type.
static void add_converted(const struct leaf *at, struct metric *m) {
  if (add_number(at, m->name.id, m->value) != HP_TYPE_CHANGED) return;
  struct number other = m->value;
  hooks_number_for(other.type == HP_INT ? NAME_FLOPS : NAME_BYTES, &other);
  add_number(at, m->name.id, other);
}

static void add_numbers(struct metrics *m) {
  // During a capture the hot path itself must see that the metric belongs to an op. Otherwise the leaf is
  // looked up once: with a python session each look-up walks the stack.
  struct leaf at, *once = NULL;
  if (m->n > 1 && !hooks_hp->capturing()) at = hooks_leaf(), once = &at;
  for (py_ssize i = 0; i < m->n; i++)
    if (!m->all[i].tensor) add_converted(once, &m->all[i]);
}

// The handler may launch kernels of its own: it runs in the metadata state and with no op open.
static int hand_over_tensors(struct metrics *m, uint32_t name, PyObject *kernel) {
  hooks_hp->op_enter(name, 0);
  struct leaf at = hooks_leaf();
  hooks_hp->op_exit();
  int entered = hooks_hp->state_enter(metadata_state) == HP_OK, ok = 1;
  for (py_ssize i = 0; ok && i < m->n; i++)
    if (m->all[i].tensor && hooks_tensor(m->all[i].key, m->all[i].tensor, at)) ok = complain(kernel, "handing over a tensor metric");
  if (entered) hooks_hp->state_exit();
  return ok;
}

static uint64_t function_of(PyObject *dict) {
  PyObject *f = item(dict, hooks_str_function);
  uint64_t handle = 0;
  if (f && py_is(f, py.PyLong_Type)) {
    handle = py.PyLong_AsUnsignedLongLongMask(f);
    if (py.PyErr_Occurred()) py.PyErr_Clear();
  }
  if (f) py.Py_DecRef(f);
  return handle;
}

// name_of is the name the metadata give; anything but a str is turned into one.
static uint32_t name_of(PyObject *name, PyObject *kernel) {
  if (!name || name == py._Py_NoneStruct) return kernel ? hooks_name(kernel).id : 0;
  if (py_is(name, py.PyUnicode_Type)) return hooks_name(name).id;
  PyObject *text = py.PyObject_Str(name);
  if (!text) complain(kernel, "reading the name");
  uint32_t id = text ? hooks_name(text).id : 0;
  if (text) py.Py_DecRef(text);
  return id ? id : kernel ? hooks_name(kernel).id : 0;
}

static int open_op(PyObject *dict, PyObject *name, PyObject *kernel) {
  struct metrics m;
  collect(&m, dict, kernel);
  uint32_t id = name_of(name, kernel);
  int ok = !py.PyErr_Occurred() && (!id || !m.tensors || hand_over_tensors(&m, id, kernel));
  if (ok && id && (here.op = hooks_hp->op_enter(id, function_of(dict)))) {
    here.name = id;
    add_numbers(&m);
  }
  release(&m);
  return ok;
}

// ---- the hook ----

// enter_with opens the op that `dict` describes, if the filter agrees; 0 with KeyboardInterrupt and the like.
static int enter_with(PyObject *dict, PyObject *kernel) {
  PyObject *name = item(dict, hooks_str_name);
  int yes = name == kernel ? 1 : chosen(name); // under the compiled name it was asked already
  int ok = yes < 0 ? 0 : yes ? open_op(dict, name, kernel) : 1;
  if (name) py.Py_DecRef(name);
  return ok;
}

static int enter(PyObject *lazy) {
  PyObject *data = py_type(lazy) == py.PyDict_Type ? py_new_ref(lazy) : raw_data(lazy);
  PyObject *kernel = data ? item(data, hooks_str_name) : NULL;
  int ok = chosen(kernel);
  if (ok > 0) {
    int plain = data == lazy || (data && nothing_queued(lazy));
    PyObject *dict = plain ? py_new_ref(data) : evaluated(lazy, data, kernel);
    ok = dict && enter_with(dict, kernel);
    if (dict) py.Py_DecRef(dict);
  } else {
    ok = ok == 0;
  }
  if (kernel) py.Py_DecRef(kernel);
  if (data) py.Py_DecRef(data);
  return ok;
}

PyObject *native_launch_enter(PyObject *self, PyObject *lazy) {
  (void)self;
  static const char state[] = "__proton_launch_metadata";
  if (lazy == py._Py_NoneStruct || here.inside || !hooks_hp->active()) return py_none();
  if (!metadata_state) metadata_state = hooks_hp->intern(state, sizeof state - 1);
  here.inside = 1;
  int ok = enter(lazy);
  here.inside = 0;
  return ok ? py_none() : NULL;
}

PyObject *native_launch_exit(PyObject *self, PyObject *lazy) {
  (void)self, (void)lazy;
  if (!here.inside) hooks_hp->op_exit();
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
  struct name name = hooks_name(args[0]);
  if (!name.id && !py_is(args[0], py.PyUnicode_Type))
    return py.PyErr_Format(py.PyExc_TypeError, "enter op %R: the name must be a str", args[0]);
  uint32_t op = hooks_hp->op_enter(name.id, function);
  if (op) here.op = op, here.name = name.id;
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
