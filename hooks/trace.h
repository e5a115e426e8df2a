// What the files of the trace recorder share: trace.c decides what is recorded and makes records, tracevalue.c writes the values
// of arguments, tracering.c stores records for the writer.
//
// All of it runs under the GIL, on the launching thread. The writer (Go, tritonparse/record) reads the ring without the GIL.
#ifndef GOPROTON_TRACE_H
#define GOPROTON_TRACE_H

#include "bytes.h"
#include "native.h"

// ---- tracering.c ----

// Offsets in the ring's header, as in tritonparse/record/ring.go.
enum { RING_HEADER = 4096, RING_CAPACITY = 8, RING_WRITTEN = 16, RING_READ = 24, RING_LOST = 32 };

void ring_open(uint64_t address);
// ring_push adds a record that consists of two parts. While the ring is full it lets other threads run; it returns 0 if the
// record was not added.
int ring_push(const void *head, size_t head_len, const void *body, size_t body_len);
void ring_lost(void); // counts a record that could not be made

// ---- tracevalue.c ----

// Functions of the goproton package, passed by trace.py. They are called when a type, constant or kernel is seen for the first
// time, and for values that this code does not know.
struct trace_helpers {
  PyObject *classify; // type -> enum value_class
  PyObject *describe; // a constant -> number of its description
  PyObject *inlined;  // any other value -> its description as JSON; a tuple of parts of it, and tensors between them, if it has tensors
  PyObject *handle;   // a function's handle that is not a number -> number of its text
  PyObject *grid;     // a grid that is not a sequence of integers -> JSON
  PyObject *dtype;    // torch.dtype -> number of its definition
  PyObject *define;   // text -> number of its definition
  PyObject *template; // metadata, name, argument names, carrier -> number, 0 for kernels that are not traced
  PyObject *rank;     // called when the process group has changed
  PyObject *more;     // tensor -> further members of its description, as JSON without braces; NULL: none are wanted
  PyObject *prepare;  // metadata of a launch: called before `more` is called with its tensors
};
extern struct trace_helpers trace_help;

enum value_class { CLASS_UNKNOWN, CLASS_TENSOR, CLASS_DESCRIPTOR, CLASS_CONSTANT, CLASS_TEXT };

// trace_ask calls a helper with one argument, or with none where that is NULL.
PyObject *trace_ask(PyObject *helper, PyObject *argument);

int trace_values_init(void);
void trace_values_forget(void); // the numbers of definitions belong to one trace
// trace_grid and trace_value append one value to `kind`, which launches of a kind share, and what only this launch has to
// `tensors`. They return 0 with a Python error that the program must see (KeyboardInterrupt).
int trace_grid(struct bytes *kind, PyObject *grid);
int trace_value(struct bytes *kind, struct bytes *tensors, PyObject *value, int more);
// trace_definition is the number of a constant's text. `how` is called for an object that is not known yet.
uint64_t trace_definition(PyObject *value, PyObject *how);

// ---- trace.c ----

// trace_interrupted clears an error of a helper or of a value's own code. It returns 1, and keeps the exception, if that is not
// an error (KeyboardInterrupt).
int trace_interrupted(void);

// Code that runs Python may let another thread end the trace and begin the next one, in which the numbers of definitions
// differ. This counter changes when that happens.
extern uint64_t trace_generation;

PyObject *native_trace_open(PyObject *, PyObject *const *args, py_ssize n);
PyObject *native_trace_close(PyObject *, PyObject *);
PyObject *native_trace_launch(PyObject *, PyObject *lazy);
PyObject *native_trace_rank(PyObject *, PyObject *rank);
PyObject *native_trace_watch(PyObject *, PyObject *const *args, py_ssize n);

// ---- pyframes.c ----

uint32_t hooks_python_path(void); // the calling thread's call path

#endif
