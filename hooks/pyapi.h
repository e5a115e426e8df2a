// The part of CPython's C API that this room uses, resolved with dlsym when the module is imported.
//
// One binary serves CPython 3.9 to 3.14, in processes where libpython is the executable itself, a shared
// library, or a privately loaded one. So there are no Python headers here and nothing is linked: every function is a
// pointer in `py`, and of an object only the first two words are known. Py_DecRef does nothing with NULL.
#ifndef GOPROTON_PYAPI_H
#define GOPROTON_PYAPI_H

#include <stddef.h>
#include <stdint.h>

typedef ptrdiff_t py_ssize;
// Object head of a build with a GIL and without reference tracing; checked at import (object.__basicsize__).
typedef struct pyobject { py_ssize refcnt; struct pyobject *type; } PyObject;

typedef PyObject *(*py_noargs)(PyObject *self, PyObject *unused);
typedef PyObject *(*py_fast)(PyObject *self, PyObject *const *args, py_ssize n);
typedef PyObject *(*py_keywords)(PyObject *self, PyObject *args, PyObject *kwargs);

struct py_method { const char *name; void *function; int flags; const char *doc; };
enum { PY_KEYWORDS = 2, PY_NOARGS = 4, PY_O = 8, PY_FASTCALL = 0x80 };

struct py_getset { const char *name; PyObject *(*get)(PyObject *, void *); int (*set)(PyObject *, PyObject *, void *); const char *doc; void *closure; };

struct py_slot { int slot; void *value; };
enum {
  PY_TP_CALL = 50, PY_TP_DEALLOC = 52, PY_TP_DOC = 56, PY_TP_INIT = 60, PY_TP_METHODS = 64, PY_TP_NEW = 65, PY_TP_REPR = 66,
  PY_TP_GETSET = 73, PY_TP_FREE = 74, PY_TP_ALLOC = 47,
};
struct py_spec { const char *name; int basicsize, itemsize; unsigned flags; struct py_slot *slots; };
enum { PY_FLAG_BASETYPE = 1 << 10, PY_FLAG_DEFAULT = 1 << 18 };

struct py_module {
  PyObject head;
  PyObject *(*init)(void);
  py_ssize index;
  PyObject *copy;
  const char *name, *doc;
  py_ssize size;
  struct py_method *methods;
  void *slots, *traverse, *clear, *free;
};

