// What the files about PyTorch share: torchabi.c registers with torch, torchframes.c keeps what its operators report.
#ifndef GOPROTON_TORCHABI_H
#define GOPROTON_TORCHABI_H

#include "native.h"
#include <stdatomic.h>

// The words of an at::RecordFunction that are read: by byte offset, measured by torch_measure. 0: not found.
struct torch_layout { uint16_t sequence, forward_thread; };
extern struct torch_layout torch_at;

// What torch calls about each operator and each node of a backward pass, on the thread that runs it.
struct torch_observer {
  void (*started)(const void *function, const char *name, int backward);
  void (*ended)(const void *function);
};

// torch_functions finds torch's functions. It returns NULL, or why they cannot be used.
const char *torch_functions(void);
// Which operators are observed. With `inputs` the observer can read their arguments, which torch has to gather for it.
struct torch_share {
  int inputs;
  uint32_t thinned; // a random one in so many, which torch chooses; 0: all, however call paths are thinned
};
// torch_observe has torch call the observer, NULL for none, from now on. One observer is registered at a time, by one thread at a time.
void torch_observe(const struct torch_observer *observer, struct torch_share operators);
// torch_measure finds the layout from operators that `run`, a Python function, runs. It returns NULL, or what differs.
const char *torch_measure(PyObject *run);

uint64_t torch_thread_id(void); // torch's own number of the calling thread
int torch_exceptions(void);     // of C++, that are in flight on the calling thread
static inline uint64_t torch_word(const void *function, size_t at) {
  uint64_t w;
  __builtin_memcpy(&w, (const char *)function + at, sizeof w);
  return w;
}

// ---- torchframes.c ----

// TORCH_WORK needs TORCH_OPERATORS: flops and bytes stand at the frames of operators. TORCH_EVERYWHERE counts CPU operators, for tests.
enum { TORCH_BACKWARD = 1, TORCH_OPERATORS = 2, TORCH_MODULES = 4, TORCH_WORK = 8, TORCH_EVERYWHERE = 16 };

// torch_path continues the call path of a thread's Python frames: in a backward pass it begins at the forward operator's, and
// operators and modules follow the Python frames.
uint32_t torch_path(uint32_t (*walk)(void));
extern _Atomic uint32_t torch_wanted; // of the TORCH_…; 0: torch_path has nothing to add

PyObject *native_torch_begin(PyObject *, PyObject *const *args, py_ssize n);
PyObject *native_torch_end(PyObject *, PyObject *);
PyObject *native_torch_enter(PyObject *, PyObject *const *args, py_ssize n);
PyObject *native_torch_exit(PyObject *, PyObject *module);

// ---- torchlend.c ----

PyObject *native_torch_lend(PyObject *, PyObject *);
PyObject *native_torch_lending(PyObject *, PyObject *function);

#endif
