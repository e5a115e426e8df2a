// Package hotpath holds what scopes and launches run on the application's threads: C that keeps each thread's
// open scopes, states and current op as one interned call-path id, and a ring per thread into which a
// launch stores one 40-byte record. It takes no lock, allocates nothing and does not enter Go, unless a scope opens or closes a gate (gate.go).
//
// The Go functions are for the drainer and the sessions: they publish which sessions are active, read rings and activities in
// batches, and resolve ids. The C of other rooms reaches the hot path through tables of function pointers: API for hooks and
// programs, VendorAPI for vendors.
package hotpath

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -Wextra -Wno-unused-parameter
#include "buffer.h"
#include "context.h"
#include "control.h"
#include "hotpath.h"
#include "launch.h"
#include "names.h"
#include "paths.h"
#include "reclaim.h"
#include "slots.h"
#include "vendor.h"
#include "wake.h"
*/
import "C"

import (
	"cmp"
	"errors"
	"slices"
	"time"
	"unsafe"

	"github.com/goproton/goproton/internal/figures"
)

// Record types and flags, as the C side writes them.
const (
	Launch         = C.HP_LAUNCH
	GraphLaunch    = C.HP_GRAPH_LAUNCH
	NodeCreated    = C.HP_NODE_CREATED
	NodeCloned     = C.HP_NODE_CLONED
	ExecDestroyed  = C.HP_EXEC_DESTROYED
	GraphDestroyed = C.HP_GRAPH_DESTROYED
	OpMetric       = C.HP_OP_METRIC
	LateMetric     = C.HP_LATE_METRIC

	Begin       = C.HP_BEGIN
	End         = C.HP_END
	CallEnd     = C.HP_CALL_END
	ThreadID    = C.HP_THREAD
	MetricAdded = C.HP_METRIC

	Waited       = C.HP_WAITED
	TensorMetric = C.HP_TENSOR_METRIC
	Returned     = C.HP_RETURNED
	Counter      = C.HP_COUNTER

	FlagOp       = C.HP_F_OP
	FlagDouble   = C.HP_F_DOUBLE
	FlagProperty = C.HP_F_PROPERTY
	FlagCaptured = C.HP_F_CAPTURED
	FlagTimed    = C.HP_F_TIMED
	FlagSeveral  = C.HP_F_SEVERAL
	FlagOwn      = C.HP_F_OWN
)

// Record is one ring entry, laid out as struct hp_record, whose unions it reads through methods. enum hp_type says which fields
// a record of each type has.
type Record struct {
	ID     uint64 // Correlation, Graph or Metric
	Word   uint64 // Function, Time, GraphNode, Value, Thread or Tensor
	Node   uint32
	PyNode uint32
	Set    uint32
	Op     uint32 // of CallEnd: Call; of Returned: the driver's result, 0 for none; of Waited: the interned name of the activity; of TensorMetric: how many elements
	Type   uint8
	Flags  uint8
	Tag    uint16 // number of the launch kind, 0 = not known; of Waited: the ordinal of the device
	Stream uint32 // of a launch, for activities without one; 0 = not known; of NodeCreated: Reads
}

// Correlation joins a call to its activities.
func (r *Record) Correlation() uint64 { return r.ID }

// Graph is the vendor's id of a graph, or of an executable one.
func (r *Record) Graph() uint64 { return r.ID }

// Metric is the interned raw name of a metric, Value the bits of what was added to it.
func (r *Record) Metric() uint32 { return uint32(r.ID) }

// Value is described with Metric.
func (r *Record) Value() uint64 { return r.Word }

// Function is the handle of what is launched; 0 in a record that has the time instead.
func (r *Record) Function() uint64 {
	if r.Flags&FlagTimed != 0 {
		return 0
	}
	return r.Word
}

// Time is when it happened, in ns since 1970. Records of type Waited have it, and others while some session wants a timeline.
func (r *Record) Time() uint64 { return r.Word }

// GraphNode is the vendor's id of a graph node, OriginalNode that of the node which it is a copy of.
func (r *Record) GraphNode() uint64 { return r.Word }

// Symbol is the interned name of the function that a launch named, 0 if it is not known.
func (r *Record) Symbol() uint32 { return r.Node }

// Reads is the number of the tensor metric that a graph node reads, 0 for none.
func (r *Record) Reads() uint32 { return r.Stream }

// Tensor is what a record of type TensorMetric has: the number of the metric, and the length of its vector, 0 if it is a number.
func (r *Record) Tensor() (number uint32, length int) { return uint32(r.Word), int(r.Op) }

// OriginalNode is described with GraphNode.
func (r *Record) OriginalNode() uint64 { return uint64(r.PyNode)<<32 | uint64(r.Node) }

