// What PyTorch's operators, nodes of backward passes and modules add to call paths.
//
// Autograd gives each node of a graph the sequence number that its forward operator was reported with. For each number the thread
// that ran the operator keeps the Python call path and the modules. A backward pass, on whatever thread, finds them by thread and
// number; its kernels stand below the forward operator's call path and a frame `<backward>`.
//
// With a budget, torch reports a part of the operators only, unless their frames are wanted: its own cost of a report is
// larger than ours. Every node is reported. A
// node whose forward operator was not reported stands below the frame for paths that were not taken.
#include "pyframes.h"
#include "torchabi.h"
#include "torchscopes.h"
#include "torchwork.h"
#include "trace.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

_Atomic uint32_t torch_wanted;

enum {
  FRAMES = 128,      // open operators and modules of a thread; deeper ones have no frames
  NUMBERS = 1 << 16, // the latest sequence numbers of a thread whose call paths are known: 1.5 MiB, touched as it fills
  MADERS = 1024,     // threads that ran forward operators
  NAMES = 256,
  NEAR = 16,         // how far back a number without an operator looks for one
};

// Where a forward operator was: numbers of call paths, valid during one generation.
struct origin { uint32_t generation, pynode, modules; };
struct made { uint64_t next; struct origin from; }; // next: the sequence number + 1
struct maker { _Atomic uint64_t thread; struct made *_Atomic numbers; }; // thread: torch's number of it
static struct maker makers[MADERS];

enum kind { OPERATOR, NODE, ENGINE, MODULE };
struct frame {
  const void *of;         // the operator or module, to find the frame when it ends
  uint32_t name;          // 0: no frame in call paths
  uint32_t modules;       // the call path of the open modules, during `generation`: of NODE and ENGINE the forward operator's
  uint32_t generation;
  uint32_t scopes;        // how many scopes were opened for it
  enum kind kind;
};

struct thread {
  uint64_t id;            // torch's number of it
  struct made *numbers; // NULL until its first forward operator
  uint32_t depth, engine; // engine: open nodes of backward passes
  uint32_t outside;       // the Python call path in which the backward pass began on this thread
  struct origin origin;   // of the node that runs, or ran last
  struct { const char *text; uint32_t id; } names[NAMES]; // by address
  struct frame stack[FRAMES];
  struct torch_scopes scopes;
};

static __thread struct thread *self __attribute__((tls_model("initial-exec")));
static pthread_key_t exit_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t backward_frame, left_out_frame;
static _Atomic int incomplete; // some operators were not reported since call paths of backward passes are wanted

static void thread_exits(void *t) {
  self = NULL;
  free(t); // its numbers stay: a backward pass may follow
}

static void prepare(void) {
  pthread_key_create(&exit_key, thread_exits);
  backward_frame = hooks_hp->intern("<backward>", 10);
  left_out_frame = hooks_hp->intern(HP_PATH_LEFT_OUT, sizeof HP_PATH_LEFT_OUT - 1);
}

static struct thread *this_thread(void) {
  if (__builtin_expect(self != NULL, 1)) return self;
  struct thread *t = calloc(1, sizeof *t);
  if (!t) return NULL;
  t->id = torch_thread_id();
  pthread_setspecific(exit_key, t);
  return self = t;
}

// ---- names ----

static uint32_t name_of(struct thread *t, const char *text) {
  uint32_t i = (uint32_t)((uintptr_t)text >> 4 ^ (uintptr_t)text >> 12) % NAMES;
  size_t length;
  if (t->names[i].text == text) { // the memory of a name that torch composes is used again for others
    const char *known = hooks_hp->text(t->names[i].id, &length);
    if (known && !strncmp(known, text, length) && !text[length]) return t->names[i].id;
  }
  t->names[i].text = text;
  return t->names[i].id = hooks_hp->intern(text, strlen(text));
}

// ---- call paths ----

static uint32_t child(uint32_t parent, uint32_t name) {
  uint32_t node = name ? hooks_hp->child(parent, name, 0) : parent;
  return node ? node : parent; // out of room: counted by the hot path
}

