// Vectorcalls of a type. Without one Python packs a tuple for tp_new and tp_init (70 ns more per scope).
#ifndef GOPROTON_QUICKCALL_H
#define GOPROTON_QUICKCALL_H
#include "pyapi.h"

typedef PyObject *(*py_vectorcall)(PyObject *callable, PyObject *const *args, size_t flagged, PyObject *keywords);

// hooks_set_vectorcall sets a heap type's tp_vectorcall if this interpreter's type objects have the expected layout. Otherwise
// Python calls tp_new and tp_init.
void hooks_set_vectorcall(PyObject *type, py_vectorcall f);

#endif
