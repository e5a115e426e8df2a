package reproduce

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/perf/benchmath"

	"github.com/goproton/goproton/internal/figures"
)

// Measurement is what a script of template benchmark measured.
type Measurement struct {
	Kernel   string            `json:"kernel"`
	Grid     []int             `json:"grid"`
	Device   string            `json:"device"`
	Torch    string            `json:"torch"`
	Triton   string            `json:"triton"`
	Compiled Compiled          `json:"compiled"`
	Outputs  map[string]string `json:"outputs"` // hashes of the tensors that the launch changed
	Check    Checks            `json:"check"`
	Median   float64           `json:"median_ms"`
	P10      float64           `json:"p10_ms"`
	P90      float64           `json:"p90_ms"`
	Least    float64           `json:"min_ms"`
	Floor    float64           `json:"floor_ms"` // what passes between the two events when nothing is launched
	N        int               `json:"n"`
	Method   string            `json:"method"` // CUDA graph, or events
	Samples  []float64         `json:"samples_ms"`
	Bytes    float64           `json:"bytes"`
	GBs      float64           `json:"gb_per_s"`
	Flops    float64           `json:"flops,omitempty"`
	TFlops   float64           `json:"tflop_per_s,omitempty"`
}

// Compiled is what the compiler made of the kernel.
type Compiled struct {
	Hash           string `json:"hash"`
	Registers      *int   `json:"registers"`
	Spills         *int   `json:"spills"`
	Shared         *int   `json:"shared"` // bytes
	SameAsRecorded *bool  `json:"same_as_recorded"`
}

// Checks are comparisons of what the launch computed.
type Checks struct {
	Recorded []Check `json:"recorded"` // with what a later launch of the trace found
	Repeated []Check `json:"repeated"` // with the same launch once more
	Against  []Check `json:"against,omitempty"`
}

type Check struct {
	Argument string   `json:"argument"`
	Diff     *float64 `json:"max_abs_diff" jsonschema:"null if there is none, for the reason in why"`
	Why      string   `json:"why,omitempty" jsonschema:"why there is no largest difference: another shape, or nan or infinity on one side only"`
	Scale    float64  `json:"max_abs"`
	OK       bool     `json:"ok"`
	Source   string   `json:"source,omitempty"`
}

// Interpreter is a Python that scripts run with.
type Interpreter struct {
	Python string
	Env    []string `json:"-"` // nil: this process's
	Warm   *Warm    `json:"-"` // nil: each script has a process that imports torch and Triton for itself
}

// running has the functions that end scripts which have begun, by their commands; ending is that none may begin any more.
var (
	running sync.Map
	ending  atomic.Bool
)

// EndAll ends all scripts that run or begin, for a process that is about to end: what waits for them goes on with an error.
func EndAll() {
	ending.Store(true)
	running.Range(func(_, end any) bool {
		end.(func())()
		return true
	})
}

// KillAfter is how long a script may take to end.
const KillAfter = 3 * time.Second

