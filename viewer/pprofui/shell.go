package pprofui

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	xterm "golang.org/x/term"

	"github.com/goproton/goproton/internal/term"
)

// shell is the driver.UI: messages on stderr, and commands from a terminal, with history and completion, or from
// a pipe.
type shell struct {
	stdin    io.Reader
	lines    *bufio.Reader
	stderr   io.Writer
	terminal *xterm.Terminal // nil unless a person types
	complete func(string) string
}

func newShell(stdin io.Reader, stderr io.Writer) *shell {
	s := &shell{stdin: stdin, lines: bufio.NewReader(stdin), stderr: stderr}
	if term.IsTerminal(stdin) && term.IsTerminal(stderr) {
		s.terminal = xterm.NewTerminal(readWriter{stdin, term.Raw(stderr)}, "")
		s.terminal.AutoCompleteCallback = s.onKey
	}
	return s
}

type readWriter struct {
	io.Reader
	io.Writer
}

// ReadLine reads a command that the shell can carry out. weblist is not one: the shell's profile has frames without a source
// file, whose values weblist would add up (dropWithoutFile).
func (s *shell) ReadLine(prompt string) (string, error) {
	for {
		line, err := s.readLine(prompt)
		if words := strings.Fields(line); len(words) == 0 || words[0] != "weblist" {
			return line, err
		}
		s.Print("proton: weblist is not known here: leave the shell and write proton pprof -weblist=REGEXP FILE; list REGEXP prints the lines here")
	}
}

// readLine reads a line. The terminal is raw only for as long as one is typed, so that an interrupt stops a report that takes long.
func (s *shell) readLine(prompt string) (string, error) {
	if s.terminal == nil {
		return s.lines.ReadString('\n')
	}
	in := int(s.stdin.(*os.File).Fd())
	before, err := xterm.MakeRaw(in)
	if err != nil {
		return "", fmt.Errorf("read a command: %w", err)
	}
	defer func() { _ = xterm.Restore(in, before) }()
	if width, height, err := xterm.GetSize(in); err == nil && width > 0 {
		_ = s.terminal.SetSize(width, height) // fails for a terminal without columns only
	}
	s.terminal.SetPrompt(prompt)
	return s.terminal.ReadLine()
}

func (s *shell) onKey(line string, pos int, key rune) (newLine string, newPos int, ok bool) {
	if key != '\t' || s.complete == nil || pos != len(line) {
		return "", 0, false
	}
	line = s.complete(line)
	return line, len(line), true
}

// Print and PrintErr write to stderr: stdout is for reports.
func (s *shell) Print(args ...interface{}) {
	text := fmt.Sprint(args...)
	if strings.HasPrefix(text, "Serving web UI on ") {
		return // it may name port 0; the server prints the real address
	}
	fmt.Fprintln(s.stderr, strings.TrimSuffix(text, "\n"))
}

// PrintErr is Print.
func (s *shell) PrintErr(args ...interface{}) { s.Print(args...) }

// IsTerminal reports whether stdout is a terminal: the driver then writes binary reports to files.
func (s *shell) IsTerminal() bool { return term.IsTerminal(os.Stdout) }

// WantBrowser is false: the server opens a browser itself, when it listens.
func (s *shell) WantBrowser() bool { return false }

// SetAutoComplete takes the driver's completer.
func (s *shell) SetAutoComplete(complete func(string) string) { s.complete = complete }
