// Writes the arguments of a launch as compact bytes. Torch is asked for what may differ between launches; everything else is the
// number of a definition.
#include "trace.h"
#include <string.h>

struct trace_helpers trace_help;

static PyObject *str_dtype, *str_get_device, *str_is_cuda, *str_device, *str_storage_offset, *str_shape, *str_stride,
    *str_data_ptr, *str_base, *str_strides, *str_block_shape, *str_padding;

int trace_values_init(void) {
  struct { PyObject **to; const char *text; } all[] = {
      {&str_dtype, "dtype"}, {&str_get_device, "get_device"}, {&str_is_cuda, "is_cuda"}, {&str_device, "device"},
      {&str_storage_offset, "storage_offset"}, {&str_shape, "shape"}, {&str_stride, "stride"}, {&str_data_ptr, "data_ptr"},
      {&str_base, "base"}, {&str_strides, "strides"}, {&str_block_shape, "block_shape"}, {&str_padding, "padding"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!*all[i].to && !(*all[i].to = py.PyUnicode_InternFromString(all[i].text))) return 0;
  return 1;
}

// ---- types and constants, by address; entries hold references, so that an address is not reused ----

enum { TYPES = 256, CONSTANTS = 1024 };
static struct { PyObject *type; long class; } types[TYPES];
// An object may be described (an argument) or defined as text (a handle, a padding): `how` is the helper that was called.
static struct { PyObject *object; const PyObject *how; uint64_t number; } constants[CONSTANTS];

enum { DEVICES = 64 };
static uint64_t cuda_devices[DEVICES];

void trace_values_forget(void) {
  for (size_t i = 0; i < CONSTANTS; i++) {
    PyObject *object = constants[i].object;
    constants[i].object = NULL; // first, because releasing it may run Python code
    py.Py_DecRef(object);
  }
  memset(cuda_devices, 0, sizeof cuda_devices);
}

static size_t slot_of(const PyObject *o, size_t n) { return ((uintptr_t)o >> 4 ^ (uintptr_t)o >> 14) & (n - 1); }

PyObject *trace_ask(PyObject *helper, PyObject *argument) {
  py.Py_IncRef(helper); // another thread may begin the next trace, which replaces the helpers
  PyObject *answer = py.PyObject_CallFunctionObjArgs(helper, argument, NULL);
  py.Py_DecRef(helper);
  return answer;
}

static uint64_t number_of(PyObject *helper, PyObject *argument) {
  PyObject *result = trace_ask(helper, argument);
  if (!result) return 0;
  uint64_t n = py.PyLong_AsUnsignedLongLongMask(result);
  py.Py_DecRef(result);
  return n;
}

static enum value_class class_of(PyObject *value) {
  PyObject *type = py_type(value);
  size_t at = slot_of(type, TYPES);
  if (types[at].type == type) return (enum value_class)types[at].class;
  long class = (long)number_of(trace_help.classify, type);
  if (class == CLASS_UNKNOWN) return CLASS_UNKNOWN;
  if (types[at].type) py.Py_DecRef(types[at].type);
  types[at].type = py_new_ref(type), types[at].class = class;
  return (enum value_class)class;
}

uint64_t trace_definition(PyObject *value, PyObject *how) {
  size_t at = slot_of(value, CONSTANTS);
  if (constants[at].object == value && constants[at].how == how) return constants[at].number;
  uint64_t before = trace_generation, number = number_of(how, value);
  if (!number || trace_generation != before) return 0;
  PyObject *old = constants[at].object;
  constants[at].object = py_new_ref(value), constants[at].how = how, constants[at].number = number;
  if (old) py.Py_DecRef(old);
  return number;
}

// ---- whole numbers ----

static int put_long(struct bytes *b, PyObject *value) {
  int overflow = 0;
  if (!value || !py_is(value, py.PyLong_Type)) return 0;
  long long v = py.PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow) return 0;
  put_int(b, v);
  return 1;
}

enum { DIMENSIONS = 256 }; // the reader would reject a launch with more

static int put_tuple(struct bytes *b, PyObject *tuple) {
  py_ssize n = py.PyTuple_Size(tuple);
  if (n > DIMENSIONS) return 0;
  put_uint(b, (uint64_t)n);
  for (py_ssize i = 0; i < n; i++)
    if (!put_long(b, py.PyTuple_GetItem(tuple, i))) return 0;
  return 1;
}

