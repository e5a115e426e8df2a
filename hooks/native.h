// What the files of the extension module share.
#ifndef GOPROTON_NATIVE_H
#define GOPROTON_NATIVE_H

#include "pyapi.h"
#include "../internal/hotpath/hotpath.h"

// The table of the hot path, set by hooks.Init before Python can import the module.
extern const struct hp_api *hooks_hp;

// Scopes, launches and record_scope draw their numbers from one counter, from 1.
int64_t hooks_next_id(void);
// 1 in a forked child: Go does not run there and must not be entered.
int hooks_in_child(void);

// ---- names.c: Python strings as interned ids ----

// The last three are keys of launch metadata that are not metrics.
enum name_kind { NAME_METRIC, NAME_FLOPS, NAME_BYTES, NAME_CPU_TIME, NAME_NAME, NAME_FUNCTION, NAME_STREAM };
struct name { uint32_t id; enum name_kind kind; };

// A cache of names by the address of their string. Names are nearly always literals, the same object every time, so that
// one comparison replaces hashing the text. An entry holds a reference, so its address cannot be reused. The GIL guards it.
enum { NAME_CACHE_BITS = 10 };
struct cached_name { PyObject *text; struct name name; };
extern struct cached_name hooks_names[1 << NAME_CACHE_BITS];
static inline struct cached_name *hooks_name_cell(PyObject *text) {
  return &hooks_names[((uintptr_t)text >> 4 ^ (uintptr_t)text >> (4 + NAME_CACHE_BITS)) & ((1 << NAME_CACHE_BITS) - 1)];
}

struct name hooks_name_slowly(PyObject *text);
// hooks_name returns {0} when text is not a str or space ran out; no Python error is set.
static inline struct name hooks_name(PyObject *text) {
  struct cached_name *cell = hooks_name_cell(text);
  return __builtin_expect(cell->text == text, 1) ? cell->name : hooks_name_slowly(text);
}
PyObject *hooks_text(uint32_t id); // new reference
// Interned attribute names.
extern PyObject *hooks_str_get, *hooks_str_data, *hooks_str_extras, *hooks_str_name;
int hooks_names_init(void);

// ---- metric.c: values ----

struct number { int type; /* enum hp_metric_type */ union { int64_t i; double d; uint64_t bits; }; };
enum value_kind { VALUE_ERROR = -1, VALUE_NONE, VALUE_NUMBER, VALUE_VECTOR, VALUE_TENSOR };
// hooks_value classifies and converts; VALUE_NONE is "not a metric value", VALUE_ERROR leaves a Python error.
enum value_kind hooks_value(PyObject *v, struct number *out);
void hooks_number_for(enum name_kind kind, struct number *n); // gives roofline metrics their one type

struct leaf { uint32_t node, pynode, set; };
struct leaf hooks_leaf(void);
PyObject *hooks_leaf_tuple(struct leaf at);
// hooks_add_metrics adds every item of a mapping at a leaf, or at the current one when `at` is NULL.
// Returns 0, or -1 with a Python error.
int hooks_add_metrics(PyObject *metrics, const struct leaf *at);
int hooks_tensor(PyObject *key, PyObject *tensor, struct leaf at); // to the registered handler
PyObject *native_add_metrics(PyObject *, PyObject *metrics);
PyObject *native_add_metrics_at(PyObject *, PyObject *const *args, py_ssize n);
PyObject *native_set_tensor_handler(PyObject *, PyObject *handler);

// ---- scope.c ----

int hooks_scope_types(PyObject *module);
PyObject *native_enter_scope(PyObject *, PyObject *name);
PyObject *native_exit_scope(PyObject *, PyObject *);
PyObject *native_enter_state(PyObject *, PyObject *name);
PyObject *native_exit_state(PyObject *, PyObject *);

// ---- launch.c ----

PyObject *native_launch_enter(PyObject *, PyObject *lazy);
PyObject *native_launch_exit(PyObject *, PyObject *lazy);
PyObject *native_set_launch_filter(PyObject *, PyObject *filter);
PyObject *native_enter_op(PyObject *, PyObject *const *args, py_ssize n);
PyObject *native_exit_op(PyObject *, PyObject *);
PyObject *native_last_op(PyObject *, PyObject *);

// ---- call.c ----

PyObject *native_call(PyObject *, PyObject *const *args, py_ssize n);
// hooks_call sends one request to Go and returns its answer (a str), or NULL with a Python error.
PyObject *hooks_call(const char *method, size_t method_len, const char *params, size_t params_len);

// ---- pyend.c ----

// hooks_retake_gil undoes PyEval_SaveThread. On a daemon thread it does not return once Python has begun to end.
void hooks_retake_gil(void *state);

// ---- pyframes.c ----

// hooks_walker_ready registers the stack walker; the first call examines this interpreter.
void hooks_walker_ready(void);
PyObject *native_python_walker(PyObject *, PyObject *);

#endif
