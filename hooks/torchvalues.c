// Reads the arguments of PyTorch's operators. They are C++ objects without an interface for C. The places of the fields are found on
// objects of known content before the first use, so a torch that moves a field is noticed, and nothing is read from it.
#define _GNU_SOURCE
#include "torchvalues.h"
#include "torchabi.h"
#include <dlfcn.h>
#include <string.h>

enum { FUNCTION_WORDS = 56, TENSOR_WORDS = 24, LIST_WORDS = 7, DTYPES = 64 };

static struct {
  uint16_t inputs;                              // in an at::RecordFunction: address and number of the arguments
  uint16_t sizes, strides, dtype, keys;         // in a c10::TensorImpl; sizes: their number, then up to five of them or an address
  uint16_t list;                                // in a c10::detail::ListImpl: first and end
  uint32_t tensor_tag, integer_tag, bool_tag, list_tag;
  uint64_t known_keys, gpu_key, dense_key;
  const void *undefined;                        // the tensor that stands for None
  struct { uint8_t bytes, kind; } dtypes[DTYPES];
} at;

enum { INLINE_DIMS = 5 }; // more sizes lie elsewhere, and the strides behind them

static uint64_t word(const void *object, size_t offset) {
  uint64_t w;
  memcpy(&w, (const char *)object + offset, sizeof w);
  return w;
}

struct torch_values torch_inputs(const void *function) {
  if (!at.inputs) return (struct torch_values){NULL, 0};
  return (struct torch_values){(const struct torch_value *)word(function, at.inputs), word(function, at.inputs + 8)};
}

int torch_dtype_bytes(int64_t dtype) { return dtype >= 0 && dtype < DTYPES ? at.dtypes[dtype].bytes : 0; }

int torch_integer(const struct torch_value *v, int64_t *out) {
  if (v->tag != at.integer_tag && v->tag != at.bool_tag) return 0;
  *out = v->tag == at.bool_tag ? (uint8_t)v->payload : (int64_t)v->payload;
  return 1;
}

int torch_list(const struct torch_value *v, struct torch_values *out) {
  if (v->tag != at.list_tag) return 0;
  uint64_t first = word((const void *)v->payload, at.list), end = word((const void *)v->payload, at.list + 8);
  *out = (struct torch_values){(const struct torch_value *)first, (end - first) / sizeof *out->at};
  return 1;
}

int torch_tensor(const struct torch_value *v, struct tensor *out) {
  if (v->tag != at.tensor_tag) return 0;
  const char *impl = (const char *)v->payload;
  if (impl == at.undefined) return 0;
  uint64_t keys = word(impl, at.keys), dims = word(impl, at.sizes);
  uint16_t dtype;
  memcpy(&dtype, impl + at.dtype, sizeof dtype);
  if (keys & ~at.known_keys || !(keys & at.dense_key) || dtype >= DTYPES || !at.dtypes[dtype].bytes) return -1;
  out->dims = (int)dims;
  out->sizes = dims <= INLINE_DIMS ? (const int64_t *)(impl + at.sizes + 8) : (const int64_t *)word(impl, at.sizes + 8);
  out->strides = dims <= INLINE_DIMS ? (const int64_t *)(impl + at.strides) : out->sizes + dims;
  out->bytes = at.dtypes[dtype].bytes, out->kind = at.dtypes[dtype].kind;
  out->gpu = (keys & at.gpu_key) != 0;
  return 1;
}

// ---- the places ----

static struct { uint64_t x, w; int found; } expected;

static uint64_t number(PyObject *v) { return py.PyLong_AsUnsignedLongLongMask(v); }
static PyObject *item(PyObject *list, py_ssize i) { return py_type(list) == py.PyTuple_Type ? py.PyTuple_GetItem(list, i) : py.PyList_GetItem(list, i); }

static int find_list(const struct torch_value *v) {
  for (size_t i = 1; i + 1 < LIST_WORDS; i++) {
    uint64_t first = word((const void *)v->payload, i * 8), end = word((const void *)v->payload, i * 8 + 8);
    const struct torch_value *numbers = (const void *)first;
    if (end - first != 2 * sizeof *numbers || first % 8 || numbers[0].payload != 4 || numbers[1].payload != 6) continue;
    at.list = (uint16_t)(i * 8);
    return numbers[0].tag == at.integer_tag;
  }
  return 0;
}

static int find_tags(const struct torch_value *a) {
  at.tensor_tag = a[0].tag, at.list_tag = a[3].tag, at.bool_tag = a[6].tag, at.integer_tag = a[8].tag;
  uint32_t none = a[2].tag, tags[] = {at.tensor_tag, at.list_tag, at.bool_tag, at.integer_tag, none};
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < i; j++)
      if (tags[i] == tags[j]) return 0;
  return a[1].tag == a[0].tag && a[4].tag == a[3].tag && a[8].payload == 2 && !(uint8_t)a[6].payload && find_list(&a[3]);
}

