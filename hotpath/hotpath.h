// The interface of the C that runs on the application's threads, for hooks and for programs with scopes of their own.
// vendor.h is the interface for the rooms of GPU vendors.
//
// Everything here is called on a thread that belongs to the workload, so nothing takes a lock, nothing calls malloc
// and nothing enters Go, but for a scope that opens or closes a gate. Memory is reserved up front with mmap and touched as it is needed.
//
// Other rooms do not link against these functions: cgo links each package on its own, so they get a table of function
// pointers (struct hp_api, struct hp_vendor_api) at start-up. A recorder or a test comes between a room and the hot path
// by passing on a table of its own.
#ifndef GOPROTON_HOTPATH_H
#define GOPROTON_HOTPATH_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

// ---- the record: one event of an application thread, as written to its ring ----------------------------

// The comment of a type names the fields that its records have, in addition to set.
enum hp_type {
  HP_LAUNCH = 1,          // a kernel launch, a copy or a wait: correlation, function, node, pynode, op, tag, stream
  HP_GRAPH_LAUNCH = 2,    // the launch of an executable graph: the same; function = the graph's handle
  HP_NODE_CREATED = 3,    // a graph node captured or added: graph, graph_node, node, pynode, op, tag
  HP_NODE_CLONED = 4,     // a node copied into an executable graph: graph, graph_node = the copy's, original_node
  HP_EXEC_DESTROYED = 5,  // graph = the executable graph's id
  HP_GRAPH_DESTROYED = 6, // graph
  HP_OP_METRIC = 7,       // a metric while some stream is being captured: metric, value, node, pynode, op = 0 for one of a scope
  HP_LATE_METRIC = 8,     // a metric of a launch set that has no open slots: metric, value, node, pynode

  // Only while some session wants a timeline.
  HP_BEGIN = 9,           // a scope, state or op opens: time, node
  HP_END = 10,            // it closes: time, node
  HP_CALL_END = 11,       // the call that made a launch returns: correlation, time, call
  HP_THREAD = 12,         // the thread that owns the ring until the next such record: thread
  HP_METRIC = 13,         // a metric was added: metric, value, node, op
  HP_COUNTER = 16,        // a counter has another value: metric = its name, time, counted

  HP_TENSOR_METRIC = 15,  // a tensor that a graph node reads at every replay: metric, tensor, node, pynode, count
  HP_WAITED = 14,         // a wait that has no activity record: correlation, time = its start, waited, name, tag = the device
  // Only while the program is watched for a hang.
  HP_RETURNED = 17,       // a launch returns that failed, or whose function or stream is new to its thread: correlation, function, stream, result, symbol
};

enum hp_flags {
  HP_F_OP = 1,        // node and pynode are an op's: they get the kernel's time, without a child of the kernel's name
  HP_F_DOUBLE = 2,    // HP_OP_METRIC, HP_LATE_METRIC, HP_METRIC: value holds a double, else an int64; HP_TENSOR_METRIC: the metric is one
  HP_F_PROPERTY = 4,  // the same: replaces instead of adding
  HP_F_CAPTURED = 8,  // HP_NODE_CREATED: made by the thread's launch in progress, which runs no kernel itself;
                      // HP_OP_METRIC of a scope: the thread is capturing a stream itself
  HP_F_TIMED = 16,    // HP_LAUNCH, HP_GRAPH_LAUNCH: the record holds time in place of function
  HP_F_SEVERAL = 32,  // HP_LAUNCH: several activity records may carry its correlation id
  HP_F_OWN = 64,      // HP_NODE_CREATED: it does work of the profiler's own
};

// 40 bytes: correlation ids of some vendors have 64 bits.
struct hp_record {
  union {
    uint64_t correlation; // the id that joins a call to its activity records, as the vendor's room passed it
    uint64_t graph;       // the vendor's id of a graph
    uint64_t metric;      // the metric's interned raw name
  };
  union {
    uint64_t function;    // the handle of what is launched
    uint64_t time;        // in ns of CLOCK_REALTIME
    uint64_t graph_node;  // the vendor's id of a graph node
    uint64_t value;       // the bits of a metric's value
    uint64_t thread;      // the system's id of a thread
    uint64_t tensor;      // the number of a tensor metric, see tensor_metric
  };
  union {
    struct { uint32_t node, pynode; };
    uint64_t original_node;
    uint64_t waited;      // in ns
    uint64_t counted;
    uint32_t symbol;      // interned name of a function; 0 = not known
  };
  uint32_t set;           // launch set: which sessions, in which phase, were active (Go's table)
  union {
    uint32_t op;          // sequence number of the op on this thread, 0 = none
    uint32_t call;        // the vendor's number of the function that returns
    uint32_t name;        // interned, of an activity
    uint32_t count;       // of a tensor's elements; 0 = one, whose metric is a number
    uint32_t result;      // of a driver's function; 0 = it did what was asked
  };
  uint8_t type;           // enum hp_type
  uint8_t flags;          // enum hp_flags
  uint16_t tag;           // the number of the launch kind, see tag_launch; 0 = not known
  union {
    uint32_t stream;      // for activity records without one; 0 = not known
    uint32_t reads;       // HP_NODE_CREATED: the number of the tensor metric that the node reads; 0 = none
  };
};
_Static_assert(sizeof(struct hp_record) == 40, "Go reads rings as 40-byte records");

