package gpu

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/procstat"
	"github.com/goproton/goproton/internal/settings"
)

// Find looks for a disassembler: in the variable of a setting, where an empty value means none, then in PATH, then at other paths; an empty
// one is left out. missing is the error if it is nowhere.
func (d Disassembler) Find(setting, program string, missing error, others ...string) (string, error) {
	if tool, set := d.Env(setting); set {
		if tool == "" {
			return "", fmt.Errorf("%s is empty, so %s is not used", setting, program)
		}
		if !settings.Executable(tool) {
			return "", fmt.Errorf("%s names %s, which is not a program", setting, tool)
		}
		return tool, nil
	}
	path, _ := d.Env("PATH")
	for _, folder := range filepath.SplitList(path) {
		if tool := filepath.Join(folder, program); filepath.IsAbs(tool) && settings.Executable(tool) {
			return tool, nil
		}
	}
	for _, tool := range others {
		if tool != "" && settings.Executable(tool) {
			return tool, nil
		}
	}
	return "", missing
}

const (
	patience      = 20 * time.Second // time limit of a disassembler; nvdisasm takes a second for a kernel of 2 MB
	longestOutput = 128 << 20
)

// Code is what parse finds of a function in the output of a disassembler.
func (d Disassembler) Code(tool, file string, f *Function, parse func(listing []byte, function string, size uint64) *Code, options ...string) (*Code, error) {
	out, err := d.Output(tool, file, f.Index, options...)
	if err != nil {
		return nil, err
	}
	code := parse(out, f.Name, f.Size)
	if len(code.Text) == 0 {
		return nil, fmt.Errorf("%s printed no instructions of function %s", tool, f.Name)
	}
	code.Tool = tool
	return code, nil
}

// Output runs a disassembler on a file, whose path is its last argument, for the function at an index of the symbol table.
func (d Disassembler) Output(tool, file string, index int, options ...string) ([]byte, error) {
	if d.Run != nil {
		return d.Run(tool, file, index)
	}
	absolute, err := filepath.Abs(file) // an absolute path cannot be read as an option
	if err != nil {
		return nil, err
	}
	ctx, cancel := procstat.Context(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, append(options, absolute)...)
	cmd.WaitDelay = patience // a child of the disassembler may keep its output open after it has ended
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
