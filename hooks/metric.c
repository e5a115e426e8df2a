// Metric values: converts Python numbers, sequences and tensors to the types that the profile stores.
#include "bytes.h"
#include "native.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- numbers ----

static enum value_kind from_int(PyObject *v, struct number *out) {
  int overflow = 0;
  out->type = HP_INT;
  out->i = py.PyLong_AsLongLongAndOverflow(v, &overflow);
  if (!overflow) return out->i == -1 && py.PyErr_Occurred() ? VALUE_ERROR : VALUE_NUMBER;
  out->type = HP_DOUBLE;
  out->d = py.PyLong_AsDouble(v);
  if (out->d == -1.0 && py.PyErr_Occurred()) { // beyond 1e308
    py.PyErr_Clear();
    out->d = overflow > 0 ? HUGE_VAL : -HUGE_VAL;
  }
  return VALUE_NUMBER;
}

static enum value_kind from_float(PyObject *v, struct number *out) {
  out->type = HP_DOUBLE;
  out->d = py.PyFloat_AsDouble(v);
  return out->d == -1.0 && py.PyErr_Occurred() ? VALUE_ERROR : VALUE_NUMBER;
}

static enum value_kind through(PyObject *made, enum value_kind (*from)(PyObject *, struct number *), struct number *out) {
  if (!made) return VALUE_ERROR;
  enum value_kind kind = from(made, out);
  py.Py_DecRef(made);
  return kind;
}

static int type_has(PyObject *v, const char *method) { return py.PyObject_HasAttrString(py_type(v), method); }

// from_other converts numpy scalars, Fraction, Decimal and other types with methods for it. It tries __index__ first, so that a
// 64-bit integer is not rounded to a double, then __float__. It does not try __int__, which truncates.
static enum value_kind from_other(PyObject *v, struct number *out) {
  if (type_has(v, "__index__")) {
    PyObject *i = py.PyNumber_Index(v);
    if (i) return through(i, from_int, out);
    if (!type_has(v, "__float__")) return VALUE_ERROR;
    py.PyErr_Clear(); // the __index__ of numpy's bool raises
  }
  return type_has(v, "__float__") ? through(py.PyNumber_Float(v), from_float, out) : VALUE_NONE;
}

static int never_a_number(PyObject *v) {
  return py_is(v, py.PyUnicode_Type) || py_is(v, py.PyBytes_Type) || py_is(v, py.PyDict_Type) || py_is(v, py.PyComplex_Type);
}

// The __len__ of an array without dimensions raises: such an array is a number.
static int is_sequence(PyObject *v) {
  if (!type_has(v, "__len__") || !type_has(v, "__getitem__")) return 0;
  if (py.PyObject_Size(v) >= 0) return 1;
  py.PyErr_Clear();
  return 0;
}

enum value_kind hooks_value(PyObject *v, struct number *out) {
  PyObject *t = py_type(v);
  if (t == py.PyLong_Type || t == py.PyBool_Type) return from_int(v, out);
  if (t == py.PyFloat_Type) return from_float(v, out);
  if (v == py._Py_NoneStruct || never_a_number(v)) return VALUE_NONE;
  if (t == py.PyList_Type || t == py.PyTuple_Type) return VALUE_VECTOR;
  if (py.PyType_IsSubtype(t, py.PyLong_Type)) return from_int(v, out);
  if (py.PyType_IsSubtype(t, py.PyFloat_Type)) return from_float(v, out);
  if (py.PyObject_HasAttrString(v, "data_ptr")) return VALUE_TENSOR;
  return is_sequence(v) ? VALUE_VECTOR : from_other(v, out);
}

static void as_double(struct number *n) {
  if (n->type == HP_DOUBLE) return;
  n->d = (double)n->i;
  n->type = HP_DOUBLE;
}

static void as_int(struct number *n) {
  if (n->type == HP_INT) return;
  double d = n->d;
  n->type = HP_INT;
  n->i = isnan(d) ? 0 : d >= 9223372036854775807.0 ? INT64_MAX : d <= -9223372036854775808.0 ? INT64_MIN : (int64_t)llround(d);
}

