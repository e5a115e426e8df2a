#include "native.h"
#include <string.h>
#include <strings.h>

PyObject *hooks_str_get, *hooks_str_data, *hooks_str_extras, *hooks_str_name;

int hooks_names_init(void) {
  return hooks_hp->hold_names(&hooks_frame_names[0].name.id, sizeof *hooks_frame_names, sizeof hooks_frame_names / sizeof *hooks_frame_names) &&
         (hooks_str_get = py.PyUnicode_InternFromString("get")) && (hooks_str_data = py.PyUnicode_InternFromString("data")) &&
         (hooks_str_extras = py.PyUnicode_InternFromString("extras")) && (hooks_str_name = py.PyUnicode_InternFromString("name"));
}

struct cached_name hooks_names[1 << NAME_CACHE_BITS];
struct cached_name hooks_frame_names[(1 << NAME_CACHE_BITS) + 1]; // the last one is for names that are not cached
enum { LONGEST_CACHED = 200 };

static size_t trimmed(const char *s, size_t n, const char **from) {
  while (n && *s == ' ') s++, n--;
  *from = s;
  for (size_t i = 0; i < n; i++) // the name of a roofline metric ends before marks such as "(exc)"
    if (s[i] == '(') n = i;
  while (n && s[n - 1] == ' ') n--;
  return n;
}

static int is(const char *s, size_t n, const char *word) { return n == strlen(word) && !memcmp(s, word, n); }

// is_flops reports whether the viewer reads the metric as flops, see Flops in profile/flops.go.
static int is_flops(const char *s, size_t n) {
  static const char *const ends[] = {"", "8", "16", "32", "64", "_fp4", "_fp6", "_fp8", "_int8", "_fp16", "_bf16", "_tf32", "_xf32", "_fp32",
                                     "_fp32-vector", "_fp64", "_fp64-vector"};
  enum { STEM = sizeof "flops" - 1 };
  if (n < STEM || strncasecmp(s, "flops", STEM)) return 0;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (n - STEM == strlen(ends[i]) && !strncasecmp(s + STEM, ends[i], n - STEM)) return 1;
  return 0;
}

static enum name_kind kind_of(const char *s, size_t n) {
  if (is(s, n, "name")) return NAME_NAME;
  if (is(s, n, "function")) return NAME_FUNCTION;
  if (is(s, n, "stream")) return NAME_STREAM;
  n = trimmed(s, n, &s);
  if (is(s, n, "bytes")) return NAME_BYTES;
  if (is(s, n, "cpu_time")) return NAME_CPU_TIME;
  return is_flops(s, n) ? NAME_FLOPS : NAME_METRIC;
}

static struct name intern(const char *s, size_t n) { return (struct name){hooks_hp->intern(s, n), kind_of(s, n)}; }

// escaped returns bytes for a text with lone surrogates, which have no UTF-8 form: they are written as escapes. It returns
// NULL, without a Python error, when memory ran out.
static PyObject *escaped(PyObject *text, const char **s, py_ssize *n) {
  char *at = NULL;
  py.PyErr_Clear();
  PyObject *bytes = py.PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
  if (bytes && !py.PyBytes_AsStringAndSize(bytes, &at, n)) return *s = at, bytes;
  py.PyErr_Clear();
  if (bytes) py.Py_DecRef(bytes);
  return NULL;
}

struct name hooks_name_slowly(PyObject *text) {
  if (!py_is(text, py.PyUnicode_Type)) return (struct name){0, NAME_METRIC};
  py_ssize n;
  const char *s = py.PyUnicode_AsUTF8AndSize(text, &n);
  PyObject *bytes = s ? NULL : escaped(text, &s, &n);
  struct name name = s ? intern(s, (size_t)n) : (struct name){0, NAME_METRIC};
  if (bytes) py.Py_DecRef(bytes);
  if (name.id && !bytes && n <= LONGEST_CACHED) {
    struct cached_name *cell = &hooks_names[hooks_name_place(text)];
    PyObject *old = cell->text;
    py.Py_IncRef(text);
    *cell = (struct cached_name){text, name};
    if (old) py.Py_DecRef(old);
  }
  return name;
}

// A name that is not cached has the last cell until the next such name. Of subclasses of str none is cached: to release
// one may run Python code.
uint32_t hooks_frame_name_slowly(PyObject *text) {
  if (!py_is(text, py.PyUnicode_Type)) return 0;
  py_ssize n;
  const char *s = py.PyUnicode_AsUTF8AndSize(text, &n);
  PyObject *bytes = s ? NULL : escaped(text, &s, &n);
  if (!s) return 0;
  int cached = !bytes && n <= LONGEST_CACHED && py_type(text) == py.PyUnicode_Type;
  struct cached_name *cell = &hooks_frame_names[cached ? hooks_name_place(text) : 1 << NAME_CACHE_BITS];
  PyObject *old = cell->text;
  uint32_t id = hooks_hp->frame_name_in(&cell->name.id, s, (size_t)n);
  cell->text = id && cached ? py_new_ref(text) : NULL;
  if (old) py.Py_DecRef(old);
  if (bytes) py.Py_DecRef(bytes);
  return id;
}

PyObject *hooks_text(uint32_t id) {
  size_t n;
  const char *s = hooks_hp->text(id, &n);
  return py.PyUnicode_DecodeUTF8(s, (py_ssize)n, "replace");
}
