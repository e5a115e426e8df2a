package debug

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/triton/ttir"
)

// walker decides at each stop what follows.
type walker struct {
	d      *Debugger
	stops  []string
	decide func(s *Stop) Resume
}

func (w *walker) Launched(*Debugger)       {}
func (w *walker) Print(place, text string) { w.stops = append(w.stops, place+text) }
func (w *walker) Ended(*Debugger, error)   {}
func (w *walker) Stopped(s *Stop) Resume {
	return w.decide(s)
}

// TestSteppingChangesNothing: a launch that is walked through in any way, also back and again, leaves the same bytes as one that is not.
func TestSteppingChangesNothing(t *testing.T) {
	for _, form := range []string{"add.front.ttir", "add.ttir"} {
		plain := kernel(t, form)
		plain.grid = [3]int32{2, 2, 1}
		if _, err := plain.program.Launch("", plain.grid, plain.arguments, interpreter.Options{}); err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(20) {
			l := kernel(t, form)
			l.grid = plain.grid
			d, err := New(Settings{Stop: true, Sources: l.sources})
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(seed, 1))
			stops := 0
			d.UI = &walker{d: d, decide: func(s *Stop) Resume {
				stops++
				k := []Kind{Next, Next, Step, Step, Step, Finish, Operation, Back, Restart, Switch}[r.IntN(10)]
				to := [3]int32{r.Int32N(2), r.Int32N(2), 0}
				switch {
				case stops > 150:
					k = Detach
				case k == Back && d.CanGoBack(s) != nil, k == Switch && d.CanSwitch(to) != nil:
					k = Step
				}
				return Resume{Kind: k, Instance: to}
			}}
			if _, err := d.Launch(l.program, "", l.grid, l.arguments, interpreter.Options{}); err != nil {
				t.Fatal(err)
			}
			if stops < 5 {
				t.Errorf("%s: %d stops", form, stops)
			}
			for i := range l.buffers {
				if !bytes.Equal(l.buffers[i].Data, plain.buffers[i].Data) {
					t.Errorf("%s, seed %d: %s differs", form, seed, l.buffers[i].Name)
				}
			}
		}
	}
}

// TestBack: going back from a line leads to the line before, with the variables of then.
func TestBack(t *testing.T) {
	l := kernel(t, "add.front.ttir")
	l.grid = [3]int32{1, 1, 1}
	d, _ := New(Settings{Stop: true, Sources: l.sources})
	var lines, back []int
	d.UI = &walker{decide: func(s *Stop) Resume {
		line := last(s.Stack).Line
		if len(back) == 0 && line != 29 {
			lines = append(lines, line)
			return Resume{Kind: Step}
		}
		if back = append(back, line); line == 14 {
			return Resume{Kind: Continue}
		}
		if err := d.CanGoBack(s); err != nil {
			t.Fatal(line, err)
		}
		return Resume{Kind: Back}
	}}
	if _, err := d.Launch(l.program, "", l.grid, l.arguments, interpreter.Options{}); err != nil {
		t.Fatal(err)
	}
	for i, n := range back[1:] { // functions that have ended are not gone into again
		if n == 7 || n == 8 || n == 9 {
			t.Errorf("back leads into a function: %v", back)
		}
		if i > 0 && n == back[i] && n != 25 {
			t.Errorf("the line %d twice: %v", n, back)
		}
	}
	if len(lines) < 15 || len(back) < 12 {
		t.Errorf("%v, back %v", lines, back)
	}
}

