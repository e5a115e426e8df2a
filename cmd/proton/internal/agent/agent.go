// Package agent offers the commands of proton to programs that write kernels, by the Model Context Protocol: each tool turns its arguments into a
// command line, runs this program, and returns what it printed.
package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/goproton/goproton/internal/settings"
)

// Options say what is served.
type Options struct {
	Program string // the executable of proton
	Folder  string // files are read and written below it only
	Version string
	Runs    bool // tools that run programs are offered, too
}

// Result is the answer of every tool.
type Result struct {
	Command  string `json:"command,omitempty" jsonschema:"command line that was run, in the folder of the server"`
	ExitCode int    `json:"exit_code" jsonschema:"of that command; a gate that fails has 1"`
	Document any    `json:"document,omitempty" jsonschema:"JSON that the command printed; proton COMMAND --schema describes it"`
	Text     string `json:"text,omitempty" jsonschema:"text that the command printed"`
	Messages string `json:"messages,omitempty" jsonschema:"what it said on standard error"`
	File     string `json:"file,omitempty" jsonschema:"file with the whole output, if it is too long for an answer"`
}

// New makes a server.
func New(o Options) (*mcp.Server, error) {
	folder, err := filepath.EvalSymlinks(o.Folder)
	if err != nil {
		return nil, fmt.Errorf("serve the folder %s: %w", o.Folder, err)
	}
	if o.Folder, err = filepath.Abs(folder); err != nil {
		return nil, err
	}
	s := &server{Options: o, offered: mcp.NewServer(&mcp.Implementation{Name: "proton", Version: o.Version}, &mcp.ServerOptions{
		Instructions: "Profiles GPU programs and explains them. Begin with explain on a profile (run makes one); its findings name the line, the cause and the next command. Paths are relative to the server's folder.",
	})}
	s.readers()
	if o.Runs {
		s.runners()
	}
	return s.offered, nil
}

type server struct {
	Options
	offered *mcp.Server
}

// line is a command line in the making.
type line struct {
	server *server
	words  []string
	within time.Duration
	err    error
}

func (l *line) add(words ...string) *line { l.words = append(l.words, words...); return l }

// flag adds --name=value, unless the value is empty.
func (l *line) flag(name, value string) *line {
	if value != "" {
		l.add("--" + name + "=" + value)
	}
	return l
}

func (l *line) number(name string, value int) *line {
	if value != 0 {
		l.flag(name, fmt.Sprint(value))
	}
	return l
}

func (l *line) when(is bool, words ...string) *line {
	if is {
		l.add(words...)
	}
	return l
}

// path is a path below the folder, relative to it. One that a link leads out of the folder is refused.
func (l *line) path(given string) string {
	path, err := below(l.server.Folder, given)
	if err != nil {
		l.err = errors.Join(l.err, err)
	}
	return path
}

func (l *line) fileFlag(name, given string) *line {
	if given != "" {
		l.flag(name, l.path(given))
	}
	return l
}

func (l *line) files(given ...string) *line {
	for _, file := range given {
		l.add(l.path(file))
	}
	return l
}

// below returns the path of a file relative to a folder, or an error if it is not in there. What does not exist yet is judged by the folder
// that it would be in.
func below(folder, given string) (string, error) {
	full := given
	if !filepath.IsAbs(full) {
		full = filepath.Join(folder, full)
	}
	real, rest := filepath.Clean(full), ""
	for {
		resolved, err := filepath.EvalSymlinks(real)
		if err == nil {
			real = filepath.Join(resolved, rest)
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || real == filepath.Dir(real) {
			return "", fmt.Errorf("%s: %w", given, err)
		}
		if info, err := os.Lstat(real); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("%s: %s leads to a file that is not there", given, real)
		}
		real, rest = filepath.Dir(real), filepath.Join(filepath.Base(real), rest)
	}
	relative, err := filepath.Rel(folder, real)
	if given == "" || err != nil || relative == ".." || strings.HasPrefix(relative, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("%q is not below the folder that is served, %s: give a path in there", given, folder)
	}
	if strings.HasPrefix(relative, "-") {
		relative = "." + string(filepath.Separator) + relative // not a flag
	}
	return relative, nil
}

