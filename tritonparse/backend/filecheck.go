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
	"strconv"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/awake"
	"github.com/goproton/goproton/internal/pythonpath"
	"github.com/goproton/goproton/internal/settings"
)

// check is one directive of a list of checks.
type check struct {
	kind    string // "", NOT, NEXT, SAME
	text    string // as it was given
	pattern *regexp.Regexp
}

type checks []check

var checkDirective = regexp.MustCompile(`^CHECK(-NOT|-NEXT|-SAME|-COUNT-(\d+))?:(.*)$`)

// ReadChecks reads the part of FileCheck's language that needs no variables. It returns an error for checks beyond that, which
// only FileCheck itself can make.
func ReadChecks(lines []string) (checks, error) {
	var all checks
	for _, l := range lines {
		m := checkDirective.FindStringSubmatch(l)
		if m == nil {
			return nil, fmt.Errorf("%q is supported by FileCheck only", l)
		}
		p, err := checkPattern(strings.TrimSpace(m[3]))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", l, err)
		}
		times := 1
		if m[2] != "" {
			m[1] = ""
			if times, err = strconv.Atoi(m[2]); err != nil || times < 1 || times > 1000 {
				return nil, fmt.Errorf("%q: not a number of times", l)
			}
		}
		for range times {
			all = append(all, check{strings.TrimPrefix(m[1], "-"), l, p})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no CHECK in it")
	}
	return all, nil
}

var blanks = regexp.MustCompile(`[ \t]+`)

// checkPattern turns text with {{regular expressions}} into one expression. A run of blanks matches any run of blanks.
func checkPattern(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, errors.New("an empty check")
	}
	if strings.Contains(text, "[[") {
		return nil, errors.New("variables are supported by FileCheck only")
	}
	var b strings.Builder
	for {
		literal, rest, found := strings.Cut(text, "{{")
		words := blanks.Split(literal, -1)
		for i := range words {
			words[i] = regexp.QuoteMeta(words[i])
		}
		b.WriteString(strings.Join(words, `[ \t]+`))
		if !found {
			break
		}
		inside, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, errors.New("{{ has no }}")
		}
		b.WriteString("(?:" + inside + ")")
		text = after
	}
	return regexp.Compile("(?m)" + b.String()) // a line is what ^ and $ are about
}

// Match reports whether the text has all matches, in order, and otherwise which check fails and at which line.
func (c checks) Match(text string) (bool, string) {
	at := 0
	from := -1 // the first CHECK-NOT that waits for the next match
	absent := func(until int) (bool, string, int) {
		for i := from; i >= 0 && i < len(c) && c[i].kind == "NOT"; i++ {
			if m := c[i].pattern.FindStringIndex(text[at:until]); m != nil {
				return false, c[i].text, at + m[0]
			}
		}
		return true, "", 0
	}
	for i := range c {
		if c[i].kind == "NOT" {
			if from < 0 {
				from = i
			}
			continue
		}
		m := c[i].find(text, at)
		if m == nil {
			return false, fmt.Sprintf("%s: no match from line %d", c[i].text, lineAt(text, at))
		}
		if ok, which, where := absent(at + m[0]); !ok {
			return false, fmt.Sprintf("%s: matches line %d", which, lineAt(text, where))
		}
		at, from = at+m[1], -1
	}
	if ok, which, where := absent(len(text)); !ok {
		return false, fmt.Sprintf("%s: matches line %d", which, lineAt(text, where))
	}
	return true, ""
}

// find returns the first match after at: of CHECK-SAME in the rest of the line, of CHECK-NEXT in the next line.
func (c *check) find(text string, at int) []int {
	rest := text[at:]
	switch c.kind {
	case "SAME":
		rest, _, _ = strings.Cut(rest, "\n")
	case "NEXT":
		line := strings.IndexByte(rest, '\n')
		if line < 0 {
			return nil
		}
		next, _, _ := strings.Cut(rest[line+1:], "\n")
		m := c.pattern.FindStringIndex(next)
		if m == nil {
			return nil
		}
		return []int{m[0] + line + 1, m[1] + line + 1}
	}
	return c.pattern.FindStringIndex(rest)
}

func lineAt(text string, at int) int { return strings.Count(text[:at], "\n") + 1 }

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
	ctx, cancel := awake.Context(context.Background(), fileCheckTime)
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
	if f := pythonpath.InPackages("triton", "FileCheck"); f != "" {
		return f
	}
	if f := settings.FileCheck.Get(os.Getenv); f != "" && pythonpath.Executable(f) {
		return f
	}
	path, err := exec.LookPath("FileCheck")
	if err != nil {
		return ""
	}
	return path
}
