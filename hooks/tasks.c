#include "tasks.h"
#include "torchscopes.h"
#include <stdlib.h>

enum { MOST = 256 }; // scopes of one task; what is open around them stays closed in its later steps

struct held { PyObject *list; struct hp_token token; };
struct chain { uint32_t n, room; struct held *open; };
struct tasks { struct chain chains[TASKS_KINDS]; uint32_t generation, depth; }; // depth: of steps in steps

__thread struct tasks *tasks_here __attribute__((tls_model("initial-exec")));
static PyObject *variables[TASKS_KINDS];

static PyObject *around(PyObject *list) { return py.PyTuple_GetItem(list, 0); }
static PyObject *name_of(PyObject *list) { return py.PyTuple_GetItem(list, 1); }
static int of_these_sessions(PyObject *list) { return py.PyLong_AsUnsignedLong(py.PyTuple_GetItem(list, 2)) == hooks_hp->generation(); }

// ---- the list of the context ----

// in_context returns the list of this context, borrowed: the context keeps it.
static PyObject *in_context(enum tasks_kind kind) {
  PyObject *list = NULL;
  if (py.PyContextVar_Get(variables[kind], py._Py_NoneStruct, &list)) return py.PyErr_Clear(), py._Py_NoneStruct;
  py.Py_DecRef(list);
  return list;
}

static void set_in_context(enum tasks_kind kind, PyObject *list) {
  PyObject *before = py.PyContextVar_Set(variables[kind], list);
  if (!before) py.PyErr_Clear();
  py.Py_DecRef(before);
}

// ---- what is open on the thread ----

static void drop(struct chain *c) { py.Py_DecRef(c->open[--c->n].list); }

static int push(struct chain *c, PyObject *list, struct hp_token token) {
  if (c->n == c->room) {
    uint32_t room = c->room ? 2 * c->room : 4;
    struct held *open = realloc(c->open, room * sizeof *open);
    if (!open) return 0;
    c->open = open, c->room = room;
  }
  c->open[c->n++] = (struct held){py_new_ref(list), token};
  return 1;
}

static int is_open(uint32_t node) {
  uint32_t at = hooks_hp->scope_node();
  while (at && at != node) at = hooks_hp->node(at).parent;
  return at != 0;
}

// A frame of PyTorch that ended while the scope was open has entered it anew, with another number and the same name.
static void leave_scope(const struct held *h) {
  struct torch_scopes *torch = torch_scopes_here();
  struct torch_aside aside;
  if (torch) torch_scopes_aside(torch, &aside);
  uint32_t now = hooks_hp->scope_node();
  if (now == h->token.node || is_open(h->token.node)) {
    while (hooks_hp->scope_exit(h->token) == HP_MISMATCH)
      if (hooks_hp->scope_exit((struct hp_token){0, 0}) != HP_OK) break;
  } else if (now && hooks_hp->node(now).name == hooks_frame_name(name_of(h->list))) {
    hooks_hp->scope_exit((struct hp_token){0, 0});
  }
  if (torch) torch_scopes_back(torch, &aside);
}

static void leave_innermost(struct chain *c, enum tasks_kind kind) {
  struct held *h = &c->open[c->n - 1];
  if (kind == TASKS_STATES) hooks_hp->state_exit();
  else if (h->token.node && h->token.generation == hooks_hp->generation()) leave_scope(h);
  drop(c);
}

static void enter(struct chain *c, enum tasks_kind kind, PyObject *list) {
  PyObject *name = name_of(list);
  uint32_t id = name == py._Py_NoneStruct ? 0 : hooks_frame_name(name);
  struct hp_token token = {0, 0};
  if (kind == TASKS_STATES) {
    if (hooks_hp->state_enter(id) != HP_OK) return;
  } else if (!(token = hooks_hp->scope_enter(id)).node) {
    return;
  }
  if (!push(c, list, token)) kind == TASKS_STATES ? hooks_hp->state_exit() : hooks_hp->scope_exit(token);
}

// have_open leaves and enters until what a list has is open, and nothing else of tasks.
static void have_open(struct tasks *t, enum tasks_kind kind, PyObject *list) {
  struct chain *c = &t->chains[kind];
  if (t->generation != hooks_hp->generation()) {
    for (int k = 0; k < TASKS_KINDS; k++)
      while (t->chains[k].n) drop(&t->chains[k]);
    t->generation = hooks_hp->generation();
  }
  PyObject *wanted[MOST];
  uint32_t n = 0, same = 0;
  for (; list != py._Py_NoneStruct && n < MOST; list = around(list))
    if (of_these_sessions(list)) wanted[n++] = list;
  while (same < c->n && same < n && c->open[same].list == wanted[n - 1 - same]) same++;
  while (c->n > same) leave_innermost(c, kind);
  while (same < n && hooks_hp->keeps_scopes()) enter(c, kind, wanted[n - 1 - same++]);
}