// offer adds a tool.
func offer[In any](s *server, name, about string, write func(in *In, l *line)) {
	mcp.AddTool(s.offered, &mcp.Tool{Name: name, Description: about}, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Result, error) {
		l := &line{server: s, within: reading}
		write(&in, l)
		if l.err != nil {
			return nil, Result{}, l.err
		}
		r, err := s.run(ctx, name, l)
		if err != nil {
			return nil, Result{}, err
		}
		return &mcp.CallToolResult{IsError: failed(r)}, *r, nil
	})
}

// failed says whether a command has not done what was asked. A gate that fails has, and so has a candidate that is slower.
func failed(r *Result) bool {
	document, _ := r.Document.(map[string]any)
	verdict, _ := document["verdict"].(string)
	return r.ExitCode != 0 && verdict == ""
}

const (
	reading = 2 * time.Minute  // that a command which reads files may take
	running = 10 * time.Minute // the same of one that runs a program, unless the caller says so
	ending  = 10 * time.Second // after which an interrupted command is killed

	longest     = 24 << 10  // bytes of output in an answer; longer output is a file
	mostCapture = 256 << 20 // bytes of output that are kept
)

// run runs a command line and returns what it printed.
func (s *server) run(ctx context.Context, name string, l *line) (*Result, error) {
	ctx, cancel := context.WithTimeout(ctx, l.within)
	defer cancel()
	stdout, stderr := &limited{most: mostCapture}, &limited{most: longest / 4}
	cmd := exec.CommandContext(ctx, s.Program, l.words...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Folder, stdout, stderr
	cmd.Env = append(os.Environ(), settings.SourcesBelow.Name+"="+s.Folder, "NO_COLOR=1")
	cmd.Cancel, cmd.WaitDelay = func() error { return interrupt(cmd.Process) }, ending
	err := cmd.Run()
	r := &Result{Command: "proton " + strings.Join(l.words, " "), Messages: stderr.text()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s was ended after %s: %w; give it more timeout_s, or less to do", r.Command, l.within, ctx.Err())
	case errors.As(err, &exit):
		r.ExitCode = exit.ExitCode()
	case err != nil:
		return nil, fmt.Errorf("run %s: %w", r.Command, err)
	}
	return r, s.answer(name, r, stdout)
}

// answer puts the output into the answer, or into a file.
func (s *server) answer(name string, r *Result, stdout *limited) error {
	text := stdout.Bytes()
	isDocument := json.Valid(text) && stdout.lost == 0
	switch {
	case len(text) <= longest && isDocument:
		return json.Unmarshal(text, &r.Document)
	case len(text) <= longest:
		r.Text = string(text)
		return nil
	}
	form := "*.txt"
	if isDocument {
		form = "*.json"
	}
	folder := filepath.Join(s.Folder, "proton-answers")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, name+"-"+form)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(text); err != nil {
		return err
	}
	r.File, _ = filepath.Rel(s.Folder, f.Name()) //nolint:errcheck // it is below the folder
	r.Text = fmt.Sprintf("%s\n… %d bytes in all, in %s", bytes.ToValidUTF8(text[:longest/8], nil), len(text), r.File)
	return nil
}

// limited keeps the first bytes that are written to it.
type limited struct {
	bytes.Buffer
	most, lost int
}

func (b *limited) Write(p []byte) (int, error) {
	room := max(0, b.most-b.Len())
	b.Buffer.Write(p[:min(room, len(p))])
	b.lost += len(p) - min(room, len(p))
	return len(p), nil
}

func (b *limited) text() string {
	text := strings.ToValidUTF8(b.String(), "")
	if b.lost > 0 {
		text += fmt.Sprintf("\n… and %d more bytes", b.lost)
	}
	return text
}
