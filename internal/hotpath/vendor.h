// What the room of a GPU vendor sees of the hot path. Its callbacks run on the application's threads: they call
// struct hp_vendor_api, and a launch costs one call and one store into a ring. What the GPU did comes back in buffers
// of a shared pool, which Go reads as struct hp_activity.
#ifndef GOPROTON_VENDOR_H
#define GOPROTON_VENDOR_H

#include "hotpath.h"

// ---- the activity: what took time on the GPU, in words that no vendor owns -------------------------------

// In the order of record.Kind.
enum hp_activity_kind { HP_KERNEL, HP_GRAPH, HP_MEMCPY, HP_MEMSET, HP_SYNC };

struct hp_activity {
  uint64_t correlation;  // what the room gave to launch, work or graph_launch
  uint64_t start, end;   // ns of the vendor's clock; 0 and 0 where no time could be taken
  uint64_t graph_node;   // the vendor's id of the node, 0 outside graphs
  uint64_t bytes;        // of a memcpy or memset
  uint64_t graph;        // the vendor's id of the executable graph, 0 outside graphs
  uint32_t context, stream;
  uint32_t name;         // interned: of a kernel as the compiler mangled it, of others "<memcpy DtoD>" and the like, which the viewer reads; 0 of a graph
  uint16_t device;       // ordinal within the process
  uint8_t kind;          // enum hp_activity_kind
  uint8_t reserved;
};
_Static_assert(sizeof(struct hp_activity) == 64, "Go reads activities as 64-byte records");

// Turns the records in a buffer into at most max activities, continuing at *cursor (NULL at first). Fewer than max
// means that the buffer is done. Called by Go's drainer only.
typedef int (*hp_activity_reader)(uint8_t *buffer, size_t valid, void **cursor, struct hp_activity *out, int max);

// ---- what vendor rooms call --------------------------------------------------------------------------------

struct hp_vendor_api {
  uint32_t size; // sizeof(struct hp_vendor_api), checked by users of the table

  // Calls of the program, at ENTER. A library whose ids have 64 bits and are not its callbacks' to choose gets ids of
  // the room's own as external ones, which its records carry. Ids count up: their order is that of the launches.
  void (*launch)(uint64_t correlation, uint64_t function);
  void (*graph_launch)(uint64_t correlation, uint64_t exec);
  void (*work)(uint64_t correlation); // makes the GPU work without a kernel (a copy, a fill), or waits for it
  // EXIT of those: needed while *exits_matter is not 0. call is the vendor's number of the function.
  void (*launched)(uint64_t correlation, uint32_t call);
  const _Atomic uint32_t *exits_matter; // some stream is being captured, or some session wants a timeline

  // Graphs. capture: +1 when the capture of a stream begins, -1 when it ended.
  void (*capture)(int delta);
  int (*capturing)(void);
  void (*node_created)(uint64_t graph, uint64_t node);
  void (*node_cloned)(uint64_t exec, uint64_t node, uint64_t original);
  void (*graph_destroyed)(uint64_t graph);
  void (*exec_destroyed)(uint64_t exec);

  // Contexts in which something is launched; a flush synchronises each. The first one also has the exit handler registered, so a
  // library without contexts reports something that stands for one, never NULL.
  void (*context_seen)(void *context);
  void (*context_gone)(void *context);

  // Ranges that the program marks through the vendor's library are scopes.
  void (*range_push)(const char *text);
  void (*range_pop)(void);

  // Text to id, for names of activities; the text of an id, which is not NUL-terminated.
  uint32_t (*intern)(const char *text, size_t length);
  const char *(*text)(uint32_t id, size_t *length);

  // Buffers for activities: pooled, pre-faulted, zeroed. get returns NULL when the pool is exhausted, which is counted.
  // done hands one to Go. A vendor's library that fills it with records of its own form comes with a reader; without
  // one (NULL) it holds struct hp_activity.
  uint8_t *(*buffer_get)(size_t *size);
  void (*buffer_done)(uint8_t *buffer, size_t valid, hp_activity_reader reader);
};

// The one table of this process. Never NULL; safe before any session and in forked children.
const struct hp_vendor_api *hp_vendor_api(void);

// ---- what vendor rooms answer ------------------------------------------------------------------------------

// Questions of the program's side to the driver, asked on threads of the program before the room was attached, too:
// a room answers from the driver that the program has loaded, and loads none.
struct hp_vendor {
  int (*stream_capturing)(void *stream); // 1: it is being captured; -1: it is not this vendor's to say
  int (*current_device)(void);           // of the calling thread; -1: none
};

enum { HP_VENDORS = 4 };
// Makes a vendor known, for good. 0 when there are too many.
int hp_vendor_add(const struct hp_vendor *vendor);

#endif
