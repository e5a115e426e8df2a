// The extension module goproton._native.
#include "native.h"
#include "control.h"
#include "refusal.h"
#include "tasks.h"
#include "torchabi.h"
#include "torchmemory.h"
#include "trace.h"
#include <stdatomic.h>

const struct hp_api *hooks_hp;

int64_t hooks_next_id(void) {
  static _Atomic int64_t last;
  return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

static PyObject *native_record_scope(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  return py.PyLong_FromLongLong(hooks_next_id());
}

static PyObject *native_active(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  return py.PyBool_FromLong(hooks_hp->active());
}

static PyObject *native_leaf(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  return hooks_leaf_tuple(hooks_leaf());
}

static struct py_method methods[] = {
    {"enter_scope", (void *)native_enter_scope, PY_O, "enter_scope(name, /)\n--\n\nOpens a scope on this thread; returns its call path's node, 0 while nothing is recorded."},
    {"exit_scope", (void *)native_exit_scope, PY_NOARGS, "exit_scope()\n--\n\nLeaves this thread's innermost scope."},
    {"enter_state", (void *)native_enter_state, PY_O, "enter_state(name, /)\n--\n\nEnters a state: one frame below all scopes."},
    {"exit_state", (void *)native_exit_state, PY_NOARGS, "exit_state()\n--\n\nLeaves the innermost state; the state around it is current again."},
    {"follow", (void *)native_follow, PY_FASTCALL, "follow(scopes, states, /)\n--\n\nA step of a task begins on this thread, and what the task holds is open; returns what was."},
    {"unfollow", (void *)native_unfollow, PY_O, "unfollow(before, /)\n--\n\nThe step has ended, and what follow returned is open again."},
    {"following", (void *)native_following, PY_NOARGS, "following()\n--\n\nWhether this thread runs a step of a task."},
    {"enter_op", (void *)native_enter_op, PY_FASTCALL, "enter_op(name, function=0, /)\n--\n\nThis thread's kernels land on a leaf of this name until exit_op or the launch of the function."},
    {"exit_op", (void *)native_exit_op, PY_NOARGS, "exit_op()\n--\n\nCloses the op of this thread."},
    {"last_op", (void *)native_last_op, PY_NOARGS, "last_op()\n--\n\n(number, name) of this thread's latest op, (0, None) before the first."},
    {"record_scope", (void *)native_record_scope, PY_NOARGS, "record_scope()\n--\n\nThe next number of the counter from which scopes take theirs."},
    {"active", (void *)native_active, PY_NOARGS, "active()\n--\n\nWhether some session is active in this process."},
    {"leaf", (void *)native_leaf, PY_NOARGS, "leaf()\n--\n\nThe leaf that a launch made now would have, as add_metrics_at takes it."},
    {"add_metrics", (void *)native_add_metrics, PY_O, "add_metrics(metrics, /)\n--\n\nAdds values to the current leaf."},
    {"add_metrics_at", (void *)native_add_metrics_at, PY_FASTCALL, "add_metrics_at(leaf, metrics, /)\n--\n\nAdds values to a leaf remembered earlier."},
    {"set_tensor_handler", (void *)native_set_tensor_handler, PY_O, "set_tensor_handler(handler, /)\n--\n\nhandler(key, tensor, leaf) gets every tensor among metrics."},
    {"tensor_metric", (void *)native_tensor_metric, PY_FASTCALL, "tensor_metric(leaf, name, address, count, element, vector, stream, /)\n--\n\nHas the graph that is being captured read a tensor at every replay; returns 0, or why it does not."},
    {"launch_enter", (void *)native_launch_enter, PY_O, "launch_enter(metadata, /)\n--\n\nThe launch hook: names the kernel about to be launched and adds its metrics."},
    {"launch_exit", (void *)native_launch_exit, PY_O, "launch_exit(metadata, /)\n--\n\nCloses what launch_enter opened; not needed when the metadata carry the function's handle."},
    {"set_launch_filter", (void *)native_set_launch_filter, PY_O, "set_launch_filter(filter, /)\n--\n\nfilter(name) -> bool chooses which kernels get an op; None chooses all."},
    {"inside_take", (void *)native_inside_take, PY_FASTCALL, "inside_take(size, alignment, stream, /)\n--\n\nThe allocator of profile scratch: an address on the GPU for the launch that follows."},
    {"inside_launched", (void *)native_inside_launched, PY_O, "inside_launched(metadata, /)\n--\n\nThe exit hook of launches with scopes inside kernels."},
    {"inside_launched_in", (void *)native_inside_launched_in, PY_FASTCALL, "inside_launched_in(stream, function, address, size, /)\n--\n\nThe same for memory that is the caller's own."},
    {"inside_keep", (void *)native_inside_keep, PY_O, "inside_keep(on, /)\n--\n\nWhether inside_last is going to be asked."},
    {"inside_last", (void *)native_inside_last, PY_NOARGS, "inside_last()\n--\n\nThe slots of the last launch as bytes, after waiting for them; None for none."},
    {"call", (void *)native_call, PY_FASTCALL, "call(method, params, /)\n--\n\nOne control call: JSON in, JSON out."},
    {"companion", (void *)native_companion, PY_FASTCALL, "companion(in, out, *words, /)\n--\n\nStarts a process that is not a child of this one; returns its number, or -errno."},
    {"trace_open", (void *)native_trace_open, PY_FASTCALL, "trace_open(ring, launches, *helpers, /)\n--\n\nBegins to record launches."},
    {"trace_close", (void *)native_trace_close, PY_NOARGS, "trace_close()\n--\n\nEnds the recording of launches."},
    {"trace_launch", (void *)native_trace_launch, PY_O, "trace_launch(metadata, /)\n--\n\nThe launch hook of traces."},
    {"trace_rank", (void *)native_trace_rank, PY_O, "trace_rank(rank, /)\n--\n\nSets the rank of the records that follow, -1 for none."},
    {"trace_watch", (void *)native_trace_watch, PY_FASTCALL, "trace_watch(what, object, attribute, /)\n--\n\nSets the attribute that holds the process group ('group'), or says whether torch profiles ('profiler')."},
    {"torch_begin", (void *)native_torch_begin, PY_FASTCALL, "torch_begin(wanted, sample, facts, /)\n--\n\nObserves torch's operators; returns None, or why not. sample() runs operators of known numbers, facts() describes tensors."},
    {"torch_end", (void *)native_torch_end, PY_NOARGS, "torch_end()\n--\n\nObserves them no longer."},
    {"torch_enter", (void *)native_torch_enter, PY_FASTCALL, "torch_enter(name, object, wanted, /)\n--\n\nOpens the frame of a module; returns whether it did."},
    {"torch_exit", (void *)native_torch_exit, PY_O, "torch_exit(module, /)\n--\n\nCloses the frame of a module that torch_enter has opened, and what is open inside it."},
    {"torch_lend", (void *)native_torch_lend, PY_NOARGS, "torch_lend()\n--\n\nPrepares torch_lending; returns whether this torch can do it."},
    {"torch_lending", (void *)native_torch_lending, PY_O, "torch_lending(function, /)\n--\n\nCalls it; what torch does for it on threads without scopes has the scopes of this thread."},
    {"torch_memory_begin", (void *)native_torch_memory_begin, PY_O, "torch_memory_begin(everywhere, /)\n--\n\nCounts the memory of torch's allocator by call path; returns None, or why not."},
    {"torch_memory_end", (void *)native_torch_memory_end, PY_NOARGS, "torch_memory_end()\n--\n\nCounts it no longer."},
    {"torch_memory_reset", (void *)native_torch_memory_reset, PY_NOARGS, "torch_memory_reset()\n--\n\nForgets who allocated what: the first session begins."},
    {"torch_memory_peak", (void *)native_torch_memory_peak, PY_NOARGS, "torch_memory_peak()\n--\n\nAdds what was allocated at the peak to the metrics of the call paths that allocated it."},
    {"python_walker", (void *)native_python_walker, PY_NOARGS, "python_walker()\n--\n\nHow Python stacks are read: 'internal', or 'public: ' and the reason."},
    {0},
};

static struct py_module definition = {
    .head = {1, NULL},
    .name = "goproton._native",
    .doc = "The native side of goproton: scopes, the launch hook, and control of sessions.",
    .size = -1,
    .methods = methods,
};

const char *(*hooks_refusal)(void);

__attribute__((visibility("default"))) PyObject *PyInit__native(void) {
  if (!py_resolve(__builtin_return_address(0))) return NULL;
  const char *refusal = hooks_refusal ? hooks_refusal() : NULL;
  if (refusal) return py.PyErr_SetString(py.PyExc_ImportError, refusal), NULL;
  // Go's init functions run on another thread after dlopen has returned. A call into Go waits for them.
  if (!hooks_in_child()) goprotonReady();
  if (!hooks_hp || hooks_hp->size != sizeof *hooks_hp)
    return py.PyErr_SetString(py.PyExc_ImportError, "load goproton._native: the library's hot path is not set up; rebuild libproton.so from one source tree"), NULL;
  if (!hooks_names_init()) return NULL;
  PyObject *module = py.PyModule_Create2(&definition, 1013 /* PYTHON_API_VERSION of CPython 3 */);
  if (module && !(hooks_scope_types(module) && tasks_init(module))) return py.Py_DecRef(module), NULL;
  return module;
}

void hooks_set_api(const void *api) { hooks_hp = api; }
