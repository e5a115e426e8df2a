package conformance

/*
#cgo CFLAGS: -I${SRCDIR}/../../hotpath
#include <stdlib.h>
#include <string.h>
#include "hotpath.h"

static int tensor_metric(const struct hp_api *hp, void *stream, const char *name, const double *values, uint32_t count, int vector) {
	struct hp_tensor t = {.stream = stream, .address = (uint64_t)(uintptr_t)values, .count = count, .element = HP_FLOAT64, .as = HP_DOUBLE};
	uint32_t node, pynode, set;
	hp->leaf(&node, &pynode, &set);
	return hp->tensor_metric(&t, node, pynode, set, hp->intern(name, strlen(name)), vector);
}
*/
import "C"

import (
	"unsafe"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/figures"
)

// Tensor is numbers in memory that a fake GPU reads.
type Tensor struct {
	values *C.double
	count  int
}

// NewTensor returns a tensor, which is never freed: a graph may read it at any time.
func NewTensor(values ...float64) Tensor {
	t := Tensor{(*C.double)(C.calloc(C.size_t(len(values)), 8)), len(values)}
	t.Set(values...)
	return t
}

// Set changes the numbers.
func (t Tensor) Set(values ...float64) {
	for i, v := range values {
		unsafe.Slice(t.values, t.count)[i] = C.double(v)
	}
}

// Statuses of a tensor metric.
const (
	TensorTaken   = C.HP_TENSOR_TAKEN
	TensorOff     = C.HP_TENSOR_OFF
	TensorUnknown = C.HP_TENSOR_UNKNOWN
)

// Metric adds the tensor as a metric to the innermost scope, for the graph that is being captured on a stream.
func (t Tensor) Metric(stream unsafe.Pointer, name string) (status int) {
	with(name, func(c *C.char) {
		status = int(C.tensor_metric((*C.struct_hp_api)(hotpath.API()), stream, c, t.values, C.uint32_t(t.count), figures.OneIf[C.int](t.count > 1)))
	})
	return status
}
