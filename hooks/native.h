// What the files of the extension module share.
#ifndef GOPROTON_NATIVE_H
#define GOPROTON_NATIVE_H

#include "pyapi.h"
#include "../hotpath/hotpath.h"
#include "../hotpath/meter.h"

// The table of the hot path, set by hooks.Init before Python can import the module.
extern const struct hp_api *hooks_hp;

// What a hook does between these two is measured if some session has a budget.
static inline uint64_t hooks_meter_begin_at(int site) {
  return __builtin_expect(atomic_load_explicit(hooks_hp->metered, memory_order_relaxed) != 0, 0) ? hooks_hp->meter_begin(site) : 0;
}
static inline void hooks_meter_end_at(uint64_t began, int site) {
  if (__builtin_expect(began != 0, 0)) hooks_hp->meter_end(began, site);
}
static inline uint64_t hooks_meter_begin(void) { return hooks_meter_begin_at(HP_METER_HOOK); }
static inline void hooks_meter_end(uint64_t began) { hooks_meter_end_at(began, HP_METER_HOOK); }

// Scopes and record_scope take their numbers from one counter, which starts at 1.
int64_t hooks_next_id(void);
// 1 in a forked child, where Go does not run and must not be called.
int hooks_in_child(void);

// ---- names.c: Python strings as interned ids ----

// The last three are keys of launch metadata that are not metrics.
enum name_kind { NAME_METRIC, NAME_FLOPS, NAME_BYTES, NAME_CPU_TIME, NAME_NAME, NAME_FUNCTION, NAME_STREAM };
struct name { uint32_t id; enum name_kind kind; };

// Caches of names by the address of their string. Names are nearly always literals, the same object every time, so comparing
// addresses is enough. An entry holds a reference, so that its address is not reused. The GIL guards them.
enum { NAME_CACHE_BITS = 10 };
struct cached_name { PyObject *text; struct name name; };
extern struct cached_name hooks_names[1 << NAME_CACHE_BITS], hooks_frame_names[(1 << NAME_CACHE_BITS) + 1];
static inline uintptr_t hooks_name_place(PyObject *text) {
  return ((uintptr_t)text >> 4 ^ (uintptr_t)text >> (4 + NAME_CACHE_BITS)) & ((1 << NAME_CACHE_BITS) - 1);
}

struct name hooks_name_slowly(PyObject *text);
// hooks_name returns {0} if text is not a str, or if the memory for names is full. It sets no Python error.
static inline struct name hooks_name(PyObject *text) {
  struct cached_name *cell = &hooks_names[hooks_name_place(text)];
  return __builtin_expect(cell->text == text, 1) ? cell->name : hooks_name_slowly(text);
}

uint32_t hooks_frame_name_slowly(PyObject *text);
// hooks_frame_name is hooks_name for scopes, states and ops, whose names are reclaimed. The id is to be passed to the hot path
// before any Python code can run: after that it may be the id of another name.
static inline struct cached_name *hooks_frame_name_cell(PyObject *text) { return &hooks_frame_names[hooks_name_place(text)]; }
static inline uint32_t hooks_frame_name(PyObject *text) {
  struct cached_name *cell = hooks_frame_name_cell(text);
  return __builtin_expect(cell->text == text, 1) ? cell->name.id : hooks_frame_name_slowly(text);
}
PyObject *hooks_text(uint32_t id); // new reference
// Interned attribute names.
extern PyObject *hooks_str_get, *hooks_str_data, *hooks_str_extras, *hooks_str_name;
int hooks_names_init(void);

// ---- metric.c: values ----

struct number { int type; /* enum hp_metric_type */ union { int64_t i; double d; uint64_t bits; }; };
enum value_kind { VALUE_ERROR = -1, VALUE_NONE, VALUE_NUMBER, VALUE_VECTOR, VALUE_TENSOR };
// hooks_value classifies a value and converts a number. VALUE_NONE: it is not a metric value; VALUE_ERROR: a Python error is set.
enum value_kind hooks_value(PyObject *v, struct number *out);
void hooks_number_for(enum name_kind kind, struct number *n); // flops are stored as doubles, bytes as integers