// TestExpressions: values computed by hand, of offsets = 128·i + j and others of the instance (0, 0, 0).
func TestExpressions(t *testing.T) {
	l := kernel(t, "add.front.ttir")
	d, _ := New(Settings{Breakpoints: []string{"add.py:24"}, Sources: l.sources})
	want := map[string]string{
		"offsets[3, 4]": "388", "offsets[-1][0]": "1920", "offsets[1:3, 2].shape": "(2,)", "offsets[2, ::8]": "[256, 264]", "offsets[:, None, 0].shape": "(16, 1)",
		"min(offsets)": "0", "max(offsets)": "1935", "offsets.sum()": "247680", "offsets.mean()": "967.5", "offsets.max(axis=0)[3]": "1923", "offsets.max(1)[3]": "399", "argmax(offsets[5])": "15",
		"any(offsets > 1934)": "1", "all(offsets > 1934)": "0", "(offsets > 1934).sum()": "1", "not any(x != x)": "1", "isnan(x).sum()": "0", "isinf(x / 0).sum()": "255", "abs(-3)": "3",
		"offsets.dtype": "int32", "x.dtype": "fp32", "masks.dtype": "int1", "x_ptr.dtype": "pointer<fp32>", "len(offsets)": "16", "offsets.numel": "256",
		"1 + 2 * 3": "7", "(1 + 2) * 3": "9", "-7 // 2": "-4", "-7 % 3": "2", "7 / 2": "3.5", "1 << 4 | 1": "17", "~0": "-1", "0x10": "16", "1e3": "1000", "1.5 * 2": "3", "6 & 3 ^ 1": "3",
		"1 < 2 and 2 < 1": "0", "0 or 5": "5", "not 0": "1", "not 1 == 2": "1", "True + True": "2", `"a" == 'a'`: "1", "(1, 2) == (1, 2)": "1", "pid == (0, 0, 0)": "1", "pid[0]": "0", "grid[1:]": "(8, 1)", "(1,)": "(1,)", "()": "()",
		"x[1, 0]": "32", "x_ptr[128]": "32", "*(x_ptr + 128)": "32", "(x_ptr + offsets)[1, 0] - x_ptr": "512", "x_ptr[0:10:4]": "[0, 1, 2]", "*(x_ptr + offsets)[1, :2]": "[32, 32.25]", "x_ptr + 128": "x_ptr[128]",
		"offsets * 2000000 // 2000000 == offsets": "", "x + 1 == x + 1.0": "", "offsets[0, :4] * 0.5": "[0, 0.5, 1, 1.5]", "dim0 * 33554432": "4294967296",
	}
	bad := map[string]string{"offsets[3.5]": "an index is a whole number", "x[0] and 1": "many elements", "~x": "is not defined", "x & 1": "is not defined", "1 % 0": "divides by 0", "dim0 == (1, 0, 0)": "int32 == tuple is not defined", "program == 1": "not defined", "sum(x, axis=2)": "from 0 to 1", "sum(1, 2, 3)": "at most an axis",
		"x[0, 0, 0]": "2 dimensions", "x[::0]": "step", "x_ptr[0:99999999999]": "elements", "x[None, None, 0, 0, 0]": "indices", "sum()": "0 arguments", "pid.shape + 1": "not defined", "x[": "missing", "x[]": "needs an index", "x[1:2:3:4]": "missing",
		strings.Repeat("(", 500): "nested", strings.Repeat("not ", 500) + "1": "nested", strings.Repeat("-", 500) + "1": "nested", strings.Repeat("1+", 4000) + "1": "4096 bytes", "max(\"a\")": "needs a tensor", "x.T": "no .T", "*3": "not a pointer", "1 2": "not understood", "0x": "not a number", "..": "not understood", "x.": "a name is missing", "len(1)": "number"}
	d.UI = &walker{decide: func(s *Stop) Resume {
		st := d.style()
		for text, answer := range want {
			v, err := d.compute(last(s.Stack), text)
			if err != nil {
				t.Errorf("%s: %v", text, err)
			} else if got := st.inline(&v); got != answer && answer != "" {
				t.Errorf("%s is %s, and not %s", text, got, answer)
			}
		}
		for text, answer := range bad {
			if v, err := d.compute(last(s.Stack), text); err == nil || !strings.Contains(err.Error(), answer) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%.40s: %v, %v", text, err, v.typeText())
			}
		}
		return Resume{Kind: Quit}
	}}
	if _, err := d.Launch(l.program, "", l.grid, l.arguments, interpreter.Options{}); !errors.Is(err, ErrQuit) {
		t.Error(err)
	}
}

