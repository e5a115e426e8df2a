package joined

import (
	"slices"

	"github.com/goproton/goproton/internal/cubin"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/sourcemap"
	"github.com/goproton/goproton/viewer/source"
)

// straighten brings the samples of a function to the right lines, where the trace's PTX shows that the binary has wrong ones.
func (c *code) straighten(k *source.Kernel) {
	if !slices.ContainsFunc(c.byName[k.Function.Name], func(x *tritonparse.Compilation) bool { return len(c.straysOf(x)) > 0 }) {
		return // so far only Triton 3.9 makes some, and finding a function's compilation takes reading binaries
	}
	x := c.match(k).compilation
	if x == nil {
		return
	}
	if module := c.machineCode(k, x); module != nil {
		if strays := c.straysIn(module, x); strays != nil {
			k.CorrectLines(func(offset uint64, recorded int) int { return strays.Right(module.Function.PTXLine(offset), recorded) })
		}
	}
}

// frames are the places of an instruction of a binary, innermost first.
func frames(module *source.Module, strays sourcemap.Misplaced, pc uint64) []cubin.Frame {
	f := module.Function.Frames(pc)
	if len(f) > 0 {
		f[0].Line = strays.Right(module.Function.PTXLine(pc), f[0].Line)
	}
	return f
}

// straysIn are those of a compilation, nil if the binary was made of other PTX.
func (c *code) straysIn(module *source.Module, x *tritonparse.Compilation) sourcemap.Misplaced {
	strays := c.straysOf(x)
	if len(strays) == 0 || !samePTX(module.PTX, x.Texts["ptx"]) {
		return nil
	}
	return strays
}

func (c *code) straysOf(x *tritonparse.Compilation) sourcemap.Misplaced {
	strays, known := c.strays[x]
	if !known {
		strays = sourcemap.FindMisplaced(x.Texts["ptx"])
		c.strays[x] = strays
	}
	return strays
}