// continued appends the frames of `path` below `from` to base.
static uint32_t continued(uint32_t base, uint32_t path, uint32_t from) {
  uint32_t names[FRAMES];
  int n = 0;
  for (; path && path != from && n < FRAMES; path = hooks_hp->node(path).parent) names[n++] = hooks_hp->node(path).name;
  while (n-- > 0) base = child(base, names[n]);
  return base;
}

static int valid(const struct origin *from) { return from->generation == hooks_hp->generation(); }

// python_part is the call path of the Python frames; in a backward pass it begins with the forward operator's.
static uint32_t python_part(const struct thread *t, uint32_t path) {
  if (!t->engine) return path;
  uint32_t base = child(valid(&t->origin) ? t->origin.pynode : 0, backward_frame);
  return path == t->outside ? base : continued(base, path, t->outside);
}

uint32_t torch_path(uint32_t (*walk)(void)) {
  const struct thread *t = self;
  uint32_t path = walk();
  if (!t || !t->depth) return path;
  path = python_part(t, path);
  uint32_t shown = t->depth < FRAMES ? t->depth : FRAMES;
  if (atomic_load_explicit(&torch_wanted, memory_order_relaxed) & ~TORCH_BACKWARD)
    for (const struct frame *f = t->stack; f < t->stack + shown; f++) {
      if (f->kind != MODULE && f->modules && f->generation == hooks_hp->generation()) path = continued(path, f->modules, 0);
      path = child(path, f->name);
    }
  return path;
}

static uint32_t python_path(const struct thread *t) {
  return python_part(t, hooks_python_path());
}

// ---- sequence numbers ----

static struct maker *maker_of(uint64_t thread) { return &makers[thread % MADERS]; }

static struct made *numbers_of(struct thread *t) {
  if (t->numbers) return t->numbers;
  struct maker *m = maker_of(t->id);
  uint64_t none = 0;
  if (!atomic_compare_exchange_strong(&m->thread, &none, t->id)) return NULL; // another thread has the place
  t->numbers = calloc(NUMBERS, sizeof *t->numbers);
  atomic_store(&m->numbers, t->numbers);
  return t->numbers;
}

static uint32_t open_modules(const struct thread *t) {
  uint32_t i = t->depth < FRAMES ? t->depth : FRAMES;
  while (i-- > 0)
    if (t->stack[i].kind == MODULE) return t->stack[i].generation == hooks_hp->generation() ? t->stack[i].modules : 0;
  return t->engine && valid(&t->origin) ? t->origin.modules : 0;
}

static void remember(struct thread *t, int64_t sequence) {
  struct made *all = numbers_of(t);
  if (!all) return;
  uint32_t generation = hooks_hp->generation(); // before the numbers that it is about
  uint32_t path = atomic_load_explicit(&torch_wanted, memory_order_relaxed) & TORCH_BACKWARD ? python_path(t) : 0;
  all[sequence % NUMBERS] = (struct made){(uint64_t)sequence + 1, {generation, path, open_modules(t)}};
}

static struct origin left_out(void) { return (struct origin){hooks_hp->generation(), child(0, left_out_frame), 0}; }

// recall finds where the forward operator of a node was. A node made by C++ that reports no operator has the call path of the one
// before it, unless that is one of those that were not reported. Nodes without a number (AccumulateGrad) belong to the node that ran before them on this thread.
static void recall(struct thread *t, const void *function) {
  int64_t sequence = (int64_t)torch_word(function, torch_at.sequence);
  uint64_t thread = torch_word(function, torch_at.forward_thread);
  const struct maker *m = maker_of(thread);
  const struct made *all = atomic_load(&m->thread) == thread ? atomic_load(&m->numbers) : NULL;
  int some = atomic_load_explicit(&incomplete, memory_order_relaxed), near = some ? 1 : NEAR;
  if (sequence < 0 || (!all && !some)) return;
  for (int64_t s = sequence; all && s >= 0 && s > sequence - near; s--) {
    if (all[s % NUMBERS].next != (uint64_t)s + 1) continue;
    t->origin = all[s % NUMBERS].from;
    return;
  }
  t->origin = some ? left_out() : (struct origin){0};
}

// ---- frames ----

static struct frame *push(struct thread *t, const void *of, enum kind kind) {
  static struct frame beyond;
  struct frame *f = t->depth < FRAMES ? &t->stack[t->depth] : &beyond;
  t->depth++;
  *f = (struct frame){.of = of, .kind = kind};
  return f == &beyond ? NULL : f;
}

