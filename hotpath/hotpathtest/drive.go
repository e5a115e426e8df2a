// Package hotpathtest calls the hot path as an application would: through its table of functions, from threads
// that Go does not own. It also launches kernels with scopes inside on the fake driver, and writes the buffers
// that such kernels leave. Tests and benchmarks use it; it is a package because cgo does not work in test files.
package hotpathtest

/*
#cgo CFLAGS: -I${SRCDIR}/.. -std=gnu11 -O2 -Wall -Wextra -Wno-unused-parameter
#cgo LDFLAGS: -lpthread
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "meter.h"
#include "vendor.h"

static const struct hp_api *hp;
static const struct hp_vendor_api *vendor;
static uint32_t name(const char *s) { return hp->intern(s, strlen(s)); }

// Every thread has a cell for its frame names, as Python's hooks have for each string.
enum { CELLS = 1024 };
static uint32_t cells[CELLS];
static uint32_t *cell(void) {
	static _Atomic uint32_t threads;
	static __thread uint32_t *mine;
	return mine ? mine : (mine = &cells[atomic_fetch_add(&threads, 1) % CELLS]);
}
static uint32_t frame(const char *s) { return hp->frame_name_in(cell(), s, strlen(s)); }
static struct hp_token enter(const char *s) { return hp->scope_enter(frame(s)); }
static int leave(struct hp_token t) { return hp->scope_exit(t); }
static struct hp_token enter_named(uint32_t name) { return hp->scope_enter(name); }
static int state(const char *s) { return s ? hp->state_enter(frame(s)) : hp->state_exit(); }
static uint32_t op(const char *s, uint64_t f) { return hp->op_enter(frame(s), f); }
static void op_exit(void) { hp->op_exit(); }
static int metric_int(const char *s, int64_t v) { return hp->metric_int(name(s), v); }
static int metric_double(const char *s, double v) { return hp->metric_double(name(s), v); }
static void launch(uint64_t c, uint64_t f) { vendor->launch(c, f); }
static void tag(uint32_t n, uint64_t f) { hp->tag_launch(n, f); }
static void launched(void) { vendor->launched(0, 0); }
static void metered_launch(uint64_t c, uint64_t f, int within_hook) {
	uint64_t hook = within_hook ? hp->meter_begin(HP_METER_HOOK) : 0;
	uint64_t began = vendor->meter_begin(HP_METER_CALLBACK);
	vendor->launch(c, f);
	vendor->meter_end(began, HP_METER_CALLBACK);
	hp->meter_end(hook, HP_METER_HOOK);
}
static void sections(int hook, uint32_t n) {
	int site = hook ? HP_METER_HOOK : HP_METER_CALLBACK;
	while (n--) hp->meter_end(hp->meter_begin(site), site);
}
static void metered_launches(uint32_t first, uint32_t n) { for (uint32_t i = 0; i < n; i++) metered_launch(first + i, 1, 0); }
static void returned(uint64_t c, uint32_t f) { vendor->launched(c, f); }
static void stream_of(uint64_t c, uint64_t f, uint64_t s, uint32_t result, const char *name) { vendor->returned(c, f, s, result, name); }
static void copies(uint64_t c) { vendor->work(c); }
static void graph_launch(uint64_t c) { vendor->graph_launch(c, 1); }
static void node_created(uint32_t g, uint64_t n) { vendor->node_created(g, n); }
static void node_cloned(uint64_t e, uint64_t n, uint64_t o) { vendor->node_cloned(e, n, o); }
static void graph_destroyed(uint64_t g) { vendor->graph_destroyed(g); }
static void exec_destroyed(uint64_t e) { vendor->exec_destroyed(e); }
static void capture(int d) { vendor->capture(d); }
static int own_work(int on) { return hp->own_work(on); }
static uint64_t last_correlation(void) { return hp->last_correlation(); }
static int last_launch(uint64_t after, struct hp_record *out) { return hp->last_launch(after, out); }

struct leaf { uint32_t node, pynode, set; };
static struct leaf leaf_now(void) { struct leaf at; hp->leaf(&at.node, &at.pynode, &at.set); return at; }
static struct leaf leaf_begin(void) { struct leaf at; hp->leaf_begin(&at.node, &at.pynode, &at.set); return at; }
static void leaf_end(void) { hp->leaf_end(); }
static int int_at(struct leaf at, const char *s, int64_t v) { return hp->metric_at(at.node, at.pynode, at.set, name(s), HP_INT, (uint64_t)v); }

static void *add(void *p) {
	uint32_t number = name("number"), additions = name("additions");
	for (uint32_t i = 0, n = *(uint32_t *)p; i < n; i++) {
		struct leaf at = leaf_now();
		hp->metric_at(at.node, at.pynode, at.set, number, HP_INT, at.set);
		hp->metric_at(at.node, at.pynode, at.set, additions, HP_INT, 1);
	}
	return NULL;
}

// Each thread adds the number of the launch set to a metric, and 1 to another; all at once.
static void adders(int n, uint32_t each) {
	pthread_t *t = calloc(n, sizeof *t);
	for (int i = 0; i < n; i++) pthread_create(&t[i], NULL, add, &each);
	for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
	free(t);
}

struct job { uint32_t first, count; const char *scope; };
enum { WIDE = 97, SHARED = 32 };

// A cache of frame names that threads share, as they share that of Python's hooks under the GIL. It has room for a third of
// the names.
static pthread_mutex_t gil = PTHREAD_MUTEX_INITIALIZER;
static struct shared { uint32_t id, number; } shared[SHARED];

static struct hp_token enter_shared(uint32_t number) {
	char text[16];
	pthread_mutex_lock(&gil);
	struct shared *s = &shared[number % SHARED];
	if (!s->id || s->number != number) {
		s->number = number;
		hp->frame_name_in(&s->id, text, (size_t)sprintf(text, "shared %02u", number));
	}
	struct hp_token t = hp->scope_enter(s->id);
	pthread_mutex_unlock(&gil);
	return t;
}

// A launch is in two scopes that are named after parts of its number, and in a scope, a state and an op with names that no other
// launch has.
static void *wander(void *p) {
	uint32_t names[WIDE];
	char text[32];
	for (uint32_t i = 0; i < WIDE; i++) sprintf(text, "kept %02u", i), names[i] = name(text);
	struct job *j = p;
	for (uint32_t i = j->first; i < j->first + j->count; i++) {
		struct hp_token a = hp->scope_enter(names[i / WIDE % WIDE]);
		struct hp_token b = enter_shared(i % WIDE);
		sprintf(text, "scope %u", i);
		struct hp_token c = enter(text);
		sprintf(text, "state %u", i), state(text);
		sprintf(text, "op %u", i), op(text, 1);
		if (i % 16 == 0) sched_yield();
		vendor->launch(i, 1);
		state(NULL);
		hp->scope_exit(c), hp->scope_exit(b), hp->scope_exit(a);
		if (i % 64 == 0) sched_yield();
	}
	return NULL;
}

static void use(const void *api, const void *vendor_api) {
	hp = api, vendor = vendor_api;
	hp->hold_names(cells, sizeof *cells, CELLS);
	hp->hold_names(&shared[0].id, sizeof *shared, SHARED);
}

static void wanderers(int n, uint32_t each) {
	pthread_t *t = calloc(n, sizeof *t);
	struct job *jobs = calloc(n, sizeof *jobs);
	for (int i = 0; i < n; i++) {
		jobs[i] = (struct job){i * each, each, ""};
		pthread_create(&t[i], NULL, wander, &jobs[i]);
	}
	for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
	free(t), free(jobs);
}

static uint32_t walk_result;
static uint32_t walk(void) { return walk_result; }
static uint32_t child(uint32_t p, const char *s) { return hp->child(p, name(s), 0); }
static void walker(uint32_t path) { walk_result = path; hp->set_python_walker(walk); }

static void *work(void *p) {
	struct job *j = p;
	struct hp_token t = {0, 0};
	if (j->scope[0]) t = enter(j->scope);
	for (uint32_t i = 0; i < j->count; i++) vendor->launch(j->first + i, 1);
	if (j->scope[0]) leave(t);
	return NULL;
}

// Each thread enters its scope and launches; all run at once.
static void threads(struct job *jobs, int n) {
	pthread_t *t = calloc(n, sizeof *t);
	for (int i = 0; i < n; i++) pthread_create(&t[i], NULL, work, &jobs[i]);
	for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
	free(t);
}

static void tagged(uint32_t first, uint32_t n) { for (uint32_t i = 0; i < n; i++) hp->tag_launch(7, 1), vendor->launch(first + i, 1); }
static void launches(uint32_t first, uint32_t n) { for (uint32_t i = 0; i < n; i++) vendor->launch(first + i, 1); }
static void scopes(uint32_t nm, uint32_t n) { for (uint32_t i = 0; i < n; i++) hp->scope_exit(hp->scope_enter(nm)); }
static void metrics(uint32_t nm, uint32_t n) { for (uint32_t i = 0; i < n; i++) hp->metric_int(nm, 1); }

// A buffer whose reading makes the next one full, as long as there are some to fill.
static _Atomic uint32_t to_fill;
static int fill_next(uint8_t *memory, size_t valid, void **cursor, struct hp_activity *out, int max) {
	size_t size;
	uint8_t *b = to_fill ? vendor->buffer_get(&size) : NULL;
	if (!b) return 0;
	to_fill--;
	vendor->buffer_done(b, 0, fill_next);
	(void)memory, (void)valid, (void)cursor, (void)out, (void)max;
	return 0;
}

static void fill_buffers(uint32_t n) {
	to_fill = n;
	fill_next(NULL, 0, NULL, NULL, 0);
}
static uint32_t left_to_fill(void) { return to_fill; }

// Passes a buffer of activities to the drainer, as a vendor room does.
static int deliver(const void *activities, size_t length) {
	size_t size;
	uint8_t *b = vendor->buffer_get(&size);
	if (!b || length > size) return 0;
	memcpy(b, activities, length);
	vendor->buffer_done(b, length, NULL);
	return 1;
}

static uint8_t *held;
static size_t held_size;

// Takes a buffer as the vendor library would, and begins records in it.
static int hold_buffer(void) {
	held = vendor->buffer_get(&held_size);
	if (held) held[0] = 1;
	return held != NULL;
}
static void write_held(size_t at, uint8_t value) { held[at] = value; }
static void return_held(void) { memset(held, 0, held_size), vendor->buffer_done(held, 0, NULL); }

// Takes buffers and keeps them, as a library that ends without returning them.
static int keep_buffers(int n) {
	size_t size;
	int got = 0;
	while (got < n && vendor->buffer_get(&size)) got++;
	return got;
}

// What a forked child can still do: 0 when every call came back and did nothing.
static int fork_and_use(void) {
	pid_t pid = fork();
	if (pid == 0) {
		struct hp_token t = enter("child");
		launch(1, 1);
		int active = hp->active();
		metric_int("m", 1);
		leave(t);
		_exit(t.node || active ? 1 : 0);
	}
	int status = -1;
	waitpid(pid, &status, 0);
	return status;
}
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/figures"
)

func init() { C.use(hotpath.API(), hotpath.VendorAPI()) }

// Token closes a scope that Enter opened.
type Token C.struct_hp_token

func cstr(s string, f func(*C.char)) {
	c := C.CString(s)
	defer C.free(unsafe.Pointer(c))
	f(c)
}

// Enter opens a scope on the calling thread.
func Enter(s string) (t Token) {
	cstr(s, func(c *C.char) { t = Token(C.enter(c)) })
	return t
}

// EnterNamed opens a scope whose name is the id of a text, as frames of PyTorch are.
func EnterNamed(s string) Token { return Token(C.enter_named(C.uint32_t(hotpath.Intern(s)))) }

// Leave closes a scope; the zero Token closes the innermost. It returns the hot path's status.
func Leave(t Token) int { return int(C.leave(C.struct_hp_token(t))) }

// State enters a state, or with "" leaves the innermost.
func State(s string) (rc int) {
	if s == "" {
		return int(C.state(nil))
	}
	cstr(s, func(c *C.char) { rc = int(C.state(c)) })
	return rc
}

// Op opens an op that closes itself at the launch of function, if that is not 0.
func Op(s string, function uint64) { cstr(s, func(c *C.char) { C.op(c, C.uint64_t(function)) }) }

// OpExit closes the op.
func OpExit() { C.op_exit() }

// Int and Float add to a metric of the current leaf and return the hot path's status.
func Int(s string, v int64) (rc int) {
	cstr(s, func(c *C.char) { rc = int(C.metric_int(c, C.int64_t(v))) })
	return rc
}

// Float is Int for floating-point values.
func Float(s string, v float64) (rc int) {
	cstr(s, func(c *C.char) { rc = int(C.metric_double(c, C.double(v))) })
	return rc
}

// Launch is the ENTER callback of a launch.
func Launch(corr uint64, function uint64) { C.launch(C.uint64_t(corr), C.uint64_t(function)) }

// MeteredLaunch is Launch by a room that measures its callbacks, within a hook or not.
func MeteredLaunch(corr uint64, function uint64, withinHook bool) {
	C.metered_launch(C.uint64_t(corr), C.uint64_t(function), figures.OneIf[C.int](withinHook))
}

// MeteredLaunches is n MeteredLaunch, outside of hooks.
func MeteredLaunches(first, n uint32) { C.metered_launches(C.uint32_t(first), C.uint32_t(n)) }

// Sections are n callbacks of a room that measures them, or n calls of a hook, that do nothing.
func Sections(hook bool, n uint32) {
	C.sections(figures.OneIf[C.int](hook), C.uint32_t(n))
}

// Tag sets the launch kind of the next launch of a function.
func Tag(tag uint32, function uint64) { C.tag(C.uint32_t(tag), C.uint64_t(function)) }

// Launched is the EXIT callback of a launch.
func Launched() { C.launched() }

// StreamOf reports that a launch of a watched program returns, with the handle of its stream, the driver's result and the kernel's name.
func StreamOf(corr, function, stream uint64, result uint32, kernel string) {
	cstr(kernel, func(c *C.char) {
		C.stream_of(C.uint64_t(corr), C.uint64_t(function), C.uint64_t(stream), C.uint32_t(result), c)
	})
}

// Returned is the EXIT callback of a call of the vendor's function with that number; Work the ENTER of a copy.
func Returned(corr uint64, call uint32) { C.returned(C.uint64_t(corr), C.uint32_t(call)) }

// Work is described with Returned.
func Work(corr uint64) { C.copies(C.uint64_t(corr)) }

// OwnWork says whether what the thread does is the profiler's own; it returns what it was before.
func OwnWork(on bool) (before bool) {
	return C.own_work(figures.OneIf[C.int](on)) != 0
}

// LastCorrelation is the id of the thread's last launch or work.
func LastCorrelation() uint64 { return uint64(C.last_correlation()) }

// LastLaunch is the record of the thread's last launch; false if none came after that one.
func LastLaunch(after uint64) (r hotpath.Record, ok bool) {
	ok = C.last_launch(C.uint64_t(after), (*C.struct_hp_record)(unsafe.Pointer(&r))) != 0
	return r, ok
}

// GraphLaunch is the ENTER callback of a graph's launch.
func GraphLaunch(corr uint64) { C.graph_launch(C.uint64_t(corr)) }

// NodeCreated reports a kernel node.
func NodeCreated(graph uint32, node uint64) { C.node_created(C.uint32_t(graph), C.uint64_t(node)) }

// GraphDestroyed reports that a graph is gone, ExecDestroyed that an executable one is.
func GraphDestroyed(graph uint64) { C.graph_destroyed(C.uint64_t(graph)) }

// ExecDestroyed is described with GraphDestroyed.
func ExecDestroyed(exec uint64) { C.exec_destroyed(C.uint64_t(exec)) }

// NodeCloned reports a node that was copied into an executable graph.
func NodeCloned(exec, node, original uint64) {
	C.node_cloned(C.uint64_t(exec), C.uint64_t(node), C.uint64_t(original))
}

// Capture begins (+1) or ends (-1) a stream capture.
func Capture(delta int) { C.capture(C.int(delta)) }

// Python sets the call path that the python walker will return, outermost frame first.
func Python(frames ...string) {
	path := C.uint32_t(0)
	for _, f := range frames {
		cstr(f, func(c *C.char) { path = C.child(path, c) })
	}
	C.walker(path)
}

// Job is what one thread does: enter a scope ("" = none) and launch Count kernels from correlation id First.
type Job struct {
	First, Count uint32
	Scope        string
}

// Threads runs the jobs on threads of their own, all at once.
func Threads(jobs []Job) {
	mem := (*C.struct_job)(C.calloc(C.size_t(len(jobs)), C.sizeof_struct_job))
	defer C.free(unsafe.Pointer(mem))
	for i, c := range unsafe.Slice(mem, len(jobs)) {
		c.first, c.count, c.scope = C.uint32_t(jobs[i].First), C.uint32_t(jobs[i].Count), C.CString(jobs[i].Scope)
		defer C.free(unsafe.Pointer(c.scope))
		unsafe.Slice(mem, len(jobs))[i] = c
	}
	C.threads(mem, C.int(len(jobs)))
}

// Launches, Scopes and Metrics repeat one call n times in C, for benchmarks.
func Launches(first, n uint32) { C.launches(C.uint32_t(first), C.uint32_t(n)) }

// TaggedLaunches is Launches with a tag for each.
func TaggedLaunches(first, n uint32) { C.tagged(C.uint32_t(first), C.uint32_t(n)) }

// Scopes enters and leaves one scope n times.
func Scopes(s string, n int) { C.scopes(C.uint32_t(hotpath.Intern(s)), C.uint32_t(n)) }

// Metrics adds 1 to one metric n times.
func Metrics(s string, n int) { C.metrics(C.uint32_t(hotpath.Intern(s)), C.uint32_t(n)) }

// Leaf is a place to which metrics can be added later.
type Leaf C.struct_leaf

// LeafNow is the current leaf of the calling thread, IntAt adds to a metric of a leaf and returns the hot path's status.
func LeafNow() Leaf { return Leaf(C.leaf_now()) }

// IntAt is described with LeafNow.
func IntAt(at Leaf, s string, v int64) (rc int) {
	cstr(s, func(c *C.char) { rc = int(C.int_at(C.struct_leaf(at), c, C.int64_t(v))) })
	return rc
}

// LeafBegin is LeafNow for a leaf that is used until LeafEnd.
func LeafBegin() Leaf { return Leaf(C.leaf_begin()) }

// LeafEnd is described with LeafBegin.
func LeafEnd() { C.leaf_end() }

// Adders has threads of their own add, each times, the number of the launch set to the metric "number" and 1 to the metric
// "additions".
func Adders(threads, each int) { C.adders(C.int(threads), C.uint32_t(each)) }

// NodeOf is the call path of a leaf in scopes.
func NodeOf(at Leaf) uint32 { return uint32(at.node) }

// Wanderers has threads launch each times, every launch in a scope, a state and an op of its own. Wandered is the path of a launch.
func Wanderers(threads, each int) { C.wanderers(C.int(threads), C.uint32_t(each)) }

// Wandered is described with Wanderers.
func Wandered(launch uint64) string {
	const wide = C.WIDE
	return fmt.Sprintf("kept %02d > shared %02d > scope %d > state %d > op %d", launch/wide%wide, launch%wide, launch, launch, launch)
}

// Deliver fills an activity buffer of the pool and passes it to the drainer. It reports whether there was one with enough room.
func Deliver(activities []hotpath.Activity) bool {
	length := len(activities) * int(unsafe.Sizeof(hotpath.Activity{}))
	return C.deliver(unsafe.Pointer(unsafe.SliceData(activities)), C.size_t(length)) != 0
}

// FillBuffers makes n buffers full, the first at once and each other one when that before it is read. LeftToFill is how many are not full yet.
func FillBuffers(n int) { C.fill_buffers(C.uint32_t(n)) }

// LeftToFill is described with FillBuffers.
func LeftToFill() int { return int(C.left_to_fill()) }

// HoldBuffer takes an activity buffer from the pool and begins a record in its first byte. WriteHeld writes to it;
// ReturnHeld returns it as full.
func HoldBuffer() bool             { return C.hold_buffer() != 0 }
func WriteHeld(at int, value byte) { C.write_held(C.size_t(at), C.uint8_t(value)) }
func ReturnHeld()                  { C.return_held() }

// KeepBuffers takes up to n buffers, never gives them back, and returns how many it got.
func KeepBuffers(n int) int { return int(C.keep_buffers(C.int(n))) }

// ForkAndUse forks and has the child call everything; it returns the child's wait status, 0 for success.
func ForkAndUse() int { return int(C.fork_and_use()) }
