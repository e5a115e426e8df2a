package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/procstat"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/internal/term"
)

// withoutOurselves drops an injection that "proton run" has put into the environment: the doctor under
// "proton run" is to find other subscribers, not us.
func withoutOurselves(environment []string) []string {
	if settings.RunConfig.Get(os.Getenv) == "" {
		return environment
	}
	return slices.DeleteFunc(environment, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(vendors.Injections(), name)
	})
}

// askJSON runs a program that prints one JSON value.
func (m Machine) askJSON(answer any, environment []string, path string, args ...string) error {
	ctx, cancel := procstat.Context(context.Background(), m.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = environment
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("run %s: no answer within %s", path, m.Timeout)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w %s", path, err, lastLine(stderr.String()))
	}
	if err := json.Unmarshal(out, answer); err != nil {
		return fmt.Errorf("read the answer of %s: %w", path, err)
	}
	return nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// examineCommand looks for another program called proton: Triton's wheel has one, and the wheel that was installed last has the name.
func (r *Report) examineCommand(m Machine) {
	if m.Executable == "" {
		return
	}
	for _, folder := range filepath.SplitList(m.Env("PATH")) {
		path := filepath.Join(folder, "proton")
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		if !isOurs(path, m.Executable) {
			r.found("command", Note, path+" is another program, such as Triton's; goproton is this one under a name of its own", "call "+m.Executable+", or put its folder first in PATH")
		}
		return
	}
}

// isOurs says whether a file is the executable, or the script of the wheel that starts it.
func isOurs(path, executable string) bool {
	a, err := os.Stat(path)
	b, err2 := os.Stat(executable)
	if err != nil || err2 != nil || os.SameFile(a, b) {
		return true // or unknown
	}
	if a.Size() > 4096 {
		return false // one of another folder, which may be another version
	}
	text, err := os.ReadFile(path)
	return err != nil || bytes.HasPrefix(text, []byte("#!/bin/sh")) && strings.Contains(string(text), `/goproton"`)
}

// textColumn is where the text of a finding begins; the rest of a long line continues there.
const textColumn = 21

// WriteText writes the findings for people, in lines of at most width columns (0: any number): state, name, text, and the fix
// below; then what each vendor adds.
func (r Report) WriteText(w io.Writer, width int) error {
	var text, without strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&text, "%-8s %-11s %s\n", f.State, f.Name, f.Text)
		if f.Fix != "" {
			fmt.Fprintf(&text, "%-8s %-11s fix: %s\n", "", "", f.Fix)
		}
	}
	for _, c := range all {
		c.text(&r, &text)
	}
	switch {
	case r.Healthy():
		text.WriteString("\nKernels can be timed on this machine.\n")
	case r.noneShows:
		text.WriteString("\nKernels cannot be timed on this machine. Without a GPU these work:\n")
		without.WriteString(term.Legend(41, width, withoutGPU...))
	default:
		text.WriteString("\nKernels cannot be timed on this machine until the problems above are solved.\n")
	}
	var fitting strings.Builder
	for line := range strings.Lines(text.String()) {
		fitting.WriteString(term.Broken(strings.TrimSuffix(line, "\n"), textColumn, width))
	}
	_, err := io.WriteString(w, fitting.String()+without.String())
	return err
}
