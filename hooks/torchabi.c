// Registers with PyTorch's observers: torch calls back before and after each operator, and each node of a backward pass. This
// takes no lock, does not need the GIL, and other observers, such as torch.profiler, see the same operators.
//
// The functions are C++ and are called by their mangled names. The structure that is passed has been the same since torch 1.13; of
// the structure that is received, the places of the few fields are measured, so a torch that moves them is noticed before it matters.
#define _GNU_SOURCE
#include "torchabi.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

struct torch_layout torch_at;

// at::RecordFunctionCallback. More scopes at its end stay false.
struct callback {
  void *(*start)(void **context, const void *function); // returns std::unique_ptr, which the caller has room for
  void (*end)(const void *function, void *context);
  double sampling;
  uint8_t scopes[10], needs_inputs, needs_outputs, needs_ids, padding[3];
};
enum { SCOPE_FUNCTION, SCOPE_BACKWARD };
_Static_assert(sizeof(struct callback) == 40, "at::RecordFunctionCallback has 40 bytes");

static struct {
  uint64_t (*add)(struct callback);
  void (*remove)(uint64_t);
  const char *(*name)(const void *);
  uint64_t (*thread)(void);
  int (*exceptions)(void);
} torch;

static const struct { const char *name; void *to; } symbols[] = {
    {"_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", &torch.add},
    {"_ZN2at14removeCallbackEm", &torch.remove},
    {"_ZNK2at14RecordFunction4nameEv", &torch.name},
    {"_ZN2at14RecordFunction15currentThreadIdEv", &torch.thread},
    {"_ZSt19uncaught_exceptionsv", &torch.exceptions}, // of the C++ library that torch is linked with
};

const char *torch_functions(void) {
#if !defined __x86_64__ && !defined __aarch64__
  return "operators of torch are observed on x86-64 and aarch64 only";
#endif
  void *library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return "libtorch_cpu.so is not loaded";
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
    if (!(*(void **)symbols[i].to = dlsym(library, symbols[i].name))) return "this torch has no observers of operators as they are known here";
  return NULL;
}

uint64_t torch_thread_id(void) { return torch.thread(); }
int torch_exceptions(void) { return torch.exceptions(); }

static _Atomic(const struct torch_observer *) observer;
static _Atomic int operator_site = HP_METER_HOOK; // the account of the time for operators

__attribute__((used)) static void started(const void *function, int backward) {
  const struct torch_observer *to = atomic_load_explicit(&observer, memory_order_acquire);
  int site = backward ? HP_METER_HOOK : atomic_load_explicit(&operator_site, memory_order_relaxed);
  uint64_t began = hooks_meter_begin_at(site);
  if (to) to->started(function, torch.name(function), backward);
  hooks_meter_end_at(began, site);
}

// torch calls start as a C++ function that returns a std::unique_ptr, here always NULL, in memory whose address it passes.
#ifdef __aarch64__ // in x8, where no C function sees it
__attribute__((visibility("hidden"))) void *start_operator(void **, const void *), *start_node(void **, const void *);
__asm__(".text\n.balign 4\n"
        ".type start_operator, %function\nstart_operator:\n  str xzr, [x8]\n  mov w1, #0\n  b started\n"
        ".type start_node, %function\nstart_node:\n  str xzr, [x8]\n  mov w1, #1\n  b started\n");
#else // as the first argument, which it expects back
static void *start_operator(void **context, const void *function) {
  *context = NULL;
  started(function, 0);
  return context;
}

static void *start_node(void **context, const void *function) {
  *context = NULL;
  started(function, 1);
  return context;
}
#endif

static void ended(const void *function, int site) {
  const struct torch_observer *to = atomic_load_explicit(&observer, memory_order_acquire);
  uint64_t began = hooks_meter_begin_at(site);
  if (to) to->ended(function);
  hooks_meter_end_at(began, site);
}

static void end_operator(const void *function, void *context) {
  (void)context;
  ended(function, atomic_load_explicit(&operator_site, memory_order_relaxed));
}

static void end_node(const void *function, void *context) {
  (void)context;
  ended(function, HP_METER_HOOK);
}

// What is registered: of operators and of nodes. A handle is 0 if it is not.
static struct registered { uint64_t handle; double share; int inputs; } registered[2];

