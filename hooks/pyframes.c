#include "pyframes.h"
#include <stdio.h>
#include <string.h>

static char package[FRAME_TEXT]; // folder of the goproton package, with a slash at its end
static size_t package_len;

size_t frame_text(char *room, const char *file, size_t file_len, int line, const char *name, size_t name_len) {
  enum { LONGEST_NAME = 512, LONGEST_FILE = FRAME_TEXT - LONGEST_NAME - 32 };
  if (file_len > LONGEST_FILE) file += file_len - LONGEST_FILE, file_len = LONGEST_FILE;
  if (name_len > LONGEST_NAME) name_len = LONGEST_NAME;
  memcpy(room, file, file_len);
  size_t n = file_len + (size_t)snprintf(room + file_len, 16, ":%d@", line);
  memcpy(room + n, name, name_len);
  return n + name_len;
}

static int ends_with(const char *s, size_t n, const char *end) {
  size_t m = strlen(end);
  return n >= m && !memcmp(s + n - m, end, m);
}

int frame_hidden(const char *file, size_t file_len, const char *name, size_t name_len) {
  if (package_len && file_len > package_len && !memcmp(file, package, package_len)) return 1;
  // Triton calls the hooks of a launch from this method: it is on the stack while a launch's metrics are
  // added, and gone at the launch itself, which must land on the same call path.
  return name_len == 8 && !memcmp(name, "__call__", 8) && ends_with(file, file_len, "triton/knobs.py");
}

uint32_t frames_truncated(void) { return hooks_hp->intern("<truncated>", 11); }

static void find_package(void) {
  PyObject *module = NULL, *key = py.PyUnicode_InternFromString("goproton");
  if (key) module = py.PyDict_GetItemWithError(py.PyImport_GetModuleDict(), key);
  PyObject *file = module ? py.PyObject_GetAttrString(module, "__file__") : NULL;
  py_ssize n = 0;
  const char *s = file && py_is(file, py.PyUnicode_Type) ? py.PyUnicode_AsUTF8AndSize(file, &n) : NULL;
  while (n > 0 && s[n - 1] != '/') n--;
  if (n > 0 && (size_t)n < sizeof package) memcpy(package, s, (size_t)n), package_len = (size_t)n;
  py.PyErr_Clear();
  if (file) py.Py_DecRef(file);
  if (key) py.Py_DecRef(key);
}

static const char *walker; // what python_walker() says

void hooks_walker_ready(void) {
  if (walker) return;
  find_package();
  walker = "public";
  hooks_hp->set_python_walker(public_walk);
}

PyObject *native_python_walker(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  hooks_walker_ready();
  return py.PyUnicode_FromFormat("%s", walker);
}
