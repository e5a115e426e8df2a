package vendor

import (
	"fmt"

	"github.com/goproton/goproton/internal/cubin"
	"github.com/goproton/goproton/internal/gpucode"
	"github.com/goproton/goproton/internal/nvdisasm"
	"github.com/goproton/goproton/profiler/record"
)

// cubins are NVIDIA's binaries.
var cubins = gpucode.Format{
	Suffix: "cubin", Instruction: cubin.InstructionSize,
	Is: cubin.Is, Open: cubin.Open, SourceName: cubin.SourceName,
	Disassemble: nvdisasm.Code, Recorded: nvdisasm.Recorded,
}

// OpenModule reads a binary of any vendor. One of an unknown format is read as the first vendor's, whose error says what is wrong.
func OpenModule(image []byte) (gpucode.Module, error) {
	return firstWith(func(v *Vendor) bool { return v.Code != nil && v.Code.Is(image) }).Code.Open(image)
}

// ImageName is how profiles and traces name a binary: by the hash of its content.
func ImageName(image []byte) string { return fmt.Sprintf("%016x", record.HashImage(image)) }
