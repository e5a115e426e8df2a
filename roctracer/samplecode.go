package roctracer

// #include "sdk.h"
import "C"

import (
	"sort"
	"unsafe"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/gpu/hsaco"
	"github.com/goproton/goproton/gpu/record"
)

// codeObject is a module as it was loaded onto one GPU.
type codeObject struct {
	hash      uint64
	image     []byte // in C's memory, which is never freed
	module    gpu.Module
	functions []hsaco.Symbol
	shift     uint64 // what makes an address in the file of a sample's offset
}

// object returns a code object by the library's id, one without functions if it is not known or cannot be read.
func (s *sampler) object(id uint64) *codeObject {
	if o := s.code[id]; o != nil {
		return o
	}
	o := &codeObject{}
	var c C.struct_sdk_code_object
	if C.sdk_code_object(C.uint64_t(id), &c) == 0 {
		return o // it may still come
	}
	s.code[id] = o
	if c.image == nil {
		return o
	}
	o.image = unsafe.Slice((*byte)(c.image), int(c.image_size))
	o.hash, o.shift = record.HashImage(o.image), uint64(c.load_base)-uint64(c.load_delta)
	if known, is := s.images.Load(o.hash); is { // the same code on another GPU
		o.module, o.functions = known.(*codeObject).module, known.(*codeObject).functions
		return o
	}
	if functions, err := hsaco.Symbols(o.image); err == nil {
		o.functions = functions
		o.module, _ = hsaco.Open(o.image) //nolint:errcheck // Symbols has read it
	}
	s.images.Store(o.hash, o)
	return o
}

// find returns the function that a sample's offset is in, and the offset in that.
func (o *codeObject) find(offset uint64) (hsaco.Symbol, uint64, bool) {
	address := offset + o.shift
	at := sort.Search(len(o.functions), func(i int) bool { return o.functions[i].Address > address }) - 1
	if at < 0 || address-o.functions[at].Address >= o.functions[at].Size {
		return hsaco.Symbol{}, 0, false
	}
	return o.functions[at], address - o.functions[at].Address, true
}