static void enter(struct thread *t, struct frame *f, uint32_t name) { f->scopes += (uint32_t)torch_scopes_open(&t->scopes, name); }

static void show(struct thread *t, struct frame *f, uint32_t name) {
  f->name = name;
  enter(t, f, name);
}

static void enter_modules(struct thread *t, struct frame *f, uint32_t modules) {
  if (!modules) return;
  struct hp_node node = hooks_hp->node(modules);
  enter_modules(t, f, node.parent);
  enter(t, f, node.name);
}

static void show_modules(struct thread *t, struct frame *f, const struct origin *from) {
  if (!f) return;
  f->modules = from->modules, f->generation = from->generation;
  enter_modules(t, f, from->modules);
}

struct torch_scopes *torch_scopes_here(void) { return self ? &self->scopes : NULL; }

// The engine's frame is open around a node, its hooks, and the addition of gradients, which all belong to the node's modules.
static struct frame *engine_without_modules(struct thread *t) {
  struct frame *f = t->depth && t->depth <= FRAMES ? &t->stack[t->depth - 1] : NULL;
  return f && f->kind == ENGINE && !f->modules ? f : NULL;
}

static void leave(struct thread *t) {
  if (--t->depth >= FRAMES) return;
  struct frame *f = &t->stack[t->depth];
  while (f->scopes-- > 0) torch_scopes_close(&t->scopes);
  if (f->kind == ENGINE) t->engine--;
}

// pop ends the frame of an operator or module, and those that an exception has left open inside it.
static void pop(const void *of) {
  struct thread *t = self;
  uint32_t i = t ? t->depth : 0;
  if (i > FRAMES) { // too deep for frames: the stack's order is all that is known
    t->depth--;
    return;
  }
  while (i > 0 && t->stack[i - 1].of != of) i--;
  while (i > 0 && t->depth >= i) leave(t);
}

static int is_engine(const char *name) {
  static const char prefix[] = "autograd::engine::evaluate_function";
  return name[0] == 'a' && name[1] == 'u' && !strncmp(name, prefix, sizeof prefix - 1);
}

static void engine_opens(struct thread *t) {
  if (!t->engine++ && atomic_load_explicit(&torch_wanted, memory_order_relaxed) & TORCH_BACKWARD) t->outside = hooks_python_path();
}

static void engine_starts(struct thread *t, const void *function) {
  if (push(t, function, ENGINE)) engine_opens(t);
}

static void started(const void *function, const char *name, int backward) {
  struct thread *t = hooks_hp->active() ? this_thread() : NULL;
  if (!t) return;
  if (!backward && is_engine(name)) return engine_starts(t, function);
  uint32_t wanted = atomic_load_explicit(&torch_wanted, memory_order_relaxed);
  struct frame *engine = backward ? engine_without_modules(t) : NULL, *f = push(t, function, backward ? NODE : OPERATOR);
  if (backward) {
    if (f && !t->engine && atomic_load_explicit(&incomplete, memory_order_relaxed)) f->kind = ENGINE, engine_opens(t); // the engine was not reported
    recall(t, function);
    if (wanted & TORCH_MODULES && valid(&t->origin)) show_modules(t, engine ? engine : f, &t->origin);
  } else {
    int64_t sequence = (int64_t)torch_word(function, torch_at.sequence);
    if (sequence >= 0) remember(t, sequence);
  }
  if (f && wanted & TORCH_OPERATORS) show(t, f, name_of(t, name));
  if (f && wanted & TORCH_WORK && !backward) torch_count_started(function, name, wanted & TORCH_EVERYWHERE);
}

static void ended(const void *function) {
  if (atomic_load_explicit(&torch_wanted, memory_order_relaxed) & TORCH_WORK) torch_count_ended(function);
  pop(function);
}

// ---- Python ----

static const struct torch_observer frames = {started, ended};

// Two threads register: one that has the GIL, and Go's as a budget changes what is taken.
static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;
static uint32_t path_every = 1; // guarded by it
static int examining;           // the same: another observer is registered