void hooks_number_for(enum name_kind kind, struct number *n) {
  if (kind == NAME_FLOPS) as_double(n);
  if (kind == NAME_BYTES) as_int(n);
}

// ---- vectors: Go stores them, and receives them as JSON ----

static void put_string(struct bytes *t, const char *s, size_t n) {
  char escape[8];
  put(t, "\"", 1);
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c >= 0x20 && c != '"' && c != '\\') put(t, s + i, 1);
    else put(t, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", c));
  }
  put(t, "\"", 1);
}

// JSON has no NaN and no infinity: null stands for both.
static void put_number(struct bytes *t, struct number n) {
  char s[40];
  if (n.type == HP_INT) put(t, s, (size_t)snprintf(s, sizeof s, "%lld", (long long)n.i));
  else if (isfinite(n.d)) put(t, s, (size_t)snprintf(s, sizeof s, "%.17g", n.d));
  else put(t, "null", 4);
}

static int refuse_value(PyObject *key, PyObject *v) {
  PyObject *name = py.PyObject_GetAttrString(py_type(v), "__name__");
  if (name) {
    py.PyErr_Format(py.PyExc_TypeError, "add metric %R: a value of type %S cannot be stored; give a number, a flat list of numbers or a tensor", key, name);
    py.Py_DecRef(name);
  }
  return -1;
}

// vector_numbers converts the items of a tuple. The caller frees the result. It returns NULL with a Python error set.
static struct number *vector_numbers(PyObject *key, PyObject *items, py_ssize n, int *doubles) {
  struct number *numbers = malloc((size_t)(n ? n : 1) * sizeof *numbers);
  if (!numbers) return (void)py.PyErr_NoMemory(), NULL;
  for (py_ssize i = 0; i < n; i++) {
    PyObject *item = py.PyTuple_GetItem(items, i);
    enum value_kind kind = hooks_value(item, &numbers[i]);
    if (kind != VALUE_NUMBER) {
      if (kind != VALUE_ERROR) refuse_value(key, item);
      return free(numbers), NULL;
    }
    *doubles |= numbers[i].type == HP_DOUBLE;
  }
  return numbers;
}

static void begin_value(struct bytes *t, struct name name, struct leaf at) {
  char head[120];
  size_t len;
  bytes_init(t);
  put(t, head, (size_t)snprintf(head, sizeof head, "{\"node\":%u,\"pynode\":%u,\"set\":%u,\"name\":", at.node, at.pynode, at.set));
  const char *s = hooks_hp->text(name.id, &len);
  put_string(t, s, len);
}

static int send_value(struct bytes *t) {
  put(t, "}", 1);
  PyObject *answer = t->incomplete ? py.PyErr_NoMemory() : hooks_call("metric_vector", 13, (const char *)t->at, t->n);
  bytes_free(t);
  py.Py_DecRef(answer);
  return answer ? 0 : -1;
}

static int send_vector(struct leaf at, struct name name, const struct number *numbers, py_ssize n, int doubles) {
  struct bytes t;
  begin_value(&t, name, at);
  put(&t, doubles ? ",\"floats\":[" : ",\"ints\":[", doubles ? 11 : 9);
  for (py_ssize i = 0; i < n; i++) {
    struct number v = numbers[i];
    if (doubles) as_double(&v);
    if (i) put(&t, ",", 1);
    put_number(&t, v);
  }
  put(&t, "]", 1);
  return send_value(&t);
}

static int add_vector(PyObject *key, struct name name, PyObject *v, struct leaf at) {
  PyObject *items = py.PySequence_Tuple(v);
  if (!items) return -1;
  py_ssize n = py.PyTuple_Size(items);
  int doubles = name.kind == NAME_FLOPS, status = -1;
  struct number *numbers = vector_numbers(key, items, n, &doubles);
  if (numbers) {
    if (name.kind == NAME_BYTES) {
      for (py_ssize i = 0; i < n; i++) as_int(&numbers[i]);
      doubles = 0;
    }
    status = send_vector(at, name, numbers, n, doubles);
    free(numbers);
  }
  py.Py_DecRef(items);
  return status;
}

