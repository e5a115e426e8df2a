// Adds the work of torch's operators to the metrics of their frames, where their kernels stand. Of operators that call each other, the
// outermost one whose work is known counts. It is added before the operator runs, because the next node of a graph that is captured
// takes it, and is taken back if the operator ends with an exception: a checkpoint that recomputes a forward pass stops it so, in the
// last operator, before its kernel is launched.
#include "torchwork.h"
#include "torchabi.h"

// Metrics by log2 of the width in bytes. What comes from shapes is added to two metrics: to the one that scopes and launches add to as
// well, and to its share of operators, by which viewers tell the two apart.
static struct { uint32_t total, operators, estimated; } flops[4];
static uint32_t bytes, operator_bytes;

// The operator that counts on this thread, the time that it belongs to, what it added, and the exceptions in flight when it began.
static __thread struct { const void *function; unsigned time; int exceptions; struct work work; } counts __attribute__((tls_model("initial-exec")));
static _Atomic unsigned now = 1;

static uint32_t named(const char *name, size_t length) { return hooks_hp->intern(name, length); }

static void prepare(void) {
  torch_work_prepare();
  flops[0].total = named("flops8", 6), flops[0].operators = named("operator_flops8", 15), flops[0].estimated = named("estimated_flops8", 16);
  flops[1].total = named("flops16", 7), flops[1].operators = named("operator_flops16", 16), flops[1].estimated = named("estimated_flops16", 17);
  flops[2].total = named("flops32", 7), flops[2].operators = named("operator_flops32", 16), flops[2].estimated = named("estimated_flops32", 17);
  flops[3].total = named("flops64", 7), flops[3].operators = named("operator_flops64", 16), flops[3].estimated = named("estimated_flops64", 17);
  bytes = named("bytes", 5), operator_bytes = named("operator_bytes", 14);
}

const char *torch_count_begin(PyObject *facts) {
  static int ready;
  now++; // the ends of operators that run now may not have been seen
  if (ready) return NULL;
  PyObject *made = py.PyObject_CallFunctionObjArgs(facts, NULL);
  if (!made) return py.PyErr_Clear(), "torch's tensors could not be examined";
  const char *problem = torch_values_measure(made);
  py.Py_DecRef(made);
  if (problem) return problem;
  prepare();
  ready = 1;
  return NULL;
}

static void add_double(const struct leaf *at, uint32_t name, double value) { hooks_add_number(at, name, (struct number){.type = HP_DOUBLE, .d = value}); }
static void add_integer(const struct leaf *at, uint32_t name, int64_t value) { hooks_add_number(at, name, (struct number){.type = HP_INT, .i = value}); }

// add adds the work to the metrics, or with the sign -1 takes it back.
static void add(const struct work *w, int sign) {
  struct leaf leaf, *at = NULL;
  // One look-up of the leaf for all metrics. During a capture, and for a timeline, the hot path has to look itself.
  int once = !*hooks_hp->watch;
  if (once) leaf = hooks_leaf_begin(), at = &leaf;
  if (w->flops > 0) {
    int i = w->width == 8 ? 0 : w->width == 16 ? 1 : w->width == 32 ? 2 : 3;
    add_double(at, flops[i].total, sign * w->flops);
    add_double(at, flops[i].operators, sign * w->flops);
    if (w->estimated) add_double(at, flops[i].estimated, sign * w->flops);
  }
  if (w->bytes > 0) {
    add_integer(at, bytes, sign * w->bytes);
    add_integer(at, operator_bytes, sign * w->bytes);
  }
  if (once) hooks_hp->leaf_end();
}

void torch_count_started(const void *function, const char *name, int everywhere) {
  if (counts.function && counts.time == now) return;
  const struct known *of = torch_work_of(name);
  struct work work;
  if (!of || !torch_work(of, torch_inputs(function), everywhere, &work)) return;
  counts.function = function;
  counts.time = now;
  counts.exceptions = torch_exceptions();
  counts.work = work;
  add(&work, 1);
}

void torch_count_ended(const void *function) {
  if (counts.function != function) return;
  counts.function = NULL;
  if (torch_exceptions() > counts.exceptions) add(&counts.work, -1);
}
