// Control calls, the only calls from Python into Go.
#include "native.h"
#include "control.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic int in_child;
static void child_begins(void) { atomic_store(&in_child, 1); }
// Registered when the library is loaded, because the module may be imported first in the child.
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, child_begins); }

int hooks_in_child(void) { return atomic_load_explicit(&in_child, memory_order_relaxed); }

static PyObject *exception_named(const char *kind) {
  struct { const char *name; PyObject *type; } known[] = {
      {"ValueError", py.PyExc_ValueError},       {"IndexError", py.PyExc_IndexError},
      {"RuntimeError", py.PyExc_RuntimeError},   {"NotImplementedError", py.PyExc_NotImplementedError},
      {"OSError", py.PyExc_OSError},             {"TypeError", py.PyExc_TypeError},
      {"KeyError", py.PyExc_KeyError},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(kind, known[i].name)) return known[i].type;
  return py.PyExc_RuntimeError;
}

static PyObject *raise_error(const struct control_answer *a) {
  PyObject *text = py.PyUnicode_DecodeUTF8(a->text, (py_ssize)a->len, "replace");
  if (text) {
    py.PyErr_Format(exception_named(a->kind), "%U", text);
    py.Py_DecRef(text);
  }
  return NULL;
}

static _Thread_local void *released; // the state of this thread while it is in a control call, without the GIL

int hooks_interrupted(void) {
  void *state = released;
  if (!state) return 0;
  released = NULL; // a handler may make a control call of its own
  hooks_retake_gil(state);
  int raised = py.PyErr_CheckSignals() < 0;
  released = py.PyEval_SaveThread();
  return raised;
}

PyObject *hooks_call(const char *method, size_t method_len, const char *params, size_t params_len) {
  if (hooks_in_child()) return py.PyUnicode_FromStringAndSize("{}", 2);
  struct control_answer a = {0};
  void *outer = released;
  released = py.PyEval_SaveThread();
  goprotonControl((char *)method, method_len, (char *)params, params_len, &a);
  void *state = released;
  released = outer;
  hooks_retake_gil(state);
  PyObject *result = py.PyErr_Occurred() ? NULL
                     : !a.text           ? py.PyErr_NoMemory()
                     : a.kind[0]         ? raise_error(&a)
                                         : py.PyUnicode_DecodeUTF8(a.text, (py_ssize)a.len, "replace");
  free(a.text);
  return result;
}

// A session may need the stack walker. The GIL is held now, which the walker's examination of the interpreter needs.
static int starts_something(const char *method, size_t n) {
  static const char *const starters[] = {"start", "activate", "run.begin", "run.attach"};
  for (size_t i = 0; i < sizeof starters / sizeof *starters; i++)
    if (n == strlen(starters[i]) && !memcmp(method, starters[i], n)) return 1;
  return 0;
}

PyObject *native_call(PyObject *self, PyObject *const *args, py_ssize n) {
  (void)self;
  if (n != 2) return py.PyErr_SetString(py.PyExc_TypeError, "call takes a method and its parameters as JSON"), NULL;
  py_ssize method_len, params_len;
  const char *method = py.PyUnicode_AsUTF8AndSize(args[0], &method_len);
  const char *params = method ? py.PyUnicode_AsUTF8AndSize(args[1], &params_len) : NULL;
  if (!params) return NULL;
  if (!hooks_in_child() && starts_something(method, (size_t)method_len)) hooks_walker_ready();
  return hooks_call(method, (size_t)method_len, params, (size_t)params_len);
}