// ---- tensors ----

static PyObject *tensor_handler;

PyObject *native_set_tensor_handler(PyObject *self, PyObject *handler) {
  (void)self;
  PyObject *old = tensor_handler;
  tensor_handler = handler == py._Py_NoneStruct ? NULL : py_new_ref(handler);
  py.Py_DecRef(old);
  return py_none();
}

int hooks_tensor(PyObject *key, PyObject *tensor, struct leaf at) {
  if (!tensor_handler) return refuse_value(key, tensor);
  PyObject *tuple = hooks_leaf_tuple(at);
  if (!tuple) return -1;
  PyObject *handler = py_new_ref(tensor_handler);
  PyObject *result = py.PyObject_CallFunctionObjArgs(handler, key, tensor, tuple, NULL);
  py.Py_DecRef(handler);
  py.Py_DecRef(tuple);
  py.Py_DecRef(result);
  return result ? 0 : -1;
}

// ---- adding ----

struct leaf hooks_leaf(void) {
  struct leaf at;
  hooks_hp->leaf(&at.node, &at.pynode, &at.set);
  return at;
}

PyObject *hooks_leaf_tuple(struct leaf at) {
  uint32_t parts[3] = {at.node, at.pynode, at.set};
  PyObject *tuple = py.PyTuple_New(3);
  for (int i = 0; tuple && i < 3; i++) {
    PyObject *part = py.PyLong_FromUnsignedLong(parts[i]);
    if (!part || py.PyTuple_SetItem(tuple, i, part)) return py.Py_DecRef(tuple), NULL;
  }
  return tuple;
}

static int status_error(int status, PyObject *key, struct number v) {
  if (status != HP_TYPE_CHANGED) return 0; // nothing is recorded, or no memory: the hot path counts losses
  // The text is that of Triton's profiler, because programs compare it. There the first value has number 0.
  py.PyErr_Format(py.PyExc_ValueError, "Metric value type mismatch for valueId 0 (%S): current=%s, new=%s", key,
                  v.type == HP_INT ? "double" : "int64_t", v.type == HP_INT ? "int64_t" : "double");
  return -1;
}

// hooks_leaf_begin is hooks_leaf for a leaf that is used until hooks_hp->leaf_end.
struct leaf hooks_leaf_begin(void) {
  struct leaf at;
  hooks_hp->leaf_begin(&at.node, &at.pynode, &at.set);
  return at;
}

// ---- texts: Go stores them too ----

static int is_marked(struct name name) {
  size_t len;
  const char *s = hooks_hp->text(name.id, &len);
  for (size_t i = 0; i + 5 <= len; i++)
    if (!memcmp(s + i, "(pty)", 5) || !memcmp(s + i, "(exc)", 5)) return 1;
  return 0;
}

// add_text stores a text, which can stand at one node but cannot be summed over a subtree.
static int add_text(PyObject *key, struct name name, PyObject *v, struct leaf at) {
  if (!is_marked(name))
    return py.PyErr_Format(py.PyExc_TypeError, "add metric %R: a text cannot be summed; mark the name as a property: %S (pty)", key, key), -1;
  py_ssize n;
  const char *s = py.PyUnicode_AsUTF8AndSize(v, &n);
  if (!s) return -1;
  struct bytes t;
  begin_value(&t, name, at);
  put(&t, ",\"text\":", 8);
  put_string(&t, s, (size_t)n);
  return send_value(&t);
}

// add_long adds a vector or a text at a leaf, or at the current one if `at` is NULL.
static int add_long(PyObject *key, struct name name, PyObject *v, const struct leaf *at) {
  int (*add)(PyObject *, struct name, PyObject *, struct leaf) = py_is(v, py.PyUnicode_Type) ? add_text : add_vector;
  if (at) return add(key, name, v, *at);
  int status = add(key, name, v, hooks_leaf_begin());
  hooks_hp->leaf_end();
  return status;
}

