// Metrics of graphs whose values are tensors. A kernel of ours, captured with the graph, stores the values at every replay in a
// buffer of this process, which Go's drainer reads: without a copy, without a call of the driver, and without waiting.
#ifndef GOPROTON_CUPTI_TENSOR_H
#define GOPROTON_CUPTI_TENSOR_H

#include "runtime.h"

// The kernel's name in modules; activities name it METRIC_FRAME.
#define TENSOR_KERNEL "goproton_graph_metric"
#define METRIC_FRAME "<metric>"

// One element of a tensor at one replay. Values of a context lie in a ring in the order in which the kernels reserved room. Its parts
// may arrive in any order, because a fence would cost as much as half of the kernel: a value is complete when its check is right.
struct cupti_value {
  uint64_t check;  // of the others and of the value's place, which is 1 + the number of values before it
  uint32_t number; // of the tensor metric
  uint32_t index;  // of the element, in the low 17 bits; above them, the round of the ring
  uint64_t stamp;  // ns of the GPU's clock: when the kernel began
  uint64_t bits;   // an int64 or a double
};
_Static_assert(sizeof(struct cupti_value) == 32, "the kernel writes values of 32 bytes");
enum { VALUE_INDEX_BITS = 17 };
#define VALUE_FACTOR 0x9E3779B97F4A7C15u // odd: no change of one part leaves the check as it is

static inline uint64_t cupti_value_check(uint64_t place, const struct cupti_value *v) {
  uint64_t owner = (uint64_t)v->index << 32 | v->number;
  return (((((place ^ owner) * VALUE_FACTOR) ^ v->stamp) * VALUE_FACTOR) ^ v->bits) * VALUE_FACTOR;
}

// cupti_read_tensor is read_tensor of struct hp_vendor.
int cupti_read_tensor(const struct hp_tensor *tensor, uint32_t number);
// cupti_tensors_off says why graphs have no such nodes from now on: 0, or an enum hp_tensor_status.
void cupti_tensors_off(int why);
// cupti_tensors_gone forgets a context that is about to be destroyed.
void cupti_tensors_gone(void *context);

// cupti_tensors_begin has the kernel run once outside of graphs in every context where it is loaded: recording begins.
void cupti_tensors_begin(void);

// ---- for Go's drainer ----
int cupti_value_rings(void);
// cupti_values_take copies at most max values that have not been taken, the oldest first, and returns how many. It leaves out those
// that were overwritten.
int cupti_values_take(int ring, struct cupti_value *out, int max);
int cupti_value_device(int ring); // the ordinal of its device

#endif