static int put_sequence(struct bytes *b, PyObject *sequence) {
  if (!sequence) return 0;
  PyObject *tuple = py_is(sequence, py.PyTuple_Type) ? py_new_ref(sequence) : py.PySequence_Tuple(sequence);
  int ok = tuple && put_tuple(b, tuple);
  if (tuple) py.Py_DecRef(tuple);
  return ok;
}

// ---- tensors ----

static PyObject *ask(PyObject *object, PyObject *method) { return py.PyObject_VectorcallMethod(method, &object, 1, NULL); }

static int done(PyObject *o, int ok) {
  if (o) py.Py_DecRef(o);
  return o && ok;
}

// device_number is the number of the text of a tensor's device. It is cached for GPUs, by their index.
static uint64_t device_number(PyObject *tensor) {
  uint64_t before = trace_generation;
  PyObject *index = ask(tensor, str_get_device), *flag = index ? py.PyObject_GetAttr(tensor, str_is_cuda) : NULL;
  if (!flag) return done(index, 0), 0;
  int overflow = 0;
  long long i = py.PyLong_AsLongLongAndOverflow(index, &overflow);
  int known = i >= 0 && i < DEVICES && !overflow && py.PyObject_IsTrue(flag) > 0;
  py.Py_DecRef(index);
  py.Py_DecRef(flag);
  if (known && cuda_devices[i]) return cuda_devices[i];
  PyObject *device = py.PyObject_GetAttr(tensor, str_device), *text = device ? py.PyObject_Str(device) : NULL;
  uint64_t number = text ? number_of(trace_help.define, text) : 0;
  done(device, 1), done(text, 1);
  if (known && trace_generation == before) cuda_devices[i] = number;
  return number;
}

// put_tensor writes what launches of a kind share of a tensor: all except its address.
static int put_tensor(struct bytes *kind, PyObject *tensor) {
  PyObject *dtype = py.PyObject_GetAttr(tensor, str_dtype);
  uint64_t number = dtype ? trace_definition(dtype, trace_help.dtype) : 0;
  if (!done(dtype, number != 0)) return 0;
  put_uint(kind, number);
  if (!(number = device_number(tensor))) return 0;
  put_uint(kind, number);
  PyObject *offset = ask(tensor, str_storage_offset);
  if (!done(offset, put_long(kind, offset))) return 0;
  PyObject *shape = py.PyObject_GetAttr(tensor, str_shape);
  if (!done(shape, put_sequence(kind, shape))) return 0;
  PyObject *stride = ask(tensor, str_stride);
  return done(stride, put_sequence(kind, stride));
}

// put_own writes what only this launch has of a tensor.
static int put_own(struct bytes *tensors, PyObject *tensor, int more) {
  PyObject *address = ask(tensor, str_data_ptr);
  if (!address) return 0;
  put_fixed(tensors, py.PyLong_AsUnsignedLongLongMask(address));
  py.Py_DecRef(address);
  if (py.PyErr_Occurred()) return 0; // the data_ptr of a subclass did not return an integer
  if (!more || !trace_help.more) return put_byte(tensors, 0), 1;
  PyObject *text = trace_ask(trace_help.more, tensor);
  py_ssize n = 0;
  const char *s = text ? py.PyUnicode_AsUTF8AndSize(text, &n) : NULL;
  if (s) put_uint(tensors, (uint64_t)n), put(tensors, s, (size_t)n);
  return done(text, s != NULL);
}

static int put_descriptor(struct bytes *kind, struct bytes *tensors, PyObject *descriptor, int more) {
  PyObject *base = py.PyObject_GetAttr(descriptor, str_base);
  if (!done(base, base && class_of(base) == CLASS_TENSOR && put_tensor(kind, base) && put_own(tensors, base, more))) return 0;
  PyObject *lists[] = {str_shape, str_strides, str_block_shape};
  for (size_t i = 0; i < 3; i++) {
    PyObject *list = py.PyObject_GetAttr(descriptor, lists[i]);
    if (!done(list, put_sequence(kind, list))) return 0;
  }
  PyObject *padding = py.PyObject_GetAttr(descriptor, str_padding);
  if (!padding) { // of an older Triton
    py.PyErr_Clear();
    padding = py.PyUnicode_InternFromString("zero");
  }
  uint64_t number = padding ? trace_definition(padding, trace_help.define) : 0;
  put_uint(kind, number);
  return done(padding, number != 0);
}

// ---- any value ----

