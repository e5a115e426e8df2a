package backend

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/procstat"
	"github.com/goproton/goproton/internal/settings"
)

var blanks = regexp.MustCompile(`[ \t]+`)

// inOrder checks a text if all directives are CHECK and CHECK-NOT with plain words, as AMD's schedules are: the words of each CHECK
// follow those of the one before it, and none of a CHECK-NOT is between the matches around it. plain is false for other directives,
// which FileCheck checks. why is the directive that does not hold.
func inOrder(directives []string, text string) (plain, holds bool, why string) {
	words := make([]string, len(directives))
	for i, d := range directives {
		kind, after, _ := strings.Cut(d, ":")
		words[i] = blanks.ReplaceAllString(strings.TrimSpace(after), " ")
		if kind != "CHECK" && kind != "CHECK-NOT" || words[i] == "" || strings.Contains(d, "{{") || strings.Contains(d, "[[") {
			return false, false, ""
		}
	}
	text = blanks.ReplaceAllString(text, " ")
	at, first := 0, 0 // what is matched ends at at, and the CHECK-NOT lines that wait begin at first
	line := func(at int) int { return 1 + strings.Count(text[:at], "\n") }
	for i := 0; i <= len(directives); i++ {
		between, next := len(text)-at, len(text)
		if i < len(directives) {
			if strings.HasPrefix(directives[i], "CHECK-NOT") {
				continue
			}
			if between = strings.Index(text[at:], words[i]); between < 0 {
				return true, false, fmt.Sprintf("%s: no match from line %d", directives[i], line(at))
			}
			next = at + between + len(words[i])
		}
		for k := first; k < i; k++ {
			if n := strings.Index(text[at:at+between], words[k]); n >= 0 {
				return true, false, fmt.Sprintf("%s: matches line %d", directives[k], line(at+n))
			}
		}
		at, first = next, i+1
	}
	return len(directives) > 0, true, ""
}

// fileCheckTime is how long FileCheck may take.
const fileCheckTime = 30 * time.Second

// maxFileCheckText is how many characters of FileCheck's output are kept.
const maxFileCheckText = 500

// RunFileCheck runs LLVM's FileCheck on a text. It reports whether the checks hold, and otherwise returns FileCheck's output.
func RunFileCheck(program, checks, text string) (bool, string) {
	fail := func(err error) (bool, string) { return false, "FileCheck error: " + err.Error() }
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("tmp%08x", rand.Uint32())) // as long as tritonparse's, because FileCheck's output contains the name and is cut
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	input, patterns := filepath.Join(dir, "input.mlir"), filepath.Join(dir, "checks.txt")
	for name, content := range map[string]string{input: text, patterns: checks} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			return fail(err)
		}
	}
	ctx, cancel := procstat.Context(context.Background(), fileCheckTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, patterns, "--input-file", input, "--dump-input-context=50")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, ""
	case ctx.Err() != nil:
		return false, "FileCheck timed out"
	case !errors.As(err, &exit):
		return fail(err)
	}
	said := []rune(stdout.String() + stderr.String())
	if len(said) == 0 {
		return false, ""
	}
	return false, string(said[:min(len(said), maxFileCheckText)]) + "... [truncated]"
}

// FindFileCheck returns the path of LLVM's FileCheck: that of an installed Triton, else the one that FILECHECK_PATH names, else
// the one in PATH, else "".
func FindFileCheck() string {
	if f := settings.InPackages("triton", "FileCheck"); f != "" {
		return f
	}
	if f := settings.FileCheck.Get(os.Getenv); f != "" && settings.Executable(f) {
		return f
	}
	path, err := exec.LookPath("FileCheck")
	if err != nil {
		return ""
	}
	return path
}