// ---- call paths --------------------------------------------------------------------------------------
// A call path is the id of its last node. The root is node 0. Nodes never move, and change only when their id is reused
// after reclaiming (reclaim.h). `set` says which sessions were active when the frame was entered; 0 means every session.

struct hp_node { uint32_t parent, name, set, depth; };
_Static_assert(sizeof(struct hp_node) == 16, "Go reads the node arena as 16-byte nodes");

// ---- metrics -----------------------------------------------------------------------------------------
// One slot per (node, launch set, metric name): values are summed in place. Metrics are written to rings only during captures,
// for timelines, and when they are late.

enum hp_metric_type { HP_INT = 1, HP_DOUBLE = 2 };
enum hp_metric_flags {
  HP_M_PYTHON = 1,   // the node is a python call path
  HP_M_PROPERTY = 2, // the name carries "(pty)": the last value stands
};

struct hp_slot {
  uint32_t node, set, name;
  uint8_t type, flags;
  uint16_t reserved;
  uint64_t order;      // the thread's last correlation id when the slot was made: its place in time
  uint64_t value;      // int64 or double bits, updated atomically
};
_Static_assert(sizeof(struct hp_slot) == 32, "Go reads the slot arena as 32-byte slots");

// A tensor on the GPU whose values are a metric, in elements that lie one after another.
enum hp_element { HP_INT8, HP_UINT8, HP_INT16, HP_UINT16, HP_INT32, HP_UINT32, HP_INT64, HP_FLOAT16, HP_BFLOAT16, HP_FLOAT32, HP_FLOAT64 };
enum { HP_TENSOR_MOST = 1 << 16 }; // elements of one metric

struct hp_tensor {
  void *stream;        // that is being captured
  uint64_t address;    // in the memory of the GPU
  uint32_t count;      // of elements, 1 to HP_TENSOR_MOST
  uint8_t element;     // enum hp_element
  uint8_t as;          // enum hp_metric_type: the type that its values are stored in
};

// What became of a tensor metric. A driver's error code is 100000 more.
enum hp_tensor_status {
  HP_TENSOR_TAKEN = 0,
  HP_TENSOR_OFF = 1,          // no session is active
  HP_TENSOR_UNKNOWN = 2,      // the library of this GPU cannot read tensors in graphs
  HP_TENSOR_WHOLE = 3,        // graphs are timed as a whole
  HP_TENSOR_DRIVER = 100000,
};

enum { HP_OTHERS = 65535 }; // the tag of launch kinds without a number of their own, see tag_launch

enum hp_status {
  HP_OK = 0,
  HP_OFF = 1,          // no session is active, or this is a forked child: nothing was done
  HP_EMPTY = 2,        // nothing to exit
  HP_MISMATCH = 3,     // the token is not the innermost open scope
  HP_TYPE_CHANGED = 4, // a metric changed between int and double
  HP_FULL = 5,         // out of reserved space: counted as loss
  HP_CLOSED = 6,       // within the hot path: no thread may add to these slots any more
};

// The result of scope_enter, to be passed to scope_exit. node 0 = nothing was entered (off), exit is a no-op.
struct hp_token { uint32_t node, generation; };

// What programs call.
struct hp_api {
  uint32_t size;       // sizeof(struct hp_api), checked by users of the table

  // Returns the id of a text: the same for the same text within the process, 0 only when space ran out.
  uint32_t (*intern)(const char *text, size_t len);
  // The same for the name of a scope, state or op. Such a name is reclaimed when it is not used any more, and its text may get
  // another id later. The id stays valid while it is in the cell, which belongs to a table that hold_names announced, and while
  // the scope, state or op is open. The cell must not change between reading the id from it and entering with the id.
  uint32_t (*frame_name_in)(uint32_t *cell, const char *text, size_t len);
  // Announces count cells, stride bytes apart, for the life of the process. Returns 0 when there are too many tables.
  int (*hold_names)(const uint32_t *first, size_t stride, size_t count);
  // The text of an id, not NUL-terminated. It lives as long as the id is valid.
  const char *(*text)(uint32_t id, size_t *len);
  // The child of a call path; 0 when space ran out. set 0 = seen by every session.
  uint32_t (*child)(uint32_t parent, uint32_t name, uint32_t set);
  struct hp_node (*node)(uint32_t id);

  // 1 when some session is active and this process is not a forked child. Costs one load.
  int (*active)(void);
  // 1 when scopes are kept: some session is active, or is between two of its windows, and what is open when the next one begins
  // must be known.
  int (*keeps_scopes)(void);

