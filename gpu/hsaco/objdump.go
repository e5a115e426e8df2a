package hsaco

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/internal/settings"
)

var errMissing = errors.New("no llvm-objdump in PATH, ROCM_PATH, /opt/rocm or PROTON_OBJDUMP, so instructions have no text; ROCm has it in llvm/bin, and LLVM that is not older than the GPU")

// disassemble gets the text of a function's instructions: from the assembly, if it is known, which needs no program and has the compiler's
// labels, else from llvm-objdump.
func disassemble(d gpu.Disassembler, file string, f *gpu.Function) (*gpu.Code, error) {
	if f.Assembly != nil {
		return fromAssembly(f), nil
	}
	rocm, _ := d.Env("ROCM_PATH")
	if rocm != "" {
		rocm = filepath.Join(rocm, "llvm/bin/llvm-objdump")
	}
	tool, err := d.Find(settings.Objdump.Name, "llvm-objdump", errMissing, rocm, "/opt/rocm/llvm/bin/llvm-objdump")
	if err == nil {
		option := "--disassemble-symbols=" + f.Name
		if strings.Contains(f.Name, ",") {
			option = "-d" // everything, since a comma ends the name; Triton 3.6 has it in names
		}
		var code *gpu.Code
		if code, err = d.Code(tool, file, f, parse, option, realTrue16); err == nil {
			return code, nil
		}
	}
	return &gpu.Code{}, err
}

// realTrue16 has LLVM 22 know the instructions of gfx12 on halves of registers, such as v_mov_b16_e32 v3.h, v3.l. On other GPUs, and to
// older LLVMs, it makes no difference.
const realTrue16 = "--mattr=+real-true16"

// printed is an instruction as llvm-objdump prints it: text, address, words, and the target of a branch.
var printed = regexp.MustCompile(`^\s+(\S.*?)\s*// ([0-9A-F]{1,16}): [0-9A-F ]+(?:<.*?(?:\+0x([0-9a-f]{1,16}))?>)?$`)

// longestLine of a listing that is read, in bytes.
const longestLine = 4096

// parse reads the program's output for a function. Branches name their targets by labels.
func parse(listing []byte, function string, size uint64) *gpu.Code {
	code := &gpu.Code{Text: map[uint64]string{}, Labels: map[uint64]string{}}
	base, inside := uint64(0), false
	for len(listing) > 0 {
		var b []byte
		if b, listing, _ = bytes.Cut(listing, []byte{'\n'}); len(b) > longestLine {
			continue
		}
		line := string(b)
		if address, name, is := strings.Cut(line, " <"); is && strings.HasSuffix(name, ">:") {
			start, err := strconv.ParseUint(address, 16, 64)
			base, inside = start, err == nil && name == function+">:"
			continue
		}
		m := printed.FindStringSubmatch(line)
		if m == nil || !inside {
			continue
		}
		address, err := strconv.ParseUint(m[2], 16, 64)
		if err != nil || address < base || address-base >= size {
			continue
		}
		text := m[1]
		if operation, _, _ := strings.Cut(text, " "); strings.Contains(operation, "branch") && m[3] != "" {
			if target, err := strconv.ParseUint(m[3], 16, 64); err == nil && target < size {
				code.Labels[target] = fmt.Sprintf(".L%04x", target)
				text = operation + " " + code.Labels[target]
			}
		}
		code.Text[address-base] = text
	}
	return code
}
