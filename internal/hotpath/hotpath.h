// The C that runs on the application's threads, as seen by the other C rooms (cupti, hooks).
//
// Everything here is called on a thread that belongs to the workload, so nothing takes a lock, nothing
// calls malloc and nothing enters Go. Memory is reserved up front with mmap and touched as it is needed.
//
// Other rooms do not link against these functions: cgo links each package on its own, so they get one
// table of function pointers (struct hp_api) at start-up. That table is also the seam at which a
// recorder or a test can stand between a room and the hot path.
#ifndef GOPROTON_HOTPATH_H
#define GOPROTON_HOTPATH_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

// ---- the record: what one event on an application thread leaves behind -----------------------------

enum hp_type {
  HP_LAUNCH = 1,         // a kernel launch: corr, set, node, pynode, func, op
  HP_GRAPH_LAUNCH = 2,   // a graph launch: the same; func = the executable graph's handle
  HP_NODE_CREATED = 3,   // a graph node captured or added: corr = graph id, func = node id, node/pynode/op of the moment
  HP_NODE_CLONED = 4,    // a graph node copied into an executable graph: corr = exec graph id, func = clone's node id, aux = original's
  HP_EXEC_DESTROYED = 5, // corr = exec graph id
  HP_GRAPH_DESTROYED = 6,// corr = graph id
  HP_OP_METRIC = 7,      // a metric of an op while some stream is being captured: corr = metric name id, func = value bits
  HP_MODULE_UNLOAD = 8,  // a module goes away: kernel name pointers seen before may be reused

  // Only while some session wants a timeline; func is the time, in ns of CLOCK_REALTIME, unless said otherwise.
  HP_BEGIN = 9,          // a scope, state or op opens: node
  HP_END = 10,           // it closes: node
  HP_CALL_END = 11,      // the call that made a launch returns: corr, op = the vendor's number of the function
  HP_THREAD = 12,        // whose ring this is from here on: func = the system's thread id
  HP_METRIC = 13,        // a metric was added: corr = metric name id, node, op, func = value bits
};

enum hp_flags {
  HP_F_OP = 1,        // node (and pynode) is an op's leaf: kernel time goes onto it, without a child of the kernel's name
  HP_F_DOUBLE = 2,    // HP_OP_METRIC, HP_METRIC: func holds a double, else an int64
  HP_F_PROPERTY = 4,  // the same: replaces instead of adding
  HP_F_CAPTURED = 8,  // HP_NODE_CREATED: made by the launch this thread is in, which will bring no kernel itself
  HP_F_TIMED = 16,    // HP_LAUNCH, HP_GRAPH_LAUNCH: func is the time of the call instead of the handle
};

// 32 bytes, two to a cache line. HP_NODE_CLONED stores aux where node and pynode are.
struct hp_record {
  uint32_t corr;
  uint32_t set;      // launch set: which sessions, in which phase, were active (Go's table)
  union {
    struct { uint32_t node, pynode; };
    uint64_t aux;
  };
  uint64_t func;
  uint32_t op;       // sequence number of the op on this thread, 0 = none
  uint8_t type;      // enum hp_type
  uint8_t flags;     // enum hp_flags
  uint16_t tag;      // HP_LAUNCH, HP_NODE_CREATED: what kind of launch it is, see tag_launch; 0 = nobody said
};
_Static_assert(sizeof(struct hp_record) == 32, "Go reads rings as 32-byte records");

// ---- call paths --------------------------------------------------------------------------------------
// A call path is the id of its last node. Nodes are immutable and never move: {parent, name, set}. The
// root is node 0. `set` names the sessions that saw the node being entered; 0 means every session.

struct hp_node { uint32_t parent, name, set, depth; };
_Static_assert(sizeof(struct hp_node) == 16, "Go reads the node arena as 16-byte nodes");

// ---- metrics -----------------------------------------------------------------------------------------
// One slot per (node, launch set, metric name): values are summed in place, so metrics cost no ring space.

enum hp_metric_type { HP_INT = 1, HP_DOUBLE = 2 };
enum hp_metric_flags {
  HP_M_PYTHON = 1,   // the node is a python call path
  HP_M_PROPERTY = 2, // the name carries "(pty)": the last value stands
};

struct hp_slot {
  uint32_t node, set, name;
  uint8_t type, flags;
  uint16_t reserved;
  uint32_t corr;       // the thread's last correlation id when the slot was made: its place in time
  uint32_t reserved2;
  uint64_t value;      // int64 or double bits, updated atomically
};
_Static_assert(sizeof(struct hp_slot) == 32, "Go reads the slot arena as 32-byte slots");

enum { HP_OTHERS = 65535 };

