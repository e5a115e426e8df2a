#include "pyframes.h"
#include "pywalk.h"
#include "torchabi.h"
#include "trace.h"
#include <stdio.h>
#include <stdlib.h>
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
  // Triton calls the hooks of a launch from this method: it is on the stack while a launch's metrics are added, but not at the
  // launch, which must have the same call path.
  return name_len == 8 && !memcmp(name, "__call__", 8) && ends_with(file, file_len, "triton/knobs.py");
}

uint32_t frames_truncated(void) { return hooks_hp->intern("<truncated>", 11); }

static void find_package(void) {
  PyObject *module = py_item(py.PyImport_GetModuleDict(), "goproton");
  PyObject *file = module ? py.PyObject_GetAttrString(module, "__file__") : NULL;
  py_ssize n = 0;
  const char *s = file && py_is(file, py.PyUnicode_Type) ? py.PyUnicode_AsUTF8AndSize(file, &n) : NULL;
  while (n > 0 && s[n - 1] != '/') n--;
  if (n > 0 && (size_t)n < sizeof package) memcpy(package, s, (size_t)n), package_len = (size_t)n;
  py.PyErr_Clear();
  py.Py_DecRef(file);
}

// ---- choosing a walker ----

// The examination runs once, under the GIL, before the first session. `samples` are code objects in which fields are searched
// for. `examine` calls `agree` from all kinds of frames: nested, generator, coroutine, comprehension, callbacks from C, names
// that are not ASCII, and another thread.
static const char examination[] =
    "def plain(): pass\n"
    "\n"
    "class Holder:\n"
    "    def method(self):\n"
    "        def inner(): return 1\n"
    "        return inner\n"
    "\n"
    "samples = (plain.__code__, Holder.method.__code__, Holder().method().__code__)\n"
    "\n"
    "def leaf():\n"
    "    return agree()\n"
    "\n"
    "def nested(n):\n"
    "    if n == 0:\n"
    "        return leaf()\n"
    "    return nested(n - 1)\n"
    "\n"
    "def generator():\n"
    "    yield nested(2)\n"
    "    yield from (agree() for _ in range(2))\n"
    "\n"
    "async def coroutine():\n"
    "    return agree()\n"
    "\n"
    "def local():\n"
    "    return [agree() for _ in range(2)]\n"
    "# Not written as a name: parsing such names loads unicodedata, which a private libpython cannot.\n"
    "foreign = type(plain)(local.__code__.replace(co_name='gr\u00fc\u00df_\u540d'), globals())\n"
    "\n"
    "def run(coroutine):\n"
    "    try:\n"
    "        coroutine.send(None)\n"
    "    except StopIteration as stop:\n"
    "        return stop.value\n"
    "\n"
    "def stories():\n"
    "    yield leaf()\n"
    "    yield nested(30)\n"
    "    yield from generator()\n"
    "    yield run(coroutine())\n"
    "    yield from foreign()\n"
    "    yield (lambda: agree())()\n"
    "    yield max([1], key=lambda _: agree())\n"
    "    yield from map(lambda _: agree(), range(2))\n"
    "\n"
    "def examine():\n"
    "    for _ in stories():\n"
    "        pass\n"
    "    import _thread\n"
    "    done = _thread.allocate_lock()\n"
    "    done.acquire()\n"
    "    def elsewhere():\n"
    "        try:\n"
    "            nested(3)\n"
    "        finally:\n"
    "            done.release()\n"
    "    _thread.start_new_thread(elsewhere, ())\n"
    "    if not done.acquire(True, 10):\n"
    "        raise RuntimeError('no second thread ran')\n";

static const char *reason;         // why the internal walker is not used
enum { COMPARISONS = 13 };
static int comparisons, differing;

static PyObject *agree(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  static uint32_t quick[FRAMES_MAX], slow[FRAMES_MAX];
  int n = pywalk_stack(quick, FRAMES_MAX), m = public_stack(slow, FRAMES_MAX);
  int stored = n < FRAMES_MAX ? n : FRAMES_MAX;
  comparisons++;
  if (n != m || memcmp(quick, slow, (size_t)stored * sizeof *quick)) differing++;
  return py_none();
}

static struct py_method agree_method = {"agree", (void *)agree, PY_NOARGS, NULL};

static int examine(PyObject *globals) {
  PyObject *samples = py_item(globals, "samples"), *function = py_item(globals, "examine");
  if (!samples || !function || !layout_known(samples, &reason)) return 0;
  comparisons = differing = 0;
  PyObject *done = py.PyObject_CallFunctionObjArgs(function, NULL);
  py.Py_DecRef(done);
  if (!done) return reason = "the examination of the stack did not run", 0;
  if (comparisons != COMPARISONS || differing) return reason = "the stack read directly differs from the one Python shows", 0;
  return 1;
}

static int internal_works(void) {
  reason = "the examination of the stack could not be set up";
  PyObject *function = py.PyCFunction_NewEx(&agree_method, NULL, NULL);
  PyObject *globals = function ? py_run(examination, "<goproton \xE2\x9C\x93 examination>", "agree", function) : NULL;
  int works = globals && examine(globals);
  py.Py_DecRef(globals);
  py.Py_DecRef(function);
  return works;
}

static enum { UNKNOWN, EXAMINING, INTERNAL, PUBLIC } walker;

static uint32_t launch_path(void);

void hooks_walker_ready(void) {
  if (walker != UNKNOWN) return;
  walker = EXAMINING; // the examination lets other threads run
  PyObject *type, *value, *traceback;
  py.PyErr_Fetch(&type, &value, &traceback);
  find_package();
  const char *wish = getenv("PROTON_PYTHON_WALKER");
  if (wish && !strcmp(wish, "public")) reason = "PROTON_PYTHON_WALKER asks for it", walker = PUBLIC;
  else walker = internal_works() ? INTERNAL : PUBLIC;
  int watched = frames_watch_the_end();
  py.PyErr_Clear();
  py.PyErr_Restore(type, value, traceback);
  if (watched) hooks_hp->set_python_walker(launch_path);
}

uint32_t hooks_python_path(void) { return walker == INTERNAL ? pywalk() : walker == PUBLIC ? public_walk() : 0; }

// launch_path is the call path of a launch in sessions with Python frames.
static uint32_t launch_path(void) { return atomic_load_explicit(&torch_wanted, memory_order_relaxed) ? torch_path(hooks_python_path) : hooks_python_path(); }

PyObject *native_python_walker(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  hooks_walker_ready();
  if (walker == INTERNAL) return py.PyUnicode_FromFormat("internal");
  return py.PyUnicode_FromFormat("public: %s", reason);
}
