// What torch's operators are called with: the fields of C++ objects, at places that torchvalues.c measures.
#ifndef GOPROTON_TORCHVALUES_H
#define GOPROTON_TORCHVALUES_H

#include "native.h"

// A tensor whose elements lie in memory: no sparse, nested, quantized or fake one, and none that a Python class implements.
struct tensor {
  int dims;
  const int64_t *sizes, *strides;
  uint8_t bytes;           // of an element
  uint8_t kind;            // enum element_kind
  uint8_t gpu;
};
enum element_kind { ELEMENT_BOOL = 1, ELEMENT_INTEGER, ELEMENT_FLOAT, ELEMENT_COMPLEX }; // as they are promoted

// An argument of an operator: c10::IValue.
struct torch_value { uint64_t payload; uint32_t tag, unused; };
struct torch_values { const struct torch_value *at; size_t n; };

struct torch_values torch_inputs(const void *function); // of an at::RecordFunction whose callback gets inputs
int torch_tensor(const struct torch_value *v, struct tensor *out); // 1: it is one; 0: it is none; -1: it is one of another kind
int torch_integer(const struct torch_value *v, int64_t *out);      // 1: it is a number or a bool
int torch_list(const struct torch_value *v, struct torch_values *out);
int torch_dtype_bytes(int64_t dtype);                              // of torch's number of a dtype; 0: not known

// torch_values_measure finds the places. It returns NULL, or what differs. `facts` is what _torch/values.py describes.
const char *torch_values_measure(PyObject *facts);

#endif