struct leaf { uint32_t node, pynode, set; };
struct leaf hooks_leaf(void);
struct leaf hooks_leaf_begin(void);
PyObject *hooks_leaf_tuple(struct leaf at);
// hooks_add_number adds a number at a leaf, or at the current one if `at` is NULL. It returns an enum hp_status.
static inline int hooks_add_number(const struct leaf *at, uint32_t name, struct number v) {
  if (at) return hooks_hp->metric_at(at->node, at->pynode, at->set, name, v.type, v.bits);
  return v.type == HP_INT ? hooks_hp->metric_int(name, v.i) : hooks_hp->metric_double(name, v.d);
}
// hooks_add_metrics adds every item of a mapping in the same way. It returns 0, or -1 with a Python error.
int hooks_add_metrics(PyObject *metrics, const struct leaf *at);
int hooks_tensor(PyObject *key, PyObject *tensor, struct leaf at); // calls the registered handler
PyObject *native_add_metrics(PyObject *, PyObject *metrics);
PyObject *native_add_metrics_at(PyObject *, PyObject *const *args, py_ssize n);
PyObject *native_set_tensor_handler(PyObject *, PyObject *handler);
int hooks_leaf_from(PyObject *tuple, struct leaf *at); // returns 0, or -1 with a Python error

// ---- tensormetric.c ----

PyObject *native_tensor_metric(PyObject *, PyObject *const *args, py_ssize n);

// ---- scope.c ----

int hooks_scope_types(PyObject *module);
PyObject *native_enter_scope(PyObject *, PyObject *name);
PyObject *native_exit_scope(PyObject *, PyObject *);
PyObject *native_enter_state(PyObject *, PyObject *name);
PyObject *native_exit_state(PyObject *, PyObject *);

// ---- launch.c ----

// The state of work that is launched while the arguments or metadata of a launch are evaluated. Viewers hide it.
#define METADATA_FRAME "__proton_launch_metadata"

int hooks_in_launch_hook(void); // of the calling thread
PyObject *native_launch_enter(PyObject *, PyObject *lazy);
PyObject *native_launch_exit(PyObject *, PyObject *lazy);
PyObject *native_set_launch_filter(PyObject *, PyObject *filter);
PyObject *native_enter_op(PyObject *, PyObject *const *args, py_ssize n);
PyObject *native_exit_op(PyObject *, PyObject *);
PyObject *native_last_op(PyObject *, PyObject *);

// ---- inside.c ----

PyObject *native_inside_take(PyObject *, PyObject *const *args, py_ssize n);
PyObject *native_inside_launched(PyObject *, PyObject *lazy);
PyObject *native_inside_launched_in(PyObject *, PyObject *const *args, py_ssize n);
PyObject *native_inside_keep(PyObject *, PyObject *on);
PyObject *native_inside_last(PyObject *, PyObject *);

// ---- call.c ----

PyObject *native_call(PyObject *, PyObject *const *args, py_ssize n);
PyObject *native_companion(PyObject *, PyObject *const *args, py_ssize n); // companion.c
// hooks_call makes a control call and returns its answer (a str), or NULL with a Python error.
PyObject *hooks_call(const char *method, size_t method_len, const char *params, size_t params_len);

// ---- pyend.c ----

// hooks_retake_gil undoes PyEval_SaveThread. On a daemon thread it does not return once Python has begun to end.
void hooks_retake_gil(void *state);

// ---- pyframes.c ----

// hooks_walker_ready registers the stack walker; the first call examines this interpreter.
void hooks_walker_ready(void);
PyObject *native_python_walker(PyObject *, PyObject *);

#endif
