package cupti

/*
#include "tensor.h"
*/
import "C"

import (
	"unsafe"

	"github.com/goproton/goproton/gpu/record"
)

var _ [unsafe.Sizeof(record.Value{})]byte = [unsafe.Sizeof(C.struct_cupti_value{})]byte{}

// tensorsOff is why nodes of graphs cannot read tensors, an enum hp_tensor_status. The activity of a whole graph does not have its nodes'.
func (c *Collector) tensorsOff() C.int {
	if c.opts.WholeGraphs {
		return C.HP_TENSOR_WHOLE
	}
	return 0
}

// Values passes on what graph nodes have stored of tensors since the last call, context by context and in the order in which it was
// stored. The slice is only valid during the call of f.
func (c *Collector) Values(f func(device uint32, values []record.Value)) {
	var batch [256]record.Value
	for ring := range int(C.cupti_value_rings()) {
		for {
			n := int(C.cupti_values_take(C.int(ring), (*C.struct_cupti_value)(unsafe.Pointer(&batch[0])), C.int(len(batch))))
			if n > 0 {
				f(uint32(C.cupti_value_device(C.int(ring))), batch[:n])
			}
			if n < len(batch) {
				break
			}
		}
	}
}