static void observe_some(void) {
  uint32_t wanted = atomic_load(&torch_wanted), thinned = wanted == TORCH_BACKWARD ? path_every : 0; // frames that are wanted are complete
  if (thinned > 1) atomic_store(&incomplete, 1);
  torch_observe(wanted ? &frames : NULL, (struct torch_share){(wanted & TORCH_WORK) != 0, thinned});
}

static void observe(uint32_t wanted) {
  pthread_mutex_lock(&registering);
  if (!(atomic_exchange(&torch_wanted, wanted) & TORCH_BACKWARD)) atomic_store(&incomplete, 0);
  observe_some();
  pthread_mutex_unlock(&registering);
}

static void thin(uint32_t every) {
  if (atomic_load(&frames_last_thread)) return; // Python ends: torch may be on its way out
  pthread_mutex_lock(&registering);
  path_every = every;
  if (atomic_load(&torch_wanted) && !examining) observe_some();
  pthread_mutex_unlock(&registering);
}

static void examine(int now) {
  pthread_mutex_lock(&registering);
  examining = now;
  pthread_mutex_unlock(&registering);
}

// examined returns NULL, or why torch cannot be observed.
static const char *examined(uint32_t wanted, PyObject *sample, PyObject *facts) {
  static int measured;
  const char *problem = measured ? NULL : torch_functions();
  if (!problem && !measured) problem = torch_measure(sample);
  if (!problem && wanted & TORCH_WORK) problem = torch_count_begin(facts);
  if (!problem) measured = 1;
  return problem;
}

PyObject *native_torch_begin(PyObject *self_, PyObject *const *args, py_ssize n) {
  (void)self_;
  static int asked;
  if (n != 3) return py.PyErr_SetString(py.PyExc_TypeError, "torch_begin takes what is wanted, and two functions"), NULL;
  uint32_t wanted = (uint32_t)py.PyLong_AsUnsignedLongLongMask(args[0]);
  if (py.PyErr_Occurred()) return NULL;
  examine(1);
  const char *problem = examined(wanted, args[1], args[2]);
  examine(0);
  if (problem) return py.PyUnicode_FromFormat("%s", problem);
  pthread_once(&once, prepare);
  if (!asked++) hooks_hp->set_thinner(thin);
  observe(wanted);
  return py_none();
}

PyObject *native_torch_end(PyObject *self_, PyObject *unused) {
  (void)self_, (void)unused;
  if (!hooks_in_child()) observe(0); // another thread may have been registering at the fork
  return py_none();
}

// innermost_module is the name of the innermost frame, if it is a module's. torch.compile's wrapper of a module, which has its name, may
// call it, and a module may call itself.
static uint32_t innermost_module(const struct thread *t) {
  const struct frame *f = t->depth && t->depth <= FRAMES ? &t->stack[t->depth - 1] : NULL;
  return f && f->kind == MODULE ? f->name : 0;
}

// torch_enter opens the frame of a module or of a compiled operator: its name, any object that the matching torch_exit gets, too, and
// the TORCH_… that it is one of. It returns whether it has opened one. If not, torch_exit must not be called: it would end the frame of an
// outer call of the same object.
PyObject *native_torch_enter(PyObject *self_, PyObject *const *args, py_ssize n) {
  (void)self_;
  if (n != 3) return py.PyErr_SetString(py.PyExc_TypeError, "torch_enter takes a name, an object and what it is"), NULL;
  uint32_t name = hooks_name(args[0]).id, is = (uint32_t)py.PyLong_AsUnsignedLongLongMask(args[2]);
  struct thread *t = name && hooks_hp->active() && atomic_load(&torch_wanted) & is ? this_thread() : NULL;
  if (!t || (is == TORCH_MODULES && innermost_module(t) == name)) return py.PyBool_FromLong(0);
  uint32_t generation = hooks_hp->generation(), modules = is == TORCH_MODULES ? child(open_modules(t), name) : 0;
  struct frame *f = push(t, args[1], is == TORCH_MODULES ? MODULE : OPERATOR);
  if (!f) return py.PyBool_FromLong(1); // too deep for a frame, and counted all the same
  f->modules = modules, f->generation = generation;
  show(t, f, name);
  return py.PyBool_FromLong(1);
}

PyObject *native_torch_exit(PyObject *self_, PyObject *module) {
  (void)self_;
  pop(module);
  return py_none();
}
