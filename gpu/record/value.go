package record

// Value is one element of a tensor that a graph node has read at one replay.
type Value struct {
	Check  uint64 // of no use outside the source
	Number uint32 // of the tensor metric
	Index  uint32 // of the element
	Stamp  uint64 // when the node began, in ns of the GPU's clock
	Bits   uint64 // an int64, or a float64, as the metric has it
}
