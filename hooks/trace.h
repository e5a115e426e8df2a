// What the files of the trace recorder share: trace.c decides and puts records together, tracevalue.c writes arguments,
// tracering.c hands records over.
//
// All of it runs under the GIL, on the launching thread. The writer (Go, internal/tracelog) reads the ring without it.
#ifndef GOPROTON_TRACE_H
#define GOPROTON_TRACE_H

#include "native.h"

// ---- tracering.c ----

// The ring's header, as internal/tracelog/ring.go has it.
enum { RING_HEADER = 4096, RING_CAPACITY = 8, RING_WRITTEN = 16, RING_READ = 24, RING_LOST = 32 };

void ring_open(uint64_t address);
// ring_push adds a record made of two parts. It may let other threads run while it waits for room; 0 when none came.
int ring_push(const void *head, size_t head_len, const void *body, size_t body_len);
void ring_lost(void); // counts a record that could not be made

// ---- bytes being put together ----

struct bytes { uint8_t *at; size_t n, room; int incomplete; uint8_t few[1024]; };
static inline void bytes_init(struct bytes *b) { b->at = b->few, b->n = 0, b->room = sizeof b->few, b->incomplete = 0; }
void bytes_free(struct bytes *b);
// Room for n more. Without memory the bytes are incomplete from there on; there is room for small things, and else none: NULL.
uint8_t *bytes_more(struct bytes *b, size_t n);
void put(struct bytes *b, const void *from, size_t n);
static inline void put_byte(struct bytes *b, uint8_t v) { *bytes_more(b, 1) = v, b->n++; }
void put_uint(struct bytes *b, uint64_t v); // LEB128
static inline void put_int(struct bytes *b, int64_t v) { put_uint(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63)); }
static inline void put_fixed(struct bytes *b, uint64_t v) { put(b, &v, sizeof v); }

// ---- tracevalue.c ----

// Functions of the goproton package (trace.py says which) that are called when something is seen for the first time, or is nothing we know.
struct trace_helpers {
  PyObject *classify; // type -> enum value_class
  PyObject *describe; // a constant -> number of its description
  PyObject *inlined;  // any other value -> its description as JSON
  PyObject *handle;   // a function's handle that is not a number -> number of its text
  PyObject *grid;     // a grid that is not a sequence of integers -> JSON
  PyObject *dtype;    // torch.dtype -> number of its definition
  PyObject *define;   // text -> number of its definition
  PyObject *template; // metadata, name, argument names, carrier -> number, 0 for kernels that are not traced
  PyObject *rank;     // the process group has changed
  PyObject *more;     // tensor -> further members of its description, as JSON without braces; NULL when none are wanted
  PyObject *prepare;  // metadata: a launch whose tensors `more` will be asked about
};
extern struct trace_helpers trace_help;

enum value_class { CLASS_UNKNOWN, CLASS_TENSOR, CLASS_DESCRIPTOR, CLASS_CONSTANT, CLASS_TEXT };

// trace_ask calls a helper with one argument, or with none where that is NULL.
PyObject *trace_ask(PyObject *helper, PyObject *argument);

int trace_values_init(void);
void trace_values_forget(void); // the numbers of definitions belong to one trace
// trace_grid and trace_value append one value to what launches of a kind share, and what is this launch's own to
// tensors. 0 with a Python error that must not be swallowed (KeyboardInterrupt).
int trace_grid(struct bytes *kind, PyObject *grid);
int trace_value(struct bytes *kind, struct bytes *tensors, PyObject *value, int more);
// trace_definition is the number of a constant's text; `how` makes it when the object is new here.
uint64_t trace_definition(PyObject *value, PyObject *how);

// ---- trace.c ----

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
