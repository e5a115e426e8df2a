// Package nvdisasm gets the text of instructions of NVIDIA's GPUs: from CUDA's program of that name, or from listings that it
// printed. internal/cubin decodes the names of operations alone.
package nvdisasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/awake"
	"github.com/goproton/goproton/internal/cubin"
	"github.com/goproton/goproton/internal/gpucode"
	"github.com/goproton/goproton/internal/settings"
)

// Code disassembles a function of the binary in a file. If the disassembler is missing or fails, Code returns the operations
// without operands together with the error.
func Code(d gpucode.Disassembler, file string, f *gpucode.Function) (*gpucode.Code, error) {
	tool, err := find(d.Env)
	if err == nil {
		run := d.Run
		if run == nil {
			run = runTool
		}
		var out []byte
		if out, err = run(tool, file, f.Index); err == nil {
			code := parse(out, f.Name, f.Size)
			if len(code.Text) > 0 {
				code.Tool = tool
				return code, nil
			}
			err = fmt.Errorf("%s printed no instructions of function %s", tool, f.Name)
		}
	}
	return operations(f), err
}

// find looks for the program: the PROTON_NVDISASM variable, PATH, Triton's copy, then CUDA's installation.
func find(env func(string) (string, bool)) (string, error) {
	if tool, set := env(settings.Disassembler.Name); set {
		if tool == "" {
			return "", errors.New("PROTON_NVDISASM is empty, so nvdisasm is not used")
		}
		if !executable(tool) {
			return "", fmt.Errorf("PROTON_NVDISASM names %s, which is not a program", tool)
		}
		return tool, nil
	}
	if path, set := env("PATH"); set {
		for _, folder := range filepath.SplitList(path) {
			if tool := filepath.Join(folder, "nvdisasm"); filepath.IsAbs(tool) && executable(tool) {
				return tool, nil
			}
		}
	}
	if tool, set := env(settings.TritonDisasm.Name); set && executable(tool) {
		return tool, nil
	}
	cuda, _ := env("CUDA_HOME")
	path, _ := env("CUDA_PATH")
	for _, folder := range []string{cuda, path, "/usr/local/cuda"} {
		if tool := filepath.Join(folder, "bin", "nvdisasm"); folder != "" && executable(tool) {
			return tool, nil
		}
	}
	return "", errors.New("no nvdisasm in PATH, CUDA_HOME or PROTON_NVDISASM, so instructions have no operands; CUDA's toolkit has it, and Triton: triton/backends/nvidia/bin")
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

const (
	patience      = 20 * time.Second // time limit of nvdisasm, which takes a second for a kernel of 2 MB
	longestOutput = 128 << 20
)

func runTool(tool, file string, index int) ([]byte, error) {
	absolute, err := filepath.Abs(file) // an absolute path cannot be read as an option
	if err != nil {
		return nil, err
	}
	ctx, cancel := awake.Context(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, "-c", "-fun", strconv.Itoa(index), absolute)
	cmd.WaitDelay = patience // a child of nvdisasm may keep its output open after it has ended
	var out, complaints limited
	out.left, complaints.left = longestOutput, 1<<10
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err = cmd.Run()
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%s took longer than %s", tool, patience)
	case err != nil:
		said, _, _ := strings.Cut(strings.TrimSpace(complaints.String()), "\n")
		return nil, fmt.Errorf("%s: %w: %s", tool, err, said)
	}
	return out.Bytes(), nil
}

// limited keeps the first bytes that are written to it, up to a limit, and drops the rest.
type limited struct {
	bytes.Buffer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	kept := b[:min(len(b), l.left)]
	l.left -= len(kept)
	l.Buffer.Write(kept)
	return len(b), nil
}

var instruction = regexp.MustCompile(`^\s*/\*([0-9a-f]{1,16})\*/\s+(.*?)\s*;?\s*(?:/\*.*)?$`)

// longestLine of a listing that is read, in bytes.
const longestLine = 4096

// each calls visit with the instructions of a function in a listing: number of the line, counted from 1, address, text, and the
// label in front of it. begins reports whether a line is the heading of a function, and of which; visit whether to go on in this part.
func each(listing []byte, function string, begins func(line string) (string, bool), visit func(number int, address uint64, text, label string) bool) {
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
		m := instruction.FindStringSubmatch(line)
		if m == nil || !inside {
			continue
		}
		if address, err := strconv.ParseUint(m[1], 16, 64); err == nil {
			inside = visit(number, address, m[2], label)
			label = ""
		}
	}
}

// parse reads the program's output. A function that only one kernel calls lies in that kernel's section. It begins at its label,
// and its addresses continue those of the kernel.
func parse(text []byte, function string, size uint64) *gpucode.Code {
	code := &gpucode.Code{Text: map[uint64]string{}, Labels: map[uint64]string{}}
	base, started := uint64(0), false
	heading := func(line string) (string, bool) { // other names in front of a colon may be labels
		is := line == function+":"
		started = started && !is
		return function, is
	}
	each(text, function, heading, func(_ int, address uint64, text, label string) bool {
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
func Recorded(listing, function string) *gpucode.Recorded {
	code, at := &gpucode.Code{Tool: "the trace", Text: map[uint64]string{}, Labels: map[uint64]string{}}, map[uint64]int{}
	heading := func(line string) (string, bool) {
		name, is := strings.CutPrefix(line, "Function:")
		return strings.TrimSpace(name), is
	}
	each([]byte(listing), function, heading, func(number int, offset uint64, text, label string) bool {
		code.Add(offset, text, label)
		at[offset] = number
		return true
	})
	if len(code.Text) == 0 {
		return nil
	}
	return &gpucode.Recorded{Code: code, Lines: at, Assembly: func() map[int]int { return recordedPTX(listing) }}
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

// operations decodes the names of the instructions, without operands, from the machine code.
func operations(f *gpucode.Function) *gpucode.Code {
	code := &gpucode.Code{Text: map[uint64]string{}}
	for pc := uint64(0); pc+cubin.InstructionSize <= uint64(len(f.Code)); pc += cubin.InstructionSize {
		code.Text[pc] = cubin.Operation(f.Code[pc:])
	}
	return code
}