// up_to_date makes up for contexts that changed within a step, as those of eager tasks.
static struct chain *up_to_date(enum tasks_kind kind) {
  struct chain *c = &tasks_here->chains[kind];
  PyObject *list = in_context(kind);
  if (list != (c->n ? c->open[c->n - 1].list : py._Py_NoneStruct)) have_open(tasks_here, kind, list);
  return c;
}

PyObject *tasks_innermost(enum tasks_kind kind) {
  struct chain *c = up_to_date(kind);
  return c->n ? c->open[c->n - 1].list : NULL;
}

struct hp_token tasks_token(PyObject *list) {
  struct chain *c = up_to_date(TASKS_SCOPES);
  for (uint32_t i = c->n; list && i-- > 0;)
    if (c->open[i].list == list) return c->open[i].token;
  return (struct hp_token){0, 0};
}

PyObject *tasks_entered(enum tasks_kind kind, PyObject *name, struct hp_token token) {
  struct chain *c = &tasks_here->chains[kind];
  PyObject *outer = c->n ? c->open[c->n - 1].list : py._Py_NoneStruct, *list = py.PyTuple_New(3);
  if (!list) return py.PyErr_Clear(), NULL;
  py.PyTuple_SetItem(list, 0, py_new_ref(outer));
  py.PyTuple_SetItem(list, 1, py_new_ref(name));
  py.PyTuple_SetItem(list, 2, py.PyLong_FromUnsignedLong(hooks_hp->generation()));
  if (!push(c, list, token)) return py.Py_DecRef(list), NULL;
  set_in_context(kind, list);
  return list;
}

int tasks_leave(enum tasks_kind kind, PyObject *list) {
  struct chain *c = up_to_date(kind);
  uint32_t at = c->n;
  while (at > 0 && list && c->open[at - 1].list != list) at--;
  if (!at) return 0;
  PyObject *outer = py_new_ref(around(c->open[at - 1].list));
  set_in_context(kind, outer);
  while (c->n >= at) leave_innermost(c, kind);
  py.Py_DecRef(outer);
  return 1;
}

// ---- steps ----

static void end(struct tasks *t) {
  for (int k = 0; k < TASKS_KINDS; k++) {
    while (t->chains[k].n) drop(&t->chains[k]);
    free(t->chains[k].open);
  }
  free(t);
  tasks_here = NULL;
}

// follow(scopes, states): a step begins, and has these lists. It returns those of the step around it.
PyObject *native_follow(PyObject *self, PyObject *const *args, py_ssize n) {
  (void)self;
  if (n != TASKS_KINDS) return py.PyErr_SetString(py.PyExc_TypeError, "follow takes the lists of scopes and of states"), NULL;
  PyObject *before = py.PyTuple_New(TASKS_KINDS);
  if (!before) return NULL;
  if (!tasks_here && !(tasks_here = calloc(1, sizeof *tasks_here))) return py.Py_DecRef(before), py.PyErr_NoMemory();
  struct tasks *t = tasks_here;
  t->depth++;
  for (int k = 0; k < TASKS_KINDS; k++) {
    struct chain *c = &t->chains[k];
    py.PyTuple_SetItem(before, k, py_new_ref(c->n ? c->open[c->n - 1].list : py._Py_NoneStruct));
    have_open(t, k, args[k]);
  }
  return before;
}

// unfollow(before): the step has ended.
PyObject *native_unfollow(PyObject *self, PyObject *before) {
  (void)self;
  struct tasks *t = tasks_here;
  if (!t) return py_none();
  for (int k = 0; k < TASKS_KINDS; k++) have_open(t, k, py.PyTuple_GetItem(before, k));
  if (!--t->depth) end(t);
  return py_none();
}

// following(): whether this thread runs a step, whose scopes are open afterwards, also if sessions began meanwhile.
PyObject *native_following(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  for (int k = 0; k < TASKS_KINDS && tasks_here; k++) up_to_date(k);
  return py.PyBool_FromLong(tasks_here != NULL);
}

int tasks_init(PyObject *module) {
  static const char *const names[TASKS_KINDS] = {"scopes_of_task", "states_of_task"};
  for (int k = 0; k < TASKS_KINDS; k++) {
    if (!variables[k] && !(variables[k] = py.PyContextVar_New(names[k], NULL))) return 0;
    if (py.PyModule_AddObject(module, names[k], py_new_ref(variables[k]))) return 0;
  }
  PyObject *of_enter_scope = py.PyContextVar_New("names_of_task", py._Py_NoneStruct); // scope.py has in it what it has of each thread
  return of_enter_scope && !py.PyModule_AddObject(module, "names_of_task", of_enter_scope);
}
