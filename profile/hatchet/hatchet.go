// Package hatchet reads and writes .hatchet files, the JSON trees that Triton's Proton and proton-viewer use.
//
// A file is an array of two: the root node and an object that describes the devices. The sessions write one at
// finalize and at every checkpoint, data.get hands out the compact form, and the viewer reads any of them,
// ours or upstream's. docs/formats.md describes the file field by field; profile/internal/tree has the keys that upstream
// does not know.
//
// The format has no place for a metric's kind. Inclusive metrics are recognised by a zero at the root, so the
// writer puts the zeros there and the reader takes every number at the root as inclusive.
package hatchet
