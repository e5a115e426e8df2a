// Package fromtrace gives the interpreter the launches that a trace has.
package fromtrace

import (
	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/tritonparse/reproduce"
)

// Arguments are the arguments of a recorded launch. Those that lie in one region have one buffer over its bytes.
func Arguments(in *reproduce.Inputs) (list []interpreter.Argument) {
	buffers := map[*reproduce.Region]*interpreter.Buffer{}
	for _, r := range in.Memory {
		buffers[r] = &interpreter.Buffer{Name: r.Name, Data: r.Data}
	}
	for _, a := range in.Arguments {
		switch {
		case a.Shape != nil:
			list = append(list, interpreter.Descriptor(buffers[a.Region], a.Offset, a.Shape, a.Strides, a.NaN))
		case a.Region != nil:
			list = append(list, interpreter.Pointer(buffers[a.Region], a.Offset))
		case a.IsFloat:
			list = append(list, interpreter.Float(a.Float))
		default:
			list = append(list, interpreter.Int(a.Int))
		}
	}
	return list
}