static int put_string(struct bytes *kind, PyObject *text) {
  py_ssize n = 0;
  const char *s = text ? py.PyUnicode_AsUTF8AndSize(text, &n) : NULL;
  if (s) put_uint(kind, (uint64_t)n), put(kind, s, (size_t)n);
  return s != NULL;
}

// put_text writes the JSON that a helper makes of a value.
static int put_text(struct bytes *kind, PyObject *how, PyObject *value) {
  PyObject *text = trace_ask(how, value);
  if (text) put_byte(kind, 'j');
  return done(text, put_string(kind, text));
}

static int put_object(struct bytes *kind, struct bytes *tensors, PyObject *value, int more);

// put_parts writes a description with tensors in it: the parts of its JSON, and a tensor between each and the next.
static int put_parts(struct bytes *kind, struct bytes *tensors, PyObject *parts, int more) {
  py_ssize n = py.PyTuple_Size(parts);
  put_byte(kind, 'c'), put_uint(kind, (uint64_t)n / 2);
  for (py_ssize i = 0; i < n; i++) {
    PyObject *part = py.PyTuple_GetItem(parts, i);
    if (!(i % 2 ? put_object(kind, tensors, part, more) : put_string(kind, part))) return 0;
  }
  return 1;
}

// put_described writes a value as the helper for all values describes it.
static int put_described(struct bytes *kind, struct bytes *tensors, PyObject *value, int more) {
  PyObject *described = trace_ask(trace_help.inlined, value);
  if (described && py_is(described, py.PyTuple_Type)) return done(described, put_parts(kind, tensors, described, more));
  if (described) put_byte(kind, 'j');
  return done(described, put_string(kind, described));
}

static int put_object(struct bytes *kind, struct bytes *tensors, PyObject *value, int more) {
  size_t kind_before = kind->n, tensors_before = tensors->n;
  int ok = 0;
  switch (class_of(value)) {
  case CLASS_TENSOR:
    put_byte(kind, 'x');
    ok = put_tensor(kind, value) && put_own(tensors, value, more);
    break;
  case CLASS_DESCRIPTOR:
    put_byte(kind, 'd');
    ok = put_descriptor(kind, tensors, value, more);
    break;
  case CLASS_CONSTANT: {
    uint64_t number = trace_definition(value, trace_help.describe);
    put_byte(kind, 'J'), put_uint(kind, number);
    ok = number != 0;
    break;
  }
  case CLASS_TEXT:
  case CLASS_UNKNOWN: break;
  }
  if (ok) return 1;
  if (trace_interrupted()) return 0;
  kind->n = kind_before, tensors->n = tensors_before;
  if (put_described(kind, tensors, value, more)) return 1;
  if (trace_interrupted()) return 0;
  kind->n = kind_before, tensors->n = tensors_before;
  static const char unknown[] = "{\"type\":\"?\",\"repr\":\"\"}";
  put_byte(kind, 'j'), put_uint(kind, sizeof unknown - 1), put(kind, unknown, sizeof unknown - 1);
  return 1;
}

int trace_value(struct bytes *kind, struct bytes *tensors, PyObject *value, int more) {
  PyObject *type = py_type(value);
  if (type == py.PyLong_Type) {
    size_t before = kind->n;
    put_byte(kind, 'i');
    if (put_long(kind, value)) return 1;
    kind->n = before; // more than 64 bits
  } else if (value == py._Py_NoneStruct) {
    return put_byte(kind, 'n'), 1;
  } else if (type == py.PyBool_Type) {
    return put_byte(kind, py.PyObject_IsTrue(value) ? 't' : 'F'), 1;
  } else if (type == py.PyFloat_Type) {
    double v = py.PyFloat_AsDouble(value);
    return put_byte(kind, 'f'), put(kind, &v, sizeof v), 1;
  }
  return put_object(kind, tensors, value, more);
}

int trace_grid(struct bytes *kind, PyObject *grid) {
  size_t before = kind->n;
  put_byte(kind, 'G');
  if (put_sequence(kind, grid)) return 1;
  kind->n = before;
  if (trace_interrupted()) return 0;
  if (put_text(kind, trace_help.grid, grid)) return 1;
  static const char unknown[] = "null";
  kind->n = before;
  put_byte(kind, 'j'), put_uint(kind, sizeof unknown - 1), put(kind, unknown, sizeof unknown - 1);
  return !trace_interrupted();
}