// The arguments of the call lie on the stack near the function's structure, so a word that only looks like their address is not followed.
static void find_inputs(const void *function, const char *name, int backward) {
  enum { NEAR = 1 << 16, ARGUMENTS = 9 };
  if (backward || expected.found || strcmp(name, "aten::convolution")) return;
  for (size_t i = 1; i + 1 < FUNCTION_WORDS; i++) {
    uint64_t first = word(function, i * 8), distance = first - (uint64_t)(uintptr_t)function + NEAR;
    const struct torch_value *a = (const void *)first;
    if (word(function, i * 8 + 8) != ARGUMENTS || first % 8 || distance > 2 * NEAR || a[0].payload != expected.x || a[1].payload != expected.w) continue;
    expected.found = find_tags(a);
    at.inputs = (uint16_t)(i * 8);
  }
}

static void ignore(const void *function) { (void)function; }

static int find_sizes(PyObject *facts) {
  const void *impl = (const void *)expected.x;
  for (size_t i = 1; i + 2 + 2 * INLINE_DIMS <= TENSOR_WORDS; i++) {
    int same = word(impl, i * 8) == 4;
    for (int d = 0; d < 4 && same; d++)
      same = word(impl, (i + 1 + d) * 8) == number(item(item(facts, 1), d)) && word(impl, (i + 1 + INLINE_DIMS + d) * 8) == number(item(item(facts, 2), d));
    if (!same) continue;
    at.sizes = (uint16_t)(i * 8), at.strides = (uint16_t)((i + 1 + INLINE_DIMS) * 8);
    return 1;
  }
  return 0;
}

// take_dtypes reads the numbers of dtypes at a place, and returns whether they can be such.
static int take_dtypes(PyObject *kinds, size_t place) {
  memset(at.dtypes, 0, sizeof at.dtypes);
  for (py_ssize i = 0, n = py.PyList_Size(kinds); i < n; i++) {
    PyObject *one = item(kinds, i);
    uint16_t dtype;
    memcpy(&dtype, (const char *)number(item(one, 0)) + place, sizeof dtype);
    if (dtype >= DTYPES || at.dtypes[dtype].bytes) return 0;
    at.dtypes[dtype].bytes = (uint8_t)number(item(one, 1)), at.dtypes[dtype].kind = (uint8_t)number(item(one, 2));
  }
  at.dtype = (uint16_t)place;
  return 1;
}

static int find_dtypes(PyObject *kinds) {
  for (size_t place = at.strides + INLINE_DIMS * 8; place < TENSOR_WORDS * 8; place += 2)
    if (take_dtypes(kinds, place)) return 1;
  return 0;
}

static int find_keys(PyObject *samples) {
  for (size_t place = at.strides + INLINE_DIMS * 8; place < TENSOR_WORDS * 8; place += 8) {
    int same = 1;
    for (py_ssize i = 0, n = py.PyList_Size(samples); i < n && same; i++)
      same = word((const void *)number(item(item(samples, i), 0)), place) == number(item(item(samples, i), 1));
    if (same) return at.keys = (uint16_t)place, 1;
  }
  return 0;
}

static const void *find_undefined(void) {
  void *library = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  return library ? dlsym(library, "_ZN3c1019UndefinedTensorImpl10_singletonE") : NULL;
}

static const char *measure(PyObject *facts) {
  static const struct torch_observer observer = {find_inputs, ignore};
  expected.x = number(item(facts, 0)), expected.w = number(item(facts, 3)), expected.found = 0;
  torch_observe(&observer, (struct torch_share){.inputs = 1});
  PyObject *done = py.PyObject_CallFunctionObjArgs(item(facts, 4), NULL);
  torch_observe(NULL, (struct torch_share){0});
  if (!done) return "the examination of the arguments of torch's operators did not run";
  py.Py_DecRef(done);
  if (!expected.found) return "the arguments of torch's operators were not found";
  at.known_keys = number(item(facts, 7)), at.gpu_key = number(item(facts, 8)), at.dense_key = number(item(facts, 9));
  if (!find_sizes(facts) || !find_dtypes(item(facts, 5)) || !find_keys(item(facts, 6))) return "the sizes of torch's tensors were not found";
  if (!(at.undefined = find_undefined())) return "torch's undefined tensor was not found";
  return NULL;
}

const char *torch_values_measure(PyObject *facts) {
  const char *problem = measure(facts);
  if (py.PyErr_Occurred()) py.PyErr_Clear(), problem = "the examination of torch's tensors did not run";
  if (problem) at.inputs = 0;
  return problem;
}
