// The work of torch's operators: flops and bytes, from the shapes of their arguments.
#ifndef GOPROTON_TORCHWORK_H
#define GOPROTON_TORCHWORK_H

#include "torchvalues.h"

struct work {
  double flops;
  int width;      // of the operands, in bits: 8, 16, 32 or 64; 0: no flops
  int estimated;  // the flops are those of a formula that kernels need not follow
  int64_t bytes;
};

struct known; // an operator whose work follows from its arguments

void torch_work_prepare(void); // once, before the others
const struct known *torch_work_of(const char *name); // NULL: the operator is none of these
// torch_work finds the work of a call. It returns 0 if the size of some tensor is not known, and for a call without tensors on a GPU,
// which launches no kernel; `everywhere` counts those as well, for tests.
int torch_work(const struct known *of, struct torch_values arguments, int everywhere, struct work *out);

// ---- torchcount.c ----

// torch_count_begin prepares for operators to be counted. It returns NULL, or why their arguments cannot be read. `facts` is a
// Python function.
const char *torch_count_begin(PyObject *facts);
void torch_count_started(const void *function, const char *name, int everywhere); // an operator whose frame is open
void torch_count_ended(const void *function);

#endif
