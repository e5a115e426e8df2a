// Package msgpack reads and writes .hatchet_msgpack files: the trees of package hatchet in MessagePack, a quarter of the
// size of indented JSON. data.get_msgpack hands out the same bytes.
//
// The layout is upstream's to the byte: a map per node with frame, metrics and children in this order, numbers in
// their shortest form, floats always in eight bytes. The tree is the one of our JSON; upstream leaves out
// leaves without metrics here, and only here. docs/formats.md describes the file field by field.
package msgpack