// FuzzCommands: whatever is typed gets an answer, and no line is wider than the terminal by more than a name.
func FuzzCommands(f *testing.F) {
	for _, c := range commands {
		f.Add(c.names[0], "offsets[3, :]", uint8(80))
	}
	for _, s := range []string{"x[::2, None]", "max(x, axis=-1)", "*(x_ptr + offsets)", "b add.py:21 if any(x > 1)", "p (1, \"a\")[0]", "x_ptr[-5:5]", "1 << 99", "-9223372036854775807 // -1", "p all(\xff)", "watch z_ptr[0:4]"} {
		f.Add(s, s, uint8(20))
	}
	l := kernel(f, "add.ttir")
	l.grid = [3]int32{2, 1, 1}
	f.Fuzz(func(t *testing.T, a, b string, width uint8) {
		d, err := New(Settings{Breakpoints: []string{"add.py:24"}, Sources: l.sources, Width: int(width)})
		if err != nil {
			t.Fatal(err)
		}
		typed := []string{a, b, a + " " + b, "n", b, "q"}
		var out bytes.Buffer
		d.UI = NewTerminal(d, func(string) (string, error) {
			if len(typed) == 0 {
				return "", io.EOF
			}
			c := typed[0]
			typed = typed[1:]
			return c, nil
		}, &out)
		if _, err := d.Launch(l.program, "", l.grid, l.arguments, interpreter.Options{}); err != nil && !errors.Is(err, ErrQuit) {
			t.Fatal(err)
		}
		if out.Len() == 0 {
			t.Error("nothing was shown")
		}
	})
}

// FuzzTables: tables of any shape have lines that fit, and as many rows as they say.
func FuzzTables(f *testing.F) {
	f.Add(uint16(16), uint16(16), uint16(1), uint8(80), int64(1))
	f.Add(uint16(1), uint16(1000), uint16(3), uint8(40), int64(-99999999))
	f.Fuzz(func(t *testing.T, a, b, c uint16, width uint8, scale int64) {
		shape := []int{int(a % 40), int(b % 700), int(c % 9)}
		for len(shape) > 1 && shape[len(shape)-1] == 1 {
			shape = shape[:len(shape)-1]
		}
		like := integer(0)
		v := like.like(shape)
		for i := range v.ints {
			v.ints[i] = int64(i) * scale
		}
		s := &style{width: max(60, int(width)), rows: 16}
		text := s.lines("x", &v)
		for line := range strings.Lines(text) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > s.width && n > 75 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	})
}

// TestBreakpointsOfLaterLaunches: where a breakpoint is depends on the launch, as where constants decide which lines a kernel has. One text has
// no operation at line 22.
func TestBreakpointsOfLaterLaunches(t *testing.T) {
	l := kernel(t, "add.ttir")
	without := strings.ReplaceAll(string(testkit.Read(t, "testdata/add.ttir")), `add.py":22:`, `add.py":23:`)
	other, err := interpreter.Load(ttir.Parse(without))
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(Settings{Breakpoints: []string{"add.py:22"}, Sources: l.sources})
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	d.UI = &walker{decide: func(s *Stop) Resume {
		lines = append(lines, last(s.Stack).Line)
		return Resume{Kind: Continue}
	}}
	for _, p := range []*interpreter.Program{other, l.program, other} {
		if _, err := d.Launch(p, "", [3]int32{1, 1, 1}, l.arguments, interpreter.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{23, 22, 23}; !slices.Equal(lines, want) {
		t.Errorf("stopped at the lines %v, want %v", lines, want)
	}
}
