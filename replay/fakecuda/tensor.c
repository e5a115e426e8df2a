// The fake driver's part in metrics that are tensors: host memory is the memory of the GPU too, and the kernel that stores
// tensors is done here, in C, when a graph is launched.
#include <string.h>

#include "driver.h"

STUB_EXPORT uint32_t cuMemHostRegister_v2(void *memory, size_t bytes, uint32_t flags) {
  (void)memory, (void)bytes, (void)flags;
  return stub_result("cuMemHostRegister");
}

STUB_EXPORT uint32_t cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, uint32_t flags) {
  (void)flags;
  *address = (uint64_t)(uintptr_t)memory;
  return CU_OK;
}

STUB_EXPORT uint32_t cuStreamGetCtx(void *stream, void **context) {
  *context = stream ? ((struct stream *)stream)->context : current_context();
  return CU_OK;
}

struct tensor tensor_arguments(const struct function *f, void **parameters) {
  struct tensor t = {0};
  if (strcmp(f->name, TENSOR_KERNEL) || !parameters) return t;
  memcpy(&t.room, parameters[0], 8);
  memcpy(&t.mask, parameters[1], 4);
  memcpy(&t.from, parameters[2], 8);
  memcpy(&t.count, parameters[3], 4);
  memcpy(&t.element, parameters[4], 4);
  memcpy(&t.as, parameters[5], 4);
  memcpy(&t.number, parameters[6], 4);
  return t;
}

static double half(uint16_t bits, int exponent_bits, int fraction_bits) {
  double sign = bits >> 15 ? -1 : 1, fraction = (bits & ((1 << fraction_bits) - 1)) / (double)(1 << fraction_bits);
  int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1), bias = (1 << (exponent_bits - 1)) - 1;
  double value = exponent ? 1 + fraction : fraction;
  for (int e = (exponent ? exponent : 1) - bias; e > 0; e--) value *= 2;
  for (int e = (exponent ? exponent : 1) - bias; e < 0; e++) value /= 2;
  return sign * value;
}

// element is the value at an index: in *real if it is a real number, else the result.
static int64_t element(const struct tensor *t, uint32_t i, double *real, int *is_real) {
  *is_real = t->element >= HP_FLOAT16;
  switch (t->element) {
  case HP_INT8: return ((const int8_t *)t->from)[i];
  case HP_UINT8: return ((const uint8_t *)t->from)[i];
  case HP_INT16: return ((const int16_t *)t->from)[i];
  case HP_UINT16: return ((const uint16_t *)t->from)[i];
  case HP_INT32: return ((const int32_t *)t->from)[i];
  case HP_UINT32: return ((const uint32_t *)t->from)[i];
  case HP_INT64: return ((const int64_t *)t->from)[i];
  case HP_FLOAT16: *real = half(((const uint16_t *)t->from)[i], 5, 10); return 0;
  case HP_BFLOAT16: *real = half(((const uint16_t *)t->from)[i], 8, 7); return 0;
  case HP_FLOAT32: *real = ((const float *)t->from)[i]; return 0;
  default: *real = ((const double *)t->from)[i]; return 0;
  }
}

// The GPU's clock and that of activity records differ by a constant, as on an H200.
enum { CLOCKS_APART = 366500 };

// stored_in is the counter of a ring, as each context has one in its copy of the module.
static _Atomic uint64_t *stored_in(struct cupti_value *room) {
  static struct { _Atomic(struct cupti_value *) room; _Atomic uint64_t stored; } rings[64];
  for (int i = 0;; i++) {
    struct cupti_value *none = NULL;
    if (atomic_compare_exchange_strong(&rings[i].room, &none, room) || none == room) return &rings[i].stored;
  }
}

void store_tensor(const struct tensor *t, uint64_t began) {
  uint64_t first = atomic_fetch_add(stored_in(t->room), t->count);
  for (uint32_t i = 0; i < t->count; i++) {
    double real = 0;
    int is_real;
    int64_t whole = element(t, i, &real, &is_real);
    struct cupti_value *cell = &t->room[(first + i) & t->mask];
    if (t->as == HP_INT) whole = is_real ? (int64_t)(real < 0 ? real - 0.5 : real + 0.5) : whole;
    else real = is_real ? real : (double)whole;
    memcpy(&cell->bits, t->as == HP_INT ? (void *)&whole : (void *)&real, 8);
    cell->stamp = began + 300 + CLOCKS_APART;
    cell->number = t->number;
    cell->index = i | (uint32_t)((first + i) >> __builtin_popcount(t->mask)) << VALUE_INDEX_BITS;
    cell->check = cupti_value_check(first + i + 1, cell);
  }
}