// X(result, name, parameters)
#define PY_FUNCTIONS(X)                                                                        \
  X(const char *, Py_GetVersion, (void))                                                       \
  X(int, Py_IsInitialized, (void))                                                             \
  X(void, Py_IncRef, (PyObject *))                                                             \
  X(void, Py_DecRef, (PyObject *))                                                             \
  X(PyObject *, PyModule_Create2, (struct py_module *, int))                                   \
  X(int, PyModule_AddObject, (PyObject *, const char *, PyObject *))                           \
  X(PyObject *, PyType_FromSpec, (struct py_spec *))                                           \
  X(PyObject *, PyType_FromSpecWithBases, (struct py_spec *, PyObject *))                      \
  X(void *, PyType_GetSlot, (PyObject *, int))                                                 \
  X(PyObject *, PyType_GenericAlloc, (PyObject *, py_ssize))                                   \
  X(int, PyType_IsSubtype, (PyObject *, PyObject *))                                           \
  X(PyObject *, PyUnicode_FromStringAndSize, (const char *, py_ssize))                         \
  X(PyObject *, PyUnicode_InternFromString, (const char *))                                    \
  X(PyObject *, PyUnicode_FromFormat, (const char *, ...))                                     \
  X(PyObject *, PyUnicode_DecodeUTF8, (const char *, py_ssize, const char *))                  \
  X(const char *, PyUnicode_AsUTF8AndSize, (PyObject *, py_ssize *))                           \
  X(PyObject *, PyUnicode_AsEncodedString, (PyObject *, const char *, const char *))           \
  X(int, PyUnicode_CompareWithASCIIString, (PyObject *, const char *))                         \
  X(int, PyBytes_AsStringAndSize, (PyObject *, char **, py_ssize *))                           \
  X(PyObject *, PyLong_FromLongLong, (long long))                                              \
  X(PyObject *, PyLong_FromUnsignedLong, (unsigned long))                                      \
  X(PyObject *, PyBool_FromLong, (long))                                                       \
  X(long long, PyLong_AsLongLongAndOverflow, (PyObject *, int *))                              \
  X(unsigned long, PyLong_AsUnsignedLong, (PyObject *))                                        \
  X(unsigned long long, PyLong_AsUnsignedLongLongMask, (PyObject *))                           \
  X(double, PyLong_AsDouble, (PyObject *))                                                     \
  X(double, PyFloat_AsDouble, (PyObject *))                                                    \
  X(PyObject *, PyNumber_Index, (PyObject *))                                                  \
  X(PyObject *, PyNumber_Float, (PyObject *))                                                  \
  X(PyObject *, PyCFunction_NewEx, (struct py_method *, PyObject *, PyObject *))               \
  X(PyObject *, PyBytes_FromStringAndSize, (const char *, py_ssize))                           \
  X(PyObject *, PyLong_FromUnsignedLongLong, (unsigned long long))                             \
  X(PyObject *, PyDict_New, (void))                                                            \
  X(int, PyDict_Next, (PyObject *, py_ssize *, PyObject **, PyObject **))                      \
  X(PyObject *, PyDict_GetItemWithError, (PyObject *, PyObject *))                             \
  X(int, PyDict_SetItemString, (PyObject *, const char *, PyObject *))                         \
  X(int, PyDict_Update, (PyObject *, PyObject *))                                              \
  X(py_ssize, PyDict_Size, (PyObject *))                                                       \
  X(PyObject *, PyTuple_New, (py_ssize))                                                       \
  X(PyObject *, PyTuple_GetItem, (PyObject *, py_ssize))                                       \
  X(int, PyTuple_SetItem, (PyObject *, py_ssize, PyObject *))                                  \
  X(py_ssize, PyTuple_Size, (PyObject *))                                                      \
  X(py_ssize, PyList_Size, (PyObject *))                                                       \
  X(PyObject *, PyList_GetItem, (PyObject *, py_ssize))                                        \
  X(int, PyList_SetSlice, (PyObject *, py_ssize, py_ssize, PyObject *))                        \
  X(PyObject *, PySet_New, (PyObject *))                                                       \
  X(int, PySet_Contains, (PyObject *, PyObject *))                                             \
  X(int, PySet_Add, (PyObject *, PyObject *))                                                  \
  X(PyObject *, PySequence_Tuple, (PyObject *))                                                \
  X(PyObject *, PyContextVar_New, (const char *, PyObject *))                                  \
  X(int, PyContextVar_Get, (PyObject *, PyObject *, PyObject **))                              \
  X(PyObject *, PyContextVar_Set, (PyObject *, PyObject *))                                    \
  X(py_ssize, PyObject_Size, (PyObject *))                                                     \
  X(PyObject *, PyObject_GetAttr, (PyObject *, PyObject *))                                    \
  X(PyObject *, PyObject_GetAttrString, (PyObject *, const char *))                            \
  X(int, PyObject_HasAttrString, (PyObject *, const char *))                                   \
  X(PyObject *, PyObject_CallFunctionObjArgs, (PyObject *, ...))                               \
  X(PyObject *, PyObject_VectorcallMethod, (PyObject *, PyObject *const *, size_t, PyObject *))\
  X(int, PyObject_IsTrue, (PyObject *))                                                        \
  X(PyObject *, PyObject_Str, (PyObject *))                                                    \
  X(int, PyCallable_Check, (PyObject *))                                                       \
  X(PyObject *, PyErr_Format, (PyObject *, const char *, ...))                                 \
  X(void, PyErr_SetString, (PyObject *, const char *))                                         \
  X(PyObject *, PyErr_NoMemory, (void))                                                        \
  X(PyObject *, PyErr_Occurred, (void))                                                        \
  X(int, PyErr_CheckSignals, (void))                                                           \
  X(int, PyErr_ExceptionMatches, (PyObject *))                                                 \
  X(void, PyErr_Fetch, (PyObject **, PyObject **, PyObject **))                                \
  X(void, PyErr_NormalizeException, (PyObject **, PyObject **, PyObject **))                   \
  X(void, PyErr_Restore, (PyObject *, PyObject *, PyObject *))                                 \
  X(void, PyErr_Clear, (void))                                                                 \
  X(void, PySys_WriteStderr, (const char *, ...))                                              \
  X(PyObject *, PyImport_ImportModule, (const char *))                                         \
  X(PyObject *, PyImport_GetModuleDict, (void))                                                \
  X(PyObject *, PyEval_GetBuiltins, (void))                                                    \
  X(PyObject *, PyEval_GetFrame, (void))                                                       \
  X(PyObject *, PyEval_EvalCode, (PyObject *, PyObject *, PyObject *))                         \
  X(void *, PyEval_SaveThread, (void))                                                         \
  X(void, PyEval_RestoreThread, (void *))                                                      \
  X(PyObject *, Py_CompileString, (const char *, const char *, int))                           \
  X(int, PyCode_Addr2Line, (PyObject *, int))                                                  \
  X(int, PyGILState_Ensure, (void))                                                            \
  X(void, PyGILState_Release, (int))                                                           \
  X(int, PyGILState_Check, (void))                                                             \
  X(void *, PyGILState_GetThisThreadState, (void))                                             \
  X(PyObject *, PyThreadState_GetFrame, (void *))                                              \
  X(PyObject *, PyFrame_GetBack, (PyObject *))                                                 \
  X(PyObject *, PyFrame_GetCode, (PyObject *))                                                 \
  X(int, PyFrame_GetLineNumber, (PyObject *))

