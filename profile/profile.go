// Package profile defines a profile: a tree of call paths with metrics, the devices that it was recorded on, facts of the run,
// and, where they were recorded, a timeline, instruction samples and traced launches.
//
// The profiler builds profiles, the packages below this one read and write them, one per file format, and package viewer shows
// them. Package profile/formats reads a file of any format:
//
//	p, err := formats.ReadFile("run.hatchet")
//	if err != nil {
//		return err
//	}
//	p.Root.Walk(func(n *profile.Node, depth int) bool {
//		if v, ok := n.Metric(profile.TimeMetric); ok {
//			fmt.Println(n.Name, v.Int())
//		}
//		return true
//	})
//
// This package imports none of GoProton's others and knows no format and no vendor. Its API is promised, see CONTRIBUTING.md.
package profile

import (
	"errors"
	"fmt"
	"math"
)

// Limits that all formats share. Readers refuse what is beyond them. Writers add up frames that are deeper than MaxDepth in the
// last one above them, and of a frame with more than MaxMetrics metrics they write the first; the file's InfoIncomplete says so.
const (
	// MaxDepth is how many frames a call path in a file has at most, the root included. The deepest real ones are Python's
	// recursion limit of 1000 and some scopes. Codecs recurse, and ten thousand levels are far from the end of the stack.
	MaxDepth = 10_000

	// MaxMetrics is how many metrics a node of a file has at most. Metrics are looked up one by one, so without a limit a
	// hostile file could keep a reader busy for hours. Upstream's fullest node has 24.
	MaxMetrics = 4096
)

// Profile is one collected profile: a tree, what is known of the devices and of the run, and, where it was
// recorded, what happened when.
type Profile struct {
	Root     *Node
	Kinds    Kinds
	Devices  []Device
	Info     Info
	Timeline *Timeline // nil in a profile that has sums only
	Sampling *Sampling // nil in a profile without instruction samples

	Launches []LaunchKind // the kinds that Node.Launches refers to; nil in a profile of a run that was not traced

	// Rounded counts the integers of the file that the profile was read from which a Value does not hold, most of them
	// beyond 63 bits. Each is the nearest float.
	Rounded int

	// Shown is the metric that the program which wrote the file shows if none is asked for; "" if the file does not say. Writers do not
	// keep it.
	Shown string
}

// Info are facts of the run that made a profile: which process of which machine, when. Keys are lower case.
type Info map[string]string

// Keys of Info that every reader knows. Numbers are decimal.
const (
	InfoName  = "name"  // of the session
	InfoHost  = "host"  // host name
	InfoPID   = "pid"   // process id
	InfoRank  = "rank"  // of a distributed run, 0 to world size - 1
	InfoWorld = "world" // number of ranks
	InfoStart = "start" // when the session started, in ns since 1970
	InfoEnd   = "end"   // until when was recorded: when the session was deactivated, else when the profile was made, in ns since 1970
	InfoTool  = "tool"  // what recorded it: "goproton 0.1", "triton"
	InfoTrace = "trace" // folder of the TritonParse trace of the same run, as the user gave it

	InfoLauncher = "launcher" // what started the ranks: "torchrun", "Open MPI", "Slurm"
	InfoRestart  = "restart"  // how often the launcher had started this rank before
	InfoRequeue  = "requeue"  // how often the scheduler had started the job before
	InfoRanks    = "ranks"    // of a merged profile: "0-7", and further attempts: "0-7; restart 1: 0-3"
	InfoJob      = "job"      // what the launcher calls the run

	InfoWindows = "windows" // of a session that did not record all the time: how many recording windows, and what opened and closed them

	InfoWindowEnd = "window_end" // of a window that is pushed, which begins at its start, in ns since 1970; its end is when it was made

	InfoBudget    = "budget"    // a sentence on the share of the program's time that the profiler was to take, and took
	InfoEstimated = "estimated" // a sentence on the windows in which kernels were timed, of a profile with a budget whose sums are estimates
	InfoThinned   = "thinned"   // a sentence on launches whose call path was not taken, of a profile with a budget
	InfoSampled   = "sampled"   // a sentence on the part of the time in which instructions were sampled, of a profile in which it is not all

	InfoCounters = "counters" // a sentence on what was measured with hardware counters, and on what was left out

	InfoReplay    = "replay"    // file name of the capture that was played, of a profile of a replay
	InfoSynthetic = "synthetic" // a sentence that says that no GPU was measured, of a replay of such a capture

	InfoNote       = "note"       // a sentence on what a reader could not make sense of
	InfoIncomplete = "incomplete" // a sentence on what is missing, from a reader that could not read all of a file
)

// Node is one frame of a call path with the metrics that were recorded at exactly that path.
// A node's own values do not include its children's: inclusive sums are the reader's business. The exception are times from a scope's
// begin to its end (viewer.Spans).
type Node struct {
	Name     string
	Metrics  []Metric          // in order of first recording; names are unique
	Children []*Node           // in chronological order of first appearance
	Times    *Sketch           // how long the kernels at exactly this path ran, in ns; nil when it was not collected
	Samples  []FunctionSamples // of the kernels at exactly this path; nil without instruction sampling
	Inside   *Inside           // of instrumented kernels and the scopes inside of them; nil elsewhere
	Launches []LaunchTimes     // of the traced launches at exactly this path, in order of kind and device; nil without a trace
}

// Metric is one named value of a node. The unit, if any, is in the name: "time (ns)", "cpu_time (ns)".
type Metric struct {
	Name  string
	Value Value
}

