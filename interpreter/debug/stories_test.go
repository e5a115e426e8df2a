package debug

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/triton/ttir"
)

// launched is a kernel with its buffers.
type launched struct {
	program   *interpreter.Program
	grid      [3]int32
	buffers   []*interpreter.Buffer
	arguments []interpreter.Argument
	sources   map[string]string
}

// kernel loads testdata/add.py, whose text has one of two forms: add.front.ttir, or add.ttir after Triton's passes.
func kernel(t testing.TB, form string) *launched {
	t.Helper()
	p, err := interpreter.Load(ttir.Parse(string(testkit.Read(t, "testdata/"+form))))
	if err != nil {
		t.Fatal(err)
	}
	l := &launched{program: p, grid: [3]int32{8, 8, 1}, sources: map[string]string{"/src/add.py": string(testkit.Read(t, "testdata/add.py"))}}
	const n = 128
	for i, name := range []string{"x_ptr", "y_ptr", "z_ptr"} {
		b := &interpreter.Buffer{Name: name, Data: make([]byte, 4*n*n)}
		for k := range n * n {
			v := float32(k) / 4
			switch i {
			case 1:
				v = float32(k%7) - 3
			case 2:
				v = 0
			}
			binary.LittleEndian.PutUint32(b.Data[4*k:], math.Float32bits(v))
		}
		l.buffers = append(l.buffers, b)
		l.arguments = append(l.arguments, interpreter.Pointer(b, 0))
	}
	l.arguments = append(l.arguments, interpreter.Int(n), interpreter.Int(n))
	return l
}

var errEarly = errors.New("the launch ended before the commands")

// session carries out commands, and returns what a terminal shows: prompts, commands and answers.
func session(t testing.TB, l *launched, s Settings, commands []string) (string, error) {
	t.Helper()
	s.Sources, s.Findings = l.sources, true
	d, err := New(s)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	d.UI = NewTerminal(d, func(prompt string) (string, error) {
		if len(commands) == 0 {
			return "", errors.New("the story ends")
		}
		c := commands[0]
		commands = commands[1:]
		out.WriteString(prompt + c + "\n")
		return c, nil
	}, &out)
	_, err = d.Launch(l.program, "add_kernel", l.grid, l.arguments, interpreter.Options{Output: &out})
	if err == nil && len(commands) > 0 {
		return out.String(), fmt.Errorf("%w: %q", errEarly, commands)
	}
	return out.String(), err
}

// TestStories: what a user types, and what the debugger answers: testdata/stories.
func TestStories(t *testing.T) {
	files, _ := filepath.Glob("testdata/stories/*.txtar")
	if len(files) < 5 {
		t.Fatal("stories are missing")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			story, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var set struct {
				Settings
				Form string
				Size int // of x_ptr, in elements
			}
			var written string
			at := 0
			for i, f := range story.Files {
				switch f.Name {
				case "settings":
					if err := json.Unmarshal(f.Data, &set); err != nil {
						t.Fatal(err)
					}
				case "session":
					written, at = string(f.Data), i
				}
			}
			l := kernel(t, set.Form)
			if set.Size > 0 {
				l.buffers[0].Data = l.buffers[0].Data[:4*set.Size]
			}
			var commands []string
			for line := range strings.Lines(written) {
				if c, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), Prompt); ok {
					commands = append(commands, c)
				}
			}
			got, err := session(t, l, set.Settings, commands)
			if errors.Is(err, errEarly) {
				t.Fatalf("%v\n%s", err, got)
			}
			if err != nil && !errors.Is(err, ErrQuit) {
				got += "error: " + err.Error() + "\n"
			}
			for line := range strings.Lines(got) {
				if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 && !strings.HasPrefix(line, Prompt) && !strings.HasPrefix(line, "error: ") {
					t.Errorf("a line has %d columns: %s", n, line)
				}
			}
			if testkit.Update() {
				story.Files[at].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(story), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != written {
				t.Errorf("the session differs; got\n%s", got)
			}
		})
	}
}