// begin starts a script, and returns functions that end it and that wait for its end.
func (in Interpreter) begin(cmd *exec.Cmd) (kill, wait func(), err error) {
	defer func() {
		if err != nil {
			return
		}
		running.Store(cmd, kill)
		if ending.Load() {
			kill()
		}
		waits := wait
		wait = func() { waits(); running.Delete(cmd) }
	}()
	if in.Warm != nil {
		if kill, wait, err = in.Warm.fork(in, cmd); err == nil {
			return kill, wait, nil
		} // otherwise the script itself says what is missing
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	return func() {
		cmd.Process.Signal(syscall.SIGTERM) // proton interpret removes what it has made
		time.AfterFunc(KillAfter, func() { cmd.Process.Kill() })
	}, func() { cmd.Wait() }, nil
}

// Warm is a process that has torch and Triton imported, and forks one for each script. It ends if it has nothing to do for some time.
type Warm struct {
	Socket string
	Idle   time.Duration
}

func (in Interpreter) Command(script string, flags ...string) *exec.Cmd {
	cmd := exec.Command(in.Python, append([]string{script}, flags...)...)
	cmd.Env = in.Env
	return cmd
}

var missingModule = regexp.MustCompile(`No module named '(torch|triton)'`)

// lacks returns what to do if a script failed for lack of torch or triton, else "".
func (in Interpreter) lacks(said string) string {
	if m := missingModule.FindStringSubmatch(said); m != nil {
		return fmt.Sprintf("; %s has no %s: --python names one that has torch and triton", in.Python, m[1])
	}
	return ""
}

// Measure runs a script of template benchmark and returns what it measured and what it printed.
func Measure(in Interpreter, script string, flags ...string) (*Measurement, string, error) {
	folder, err := os.MkdirTemp("", "reproduce-")
	if err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(folder)
	result := filepath.Join(folder, "result.json")
	cmd := in.Command(script, append([]string{"--json", result}, flags...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_, wait, ran := Interpreter{}.begin(cmd)
	if ran == nil {
		wait()
		ran = errors.New(cmd.ProcessState.String())
	}
	text, err := os.ReadFile(result)
	if err != nil {
		said := strings.TrimSpace(stderr.String())
		lines := strings.Split(said, "\n")
		return nil, stdout.String(), fmt.Errorf("run %s: %v: %s%s", script, ran, strings.Join(lines[max(0, len(lines)-4):], "\n"), in.lacks(said))
	}
	m := &Measurement{}
	if err := fromPython(string(text), m); err != nil {
		return nil, stdout.String(), fmt.Errorf("run %s: read its measurements: %w", script, err)
	}
	return m, stdout.String(), nil
}

// fromPython reads JSON of Python, which writes NaN and Infinity, too.
func fromPython(text string, value any) error {
	return json.Unmarshal([]byte(strings.NewReplacer(": NaN", ": null", ": Infinity", ": 1e308", ": -Infinity", ": -1e308").Replace(text)), value)
}

// Side is one of two scripts to compare.
type Side struct {
	Name string
	Interpreter
	Script string
	Flags  []string `json:"flags,omitempty"` // of the script
	Runs   []*Measurement
}

// Medians returns the medians of its runs, in milliseconds.
func (s *Side) Medians() []float64 {
	var all []float64
	for _, m := range s.Runs {
		all = append(all, m.Median)
	}
	return all
}

// Alpha is the probability with which a comparison may call equal sides different.
const Alpha = 0.05

// Comparison is two sides, run in turns.
type Comparison struct {
	A, B    *Side
	Ratio   float64 // of the medians, B to A
	P       float64 // of the Mann-Whitney test: the chance of such medians if the sides are equal
	Against []Check // B's outputs compared with A's, from the same inputs
}

// Compare runs each side in as many processes as there are rounds, in the order A B, B A, A B …, so that drifts of the machine
// affect both. It calls progress after each run.
func Compare(a, b *Side, rounds int, progress func(string)) (*Comparison, error) {
	folder, err := os.MkdirTemp("", "reproduce-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	outputs := filepath.Join(folder, "outputs.pt")
	c := &Comparison{A: a, B: b}
	for round := range rounds {
		order := []*Side{a, b}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, s := range order {
			var flags []string
			if round == 0 {
				flags = []string{"--save-outputs", outputs}
				if s == b {
					flags = []string{"--against", outputs}
				}
			}
			m, _, err := Measure(s.Interpreter, s.Script, append(flags, s.Flags...)...)
			if err != nil {
				return nil, err
			}
			if s == b && round == 0 {
				c.Against = m.Check.Against
			}
			s.Runs = append(s.Runs, m)
			progress(fmt.Sprintf("round %d of %d: %s %s", round+1, rounds, s.Name, figures.Time(m.Median*1e6)))
		}
	}
	c.decide()
	return c, nil
}

func (c *Comparison) decide() {
	c.P = benchmath.AssumeNothing.Compare(c.A.sample(), c.B.sample()).P
	c.Ratio = c.B.Median() / c.A.Median()
}

// Verdict is the result as a sentence.
func (c *Comparison) Verdict() string {
	n := min(len(c.A.Runs), len(c.B.Runs))
	change := figures.Share(math.Abs(c.Ratio - 1))
	switch a, b := c.A.Runs[0].Method, c.B.Runs[0].Method; {
	case a != b: // outside of a graph, times between events include work of the CPU
		return fmt.Sprintf("undecided: %s was timed by %s, %s by %s, which measure different things", c.A.Name, a, c.B.Name, b)
	case n < 4:
		return fmt.Sprintf("undecided: %d runs a side are too few for a test; --rounds 5 is enough", n)
	case c.P > Alpha:
		return fmt.Sprintf("no difference that is significant in %d runs a side (%s, p=%.3f)", n, figures.Change(c.Ratio-1), c.P)
	case c.Ratio > 1:
		return fmt.Sprintf("%s is slower by %s (p=%.3f, %d runs a side)", c.B.Name, change, c.P, n)
	}
	return fmt.Sprintf("%s is faster by %s (p=%.3f, %d runs a side)", c.B.Name, change, c.P, n)
}

// Spread is the least and the largest of a side's medians.
func (s *Side) Spread() (least, most float64) {
	return slices.Min(s.Medians()), slices.Max(s.Medians())
}

// Median of the side's medians, in milliseconds.
func (s *Side) Median() float64 { return benchmath.AssumeNothing.Summary(s.sample(), 1-Alpha).Center }

func (s *Side) sample() *benchmath.Sample {
	return benchmath.NewSample(s.Medians(), &benchmath.Thresholds{CompareAlpha: Alpha})
}
