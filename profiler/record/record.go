// Package record holds the nouns of collection: what a vendor room hands up after decoding, in units and
// names that no vendor owns. It imports nothing of ours.
package record

// Kernel is one kernel that ran, or, when Graph is set, one whole graph that was timed as a unit.
// Times are nanoseconds on the collector's clock; Start == End == 0 means that no time could be taken.
type Kernel struct {
	Name        string // as the compiler mangled it; "" for a whole graph
	Start, End  uint64
	Correlation uint32 // joins the kernel to the launch that asked for it
	Device      uint32 // ordinal within the process
	Context     uint32
	Stream      uint32
	GraphID     uint32 // executable graph the kernel belongs to; 0 = launched on its own
	GraphNode   uint64
	Graph       bool
}

// Timed reports whether the record carries a usable time.
func (k *Kernel) Timed() bool { return k.End > k.Start }

// Duration returns the kernel's time in nanoseconds.
func (k *Kernel) Duration() uint64 { return k.End - k.Start }
