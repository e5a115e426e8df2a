// Metrics of graphs whose values are tensors: the vendor's room captures a node that reads the tensor, and Go learns here whose
// value that is.
#include "tensormetric.h"
#include "questions.h"
#include "scope.h"
#include "slots.h"
#include "thread.h"
#include "vendor.h"

// The numbers of tensor metrics are never reused: an old graph may be replayed at any time.
static _Atomic uint32_t numbers;

// read_aside has the node captured as if no op were open, because the launch that makes the node is not a launch of the op.
static int read_aside(struct hp_thread *t, const struct hp_vendor *vendor, const struct hp_tensor *tensor, uint32_t number) {
  uint32_t op_open = t->op_open, held = t->held_count;
  uint64_t function = t->op_func;
  t->op_open = t->held_count = 0, t->op_func = 0;
  t->leaf_valid = 0;
  t->reading = number;
  int status = vendor->read_tensor(tensor, number);
  t->reading = 0;
  t->op_open = op_open, t->held_count = held, t->op_func = function;
  t->leaf_valid = 0;
  return status;
}

int hp_tensor_metric(const struct hp_tensor *tensor, uint32_t node, uint32_t pynode, uint32_t set, uint32_t name, int vector) {
  struct hp_thread *t = hp_active() ? hp_self() : NULL;
  if (!t || !set || !name) return HP_TENSOR_OFF;
  const struct hp_vendor *vendor = hp_vendor_capturing(tensor->stream);
  if (!vendor || !vendor->read_tensor) return HP_TENSOR_UNKNOWN;
  uint32_t number = atomic_fetch_add(&numbers, 1) + 1;
  uint8_t flags = (tensor->as == HP_DOUBLE ? HP_F_DOUBLE : 0) | (hp_metric_is_property(name) ? HP_F_PROPERTY : 0);
  hp_push(t, (struct hp_record){.metric = name, .tensor = number, .node = node, .pynode = pynode, .set = set,
                                .count = vector ? tensor->count : 0, .type = HP_TENSOR_METRIC, .flags = flags});
  return read_aside(t, vendor, tensor, number);
}
