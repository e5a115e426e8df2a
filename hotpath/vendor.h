// The interface of the hot path for the room of a GPU vendor. The vendor's callbacks run on the application's threads:
// they call struct hp_vendor_api, which takes no lock, allocates nothing and does not enter Go, but where a call of the
// program's opens or closes a gate. Activity records come back in
// buffers of a shared pool, which Go reads as struct hp_activity.
#ifndef GOPROTON_VENDOR_H
#define GOPROTON_VENDOR_H

#include "hotpath.h"

// ---- the activity record: a span of work on the GPU, in terms that are the same for every vendor ----------

// In the order of record.Kind.
enum hp_activity_kind { HP_KERNEL, HP_GRAPH, HP_MEMCPY, HP_MEMSET, HP_SYNC };

struct hp_activity {
  uint64_t correlation;  // the id that the room passed to launch, work or graph_launch
  uint64_t start, end;   // ns of the vendor's clock; 0 and 0 where no time could be taken
  union {
    uint64_t graph_node; // the vendor's id of the node, 0 outside graphs
    uint64_t number;     // of a kernel, if numbered: how many the driver had launched in the context, this one included
  };
  union {
    uint64_t bytes;      // of a memcpy or memset
    uint64_t grid;       // of a kernel, in blocks: x, y from bit 31 and z from bit 47 on; 0 = not known
  };
  uint64_t graph;        // the vendor's id of the executable graph, 0 outside graphs
  uint32_t context, stream;
  uint32_t name;         // interned: a kernel's mangled name, else "<memcpy DtoD>" and the like, which the viewer reads; 0 of a graph
  uint16_t device;       // ordinal within the process
  uint8_t kind;          // enum hp_activity_kind
  uint8_t numbered;
};
_Static_assert(sizeof(struct hp_activity) == 64, "Go reads activities as 64-byte records");

// Turns the records in a buffer into at most max activities, continuing at *cursor (NULL at first). Fewer than max
// means that the buffer is done. Called by the drainer only, and so by one thread at a time.
typedef int (*hp_activity_reader)(uint8_t *buffer, size_t valid, void **cursor, struct hp_activity *out, int max);

// ---- what vendor rooms call --------------------------------------------------------------------------------

// A call of the program, for a room that knows more of it than launch, graph_launch and work take.
struct hp_call {
  uint64_t correlation;
  uint64_t function;  // of a kernel's launch; the executable graph of a graph's launch
  uint32_t stream;    // the room's number of the stream, for activity records that have none; 0 = not known
  uint8_t graph;      // it launches a graph
  uint8_t work;       // it starts a memcpy or memset, or waits for the GPU
  uint8_t several;    // several records may carry its id, such as those of a copy in parts; a graph's always may
};

struct hp_vendor_api {
  uint32_t size; // sizeof(struct hp_vendor_api), checked by users of the table

  // Calls of the program, at ENTER. correlation is the id that the activity records of the call carry: the library's, or one that
  // the room gave the library as an external id. It has up to 64 bits, and ids count up in the order of the calls.
  void (*launch)(uint64_t correlation, uint64_t function);
  void (*graph_launch)(uint64_t correlation, uint64_t exec);
  void (*work)(uint64_t correlation); // a call that starts a memcpy or memset, or waits for the GPU
  void (*call)(const struct hp_call *); // any of the three, with what the library's records lack
  // EXIT of the calls above; needed while *exits_matter is not 0. call is the vendor's number of the function.
  void (*launched)(uint64_t correlation, uint32_t call);
  // At EXIT of a launch, while *exits_matter is not 0: its function or executable graph, the handle of its stream, the driver's result, and
  // the function's name, NULL if it is not known. It is for a program that is watched for a hang.
  void (*returned)(uint64_t correlation, uint64_t function, uint64_t stream, uint32_t result, const char *symbol);
  // At EXIT of a call that waited for the GPU, if the library has no records of waits and Listen was asked for them: the name of
  // the activity, the ordinal of the device, and when the wait began, in ns of CLOCK_REALTIME.
  void (*waited)(uint64_t correlation, uint32_t name, uint16_t device, uint64_t start, uint64_t nanos);
  // The record of the calling thread's last launch, if its correlation id is not after; 0 if there is none.
  int (*last_launch)(uint64_t after, struct hp_record *out);
  uint64_t (*now)(void); // CLOCK_REALTIME; in a replay, the time of the event that is played
  const _Atomic uint32_t *exits_matter; // some stream is being captured, some session wants a timeline, or the program is watched

  // Graphs. capture: +1 when the capture of a stream begins, -1 when it ended. Ids of nodes are unique in the process. If a library
  // has none, the room numbers the nodes when they are captured, and the records of a graph's launch in the same order.
  void (*capture)(int delta);
  int (*capturing)(void);
  void (*node_created)(uint64_t graph, uint64_t node);
  void (*node_cloned)(uint64_t exec, uint64_t node, uint64_t original);
  void (*graph_destroyed)(uint64_t graph);
  void (*exec_destroyed)(uint64_t exec);

  // Contexts in which the program launches; a flush synchronises each. The first one also registers the exit handler, so a
  // library without contexts reports another pointer in its place, never NULL.
  void (*context_seen)(void *context);
  void (*context_gone)(void *context);

  // Ranges that the program marks through the vendor's library are scopes.
  void (*range_push)(const char *text);
  void (*range_pop)(void);
  // The program calls the function of the driver that starts profilers (1) or stops them (0).
  void (*profiler_api)(int start);

  // Text to id, for names of activities, on any thread; the text of an id, which is not NUL-terminated.
  uint32_t (*intern)(const char *text, size_t length);
  const char *(*text)(uint32_t id, size_t *length);

  // Buffers for activity records: pooled, pre-faulted, zeroed; on any thread. get returns NULL when the pool is exhausted, and counts that.
  // done passes a buffer to Go. If the vendor's library filled it with records of its own form, reader decodes them; with a
  // NULL reader the buffer holds struct hp_activity.
  uint8_t *(*buffer_get)(size_t *size);
  void (*buffer_done)(uint8_t *buffer, size_t valid, hp_activity_reader reader);

  // For a room that was asked to measure its callbacks, because a session has a budget: before and after each of them, see meter.h.
  uint64_t (*meter_begin)(int site);
  void (*meter_end)(uint64_t began, int site);

  // Whether a thread other than the calling one has launched something or opened a scope, and still runs.
  int (*others_live)(void);
};

// The one table of this process. Never NULL; safe before any session and in forked children.
const struct hp_vendor_api *hp_vendor_api(void);

// ---- what vendor rooms implement ---------------------------------------------------------------------------

// Queries of the driver, called on threads of the program, also before the room is attached. The room uses the driver that
// the program has loaded, and loads none.
struct hp_vendor {
  int (*stream_capturing)(void *stream); // 1: it is being captured; -1: this vendor's driver is not loaded or does not know
  int (*current_device)(void);           // of the calling thread; -1: none
  // Captures a node that stores the values of a tensor under this number at every replay; Source.Values passes them on. The node
  // is made by a launch of the calling thread. Returns an enum hp_tensor_status. NULL: the room has no such node.
  int (*read_tensor)(const struct hp_tensor *tensor, uint32_t number);
};

enum { HP_VENDORS = 4 };
// Registers a vendor for the life of the process. Returns 0 if there are HP_VENDORS already.
int hp_vendor_add(const struct hp_vendor *vendor);

#endif
