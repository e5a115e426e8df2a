// The memory of torch's caching allocator, as metrics.
#ifndef GOPROTON_TORCHMEMORY_H
#define GOPROTON_TORCHMEMORY_H

#include "native.h"

PyObject *native_torch_memory_begin(PyObject *, PyObject *everywhere); // returns None, or why not; everywhere: the CPU's too, for tests
PyObject *native_torch_memory_end(PyObject *, PyObject *);
PyObject *native_torch_memory_reset(PyObject *, PyObject *);
PyObject *native_torch_memory_peak(PyObject *, PyObject *);

#endif
