// Package literal reads and writes hatchet literals: trees as Python source, which ast.literal_eval turns into what
// hatchet.GraphFrame.from_literal takes.
//
// A node has frame, metrics and children as in a .hatchet file, and the same further keys; the device table, which
// has its own place there, is a key of the root here. We write Python's spelling and read it and JSON's, several
// roots, and what hatchet's own to_literal gives.
package literal

// pythonDepth is how many frames Python can read below each other: its parser takes 200 open brackets, and a frame
// needs two ("too many nested parentheses", CPython 3.11 and 3.13).
const pythonDepth = 98
