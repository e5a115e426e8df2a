// Package hsaco reads the code objects of AMD's GPUs without any library of AMD's: which functions are in one, what they need, and
// which source line, through which inlined calls, each instruction came from. Format is what the profiler and its viewers use.
//
// In goes what a program loads on the GPU, or a file of Triton's cache: an ELF file, also one that clang bundled with others.
package hsaco

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/goproton/goproton/gpu"
)

// Format is AMD's format of binaries. Their instructions differ in size. TritonParse traces have no listing of them: Triton's last
// text, the stage "amdgcn", has every instruction, and Assembled finds them there.
var Format = gpu.Format{
	Suffix: "hsaco",
	Is:     Is, Open: Open, SourceName: SourceName,
	Disassemble: disassemble, Assembled: assembled,
	Recorded:    func(string, string) *gpu.Recorded { return nil },
	Significant: regexp.MustCompile(`\b(?:(?:global|buffer)_(?:load|store|atomic)\w*|ds_(?:load|store|read|write)\w*|v_s?(?:mfma|wmma)c?_\w+)`),
	Occupancy:   occupancy,
}

const machineAMDGPU = 224

// Is reports whether an image is a code object or a bundle, by its first bytes.
func Is(image []byte) bool {
	const machineAt = 18
	return bytes.HasPrefix(image, []byte(bundleMagic)) || len(image) > machineAt+1 && string(image[:len(elf.ELFMAG)]) == elf.ELFMAG &&
		binary.LittleEndian.Uint16(image[machineAt:]) == machineAMDGPU
}

// SourceName is what the source calls a function: symbols of kernels' descriptors end in ".kd".
func SourceName(symbol string) string { return strings.TrimSuffix(symbol, descriptorEnd) }

// Open reads a code object. What is broken in it costs what depends on it: with a bad line table its functions stay known.
func Open(image []byte) (gpu.Module, error) {
	m, err := read(image)
	if err != nil {
		return nil, fmt.Errorf("read hsaco: %w", err)
	}
	return m, nil
}

func read(image []byte) (*module, error) {
	image, err := unbundle(image)
	if err != nil {
		return nil, err
	}
	e, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, err
	}
	if e.Machine != machineAMDGPU || e.Class != elf.ELFCLASS64 || e.Data != elf.ELFDATA2LSB {
		return nil, fmt.Errorf("this is a %s file for %s, no code object of an AMD GPU", e.Class, e.Machine)
	}
	for _, s := range e.Sections {
		if s.Flags&elf.SHF_COMPRESSED != 0 && s.Size > mostUnpacked {
			return nil, fmt.Errorf("its section %s has %d bytes when unpacked; %d are the limit", s.Name, s.Size, mostUnpacked)
		}
	}
	m := &module{image: image, elf: e}
	m.notes()
	m.arch = architecture(image, m.target)
	m.generation = generationOf(m.arch)
	if err := m.symbols(); err != nil {
		return nil, fmt.Errorf("its symbols: %w", err)
	}
	return m, nil
}

// mostUnpacked bounds a compressed section.
const mostUnpacked = 64 << 20

// Clang puts code objects for several GPUs, and for the host an empty one, behind each other: a header, then offset, size and the
// length of the name of each, and the name, such as hipv4-amdgcn-amd-amdhsa--gfx942.
const bundleMagic = "__CLANG_OFFLOAD_BUNDLE__"

// unbundle returns the code object of a bundle with one; what is not a bundle is returned as it is.
func unbundle(image []byte) ([]byte, error) {
	rest, is := bytes.CutPrefix(image, []byte(bundleMagic))
	if !is {
		return image, nil
	}
	var found []byte
	var names []string
	word := func() (v uint64) {
		if len(rest) >= 8 {
			v, rest = binary.LittleEndian.Uint64(rest), rest[8:]
		}
		return v
	}
	for range min(word(), uint64(len(image))/24) {
		offset, size, length := word(), word(), word()
		if length > uint64(len(rest)) || offset > uint64(len(image)) || size > uint64(len(image))-offset {
			return nil, errors.New("the bundle is cut off")
		}
		name := string(rest[:length])
		rest = rest[length:]
		if inner := image[offset : offset+size]; len(inner) > 0 && !strings.HasPrefix(name, "host") {
			found, names = inner, append(names, name)
		}
	}
	if len(names) != 1 {
		return nil, fmt.Errorf("the bundle has %d code objects (%s) and not one; extract one with clang-offload-bundler", len(names), strings.Join(names, ", "))
	}
	return found, nil
}

// machines are the architectures by the lowest byte of the ELF flags, from 0x20 on, as LLVM's "User Guide for AMDGPU Backend" lists them.
var machines = strings.Fields(`
	gfx600 gfx601 gfx700 gfx701 gfx702 gfx703 gfx704 - gfx801 gfx802 gfx803 gfx810 gfx900 gfx902 gfx904 gfx906
	gfx908 gfx909 gfx90c gfx1010 gfx1011 gfx1012 gfx1030 gfx1031 gfx1032 gfx1033 gfx602 gfx705 gfx805 gfx1035 gfx1034 gfx90a
	gfx940 gfx1100 gfx1013 gfx1150 gfx1103 gfx1036 gfx1101 gfx1102 gfx1200 gfx1250 gfx1151 gfx941 gfx942 - gfx1201 gfx950
	- gfx9-generic gfx10-1-generic gfx10-3-generic gfx11-generic gfx1152 - - gfx1153 gfx12-generic gfx1251 - - - - gfx9-4-generic`)

// architecture is the target without its features: "gfx942". For GPUs that the table does not have it comes from the metadata, whose
// target is amdgcn-amd-amdhsa--gfx942:sramecc+.
func architecture(image []byte, target string) string {
	const flagsAt, first = 48, 0x20
	if n := int(image[flagsAt]) - first; n >= 0 && n < len(machines) && machines[n] != "-" {
		return machines[n]
	}
	if at := strings.LastIndex(target, "gfx"); at >= 0 {
		arch, _, _ := strings.Cut(target[at:], ":")
		return arch
	}
	return ""
}