// Objects: the address of the symbol is the object.
#define PY_OBJECTS(X)                                                                          \
  X(_Py_NoneStruct) X(PyBaseObject_Type) X(PyLong_Type) X(PyFloat_Type) X(PyBool_Type)         \
  X(PyUnicode_Type) X(PyBytes_Type) X(PyList_Type) X(PyTuple_Type) X(PyDict_Type) X(PyCode_Type)         \
  X(PyComplex_Type)

// Exceptions: the symbol holds a pointer to the object.
#define PY_EXCEPTIONS(X)                                                                       \
  X(PyExc_Exception) X(PyExc_ImportError) X(PyExc_ValueError) X(PyExc_TypeError)               \
  X(PyExc_IndexError) X(PyExc_RuntimeError) X(PyExc_NotImplementedError) X(PyExc_OSError)      \
  X(PyExc_KeyError) X(PyExc_AttributeError)

struct py_table {
#define X(result, name, parameters) result (*name) parameters;
  PY_FUNCTIONS(X)
#undef X
#define X(name) PyObject *name;
  PY_OBJECTS(X)
  PY_EXCEPTIONS(X)
#undef X
};
extern struct py_table py;
extern int py_minor; // 9 for CPython 3.9

// py_resolve fills the table from the interpreter that contains the code address `caller`. On failure it returns 0 and sets an
// ImportError, or prints it if the interpreter lacks even that.
int py_resolve(void *caller);
// py_symbol finds an optional symbol of the same interpreter.
void *py_symbol(const char *name);
// py_item is a borrowed reference to an item of a dict, NULL if it does not have it.
PyObject *py_item(PyObject *dict, const char *name);
// py_run runs source text in a new namespace, in which `name` is `value` (NULL: none). It returns the namespace, or NULL with a
// Python error.
PyObject *py_run(const char *source, const char *file, const char *name, PyObject *value);

static inline PyObject *py_type(PyObject *o) { return o->type; }
static inline int py_is(PyObject *o, PyObject *type) { return o->type == type || py.PyType_IsSubtype(o->type, type); }
static inline PyObject *py_none(void) {
  py.Py_IncRef(py._Py_NoneStruct);
  return py._Py_NoneStruct;
}
static inline PyObject *py_new_ref(PyObject *o) {
  py.Py_IncRef(o);
  return o;
}

#endif
