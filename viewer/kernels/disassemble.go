package kernels

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/awake"
	"github.com/goproton/goproton/internal/cubin"
	"github.com/goproton/goproton/internal/settings"
)

// Code is the text of a function's instructions.
type Code struct {
	Tool   string            // path of the disassembler; "" if there is none, and Text has operations without operands
	Text   map[uint64]string // by offset in bytes within the function
	Labels map[uint64]string // by offset, of the instructions that are targets of branches
}

// Code disassembles a function. If the disassembler is missing or fails, it returns the operations without operands together
// with the error.
func (m *Modules) Code(module *Module) (*Code, error) {
	tool, err := m.disassembler()
	if err == nil {
		var out []byte
		if out, err = m.run(tool, module.File, module.Function.Index); err == nil {
			code := parseDisassembly(out, module.Function.Name, module.Function.Size)
			if len(code.Text) > 0 {
				code.Tool = tool
				return code, nil
			}
			err = fmt.Errorf("%s printed no instructions of function %s", tool, module.Function.Name)
		}
	}
	return operationsOf(module.Function), err
}

// disassembler finds nvdisasm: the PROTON_NVDISASM variable, PATH, Triton's copy, then CUDA's installation.
func (m *Modules) disassembler() (string, error) {
	if tool, set := m.Env(settings.Disassembler.Name); set {
		if tool == "" {
			return "", errors.New("PROTON_NVDISASM is empty, so nvdisasm is not used")
		}
		if !executable(tool) {
			return "", fmt.Errorf("PROTON_NVDISASM names %s, which is not a program", tool)
		}
		return tool, nil
	}
	if path, set := m.Env("PATH"); set {
		for _, folder := range filepath.SplitList(path) {
			if tool := filepath.Join(folder, "nvdisasm"); filepath.IsAbs(tool) && executable(tool) {
				return tool, nil
			}
		}
	}
	if tool, set := m.Env(settings.TritonDisasm.Name); set && executable(tool) {
		return tool, nil
	}
	cuda, _ := m.Env("CUDA_HOME")
	path, _ := m.Env("CUDA_PATH")
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

func (m *Modules) run(tool, file string, index int) ([]byte, error) {
	if m.Run != nil {
		return m.Run(tool, file, index)
	}
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

var _ io.Writer = &limited{}

var instruction = regexp.MustCompile(`^\s*/\*([0-9a-f]{1,16})\*/\s+(.*?)\s*;?\s*(?:/\*.*)?$`)

// parseDisassembly reads nvdisasm's text. A function that only one kernel calls lies in that kernel's section. It begins at its
// label, and its addresses continue those of the kernel.
func parseDisassembly(text []byte, function string, size uint64) *Code {
	code := &Code{Text: map[uint64]string{}, Labels: map[uint64]string{}}
	inside, started := false, false
	base, label := uint64(0), ""
	for len(text) > 0 {
		var b []byte
		b, text, _ = bytes.Cut(text, []byte{'\n'})
		if len(b) > 4096 {
			continue
		}
		line := strings.TrimRight(string(b), " \r")
		if name, is := strings.CutSuffix(line, ":"); is && !strings.HasPrefix(line, " ") {
			switch {
			case name == function:
				inside, started = true, false
			case strings.HasPrefix(name, ".L"):
				label = name
			}
			continue
		}
		m := instruction.FindStringSubmatch(line)
		if m == nil || !inside {
			continue
		}
		address, err := strconv.ParseUint(m[1], 16, 64)
		if err != nil {
			continue
		}
		if !started {
			base, started = address, true
		}
		if address < base || address-base >= size {
			inside = false
			continue
		}
		code.Text[address-base] = m[2]
		if label != "" {
			code.Labels[address-base] = label
			label = ""
		}
	}
	return code
}

// recordedCode reads a function of the SASS listing in a TritonParse trace, which is nvdisasm's text with a heading per function.
// It returns the code, and the line number in the listing of every instruction by offset. Both are nil if the listing lacks the
// function.
func recordedCode(listing, function string) (code *Code, at map[uint64]int) {
	const head = "Function:"
	inside := false
	code, at = &Code{Tool: "the trace", Text: map[uint64]string{}, Labels: map[uint64]string{}}, map[uint64]int{}
	label := ""
	for i, line := range strings.Split(listing, "\n") {
		if name, is := strings.CutPrefix(line, head); is {
			inside = strings.TrimSpace(name) == function
			continue
		}
		if !inside {
			continue
		}
		line = strings.TrimRight(line, " \r")
		if name, is := strings.CutSuffix(line, ":"); is && strings.HasPrefix(name, ".L") {
			label = name
		} else if m := instruction.FindStringSubmatch(line); m != nil {
			offset, err := strconv.ParseUint(m[1], 16, 64)
			if err != nil {
				continue
			}
			code.Text[offset], at[offset] = m[2], i+1
			if label != "" {
				code.Labels[offset], label = label, ""
			}
		}
	}
	if len(code.Text) == 0 {
		return nil, nil
	}
	return code, at
}

// operationsOf decodes the names of the instructions, without operands, from the machine code.
func operationsOf(f *cubin.Function) *Code {
	code := &Code{Text: map[uint64]string{}}
	for pc := uint64(0); pc+cubin.InstructionSize <= uint64(len(f.Code)); pc += cubin.InstructionSize {
		code.Text[pc] = cubin.Operation(f.Code[pc:])
	}
	return code
}