  // Scopes of the calling thread. exit with a zeroed token pops whatever is innermost.
  struct hp_token (*scope_enter)(uint32_t name);
  int (*scope_exit)(struct hp_token);
  // The innermost scope of the calling thread, of whichever sessions; the depth in one session is counted in Go.
  uint32_t (*scope_node)(void);

  // A thread without a scope of its own has those that the main thread, which started the last session, had when they met, or those of the
  // thread that it works for at the moment: the function registered here returns it, as `thread` returned it there, or NULL.
  void (*set_lender)(void *(*lender)(void));
  void *(*thread)(void); // NULL in a forked child

  // States: a stack; the innermost is one extra frame below all scopes. exit of an empty stack: HP_EMPTY.
  // name 0 enters "no state", so that exits stay balanced.
  int (*state_enter)(uint32_t name);
  int (*state_exit)(void);

  // An op: the leaf frame that a launch hook names. Until op_exit, kernels launched by this thread are attributed to
  // it. If function is not 0, the launch of the function with that handle closes the op, and op_exit may be left out;
  // the op's metrics wait for that launch and go to the kernel's call path. Ops do not nest: entering replaces.
  // Returns the op's sequence number, 0 when off.
  uint32_t (*op_enter)(uint32_t name, uint64_t function);
  void (*op_exit)(void);

  // Adds to the current leaf (scopes, state, op). `name` is the metric's interned raw name, which may have the mark
  // "(exc)" or "(pty)". Where shadow and python sessions are active, both call paths get the value.
  int (*metric_int)(uint32_t name, int64_t value);
  int (*metric_double)(uint32_t name, double value);
  // The same onto a node remembered earlier with leaf().
  int (*metric_at)(uint32_t node, uint32_t pynode, uint32_t set, uint32_t name, int type, uint64_t bits);
  // Adds a metric at every replay of the graph that is being captured: a node of the graph reads the tensor. The metric is
  // a number or, if `vector` is not 0, a list of numbers. Returns an enum hp_tensor_status.
  int (*tensor_metric)(const struct hp_tensor *tensor, uint32_t node, uint32_t pynode, uint32_t set, uint32_t name, int vector);
  // The current leaf: what a launch at this moment would be attributed to.
  void (*leaf)(uint32_t *node, uint32_t *pynode, uint32_t *set);
  // The same, but the leaf is only valid until leaf_end on the same thread. A leaf from `leaf` is never reclaimed.
  void (*leaf_begin)(uint32_t *node, uint32_t *pynode, uint32_t *set);
  void (*leaf_end)(void);

  // Python's hooks register their stack walker here. It returns the call path of the calling thread's Python frames, 0 if
  // there are none, and is called on application threads, with or without the GIL.
  void (*set_python_walker)(uint32_t (*walk)(void));
  // Changes whenever call paths are forgotten or reclaimed: node ids from before are invalid afterwards, except those of
  // open scopes and of leaf().
  uint32_t (*generation)(void);

  // *watch is not 0 while stream captures are in progress, while some session wants a timeline, or while the program is watched for a
  // hang.
  const _Atomic uint32_t *watch;
  // Queries of the GPU's driver, through the vendor rooms: whether a stream is being captured, and the ordinal of the
  // thread's current device, -1 where there is none. Neither initialises a driver.
  int (*stream_capturing)(void *stream);
  int (*current_device)(void);

  // The calling thread's next launch of that function carries the tag, and so do the graph nodes that it makes;
  // launches of other functions in between carry none. Tags are 1 to 65534; HP_OTHERS stands for launch kinds beyond
  // that limit, and 0 cancels an earlier tag.
  void (*tag_launch)(uint32_t tag, uint64_t function);

  // The record of the calling thread's last launch. Returns 0 if there is none that came after the launch with the correlation id
  // `after`, or if it was lost or is too far back in the ring.
  int (*last_launch)(uint64_t after, struct hp_record *out);
  // The correlation id of the calling thread's last launch or work, 0 before the first.
  uint64_t (*last_correlation)(void);
  // Shows in timelines that a counter, whose name is interned, has another value.
  void (*counter)(uint32_t name, uint64_t value);
  // From here on, copies, fills and graph nodes of the calling thread are the profiler's own, or the program's again: no session gets
  // the profiler's. Returns what it was before.
  int (*own_work)(int on);

  // For replays: timelines are stamped with this time, in ns of CLOCK_REALTIME, until the next call. 0 is the system's clock.
  void (*set_clock)(uint64_t nanoseconds);

  // *metered is not 0 while some session has a budget: then what a hook does is put between meter_begin and meter_end, which gets what
  // meter_begin returned; site is an enum hp_meter_site.
  const _Atomic uint32_t *metered;
  uint64_t (*meter_begin)(int site);
  void (*meter_end)(uint64_t began, int site);
  // Hooks that need the call path of a part of what they see register here. The function is called now and at each change, on Go's
  // threads: the Python call path of one launch in `every` is taken, 1 is of all.
  void (*set_thinner)(void (*thin)(uint32_t every));
};

// The one table of this process. Never NULL; safe before any session and in forked children.
const struct hp_api *hp_api(void);

#endif