enum hp_status {
  HP_OK = 0,
  HP_OFF = 1,          // no session is active, or this is a forked child: nothing was done
  HP_EMPTY = 2,        // nothing to exit
  HP_MISMATCH = 3,     // the token is not the innermost open scope
  HP_TYPE_CHANGED = 4, // a metric changed between int and double
  HP_FULL = 5,         // out of reserved space: counted as loss
};

// What scope_enter gives and scope_exit wants back. node 0 = nothing was entered (off), exit is a no-op.
struct hp_token { uint32_t node, generation; };

struct hp_api {
  uint32_t size;       // sizeof(struct hp_api), checked by users of the table

  // Text to id, the same id for the same text within the process; 0 only when space ran out.
  uint32_t (*intern)(const char *text, size_t len);
  // The text of an id, not NUL-terminated. Lives as long as the process.
  const char *(*text)(uint32_t id, size_t *len);
  // The child of a call path; 0 when space ran out. set 0 = seen by every session.
  uint32_t (*child)(uint32_t parent, uint32_t name, uint32_t set);
  struct hp_node (*node)(uint32_t id);

  // 1 when some session is active and this process is not a forked child. Costs one load.
  int (*active)(void);

  // Scopes of the calling thread. exit with a zeroed token pops whatever is innermost.
  struct hp_token (*scope_enter)(uint32_t name);
  int (*scope_exit)(struct hp_token);
  // Number of open scopes as session set `set` sees them is Go's business; this is the raw leaf.
  uint32_t (*scope_node)(void);

  // States: a stack; the innermost is one extra frame below all scopes. exit of an empty stack: HP_EMPTY.
  // name 0 enters "no state", so that exits stay balanced.
  int (*state_enter)(uint32_t name);
  int (*state_exit)(void);

  // An op: the leaf frame that a launch hook names. Until op_exit, kernels launched by this thread land on
  // it. If func is not 0 the op closes itself with the launch of that very CUfunction, and op_exit
  // may be left out; its metrics wait for that launch and land where the kernel does. Ops do not nest: entering replaces. Returns the op's sequence number, 0 when off.
  uint32_t (*op_enter)(uint32_t name, uint64_t func);
  void (*op_exit)(void);

  // Adds to the current leaf (scopes, state, op). `name` is the metric's interned raw name: "(exc)" and
  // "(pty)" marks are understood. Both call paths get it where both kinds of session are active.
  int (*metric_int)(uint32_t name, int64_t value);
  int (*metric_double)(uint32_t name, double value);
  // The same onto a node remembered earlier with leaf().
  int (*metric_at)(uint32_t node, uint32_t pynode, uint32_t set, uint32_t name, int type, uint64_t bits);
  // The current leaf: what a launch at this moment would be attributed to.
  void (*leaf)(uint32_t *node, uint32_t *pynode, uint32_t *set);

  // The python room registers its stack walker here: returns the call path of the calling thread's Python
  // frames, 0 if it has none. Called on application threads, with or without the GIL.
  void (*set_python_walker)(uint32_t (*walk)(void));
  // Changes whenever all call paths are forgotten: node ids kept from before mean nothing afterwards.
  uint32_t (*generation)(void);

  // ---- for the vendor room's callbacks ----
  void (*launch)(uint32_t corr, uint64_t func);
  void (*work)(uint32_t corr); // a call that makes the GPU work without a kernel (a copy, a fill), or waits for it
  void (*launched)(uint32_t corr, uint32_t function); // EXIT of those and of launches; needed while exits_matter
  const _Atomic uint32_t *exits_matter; // not 0: some stream is being captured, or somebody wants a timeline
  int (*capturing)(void); // number of stream captures in progress
  void (*graph_launch)(uint32_t corr, uint64_t exec);
  void (*node_created)(uint32_t graph, uint64_t node);
  void (*event)(int type, uint32_t corr, uint64_t func, uint64_t aux);
  void (*capture)(int delta); // +1 when a stream capture begins, -1 when it ended
  void (*context_seen)(void *ctx);
  void (*context_gone)(void *ctx);

  // Activity buffers: pooled, pre-faulted, zeroed. get returns NULL when the pool is exhausted (counted).
  uint8_t *(*buffer_get)(size_t *size);
  void (*buffer_done)(uint8_t *buffer, size_t valid);

  // The calling thread's next launch of CUfunction func carries that tag, and so do the graph nodes that it makes;
  // launches of other functions in between carry none. Tags are 1 to 65534, HP_OTHERS stands for all that found no
  // number, and 0 takes back what was said before.
  void (*tag_launch)(uint32_t tag, uint64_t func);

  // For replays: timelines are stamped with this time, in ns of CLOCK_REALTIME, until the next call. 0 is the system's clock.
  void (*set_clock)(uint64_t nanoseconds);
};

// The one table of this process. Never NULL; safe before any session and in forked children.
const struct hp_api *hp_api(void);

#endif