// add_one adds a metric at a leaf or, with NULL, at the current one. The leaf of a tensor metric is passed to Python code, which
// keeps it: where the given leaf is not to be kept, it is the current one, which is looked up again.
static int add_one(PyObject *key, PyObject *v, const struct leaf *at, int keeps) {
  struct name name = hooks_name(key);
  if (!name.id) {
    if (py_is(key, py.PyUnicode_Type)) return 0; // no memory for names: the hot path counts the loss
    return py.PyErr_Format(py.PyExc_TypeError, "add metric %R: the name of a metric must be a str", key), -1;
  }
  struct number n;
  switch (hooks_value(v, &n)) {
  case VALUE_ERROR: return -1;
  case VALUE_NONE: return py_is(v, py.PyUnicode_Type) ? add_long(key, name, v, at) : refuse_value(key, v);
  case VALUE_VECTOR: return add_long(key, name, v, at);
  case VALUE_TENSOR: return hooks_tensor(key, v, at && keeps ? *at : hooks_leaf());
  case VALUE_NUMBER: break;
  }
  hooks_number_for(name.kind, &n);
  return status_error(hooks_add_number(at, name.id, n), key, n);
}

static int add_dict(PyObject *dict, const struct leaf *at) {
  PyObject *key, *value;
  struct leaf now;
  // One look-up of the leaf for all metrics, because each walks the stack in a session in python context. During a capture, and
  // for a timeline, the hot path must find out itself whether a metric belongs to an op.
  int once = !at && py.PyDict_Size(dict) > 1 && !*hooks_hp->watch;
  if (once) now = hooks_leaf_begin(), at = &now;
  py_ssize position = 0;
  int failed = 0;
  while (!failed && py.PyDict_Next(dict, &position, &key, &value)) {
    py.Py_IncRef(key); // a value's conversion may run Python code, which may change the dict
    py.Py_IncRef(value);
    failed = add_one(key, value, at, !once);
    py.Py_DecRef(key);
    py.Py_DecRef(value);
  }
  if (once) hooks_hp->leaf_end();
  return failed;
}

int hooks_add_metrics(PyObject *metrics, const struct leaf *at) {
  if (py_is(metrics, py.PyDict_Type)) return add_dict(metrics, at);
  PyObject *dict = py.PyDict_New();
  if (!dict) return -1;
  int failed = py.PyDict_Update(dict, metrics);
  if (failed && py.PyErr_ExceptionMatches(py.PyExc_AttributeError)) py.PyErr_Format(py.PyExc_TypeError, "add metrics %R: pass a dict of names and values", metrics);
  failed = failed || add_dict(dict, at);
  py.Py_DecRef(dict);
  return failed ? -1 : 0;
}

PyObject *native_add_metrics(PyObject *self, PyObject *metrics) {
  (void)self;
  if (!hooks_hp->active()) return py_none();
  return hooks_add_metrics(metrics, NULL) ? NULL : py_none();
}

int hooks_leaf_from(PyObject *tuple, struct leaf *at) {
  uint32_t *part[3] = {&at->node, &at->pynode, &at->set};
  if (!py_is(tuple, py.PyTuple_Type) || py.PyTuple_Size(tuple) != 3)
    return py.PyErr_SetString(py.PyExc_TypeError, "add metrics at a leaf: pass the tuple that leaf() returned"), -1;
  for (int i = 0; i < 3; i++) {
    unsigned long v = py.PyLong_AsUnsignedLong(py.PyTuple_GetItem(tuple, i));
    if (v == (unsigned long)-1 && py.PyErr_Occurred()) return -1;
    *part[i] = (uint32_t)v;
  }
  return 0;
}

PyObject *native_add_metrics_at(PyObject *self, PyObject *const *args, py_ssize n) {
  (void)self;
  struct leaf at;
  if (n != 2) return py.PyErr_SetString(py.PyExc_TypeError, "add_metrics_at takes a leaf and a dict"), NULL;
  if (hooks_leaf_from(args[0], &at)) return NULL;
  return hooks_add_metrics(args[1], &at) ? NULL : py_none();
}
