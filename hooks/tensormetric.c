// Metrics of graphs whose values are tensors. Python knows the tensor; here the metric gets its type, and the node that reads the
// tensor its call path.
#include "native.h"

static enum hp_metric_type type_of(enum name_kind kind, uint32_t element) {
  if (kind == NAME_FLOPS) return HP_DOUBLE;
  if (kind == NAME_BYTES) return HP_INT;
  return element >= HP_FLOAT16 ? HP_DOUBLE : HP_INT;
}

// The node stands below the metadata state, like all work that is done for a metric alone. The launch hook has entered it already.
static int capture(const struct hp_tensor *tensor, struct leaf at, struct name name, int vector) {
  static const char mark[] = METADATA_FRAME;
  int entered = !hooks_in_launch_hook() && hooks_hp->state_enter(hooks_hp->intern(mark, sizeof mark - 1)) == HP_OK;
  int status = hooks_hp->tensor_metric(tensor, at.node, at.pynode, at.set, name.id, vector);
  if (entered) hooks_hp->state_exit();
  return status;
}

PyObject *native_tensor_metric(PyObject *self, PyObject *const *args, py_ssize n) {
  (void)self;
  if (n != 7) return py.PyErr_SetString(py.PyExc_TypeError, "tensor_metric takes a leaf, a name, an address, a count, a type of element, whether it is a vector, and a stream"), NULL;
  struct leaf at;
  struct name name = hooks_name(args[1]);
  if (hooks_leaf_from(args[0], &at)) return NULL;
  if (!name.id) return py.PyErr_Occurred() ? NULL : py.PyLong_FromUnsignedLong(HP_TENSOR_OFF); // no memory for names: it is counted
  struct hp_tensor tensor = {
      .address = py.PyLong_AsUnsignedLongLongMask(args[2]), .count = (uint32_t)py.PyLong_AsUnsignedLong(args[3]),
      .element = (uint8_t)py.PyLong_AsUnsignedLong(args[4]), .stream = (void *)(uintptr_t)py.PyLong_AsUnsignedLongLongMask(args[6])};
  int vector = py.PyObject_IsTrue(args[5]);
  if (py.PyErr_Occurred()) return NULL;
  tensor.as = (uint8_t)type_of(name.kind, tensor.element);
  return py.PyLong_FromUnsignedLong((unsigned long)capture(&tensor, at, name, vector));
}
