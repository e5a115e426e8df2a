#include "quickcall.h"
#include <string.h>

// PyType_FromSpec accepts tp_vectorcall only from 3.14 on. The field is in the public part of the type object since 3.8, at the
// same offset in all versions from 3.9 to 3.14.
enum { AT_INIT = 296, AT_ALLOC = 304, AT_NEW = 312, AT_FREE = 320, AT_VECTORCALL = 400 };

static void *field(PyObject *type, size_t at) {
  void *p;
  memcpy(&p, (char *)type + at, sizeof p);
  return p;
}

// as_expected checks the offsets: the fields around it must have the values that PyType_GetSlot returns, and the field must be
// set in the types that have a vectorcall function and empty in those that have none.
static int as_expected(PyObject *type) {
  return field(type, AT_INIT) == py.PyType_GetSlot(type, PY_TP_INIT) && field(type, AT_ALLOC) == py.PyType_GetSlot(type, PY_TP_ALLOC) &&
         field(type, AT_NEW) == py.PyType_GetSlot(type, PY_TP_NEW) && field(type, AT_FREE) == py.PyType_GetSlot(type, PY_TP_FREE) &&
         !field(type, AT_VECTORCALL) && !field(py.PyBaseObject_Type, AT_VECTORCALL) && field(py.PyList_Type, AT_VECTORCALL) &&
         field(py.PyTuple_Type, AT_VECTORCALL) && field(py.PyDict_Type, AT_VECTORCALL);
}

void hooks_set_vectorcall(PyObject *type, py_vectorcall f) {
  if (sizeof(void *) == 8 && py_minor <= 14 && as_expected(type)) memcpy((char *)type + AT_VECTORCALL, &f, sizeof f);
}
