package cubin

import (
	"bytes"
	"errors"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/internal/settings"
)

// Disassemble disassembles a function of the binary in a file. If the disassembler is missing or fails, Code returns the operations
// without operands together with the error.
func Disassemble(d gpu.Disassembler, file string, f *gpu.Function) (*gpu.Code, error) {
	tool, err := findDisassembler(d)
	if err == nil {
		var code *gpu.Code
		if code, err = d.Code(tool, file, f, parseListing, "-c", "-fun", strconv.Itoa(f.Index)); err == nil {
			return code, nil
		}
	}
	return plainOperations(f), err
}

var errMissing = errors.New("no nvdisasm in PATH, CUDA_HOME or PROTON_NVDISASM, so instructions have no operands; CUDA's toolkit has it, and Triton: triton/backends/nvidia/bin")

// findDisassembler looks for the program: the PROTON_NVDISASM variable, PATH, Triton's copy, then CUDA's installation.
func findDisassembler(d gpu.Disassembler) (string, error) {
	triton, _ := d.Env(settings.TritonDisasm.Name)
	others := []string{triton}
	for _, variable := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if cuda, _ := d.Env(variable); cuda != "" {
			others = append(others, filepath.Join(cuda, "bin", "nvdisasm"))
		}
	}
	return d.Find(settings.Disassembler.Name, "nvdisasm", errMissing, append(others, "/usr/local/cuda/bin/nvdisasm")...)
}

var instructionLine = regexp.MustCompile(`^\s*/\*([0-9a-f]{1,16})\*/\s+(.*?)\s*;?\s*(?:/\*.*)?$`)

// longestLine of a listing that is read, in bytes.
const longestLine = 4096

// eachInstruction calls visit with the instructions of a function in a listing: number of the line, counted from 1, address, text, and the
// label in front of it. begins reports whether a line is the heading of a function, and of which; visit whether to go on in this part.
func eachInstruction(listing []byte, function string, begins func(line string) (string, bool), visit func(number int, address uint64, text, label string) bool) {
	inside, label := false, ""
	for number := 1; len(listing) > 0; number++ {
		var b []byte
		b, listing, _ = bytes.Cut(listing, []byte{'\n'})
		if len(b) > longestLine {
			continue
		}
		line := strings.TrimRight(string(b), " \r")
		if name, is := strings.CutSuffix(line, ":"); is && strings.HasPrefix(name, ".L") {
			label = name
			continue
		}
		if name, is := begins(line); is {
			inside, label = name == function, ""
			continue
		}
		m := instructionLine.FindStringSubmatch(line)
		if m == nil || !inside {
			continue
		}
		if address, err := strconv.ParseUint(m[1], 16, 64); err == nil {
			inside = visit(number, address, m[2], label)
			label = ""
		}
	}
}

// parseListing reads the program's output. A function that only one kernel calls lies in that kernel's section. It begins at its label,
// and its addresses continue those of the kernel.
func parseListing(text []byte, function string, size uint64) *gpu.Code {
	code := &gpu.Code{Text: map[uint64]string{}, Labels: map[uint64]string{}}
	base, started := uint64(0), false
	heading := func(line string) (string, bool) { // other names in front of a colon may be labels
		is := line == function+":"
		started = started && !is
		return function, is
	}
	eachInstruction(text, function, heading, func(_ int, address uint64, text, label string) bool {
		if !started {
			base, started = address, true
		}
		if address < base || address-base >= size {
			return false
		}
		code.Add(address-base, text, label)
		return true
	})
	return code
}

// Recorded reads a function of the SASS listing in a TritonParse trace, which is the program's output with a heading per
// function; nil if the listing lacks the function.
func Recorded(listing, function string) *gpu.Recorded {
	code, at := &gpu.Code{Tool: "the trace", Text: map[uint64]string{}, Labels: map[uint64]string{}}, map[uint64]int{}
	heading := func(line string) (string, bool) {
		name, is := strings.CutPrefix(line, "Function:")
		return strings.TrimSpace(name), is
	}
	eachInstruction([]byte(listing), function, heading, func(number int, offset uint64, text, label string) bool {
		code.Add(offset, text, label)
		at[offset] = number
		return true
	})
	if len(code.Text) == 0 {
		return nil
	}
	return &gpu.Recorded{Code: code, Lines: at, Assembly: func() map[int]int { return recordedPTX(listing) }}
}

var ptxLine = regexp.MustCompile(`^\s*//## File "\.nv_debug_ptx_txt[^"]*", line (\d+)`)

// recordedPTX is the line of PTX that each line of a recorded listing was assembled from.
func recordedPTX(listing string) map[int]int {
	lines, now := map[int]int{}, 0
	for i, line := range strings.Split(listing, "\n") {
		if m := ptxLine.FindStringSubmatch(line); m != nil {
			now, _ = strconv.Atoi(m[1]) //nolint:errcheck // digits only; a number that is too large is not a line
		} else if strings.HasPrefix(line, "Function:") {
			now = 0
		}
		lines[i+1] = now
	}
	return lines
}

// plainOperations decodes the names of the instructions, without operands, from the machine code.
func plainOperations(f *gpu.Function) *gpu.Code {
	code := &gpu.Code{Text: map[uint64]string{}}
	for pc := uint64(0); pc+InstructionSize <= uint64(len(f.Code)); pc += InstructionSize {
		code.Text[pc] = Operation(f.Code[pc:])
	}
	return code
}
