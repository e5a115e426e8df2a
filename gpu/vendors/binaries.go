package vendors

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/gpu/cubin"
	"github.com/goproton/goproton/gpu/record"
)

// cubins is the format of NVIDIA's binaries.
var cubins = gpu.Format{
	Suffix: "cubin", Instruction: cubin.InstructionSize,
	Is: cubin.Is, Open: cubin.Open, SourceName: cubin.SourceName,
	Disassemble: cubin.Disassemble, List: cubin.Disassembly, ListingName: "sass", Recorded: cubin.Recorded,
	Significant: regexp.MustCompile(`\b(?:(?:ld|st|red|atom)\.(?:global|shared)|cp\.async|w?g?mma|tcgen05|LDG|LDGSTS|STG|ATOMG?|RED|UTMA\w+|HMMA|HGMMA|IMMA|DMMA|UTC\w*MMA)\b`),
	Occupancy: func(m gpu.Module, f *gpu.Function, threads, shared int) (gpu.Occupancy, bool) {
		capability, err := strconv.Atoi(m.Arch())
		if err != nil {
			return gpu.Occupancy{}, false
		}
		return occupancyOf(launchNeeds{SM: capability, Threads: threads, Registers: f.Registers, Shared: shared})
	},
}

// unreadable is the format of a vendor whose binaries cannot be read. It has no suffix, and no file is in it.
func unreadable(vendor string) *gpu.Format {
	err := fmt.Errorf("binaries for GPUs of %s cannot be read", vendor)
	return &gpu.Format{
		Is:         func([]byte) bool { return false },
		Open:       func([]byte) (gpu.Module, error) { return nil, err },
		SourceName: func(symbol string) string { return symbol },
		Disassemble: func(gpu.Disassembler, string, *gpu.Function) (*gpu.Code, error) {
			return &gpu.Code{}, err
		},
		Recorded: func(string, string) *gpu.Recorded { return nil },
	}
}

// OpenModule reads a binary of any vendor. A binary of unknown format is read as the first vendor's, for its error.
func OpenModule(image []byte) (gpu.Module, error) {
	return firstWith(func(v *Vendor) bool { return v.Code.Is(image) }).Code.Open(image)
}

// Significant reports whether a line of assembly or machine code of any vendor has an instruction that explains a line of the source.
func Significant(text string) bool {
	return slices.ContainsFunc(All, func(v *Vendor) bool { return v.Code.Significant != nil && v.Code.Significant.MatchString(text) })
}

// FormatOf returns the format that the suffix of a file's name indicates, nil for none.
func FormatOf(file string) *gpu.Format {
	for _, v := range All {
		if v.Code.Suffix != "" && filepath.Ext(file) == "."+v.Code.Suffix {
			return v.Code
		}
	}
	return nil
}

// ImageName is the name of a binary in profiles and traces: the hash of its content.
func ImageName(image []byte) string { return fmt.Sprintf("%016x", record.HashImage(image)) }
