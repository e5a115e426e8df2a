// Reads the Python stack through the public API: slow (the GIL, and a frame object for each frame), but right on any version.
#include "pyframes.h"

struct utf8 { PyObject *owner; char *text; py_ssize len; };

static int take_utf8(PyObject *owner, const char *attribute, struct utf8 *u) {
  PyObject *s = py.PyObject_GetAttrString(owner, attribute);
  u->owner = s ? py.PyUnicode_AsEncodedString(s, "utf-8", "backslashreplace") : NULL;
  py.Py_DecRef(s);
  return u->owner && !py.PyBytes_AsStringAndSize(u->owner, &u->text, &u->len);
}

static uint32_t public_name(PyObject *frame) {
  char room[FRAME_TEXT];
  uint32_t id = 0;
  struct utf8 file = {0}, name = {0};
  PyObject *code = py.PyFrame_GetCode(frame);
  if (take_utf8(code, "co_filename", &file) && take_utf8(code, "co_name", &name) &&
      !frame_hidden(file.text, (size_t)file.len, name.text, (size_t)name.len))
    id = hooks_hp->intern(room, frame_text(room, file.text, (size_t)file.len, py.PyFrame_GetLineNumber(frame), name.text, (size_t)name.len));
  if (py.PyErr_Occurred()) py.PyErr_Clear();
  py.Py_DecRef(file.owner);
  py.Py_DecRef(name.owner);
  py.Py_DecRef(code);
  return id;
}

int public_stack(uint32_t *names, int room) {
  int n = 0;
  PyObject *frame = py.PyThreadState_GetFrame(py.PyGILState_GetThisThreadState());
  while (frame && n < room) {
    names[n++] = public_name(frame);
    PyObject *back = py.PyFrame_GetBack(frame);
    py.Py_DecRef(frame);
    frame = back;
  }
  if (!frame) return n;
  py.Py_DecRef(frame);
  return n + 1; // there are more frames than room
}

static _Atomic int walks;
int public_walks(void) { return atomic_load(&walks); }

static uint32_t walk(void) {
  uint32_t names[FRAMES_MAX], node = 0;
  int gil = py.PyGILState_Ensure();
  PyObject *type, *value, *traceback;
  py.PyErr_Fetch(&type, &value, &traceback);
  int n = public_stack(names, FRAMES_MAX);
  py.PyErr_Restore(type, value, traceback);
  py.PyGILState_Release(gil);
  if (n > FRAMES_MAX) node = hooks_hp->child(0, frames_truncated(), 0), n = FRAMES_MAX;
  while (n-- > 0)
    if (names[n]) node = hooks_hp->child(node, names[n], 0);
  return node;
}

uint32_t public_walk(void) {
  atomic_fetch_add(&walks, 1);
  // A thread without Python state has no frames, and PyGILState_Ensure would give it a state.
  int gone = !py.Py_IsInitialized() || frames_gone(py.PyGILState_GetThisThreadState());
  uint32_t node = gone ? 0 : walk();
  atomic_fetch_sub(&walks, 1);
  return node;
}
