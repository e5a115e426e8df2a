// Package chrometrace writes and reads .chrome_trace files: timelines as Chrome's trace event JSON, which
// Perfetto, chrome://tracing and Triton's Proton speak. docs/formats.md describes the file field by field.
//
// The Writer takes a timeline piece by piece in the memory of one buffer, so that a collector can stream into it
// for hours. The reader takes our files, those of Triton's Proton (main's, and 3.6's one document per stream),
// and, as far as they hold slices, those of torch.profiler and others.
package chrometrace

// Lanes are threads of the trace; upstream keeps their ids in bands, and so do we.
const (
	firstThread = 0
	firstGraph  = 100_000
	firstStream = 200_000
	firstWarp   = 300_000
	bandWidth   = 100_000
)

// overlapOf is the argument of a thread that has slices of another one, those that overlap: the id of that other one.
const overlapOf = "overlap"