static void unregister(struct registered *r) {
  if (r->handle) torch.remove(r->handle);
  r->handle = 0;
}

static void register_for(int scope, double share, int inputs) {
  struct registered *r = &registered[scope];
  if (r->handle && r->share == share && r->inputs == inputs) return;
  unregister(r);
  struct callback c = {.start = scope == SCOPE_BACKWARD ? start_node : start_operator, .end = scope == SCOPE_BACKWARD ? end_node : end_operator,
                       .sampling = share, .needs_inputs = (uint8_t)inputs};
  c.scopes[scope] = 1;
  *r = (struct registered){torch.add(c), share, inputs};
}

void torch_observe(const struct torch_observer *to, struct torch_share operators) {
  atomic_store(&observer, to);
  atomic_store(&operator_site, operators.thinned ? HP_METER_OBSERVER : HP_METER_HOOK);
  if (!to) {
    unregister(&registered[SCOPE_FUNCTION]);
    unregister(&registered[SCOPE_BACKWARD]);
    return;
  }
  register_for(SCOPE_FUNCTION, operators.thinned ? 1.0 / operators.thinned : 1, operators.inputs);
  register_for(SCOPE_BACKWARD, 1, 0);
}

// ---- the layout ----

// `run` runs operators on a thread of its own and then calls their nodes on this one. It returns the numbers of both.
enum { WORDS = 56, SAMPLES = 4 };
struct seen { uint64_t words[WORDS], thread; int backward; };
static struct seen seen[2 * SAMPLES];
static _Atomic int seen_count;

static void sample(const void *function, const char *name, int backward) {
  if (strcmp(name, "aten::clone") && strcmp(name, "CloneBackward0")) return;
  int i = atomic_fetch_add(&seen_count, 1);
  if (i >= 2 * SAMPLES) return;
  memcpy(seen[i].words, function, sizeof seen[i].words);
  seen[i].thread = torch.thread();
  seen[i].backward = backward;
}

static void ignore(const void *function) { (void)function; }

// place returns the offset of the first word, from `from` on, that has these values in the samples of operators and those in the
// samples of nodes. What follows the structure on the stack may repeat them. 0: there is none.
static uint16_t place(int from, const uint64_t *operators, const uint64_t *nodes) {
  for (int w = from; w < WORDS; w++) {
    int same = 0;
    for (int i = 0; i < SAMPLES; i++) same += seen[i].words[w] == operators[i] && seen[SAMPLES + i].words[w] == nodes[i];
    if (same == SAMPLES) return (uint16_t)(w * 8);
  }
  return 0;
}

static int numbers_of(PyObject *list, uint64_t *out) {
  if (!list || py_type(list) != py.PyList_Type || py.PyList_Size(list) != SAMPLES) return 0;
  for (int i = 0; i < SAMPLES; i++) out[i] = py.PyLong_AsUnsignedLongLongMask(py.PyList_GetItem(list, i));
  return !py.PyErr_Occurred();
}

const char *torch_measure(PyObject *run) {
  static const struct torch_observer measuring = {sample, ignore};
  uint64_t sequence[SAMPLES], threads[SAMPLES];
  atomic_store(&seen_count, 0);
  torch_observe(&measuring, (struct torch_share){0});
  PyObject *list = py.PyObject_CallFunctionObjArgs(run, NULL);
  torch_observe(NULL, (struct torch_share){0});
  int known = numbers_of(list, sequence);
  py.Py_DecRef(list);
  if (!known) return py.PyErr_Clear(), "the examination of torch's operators did not run";
  if (atomic_load(&seen_count) != 2 * SAMPLES) return "torch reports other operators than those that ran";
  for (int i = 0; i < SAMPLES; i++) {
    if (seen[i].backward || !seen[SAMPLES + i].backward || seen[i].thread == seen[SAMPLES + i].thread) return "torch reports operators in another way than it did";
    threads[i] = seen[i].thread;
  }
  static const uint64_t none[SAMPLES];
  torch_at.sequence = place(1, sequence, sequence);
  torch_at.forward_thread = place(torch_at.sequence / 8 + 1, none, threads);
  if (!torch_at.sequence || !torch_at.forward_thread)
    return "the sequence numbers of torch's operators were not found";
  return NULL;
}
