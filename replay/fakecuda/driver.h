// The fake driver's objects, and what cuda.c and graph.c share.
#ifndef GOPROTON_STUB_DRIVER_H
#define GOPROTON_STUB_DRIVER_H

#include "stub.h"
#include "../../cupti/tensor.h"

struct context { uint32_t id, device; };
struct stream { uint32_t id; struct graph *capture; struct context *context; };
struct module { uint32_t id; struct function *functions; const void *image; };
struct function { struct function *next; const char *name; const void *image; };
// The arguments of the kernel that stores a tensor; count 0: it is another kernel.
struct tensor { struct cupti_value *room; uint32_t mask; const void *from; uint32_t count, element, as, number; };
struct node { uint64_t id; struct function *function; struct node *next; struct node *original; struct tensor reads; };
struct host_call { void (*call)(void *); void *data; };
enum { HOST_CALLS = 4 }; // of a graph; they come behind its kernels
struct graph { uint32_t id; struct node *first, **last; struct kept *kept; struct host_call calls[HOST_CALLS]; };
struct exec { uint32_t id; struct node *first; struct kept *kept; struct host_call calls[HOST_CALLS]; };
// A user object of the program's, and who refers to it: its end is called when nothing does.
struct user { uint32_t references; void (*ends)(void *); void *data; };
struct kept { struct user *object; struct kept *next; };

extern const struct stub_tracer *tracer; // not NULL

// Live objects are listed, so that stub_cuda_object_id does not follow a foreign pointer.
void *object_new(size_t size, uint64_t id); // id 0: the object has none
void object_free(void *object);
uint32_t next_id(void);

struct context *current_context(void);
uint32_t stream_id(const struct stream *s);

// One driver call, as CUPTI reports it: ENTER, then EXIT with the result.
struct call {
  struct cupti_callback_data data;
  uint32_t cbid;
  uint32_t result;
  uint64_t cell;
};
void call_enter(struct call *c, uint32_t cbid, const char *name, const void *params, const char *symbol);
uint32_t call_exit(struct call *c, uint32_t result);

void resource(uint32_t cbid, void *descriptor);
// Runs a kernel, which may be that of a graph node.
void run_kernel(const struct function *f, uint32_t correlation, uint32_t stream, uint32_t graph, const struct node *node);

// graph.c: adds a node for a kernel that was launched into a capturing stream.
void capture_kernel(struct graph *g, struct function *f, void **parameters);

// tensor.c: what the kernel of ../../cupti/tensor_ptx.h does.
struct tensor tensor_arguments(const struct function *f, void **parameters);
void store_tensor(const struct tensor *tensor, uint64_t began);

// memory.c: whether these bytes are allocated memory of the GPU.
int stub_cuda_memory(uint64_t memory, uint64_t bytes);

#endif
