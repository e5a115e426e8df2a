#define _GNU_SOURCE
#include "pyapi.h"
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct py_table py;
int py_minor;

static void *interpreter; // handle of the library that holds the interpreter, NULL when it is the executable

// The library that called PyInit is the interpreter: a privately loaded libpython is not in the global scope,
// and a process may hold two. dlopen of the executable itself is refused, but its symbols are global.
static void find_interpreter(void *caller) {
  Dl_info info;
  interpreter = NULL;
  if (dladdr(caller, &info) && info.dli_fname) interpreter = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

void *py_symbol(const char *name) {
  void *p = interpreter ? dlsym(interpreter, name) : NULL;
  return p ? p : dlsym(RTLD_DEFAULT, name);
}

static int refuse(const char *text) {
  if (py.PyErr_SetString && py.PyExc_ImportError) py.PyErr_SetString(py.PyExc_ImportError, text);
  else fprintf(stderr, "goproton: %s\n", text);
  return 0;
}

static int missing(const char *name) {
  char text[200];
  snprintf(text, sizeof text, "load goproton._native: this interpreter has no %s; use CPython 3.9 to 3.14", name);
  return refuse(text);
}

static int resolve_all(void) {
  PyObject **e;
  // These two first: they carry the message about any other.
  if ((e = py_symbol("PyExc_ImportError"))) py.PyExc_ImportError = *e;
  *(void **)&py.PyErr_SetString = py_symbol("PyErr_SetString");
#define X(result, name, parameters) if (!(*(void **)&py.name = py_symbol(#name))) return missing(#name);
  PY_FUNCTIONS(X)
#undef X
#define X(name) if (!(py.name = py_symbol(#name))) return missing(#name);
  PY_OBJECTS(X)
#undef X
#define X(name) if (!(e = py_symbol(#name))) return missing(#name); py.name = *e;
  PY_EXCEPTIONS(X)
#undef X
  return 1;
}

static int check_version(void) {
  const char *v = py.Py_GetVersion();
  char text[200];
  char *end = NULL;
  if (!strncmp(v, "3.", 2)) py_minor = (int)strtol(v + 2, &end, 10);
  if (py_minor >= 9) return 1;
  snprintf(text, sizeof text, "load goproton._native: Python %.20s is too old; use CPython 3.9 or newer", v);
  return refuse(text);
}

// A free-threaded build has a longer object head, and so has one that traces references; the fields that
// follow would all be read from the wrong place.
static int check_head(void) {
  PyObject *size = py.PyObject_GetAttrString(py.PyBaseObject_Type, "__basicsize__");
  if (!size) return 0;
  unsigned long bytes = py.PyLong_AsUnsignedLong(size);
  py.Py_DecRef(size);
  if (bytes == sizeof(PyObject)) return 1;
  return refuse("load goproton._native: this build of Python (free-threaded, or one that traces references) is not "
                "supported yet; run the program with the ordinary build of the same version");
}

int py_resolve(void *caller) {
  find_interpreter(caller);
  return resolve_all() && check_version() && check_head();
}
