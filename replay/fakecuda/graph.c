// The fake driver's graphs: capture, instantiation with cloned nodes, launch, destruction.
#include "driver.h"

#include <stdatomic.h>

static struct node *add_node(struct node ***last, struct function *f, struct node *original) {
  uint64_t id = (uint64_t)next_id() << 32 | 1; // real ids do not fit into 32 bits either
  struct node *n = object_new(sizeof *n, id);
  *n = (struct node){.id = id, .function = f, .original = original};
  **last = n;
  *last = &n->next;
  return n;
}

static void free_nodes(struct node *n) {
  while (n) {
    struct node *next = n->next;
    object_free(n);
    n = next;
  }
}

static struct graph *new_graph(void) {
  uint32_t id = next_id();
  struct graph *g = object_new(sizeof *g, id);
  g->id = id;
  g->last = &g->first;
  resource(RES_GRAPH_CREATED, &(struct cupti_graph_data){.graph = g});
  return g;
}

void capture_kernel(struct graph *g, struct function *f, void **parameters) {
  struct node *n = add_node(&g->last, f, NULL);
  n->reads = tensor_arguments(f, parameters);
  resource(RES_GRAPHNODE_CREATED, &(struct cupti_graph_data){.graph = g, .node = n, .node_type = NODE_KERNEL});
}

static _Atomic uint32_t captures;
uint32_t stub_cuda_captures(void) { return atomic_load(&captures); }

STUB_EXPORT uint32_t cuStreamBeginCapture_v2(void *stream, int mode) {
  struct { void *stream; int mode; } p = {stream, mode};
  struct call c;
  call_enter(&c, CBID_cuStreamBeginCapture_v2, "cuStreamBeginCapture_v2", &p, NULL);
  ((struct stream *)stream)->capture = new_graph();
  atomic_fetch_add(&captures, 1);
  return call_exit(&c, CU_OK);
}

STUB_EXPORT uint32_t cuStreamEndCapture(void *stream, void **graph) {
  struct cuda_params_end_capture p = {stream, graph};
  struct stream *s = stream;
  struct call c;
  call_enter(&c, CBID_cuStreamEndCapture, "cuStreamEndCapture", &p, NULL);
  *graph = s->capture;
  s->capture = NULL;
  atomic_fetch_sub(&captures, 1);
  return call_exit(&c, CU_OK);
}

STUB_EXPORT uint32_t cuStreamIsCapturing(void *stream, int *status) {
  *status = stream && ((struct stream *)stream)->capture;
  return CU_OK;
}

STUB_EXPORT uint32_t cuStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph, const void **from, size_t *count) {
  struct stream *s = stream;
  (void)from, (void)count;
  *status = s && s->capture;
  *id = *status ? s->capture->id : 0;
  *graph = *status ? s->capture : NULL;
  return CU_OK;
}

// ---- user objects ----

static void keep(struct kept **list, struct user *object) {
  struct kept *k = object_new(sizeof *k, 0);
  *k = (struct kept){object, *list};
  *list = k;
}

static void keep_no_longer(struct kept *k) {
  while (k) {
    struct kept *next = k->next;
    struct user *u = k->object;
    if (!--u->references) u->ends(u->data), object_free(u);
    object_free(k);
    k = next;
  }
}

STUB_EXPORT uint32_t cuUserObjectCreate(void **object, void *data, void (*ends)(void *), unsigned references, unsigned flags) {
  struct user *u = object_new(sizeof *u, 0);
  *u = (struct user){references, ends, data};
  *object = u;
  return flags == 1 ? CU_OK : 1;
}

STUB_EXPORT uint32_t cuGraphRetainUserObject(void *graph, void *object, unsigned count, unsigned flags) {
  if (count != 1 || flags != 1) return 1; // the reference of the caller moves
  keep(&((struct graph *)graph)->kept, object);
  return CU_OK;
}

STUB_EXPORT uint32_t cuGraphCreate(void **graph, uint32_t flags) {
  (void)flags;
  *graph = new_graph();
  return CU_OK;
}

// As cuGraphAddKernelNode, with the function instead of the vendor's parameter block.
STUB_EXPORT uint32_t stub_cuda_add_kernel(void *graph, void *function) {
  capture_kernel(graph, function, NULL);
  return CU_OK;
}

STUB_EXPORT uint32_t cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
  struct cuda_params_graph_instantiate p = {exec, graph, flags};
  struct graph *g = graph;
  struct call c;
  call_enter(&c, CBID_cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", &p, NULL);
  uint32_t id = next_id();
  struct exec *x = object_new(sizeof *x, id);
  // As with CUPTI, nodes are cloned into a temporary graph that has the executable's id.
  struct graph *clone = object_new(sizeof *clone, id);
  struct node **last = &x->first;
  x->id = id;
  resource(RES_GRAPHEXEC_CREATE_STARTING, &(struct cupti_graph_data){.graph = g});
  for (struct node *n = g->first; n; n = n->next) {
    struct node *copy = add_node(&last, n->function, n);
    copy->reads = n->reads;
    struct cupti_graph_data d = {.graph = clone, .original_graph = g, .node = copy, .original_node = n, .node_type = NODE_KERNEL};
    resource(RES_GRAPHNODE_CLONED, &d);
  }
  resource(RES_GRAPHEXEC_CREATED, &(struct cupti_graph_data){.graph = g, .graph_exec = x});
  object_free(clone);
  for (struct kept *k = g->kept; k; k = k->next) k->object->references++, keep(&x->kept, k->object);
  for (int i = 0; i < HOST_CALLS; i++) x->calls[i] = g->calls[i];
  *exec = x;
  return call_exit(&c, CU_OK);
}

STUB_EXPORT uint32_t cuGraphLaunch(void *exec, void *stream) {
  struct cuda_params_graph_launch p = {exec, stream};
  struct exec *x = exec;
  struct context *context = current_context();
  struct call c;
  call_enter(&c, CBID_cuGraphLaunch, "cuGraphLaunch", &p, NULL);
  struct stub_kernel whole = {.start = stub_cuda_now(), .correlation = c.data.correlation_id, .graph = x->id,
                              .stream = stream_id(stream), .context = context ? context->id : 0,
                              .device = context ? context->device : 0};
  whole.end = whole.start + 1000;
  if (!tracer->graph(&whole))
    for (struct node *n = x->first; n; n = n->next)
      run_kernel(n->function, c.data.correlation_id, stream_id(stream), x->id, n);
  for (int i = 0; i < HOST_CALLS && x->calls[i].call; i++) x->calls[i].call(x->calls[i].data);
  return call_exit(&c, CU_OK);
}

STUB_EXPORT uint32_t cuGraphExecDestroy(void *exec) {
  struct exec *x = exec;
  resource(RES_GRAPHEXEC_DESTROY_STARTING, &(struct cupti_graph_data){.graph_exec = x});
  free_nodes(x->first);
  keep_no_longer(x->kept);
  object_free(x);
  return CU_OK;
}

STUB_EXPORT uint32_t cuGraphDestroy(void *graph) {
  struct graph *g = graph;
  resource(RES_GRAPH_DESTROY_STARTING, &(struct cupti_graph_data){.graph = g});
  free_nodes(g->first);
  keep_no_longer(g->kept);
  object_free(g);
  return CU_OK;
}
