// The end of the interpreter. Daemon threads continue to run and to call this module while Python ends. Python frees their
// frames, and ends each of these threads when it next requests the GIL.
#define _GNU_SOURCE
#include "pyframes.h"
#include "pywalk.h"
#include <pthread.h>
#include <time.h>
#include <unistd.h>

_Atomic(void *) frames_last_thread;

// The longest time that the end of the program waits for a walk. A walk takes microseconds, unless its thread is stopped by
// a debugger or does not get a processor.
enum { PATIENCE_MS = 10000 };

static PyObject *python_ends(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  atomic_store(&frames_last_thread, py.PyGILState_GetThisThreadState());
  if (hooks_in_child()) return py_none(); // the threads that were walking exist only in the parent
  for (int ms = 0; ms < PATIENCE_MS && pywalks() + public_walks(); ms++) {
    void *state = py.PyEval_SaveThread(); // public walks need the GIL
    nanosleep(&(struct timespec){0, 1000000}, NULL);
    py.PyEval_RestoreThread(state);
  }
  return py_none();
}

static struct py_method ends_method = {"python_ends", (void *)python_ends, PY_NOARGS, NULL};

int frames_watch_the_end(void) {
  PyObject *module = py.PyImport_ImportModule("atexit"), *add = module ? py.PyObject_GetAttrString(module, "register") : NULL;
  PyObject *function = add ? py.PyCFunction_NewEx(&ends_method, NULL, NULL) : NULL;
  PyObject *result = function ? py.PyObject_CallFunctionObjArgs(add, function, NULL) : NULL;
  PyObject *all[] = {module, add, function, result};
  for (size_t i = 0; i < 4; i++) py.Py_DecRef(all[i]);
  return result != NULL;
}

// ---- the GIL ----

// Up to 3.13 Python ends a daemon thread by pthread_exit, which unwinds its stack. That ends the process if the stack has C++
// frames whose destructors need the GIL (nanobind, in Triton 3.9) or that are noexcept. So such a thread waits here until the
// process ends, as it does in Python itself from 3.14 on.
static void stay(void *unused) {
  (void)unused;
  for (;;) pause();
}

void hooks_retake_gil(void *state) {
  const void *last = atomic_load(&frames_last_thread);
  if (last && last != state && !py.Py_IsInitialized()) stay(NULL); // the state may be freed already
  pthread_cleanup_push(stay, NULL);
  py.PyEval_RestoreThread(state);
  pthread_cleanup_pop(0);
}
