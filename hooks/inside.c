// Launches of kernels that Triton has compiled with scopes: what its allocator and its exit hook do.
#include "native.h"
#include "../hotpath/scratch/scratch.h"
#include <stdlib.h>

static const struct scratch_api *scratch;

void hooks_set_scratch(const void *api) { scratch = api; }

static uint64_t number(PyObject *value) { return value && py_is(value, py.PyLong_Type) ? py.PyLong_AsUnsignedLongLongMask(value) : 0; }

// Triton takes an address in place of a tensor. Without memory the kernel would write to address 0: the launch has to fail.
PyObject *native_inside_take(PyObject *self, PyObject *const *args, py_ssize n) {
  (void)self;
  if (n != 3) return py.PyErr_SetString(py.PyExc_TypeError, "inside_take takes a size, an alignment and a stream"), NULL;
  uint64_t bytes = number(args[0]), memory = bytes ? scratch->take(bytes, number(args[2])) : 0;
  if (bytes && !memory)
    return py.PyErr_Format(py.PyExc_RuntimeError, "the GPU has no memory for the records of scopes inside a kernel (%llu bytes): use a smaller buffer_size, or launch fewer blocks", (unsigned long long)bytes);
  return py.PyLong_FromUnsignedLongLong(memory);
}

static PyObject *key_function, *key_stream;

static int keys_ready(void) {
  if (!key_function) key_function = py.PyUnicode_InternFromString("function");
  if (!key_stream) key_stream = py.PyUnicode_InternFromString("stream");
  if (key_function && key_stream) return 1;
  py.PyErr_Clear();
  return 0;
}

// launched reads the dict of a LazyDict, which Triton fills before it evaluates anything.
static void launched(PyObject *data) {
  PyObject *function = py.PyDict_GetItemWithError(data, key_function), *stream = function ? py.PyDict_GetItemWithError(data, key_stream) : NULL;
  if (function && stream) scratch->launched(number(function), number(stream));
  else py.PyErr_Clear();
}

PyObject *native_inside_launched(PyObject *self, PyObject *lazy) {
  (void)self;
  if (lazy == py._Py_NoneStruct || !keys_ready()) return py_none();
  PyObject *data = py_type(lazy) == py.PyDict_Type ? py_new_ref(lazy) : py.PyObject_GetAttr(lazy, hooks_str_data);
  if (data && py_is(data, py.PyDict_Type)) launched(data);
  if (data) py.Py_DecRef(data);
  else py.PyErr_Clear();
  return py_none();
}

PyObject *native_inside_launched_in(PyObject *self, PyObject *const *args, py_ssize n) {
  (void)self;
  if (n != 4) return py.PyErr_SetString(py.PyExc_TypeError, "inside_launched_in takes a stream, a function, an address and a size"), NULL;
  scratch->launched_in(number(args[1]), number(args[0]), number(args[2]), number(args[3]));
  return py_none();
}

PyObject *native_inside_keep(PyObject *self, PyObject *on) {
  (void)self;
  scratch->keep(py.PyObject_IsTrue(on) > 0);
  return py_none();
}

PyObject *native_inside_last(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  uint64_t bytes = 0;
  void *state = py.PyEval_SaveThread();
  char *slots = scratch->last(&bytes);
  hooks_retake_gil(state);
  if (!slots) return py_none();
  PyObject *copy = py.PyBytes_FromStringAndSize(slots, (py_ssize)bytes);
  free(slots);
  return copy;
}