// Counted is the value of a counter, whose name is Metric.
func (r *Record) Counted() uint64 { return r.OriginalNode() }

// Thread is the system's id of a thread.
func (r *Record) Thread() int64 { return int64(r.Word) }

// Call is the vendor's number of the function that returned.
func (r *Record) Call() uint32 { return r.Op }

// Wait is what a record of type Waited has: the interned name of the activity, the ordinal of the device, and the duration in ns.
func (r *Record) Wait() (name uint32, device uint16, nanos uint64) {
	return r.Op, r.Tag, r.OriginalNode()
}

// Node is one call-path node: its parent, its frame's name, and the scope set that sees it (0 = every session).
type Node struct{ Parent, Name, Set, Depth uint32 }

// Others is the tag of launch kinds without a number of their own.
const Others = C.HP_OTHERS

var (
	_ [unsafe.Sizeof(Activity{})]byte = [64]byte{}
	_ [unsafe.Sizeof(Record{})]byte   = [40]byte{}
	_ [unsafe.Sizeof(Node{})]byte     = [16]byte{}
	_ [unsafe.Sizeof(Slot{})]byte     = [32]byte{}
)

// Init reserves the hot path's memory. It may be called more than once.
func Init() error {
	if C.hp_init() == 0 {
		return errors.New("reserve address space for call paths: the system refused (is ulimit -v set? raise it or unset it)")
	}
	return nil
}

// API returns the table of functions (struct hp_api) that the C of hooks and programs calls.
func API() unsafe.Pointer { return unsafe.Pointer(C.hp_api()) }

// VendorAPI returns the table of functions (struct hp_vendor_api) that the C of vendor rooms calls.
func VendorAPI() unsafe.Pointer { return unsafe.Pointer(C.hp_vendor_api()) }

// AddVendor registers a vendor's struct hp_vendor, which has to stay for the life of the process.
func AddVendor(vendor unsafe.Pointer) {
	if C.hp_vendor_add((*C.struct_hp_vendor)(vendor)) == 0 {
		panic("BUG: more vendors than HP_VENDORS")
	}
}

// SessionBegins makes the calling thread's scopes the ones that other threads inherit. fresh forgets all
// call paths; it is only allowed while no session exists.
func SessionBegins(fresh bool) { C.hp_session_begins(boolint(fresh)) }

// InheritNothing ends the inheritance that SessionBegins began: threads without scopes stay without. It is for Go programs, where
// no thread is the main one: other threads would inherit the scopes of whatever goroutine the starting thread runs next.
func InheritNothing() { C.hp_inherit_nothing() }

// Listeners is what all active sessions together want. Without a launch set the hot path is off.
type Listeners struct {
	LaunchSet, ScopeSet uint32
	Shadow, Python      bool // which contexts
	Timeline            bool // time stamps, and records of the frames that open and close
}

// SetActive publishes to all threads what active sessions want.
func SetActive(l Listeners) {
	C.hp_set_active(C.uint32_t(l.LaunchSet), C.uint32_t(l.ScopeSet), boolint(l.Shadow), boolint(l.Python), boolint(l.Timeline))
}

// Watch has launches that fail, and the streams of the others, recorded when they return.
func Watch(on bool) { C.hp_watch(boolint(on)) }

// Leave has launches outside of sessions not recorded either, at the end of the process, until a session is active again.
func Leave() { C.hp_leave() }

// Now is the time on the hot path's clock, in ns since 1970.
func Now() uint64 { return uint64(C.hp_now()) }

func boolint(b bool) C.int { return figures.OneIf[C.int](b) }

// Drain passes every record that is ready to f, thread by thread and in order of recording, and returns how many there were. The
// slice is only valid during the call. thread identifies the ring. Of each thread it takes at most as many records as a ring
// holds: with one that records scopes faster than f takes them, it would otherwise not return.
func Drain(f func(thread uintptr, records []Record)) int {
	total := 0
	for _, thread := range inTurn() {
		t := thread.state
		for left := C.uint32_t(C.HP_RING); left > 0; {
			var first *C.struct_hp_record
			n := min(C.hp_ring_ready(t, &first), left)
			if n == 0 {
				break
			}
			f(uintptr(unsafe.Pointer(t)), unsafe.Slice((*Record)(unsafe.Pointer(first)), int(n)))
			C.hp_ring_taken(t, n)
			total += int(n)
			left -= n
		}
		C.hp_thread_retire(t)
	}
	return total
}