// Kind says how a metric's values combine along the tree.
type Kind uint8

const (
	Exclusive Kind = iota // additive over runs, but not shown summed over a subtree
	Inclusive             // additive; a parent's shown value is the sum over its subtree
	Property              // not additive: the last value at a node stands (device_id, device_type, "(pty)" metrics)
)

var kindWords = [...]string{Exclusive: "exclusive", Inclusive: "inclusive", Property: "property"}

// String is the word that files have for a kind; "" for a number that is none.
func (k Kind) String() string {
	if int(k) >= len(kindWords) {
		return ""
	}
	return kindWords[k]
}

// ParseKind is the reverse of String.
func ParseKind(word string) (k Kind, ok bool) {
	for k, w := range kindWords {
		if w == word {
			return Kind(k), true
		}
	}
	return 0, false
}

// Kinds holds the kind of every metric name in a profile. A name that is missing is Exclusive.
type Kinds map[string]Kind

// Device is one GPU that produced records. Clocks are in kHz, the bus width in bits. In JSON it is its facts, by the names below.
type Device struct {
	Type            string `json:"-"`    // "CUDA", "HIP"
	ID              string `json:"-"`    // ordinal within the process
	Arch            string `json:"arch"` // "90", "gfx942"
	BusWidth        int64  `json:"bus_width"`
	ClockRate       int64  `json:"clock_rate"`
	MemoryClockRate int64  `json:"memory_clock_rate"`
	NumSMs          int64  `json:"num_sms"`
	Name            string `json:"name,omitempty"` // the board's product name, "NVIDIA H200"; "" where it was not recorded
}

// Facts of a device, as files call them. DeviceArch and DeviceName are texts, the others numbers.
const (
	DeviceArch            = "arch"
	DeviceBusWidth        = "bus_width"
	DeviceClockRate       = "clock_rate"
	DeviceMemoryClockRate = "memory_clock_rate"
	DeviceNumSMs          = "num_sms"
	DeviceName            = "name"
)

// Number returns where a fact that is a number is kept, by its name in files; nil for any other name.
func (d *Device) Number(fact string) *int64 {
	switch fact {
	case DeviceBusWidth:
		return &d.BusWidth
	case DeviceClockRate:
		return &d.ClockRate
	case DeviceMemoryClockRate:
		return &d.MemoryClockRate
	case DeviceNumSMs:
		return &d.NumSMs
	}
	return nil
}

// Text returns where a fact that is a text is kept, by its name in files; nil for any other name.
func (d *Device) Text(fact string) *string {
	switch fact {
	case DeviceArch:
		return &d.Arch
	case DeviceName:
		return &d.Name
	}
	return nil
}

// Child returns the child with that name, or nil.
func (n *Node) Child(name string) *Node {
	for _, c := range n.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Made returns the child with that name, and makes it if there is none.
func (n *Node) Made(name string) *Node {
	c := n.Child(name)
	if c == nil {
		c = &Node{Name: name}
		n.Children = append(n.Children, c)
	}
	return c
}

// Metric returns the value of a metric and whether the node has it.
func (n *Node) Metric(name string) (Value, bool) {
	for i := range n.Metrics {
		if n.Metrics[i].Name == name {
			return n.Metrics[i].Value, true
		}
	}
	return Value{}, false
}

// Number returns a metric that is a number; NaN for others, and if the node has none of that name.
func (n *Node) Number(name string) float64 {
	for i := range n.Metrics {
		if m := &n.Metrics[i]; m.Name == name {
			if f, ok := m.Value.Float(); ok {
				return f
			}
			break
		}
	}
	return math.NaN()
}

// Set stores a metric, replacing a value of the same name.
func (n *Node) Set(name string, v Value) {
	for i := range n.Metrics {
		if n.Metrics[i].Name == name {
			n.Metrics[i].Value = v
			return
		}
	}
	n.Metrics = append(n.Metrics, Metric{name, v})
}

// Walk calls visit for n and every node below it, parents first and children in order. A node whose visit
// returns false keeps its subtree unvisited. It does not recurse, so a tree of any depth is safe to walk.
func (n *Node) Walk(visit func(n *Node, depth int) bool) {
	type step struct {
		node  *Node
		depth int
	}
	pending := []step{{n, 0}}
	for len(pending) > 0 {
		s := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if !visit(s.node, s.depth) {
			continue
		}
		for i := len(s.node.Children) - 1; i >= 0; i-- {
			pending = append(pending, step{s.node.Children[i], s.depth + 1})
		}
	}
}

// Any reports whether something holds for n or a node below it.
func (n *Node) Any(holds func(n *Node) bool) (found bool) {
	n.Walk(func(n *Node, _ int) bool {
		found = found || holds(n)
		return !found
	})
	return found
}

// Device returns the device with that type and ordinal, or nil.
func (p *Profile) Device(typ, id string) *Device {
	for i := range p.Devices {
		if d := &p.Devices[i]; d.Type == typ && d.ID == id {
			return d
		}
	}
	return nil
}

// FormatError says where and why a file is not in the format that it was read as.
type FormatError struct {
	Offset int64 // of the byte that could not be understood, from 0, after decompression
	Reason string
	Cut    bool // the file ended there; what comes before may be of use
}

func (e *FormatError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Reason) }

// ErrNoTimeline says that a profile has sums only, from which a format of timelines cannot be written.
var ErrNoTimeline = errors.New("this profile has no timeline; record one with proton run --data timeline")
