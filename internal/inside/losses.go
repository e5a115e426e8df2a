package inside

// Losses counts what a launch's buffer does not say, or does not say for sure. Losses of several launches add up.
type Losses struct {
	NotStarted uint64 // slots of blocks that never ran, or that hold what an older launch left
	Unfinished uint64 // blocks that did not reach their end
	Invalid    uint64 // slots whose numbers contradict each other
	Missing    uint64 // slots that the buffer is too short for

	Overwritten uint64 // entries that younger ones have overwritten in a full ring
	FullRings   uint64 // rings that were full
	Need        uint64 // bytes of rings per block that would have held everything; 0 if nothing was overwritten

	Starts  uint64 // starts without an end
	Ends    uint64 // ends without a start, other than those whose start was overwritten
	Unknown uint64 // pairs of scopes that the kernel's table does not have
	Torn    uint64 // clocks whose halves were read on both sides of a carry, and that were repaired
	Unsure  uint64 // pairs whose length may be off by a multiple of 2^32 cycles: 32-bit clocks in a block of more than 2 s
	Broken  uint64 // pairs left out: their clocks cannot be those of one block
}

// Add adds the losses of another launch.
func (l *Losses) Add(o *Losses) {
	l.NotStarted += o.NotStarted
	l.Unfinished += o.Unfinished
	l.Invalid += o.Invalid
	l.Missing += o.Missing
	l.Overwritten += o.Overwritten
	l.FullRings += o.FullRings
	l.Need = max(l.Need, o.Need)
	l.Starts += o.Starts
	l.Ends += o.Ends
	l.Unknown += o.Unknown
	l.Torn += o.Torn
	l.Unsure += o.Unsure
	l.Broken += o.Broken
}

// Any reports whether there is a loss that a reader of the numbers has to know: repaired clocks are none.
func (l *Losses) Any() bool {
	rest := *l
	rest.Torn = 0
	return rest != Losses{}
}
