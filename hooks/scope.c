// The context managers `scope` and `cpu_timed_scope`, and the function forms of scopes and states.
#include "native.h"
#include "quickcall.h"
#include "tasks.h"
#include "torchscopes.h"
#include <stdlib.h>
#include <time.h>

// A scope object may be entered again inside itself and, as a decorator, on several threads at once. So each entry stores what
// its exit needs, and the thread that entered. The GIL guards it.
struct entry { struct hp_token token; const void *thread; int64_t start; PyObject *list; }; // list: of the task, see tasks.h

struct scope {
  PyObject head;
  PyObject *name, *metrics; // NULL: no metrics
  struct cached_name *cell; // where the name was at the last entry
  int64_t id;             // 0: None
  uint32_t open, room;    // entries in use; room of `more`
  struct entry first;     // nearly always the only one
  struct entry *more;
};

static PyObject *scope_type, *timed_type;
static uint32_t cpu_time_name;

// Its address identifies the thread, and costs one instruction.
static __thread char this_thread __attribute__((tls_model("initial-exec")));

static int64_t nanos(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct entry *entry_at(struct scope *s, uint32_t i) { return i ? &s->more[i - 1] : &s->first; }

static struct entry *push_entry(struct scope *s) {
  if (s->open > s->room) {
    uint32_t room = s->room ? s->room * 2 : 4;
    struct entry *more = realloc(s->more, room * sizeof *more);
    if (!more) return (void)py.PyErr_NoMemory(), NULL;
    s->more = more;
    s->room = room;
  }
  struct entry *e = entry_at(s, s->open++);
  *e = (struct entry){.thread = &this_thread};
  return e;
}

// tasks_hold_one says whether some entry is of the task whose step this thread runs.
static int tasks_hold_one(struct scope *s) {
  for (uint32_t i = 0; i < s->open; i++)
    if (tasks_token(entry_at(s, i)->list).node) return 1;
  return 0;
}

// pop_entry removes this thread's latest entry, and returns 0 if it has none. In a step of a task, an entry of this task comes before those
// of others.
static int pop_entry(struct scope *s, struct entry *out) {
  int of_task = __builtin_expect(tasks_here != NULL, 0) && tasks_hold_one(s);
  for (uint32_t i = s->open; i-- > 0;) {
    struct entry *e = entry_at(s, i);
    if (e->thread != &this_thread || (of_task && !tasks_token(e->list).node)) continue;
    *out = *e;
    for (; i + 1 < s->open; i++) *entry_at(s, i) = *entry_at(s, i + 1);
    s->open--;
    return 1;
  }
  return 0;
}

// ---- making ----

static void set_object(PyObject **where, PyObject *what) {
  PyObject *old = *where;
  if (what) py.Py_IncRef(what);
  *where = what;
  if (old) py.Py_DecRef(old);
}

static int reserved(PyObject *metrics) {
  PyObject *key, *value;
  py_ssize position = 0;
  if (!py_is(metrics, py.PyDict_Type)) return 0;
  while (py.PyDict_Next(metrics, &position, &key, &value))
    if (hooks_name(key).kind == NAME_CPU_TIME) return 1;
  return 0;
}

static int fill(struct scope *s, PyObject *name, PyObject *metrics) {
  if (!name) return py.PyErr_SetString(py.PyExc_TypeError, "scope needs a name"), -1;
  if (metrics && py_is(&s->head, timed_type) && reserved(metrics))
    return py.PyErr_SetString(py.PyExc_ValueError, "The metric name 'cpu_time' is reserved."), -1;
  set_object(&s->name, name);
  set_object(&s->metrics, metrics == py._Py_NoneStruct ? NULL : metrics);
  return 0;
}

// argument stores one argument given by keyword; -1 if there is no such parameter or it was given before.
static int argument(PyObject *keyword, PyObject *value, PyObject **name, PyObject **metrics) {
  PyObject **where = !py.PyUnicode_CompareWithASCIIString(keyword, "name")      ? name
                     : !py.PyUnicode_CompareWithASCIIString(keyword, "metrics") ? metrics
                                                                                : NULL;
  if (where && !*where) return *where = value, 0;
  py.PyErr_Format(py.PyExc_TypeError, "scope takes a name and metrics; argument %R does not fit", keyword);
  return -1;
}

static int too_many(py_ssize n) {
  if (n <= 2) return 0;
  py.PyErr_Format(py.PyExc_TypeError, "scope takes a name and metrics, not %zd arguments", n);
  return 1;
}

static int scope_init(PyObject *self, PyObject *args, PyObject *kwargs) {
  py_ssize n = py.PyTuple_Size(args), position = 0;
  PyObject *name = n > 0 ? py.PyTuple_GetItem(args, 0) : NULL, *metrics = n > 1 ? py.PyTuple_GetItem(args, 1) : NULL;
  PyObject *key, *value;
  if (too_many(n)) return -1;
  while (kwargs && py.PyDict_Next(kwargs, &position, &key, &value))
    if (argument(key, value, &name, &metrics)) return -1;
  return fill((struct scope *)self, name, metrics);
}

// PyType_GenericAlloc returns zeroed memory, and counts the object's reference to its type.
static PyObject *scope_new(PyObject *type, PyObject *args, PyObject *kwargs) {
  (void)args, (void)kwargs;
  return py.PyType_GenericAlloc(type, 0);
}

// Python calls this for scope(...) instead of packing a tuple for scope_new and scope_init (see quickcall.c).
static PyObject *scope_vectorcall(PyObject *type, PyObject *const *args, size_t flagged, PyObject *keywords) {
  py_ssize n = (py_ssize)(flagged & ~((size_t)1 << (sizeof(size_t) * 8 - 1))), given = keywords ? py.PyTuple_Size(keywords) : 0;
  PyObject *name = n > 0 ? args[0] : NULL, *metrics = n > 1 ? args[1] : NULL;
  if (too_many(n)) return NULL;
  for (py_ssize i = 0; i < given; i++)
    if (argument(py.PyTuple_GetItem(keywords, i), args[n + i], &name, &metrics)) return NULL;
  PyObject *self = py.PyType_GenericAlloc(type, 0);
  if (self && fill((struct scope *)self, name, metrics)) return py.Py_DecRef(self), NULL;
  return self;
}

static void scope_dealloc(PyObject *self) {
  struct scope *s = (struct scope *)self;
  PyObject *type = py_type(self);
  for (uint32_t i = 0; i < s->open; i++) py.Py_DecRef(entry_at(s, i)->list);
  if (s->name) py.Py_DecRef(s->name);
  if (s->metrics) py.Py_DecRef(s->metrics);
  free(s->more);
  void (*release)(void *);
  *(void **)&release = py.PyType_GetSlot(type, PY_TP_FREE);
  release(self);
  py.Py_DecRef(type);
}

// ---- entering and leaving ----

static int enter_with_metrics(struct scope *s, struct hp_token token) {
  PyObject *metrics = py_new_ref(s->metrics);
  int failed = hooks_add_metrics(metrics, NULL); // may run Python code that moves the entries: e is invalid afterwards
  py.Py_DecRef(metrics);
  if (!failed) return 0;
  struct entry gone;
  if (!pop_entry(s, &gone) || !gone.list) hooks_hp->scope_exit(token);
  else tasks_leave(TASKS_SCOPES, gone.list);
  py.Py_DecRef(gone.list);
  return -1;
}

static uint32_t name_of(struct scope *s) {
  if (!s->name) return 0;
  s->cell = hooks_frame_name_cell(s->name);
  return hooks_frame_name(s->name);
}

// in_task makes sure that the scope is entered inside of those of the task. The name may have got another id meanwhile.
static uint32_t in_task(struct scope *s, uint32_t name) {
  tasks_innermost(TASKS_SCOPES);
  return name ? name_of(s) : 0;
}

// note_task stores the list of the latest entry. Making it may run the garbage collector, and so code that moves the entries.
static void note_task(struct scope *s, struct hp_token token) {
  uint32_t at = s->open - 1;
  PyObject *list = tasks_entered(TASKS_SCOPES, s->name, token);
  entry_at(s, at)->list = list;
}

static PyObject *enter_object(PyObject *self) {
  struct scope *s = (struct scope *)self;
  struct entry *e = push_entry(s);
  if (!e) return NULL;
  if (hooks_hp->keeps_scopes()) {
    uint32_t name = s->cell && s->cell->text == s->name ? s->cell->name.id : name_of(s);
    if (!name && !(s->name && py_is(s->name, py.PyUnicode_Type))) {
      s->open--;
      return py.PyErr_Format(py.PyExc_TypeError, "enter scope %R: the name must be a str", s->name ? s->name : py._Py_NoneStruct);
    }
    s->id = hooks_next_id();
    if (__builtin_expect(tasks_here != NULL, 0)) name = in_task(s, name);
    struct hp_token token = e->token = hooks_hp->scope_enter(name);
    if (py_type(self) != scope_type && py_is(self, timed_type)) e->start = nanos();
    if (__builtin_expect(tasks_here != NULL, 0) && token.node) note_task(s, token);
    if (s->metrics && token.node && hooks_hp->active() && enter_with_metrics(s, token)) return NULL;
  }
  return py_new_ref(self);
}

static PyObject *scope_enter(PyObject *self, PyObject *unused) {
  (void)unused;
  uint64_t began = hooks_meter_begin();
  PyObject *entered = enter_object(self);
  hooks_meter_end(began);
  return entered;
}

static int is_open(uint32_t node) {
  uint32_t at = hooks_hp->scope_node();
  while (at && at != node) at = hooks_hp->node(at).parent;
  return at != 0;
}

// unwind closes a scope that is not the innermost one, together with all scopes that are still open inside it.
static int unwind(struct hp_token token) {
  if (!is_open(token.node)) return 0;
  while (hooks_hp->scope_exit(token) == HP_MISMATCH)
    if (hooks_hp->scope_exit((struct hp_token){0, 0}) != HP_OK) return 0;
  return 1;
}

static PyObject *unbalanced(struct scope *s, struct hp_token token, int exception) {
  int inside = unwind(token);
  if (exception || tasks_here) return py_none(); // it left the inner scope open, and must not be replaced by another
  return py.PyErr_Format(py.PyExc_RuntimeError,
                         inside ? "leave scope %R: a scope inside it was still open on this thread; leave scopes in reverse order"
                                : "leave scope %R: it is no longer open on this thread; leave each scope once, in reverse order",
                         s->name);
}

// A graph that was captured in the scope does not take this time at its replays: the metric is added to the leaf as it is now.
static void add_cpu_time(int64_t time) {
  if (!*hooks_hp->watch) {
    hooks_hp->metric_int(cpu_time_name, time);
    return;
  }
  struct leaf at = hooks_leaf_begin();
  hooks_add_number(&at, cpu_time_name, (struct number){.type = HP_INT, .i = time});
  hooks_hp->leaf_end();
}

// was_moved reports whether the innermost scope is this one, entered anew when a frame of PyTorch around it ended.
static int was_moved(struct scope *s, struct hp_token token, const struct torch_scopes *torch) {
  uint32_t now = hooks_hp->scope_node();
  return torch->moved && now && token.generation == hooks_hp->generation() && hooks_hp->node(now).name == name_of(s) && !is_open(token.node);
}

// leave_around leaves a scope that is not the innermost one, if all inside of it are frames of PyTorch: these stay open.
static int leave_around(struct scope *s, const struct entry *e, int status) {
  struct torch_scopes *torch = torch_scopes_here();
  struct torch_aside aside;
  if (!torch) return status;
  torch_scopes_aside(torch, &aside);
  int moved = was_moved(s, e->token, torch);
  if (e->start && (moved || hooks_hp->scope_node() == e->token.node)) add_cpu_time(nanos() - e->start);
  status = hooks_hp->scope_exit(moved ? (struct hp_token){0, 0} : e->token);
  torch_scopes_back(torch, &aside);
  return status;
}

// leave_in_task leaves the scope of a task, with those that are open inside of it. In another task, nothing of it is open.
static PyObject *leave_in_task(struct entry *e) {
  if (tasks_here) {
    struct hp_token token = tasks_token(e->list);
    if (e->start && token.node && hooks_hp->scope_node() == token.node) add_cpu_time(nanos() - e->start);
    tasks_leave(TASKS_SCOPES, e->list);
  }
  py.Py_DecRef(e->list);
  return py_none();
}

static PyObject *exit_object(PyObject *self, PyObject *const *args, py_ssize n) {
  struct scope *s = (struct scope *)self;
  struct entry e;
  if (!pop_entry(s, &e) || !e.token.node) return py_none();
  if (__builtin_expect(e.list != NULL, 0)) return leave_in_task(&e);
  if (e.start && hooks_hp->scope_node() == e.token.node) add_cpu_time(nanos() - e.start);
  int status = hooks_hp->scope_exit(e.token);
  if (status == HP_MISMATCH || status == HP_EMPTY) status = leave_around(s, &e, status);
  if (status == HP_MISMATCH || status == HP_EMPTY) return unbalanced(s, e.token, n > 0 && args[0] != py._Py_NoneStruct);
  return py_none();
}

static PyObject *scope_exit(PyObject *self, PyObject *const *args, py_ssize n) {
  uint64_t began = hooks_meter_begin();
  PyObject *none = exit_object(self, args, n);
  hooks_meter_end(began);
  return none;
}

// ---- as a decorator ----

static const char decorator_source[] =
    "def decorate(scope, function):\n"
    "    from functools import wraps\n"
    "    def inside(*args, **kwargs):\n"
    "        with scope:\n"
    "            return function(*args, **kwargs)\n"
    "    async def inside_task(*args, **kwargs):\n"
    "        with scope:\n"
    "            return await function(*args, **kwargs)\n"
    "    coroutine = getattr(getattr(function, '__code__', None), 'co_flags', 0) & 0x80\n" // as in _tasks.py
    "    return wraps(function)(inside_task if coroutine else inside)\n";

static PyObject *decorator(void) {
  static PyObject *globals;
  if (!globals) globals = py_run(decorator_source, "<goproton>", NULL, NULL);
  return globals ? py_item(globals, "decorate") : NULL;
}

static PyObject *scope_call(PyObject *self, PyObject *args, PyObject *kwargs) {
  if (py.PyTuple_Size(args) != 1 || (kwargs && py.PyDict_Size(kwargs)) || !py.PyCallable_Check(py.PyTuple_GetItem(args, 0)))
    return py.PyErr_SetString(py.PyExc_TypeError, "a scope used as a decorator takes one function"), NULL;
  PyObject *decorate = decorator();
  return decorate ? py.PyObject_CallFunctionObjArgs(decorate, self, py.PyTuple_GetItem(args, 0), NULL) : NULL;
}

// ---- attributes ----

static PyObject *get_name(PyObject *self, void *closure) {
  (void)closure;
  struct scope *s = (struct scope *)self;
  return s->name ? py_new_ref(s->name) : py_none();
}

static PyObject *get_metrics(PyObject *self, void *closure) {
  (void)closure;
  struct scope *s = (struct scope *)self;
  return s->metrics ? py_new_ref(s->metrics) : py_none();
}

static PyObject *get_id(PyObject *self, void *closure) {
  (void)closure;
  struct scope *s = (struct scope *)self;
  return s->id ? py.PyLong_FromLongLong(s->id) : py_none();
}

static int set_name(PyObject *self, PyObject *value, void *closure) {
  (void)closure;
  struct scope *s = (struct scope *)self;
  if (!value) return py.PyErr_SetString(py.PyExc_AttributeError, "a scope's name cannot be deleted"), -1;
  set_object(&s->name, value);
  return 0;
}

static int set_metrics(PyObject *self, PyObject *value, void *closure) {
  (void)closure;
  set_object(&((struct scope *)self)->metrics, value == py._Py_NoneStruct ? NULL : value);
  return 0;
}

static PyObject *scope_repr(PyObject *self) {
  struct scope *s = (struct scope *)self;
  return py.PyUnicode_FromFormat("<scope %R>", s->name ? s->name : py._Py_NoneStruct);
}

// ---- the types ----

static struct py_method scope_methods[] = {
    {"__enter__", (void *)scope_enter, PY_NOARGS, NULL},
    {"__exit__", (void *)scope_exit, PY_FASTCALL, NULL},
    {0},
};

static struct py_getset scope_attributes[] = {
    {"name", get_name, set_name, "The frame's text.", NULL},
    {"metrics", get_metrics, set_metrics, "What is added to the frame at entry, or None.", NULL},
    {"id", get_id, NULL, "Number of the most recent entry that was recorded, or None.", NULL},
    {0},
};

static struct py_slot scope_slots[] = {
    {PY_TP_NEW, (void *)scope_new},
    {PY_TP_INIT, (void *)scope_init},
    {PY_TP_DEALLOC, (void *)scope_dealloc},
    {PY_TP_CALL, (void *)scope_call},
    {PY_TP_REPR, (void *)scope_repr},
    {PY_TP_METHODS, scope_methods},
    {PY_TP_GETSET, scope_attributes},
    {PY_TP_DOC, (void *)"scope(name, metrics=None)\n--\n\nNames the work launched inside it; a context manager and a decorator."},
    {0},
};

static struct py_slot timed_slots[] = {
    {PY_TP_NEW, (void *)scope_new},
    {PY_TP_INIT, (void *)scope_init},
    {PY_TP_DEALLOC, (void *)scope_dealloc},
    {PY_TP_DOC, (void *)"cpu_timed_scope(name, metrics=None)\n--\n\nA scope that also records the CPU time spent inside it."},
    {0},
};

static struct py_spec scope_spec = {"goproton._native.scope", sizeof(struct scope), 0, PY_FLAG_DEFAULT | PY_FLAG_BASETYPE, scope_slots};
static struct py_spec timed_spec = {"goproton._native.cpu_timed_scope", sizeof(struct scope), 0, PY_FLAG_DEFAULT | PY_FLAG_BASETYPE, timed_slots};

static int make_types(void) {
  if (timed_type) return 1; // a second import in this process
  if (!(scope_type = py.PyType_FromSpec(&scope_spec))) return 0;
  PyObject *bases = py.PyTuple_New(1);
  if (!bases || py.PyTuple_SetItem(bases, 0, py_new_ref(scope_type))) return 0;
  timed_type = py.PyType_FromSpecWithBases(&timed_spec, bases);
  py.Py_DecRef(bases);
  if (!timed_type) return 0;
  hooks_set_vectorcall(scope_type, scope_vectorcall);
  hooks_set_vectorcall(timed_type, scope_vectorcall);
  return 1;
}

int hooks_scope_types(PyObject *module) {
  static const char cpu_time[] = "cpu_time (ns)(exc)";
  cpu_time_name = hooks_hp->intern(cpu_time, sizeof cpu_time - 1);
  return make_types() && !py.PyModule_AddObject(module, "scope", py_new_ref(scope_type)) &&
         !py.PyModule_AddObject(module, "cpu_timed_scope", py_new_ref(timed_type));
}

// ---- function forms ----

static uint32_t name_or_error(PyObject *name, const char *what) {
  uint32_t id = hooks_frame_name(name);
  if (!id && !py_is(name, py.PyUnicode_Type)) py.PyErr_Format(py.PyExc_TypeError, "%s %R: the name must be a str", what, name);
  return id;
}

PyObject *native_enter_scope(PyObject *self, PyObject *name) {
  (void)self;
  if (!hooks_hp->keeps_scopes()) return py.PyLong_FromUnsignedLong(0);
  uint32_t text = name_or_error(name, "enter scope");
  if (!text && py.PyErr_Occurred()) return NULL;
  uint64_t began = hooks_meter_begin();
  if (__builtin_expect(tasks_here != NULL, 0) && tasks_innermost(TASKS_SCOPES)) text = hooks_frame_name(name);
  struct hp_token token = hooks_hp->scope_enter(text);
  if (__builtin_expect(tasks_here != NULL, 0) && token.node) py.Py_DecRef(tasks_entered(TASKS_SCOPES, name, token));
  hooks_meter_end(began);
  return py.PyLong_FromUnsignedLong(token.node);
}

PyObject *native_exit_scope(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  if (__builtin_expect(tasks_here != NULL, 0) && tasks_leave(TASKS_SCOPES, NULL)) return py_none();
  uint64_t began = hooks_meter_begin();
  struct torch_scopes *torch = torch_scopes_here();
  struct torch_aside aside;
  if (torch) torch_scopes_aside(torch, &aside);
  int status = hooks_hp->scope_exit((struct hp_token){0, 0});
  if (torch) torch_scopes_back(torch, &aside);
  hooks_meter_end(began);
  if (status == HP_EMPTY && hooks_hp->keeps_scopes())
    return py.PyErr_SetString(py.PyExc_RuntimeError, "leave a scope: none is open on this thread; each exit_scope needs an enter_scope before it"), NULL;
  return py_none();
}

PyObject *native_enter_state(PyObject *self, PyObject *name) {
  (void)self;
  uint32_t text = name == py._Py_NoneStruct ? 0 : name_or_error(name, "enter state");
  if (!text && py.PyErr_Occurred()) return NULL;
  if (__builtin_expect(tasks_here != NULL, 0) && tasks_innermost(TASKS_STATES)) text = text ? hooks_frame_name(name) : 0;
  int status = hooks_hp->state_enter(text);
  if (__builtin_expect(tasks_here != NULL, 0) && status == HP_OK) py.Py_DecRef(tasks_entered(TASKS_STATES, name, (struct hp_token){0, 0}));
  if (status == HP_FULL)
    return py.PyErr_SetString(py.PyExc_RuntimeError, "enter state: too many states are open on this thread; leave each state that was entered"), NULL;
  return py_none();
}

PyObject *native_exit_state(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  if (__builtin_expect(tasks_here == NULL, 1) || !tasks_leave(TASKS_STATES, NULL)) hooks_hp->state_exit();
  return py_none();
}