// inTurn returns the states with records to drain or whose thread has exited, in the order in which their threads were attached.
// A timeline numbers threads as they appear; with this order, the numbers do not depend on when the rings are drained.
func inTurn() (threads []threadTurn) {
	for t := C.hp_thread_due(C.hp_first_thread()); t != nil; t = C.hp_thread_due(t.next) {
		threads = append(threads, threadTurn{t, C.hp_thread_turn(t)})
	}
	slices.SortFunc(threads, func(a, b threadTurn) int { return cmp.Compare(a.turn, b.turn) })
	return threads
}

// threadTurn is the state of a thread with a copy of its turn: another thread may take over the state while the list is sorted.
type threadTurn struct {
	state *C.struct_hp_thread
	turn  C.uint32_t
}

// Threads returns how many states of threads there are, including those that no thread has at the moment.
func Threads() int {
	n := 0
	for t := C.hp_first_thread(); t != nil; t = t.next {
		n++
	}
	return n
}

// OthersLive reports whether a thread other than the calling one has launched something or opened a scope, and still runs.
func OthersLive() bool { return C.hp_others_live() != 0 }

// Lives reports whether the calling thread has launched something or opened a scope.
func Lives() bool { return C.hp_lives() != 0 }

// Lost returns how many records, call paths, names and metric slots found no room since the process started.
func Lost() uint64 { return uint64(C.hp_lost_records()) }

// BuffersRefused returns how often an activity buffer could not be provided.
func BuffersRefused() uint64 { return uint64(C.hp_buffers_refused()) }

// Capturing reports whether some stream is being captured.
func Capturing() bool { return C.hp_capturing() != 0 }

// Wait sleeps until Kick is called, in Go or in C, or the time is over.
func Wait(d time.Duration) { C.hp_wait(C.uint(d / time.Millisecond)) }

// Kick ends a Wait.
func Kick() { C.hp_kick() }

// Nodes returns the arena of call-path nodes; index 0 is the root. A node changes only when its id is reused after reclaiming.
func Nodes() []Node {
	var n C.uint32_t
	p := C.hp_nodes(&n)
	return unsafe.Slice((*Node)(unsafe.Pointer(p)), int(n))
}

// Text returns the text of an interned name.
func Text(id uint32) string {
	var n C.size_t
	p := C.hp_text(C.uint32_t(id), &n)
	return C.GoStringN(p, C.int(n))
}

// Intern returns the id of a text.
func Intern(s string) uint32 {
	return uint32(C.hp_intern((*C.char)(unsafe.Pointer(unsafe.StringData(s))), C.size_t(len(s))))
}

// Contexts returns the GPU contexts that launched something and still exist.
func Contexts() []unsafe.Pointer {
	var out [C.HP_CONTEXTS]unsafe.Pointer
	n := C.hp_contexts(&out[0])
	return append([]unsafe.Pointer(nil), out[:n]...)
}

// ForgetContexts forgets all contexts. Call it when the vendor's library no longer reports which of them still exist.
func ForgetContexts() { C.hp_contexts_forget() }

// OnFirstLaunch has a C function void(void) called once, on the thread that first launches something.
func OnFirstLaunch(f unsafe.Pointer) { C.hp_on_first_context((*[0]byte)(f)) }

// DiscardBuffers has full buffers emptied at once instead of kept for TakeBuffer, while there is no drainer.
func DiscardBuffers(on bool) { C.hp_buffers_discard(boolint(on)) }

// MarkBuffers remembers how far each buffer that the vendor library holds is filled.
func MarkBuffers() { C.hp_buffers_mark() }

// MarkedBuffers is a checksum of the bytes that were filled at MarkBuffers, of the buffers that the vendor library still holds.
// The library completes records in place, so the checksum changes when the GPU finishes something, and not with new launches.
func MarkedBuffers() uint64 { return uint64(C.hp_buffers_marked()) }

// ReclaimBuffers takes back buffers that the vendor library did not return before it was detached: otherwise some hundred
// sessions could use up the pool.
func ReclaimBuffers() { C.hp_buffers_reclaim() }

// PrepareBuffers makes sure that n activity buffers are ready to be lent, with their pages faulted in.
func PrepareBuffers(n int) { C.hp_buffers_prepare(C.int(n)) }

// BuffersInUse is how many activity buffers the vendor's library or the drainer has.
func BuffersInUse() int { return int(C.hp_buffers_in_use()) }

// BuffersDue reports whether the vendor's library should be asked for its buffers, because it has many, or those of threads that have ended. The
// caller asks it.
func BuffersDue() bool {
	due := C.hp_buffers_due() != 0
	if due {
		C.hp_buffers_asked()
	}
	return due
}

// TrimBuffers gives memory of free activity buffers back to the system, so that n of all keep theirs, or those in use if they are more.
func TrimBuffers(n int) { C.hp_buffers_trim(C.int(n)) }
