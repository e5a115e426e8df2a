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

// The interpreter is the library that calls PyInit: a libpython that was loaded privately is not in the global scope, and a
// process may have two. dlopen does not open the executable, but its symbols are global.
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
  // The message about any other symbol needs these two.
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

// The object head of a free-threaded build is longer, and so is that of a build that traces references: the fields after it have
// other offsets.
static int check_head(void) {
  PyObject *size = py.PyObject_GetAttrString(py.PyBaseObject_Type, "__basicsize__");
  if (!size) return 0;
  unsigned long bytes = py.PyLong_AsUnsignedLong(size);
  py.Py_DecRef(size);
  if (bytes == sizeof(PyObject)) return 1;
  return refuse("load goproton._native: this build of Python (free-threaded, or one that traces references) is not "
                "supported yet; run the program with the ordinary build of the same version");
}

PyObject *py_item(PyObject *dict, const char *name) {
  PyObject *key = py.PyUnicode_InternFromString(name), *v = key ? py.PyDict_GetItemWithError(dict, key) : NULL;
  py.Py_DecRef(key);
  return v;
}

PyObject *py_run(const char *source, const char *file, const char *name, PyObject *value) {
  PyObject *code = py.Py_CompileString(source, file, 257 /* Py_file_input */), *globals = code ? py.PyDict_New() : NULL, *done = NULL;
  if (globals && !py.PyDict_SetItemString(globals, "__builtins__", py.PyEval_GetBuiltins()) &&
      (!value || !py.PyDict_SetItemString(globals, name, value)))
    done = py.PyEval_EvalCode(code, globals, globals);
  if (!done) py.Py_DecRef(globals), globals = NULL;
  py.Py_DecRef(done);
  py.Py_DecRef(code);
  return globals;
}

int py_resolve(void *caller) {
  find_interpreter(caller);
  return resolve_all() && check_version() && check_head();
}
