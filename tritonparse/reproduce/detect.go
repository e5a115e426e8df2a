package reproduce

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/figures"
)

// A Detection times two scripts in alternation until a slowdown of a given share would be seen. Both stay on the GPU, each in a process, and
// take turns every few hundredths of a second, so that what the machine does meanwhile is in both.
//
// A block is two batches of launches of each side, in the order A B B A or B A A B by chance. A drift of clocks or of temperature cancels out in it.
// If B is as fast as A, the sign of a block's difference is as likely to be plus as minus: the test counts how many assignments of signs have a mean
// as large as the observed one. When to stop, and which blocks are warm-up, is decided by the sizes of differences and by the levels of blocks, which
// do not change with the signs, so neither changes the probability of a false alarm.
type Detection struct {
	A        *Side   `json:"a"`
	B        *Side   `json:"b"`
	Slowdown float64 `json:"slowdown"` // the share that is to be seen
	Seconds  float64 `json:"seconds"`  // of measuring
	Blocks   []Block `json:"blocks"`
	WarmUp   int     `json:"warm_up_blocks"` // at the beginning, left out
	Judgement
	Against   []Check `json:"against"`
	Method    string  `json:"method"`           // CUDA graph, or events
	Outcome   string  `json:"outcome"`          // slower, faster, not slower, undecided
	Clocks    []int   `json:"sm_mhz,omitempty"` // the lowest and the highest clock after a batch
	Same      bool    `json:"same_script"`
	Throttled int     `json:"throttled_batches"` // in which the driver lowered the clock for power or heat
}

// Block has the typical time of a launch in each batch, in milliseconds.
type Block struct {
	A [2]float64 `json:"a_ms"`
	B [2]float64 `json:"b_ms"`
}

// difference is how much longer B takes, as a logarithm.
func (b Block) difference() float64 { return math.Log(b.B[0]*b.B[1]/(b.A[0]*b.A[1])) / 2 }

// level is the same for both sides.
func (b Block) level() float64 { return math.Log(b.B[0]*b.B[1]*b.A[0]*b.A[1]) / 4 }

// Judgement is what blocks say. Shares are of A's time: 0.01 is 1 % slower.
type Judgement struct {
	Change float64    `json:"change"`
	Range  [2]float64 `json:"change_95"`
	Error  float64    `json:"standard_error"` // that the change would have if both sides were equal
	Slower float64    `json:"p_slower"`       // the chance of such a difference if B is not slower
	Faster float64    `json:"p_faster"`
}

const (
	detectAlpha = 0.01 // false alarms: those of the end and of the early look together
	earlyAlpha  = 0.001
	endAlpha    = detectAlpha - earlyAlpha
	earlyBlocks = 20
	// sharp is how many standard errors a slowdown must have to be seen: 2.33 for the alpha, 1.28 for a power of 0.9, and the rest for estimates.
	sharp       = 4
	leastBlocks = 12
	signs       = 9999
	// BatchMillis is how long a batch of a gate is: the sides take turns so often that a drift of the machine is in both.
	BatchMillis = 50
)

// warmUp is how many blocks at the beginning have another level than the second half.
func warmUp(blocks []Block) int {
	if len(blocks) < 8 {
		return 0
	}
	var levels, distances []float64
	for _, b := range blocks {
		levels = append(levels, b.level())
	}
	half := levels[len(levels)/2:]
	middle := figures.Median(half)
	for _, l := range half {
		distances = append(distances, math.Abs(l-middle))
	}
	reach := max(6*figures.Median(distances), 0.002)
	n := 0
	for n < len(levels)/2 && math.Abs(levels[n]-middle) > reach {
		n++
	}
	return n
}

// differences are those of blocks after the warm-up. Outliers are moved closer: another program's work hits one batch, not all.
func differences(blocks []Block) []float64 {
	var all, sizes []float64
	for _, b := range blocks {
		all = append(all, b.difference())
		sizes = append(sizes, math.Abs(b.difference()))
	}
	reach := 3 * figures.Median(sizes)
	for i, d := range all {
		all[i] = min(max(d, -reach), reach)
	}
	return all
}

// errorOf is the standard error of the mean of differences whose signs are by chance.
func errorOf(d []float64) float64 {
	sum := 0.0
	for _, v := range d {
		sum += v * v
	}
	return math.Sqrt(sum) / float64(len(d))
}

// enough says whether a slowdown would be seen in these blocks.
func enough(blocks []Block, slowdown float64) bool {
	d := differences(blocks[warmUp(blocks):])
	return len(d) >= leastBlocks && errorOf(d) <= slowdown/sharp
}

// evident says whether a difference is so large that few blocks show it. This looks at the signs, so it is asked once, after earlyBlocks.
func evident(blocks []Block, slowdown float64, random *rand.Rand) bool {
	if len(blocks) != earlyBlocks {
		return false
	}
	j := judge(blocks[warmUp(blocks):], random)
	return math.Abs(j.Change) >= 2*slowdown && min(j.Slower, j.Faster) <= earlyAlpha
}

// judge compares the mean difference with those of other signs.
func judge(blocks []Block, random *rand.Rand) (j Judgement) {
	d := differences(blocks)
	n := float64(len(d))
	mean, squares := 0.0, 0.0
	for _, v := range d {
		mean += v / n
	}
	for _, v := range d {
		squares += (v - mean) * (v - mean)
	}
	spread := 1.96 * math.Sqrt(squares/max(n-1, 1)/n)
	j = Judgement{Change: math.Expm1(mean), Range: [2]float64{math.Expm1(mean - spread), math.Expm1(mean + spread)}, Error: errorOf(d)}
	above, below := 1, 1 // the observed signs are one of the assignments
	tolerance := 1e-12 * math.Abs(mean)
	for range signs {
		sum := 0.0
		var bits uint64
		for i, v := range d {
			if i%64 == 0 {
				bits = random.Uint64()
			}
			if bits>>(i%64)&1 == 0 {
				v = -v
			}
			sum += v
		}
		if sum/n >= mean-tolerance {
			above++
		}
		if sum/n <= mean+tolerance {
			below++
		}
	}
	j.Slower, j.Faster = float64(above)/(signs+1), float64(below)/(signs+1)
	return j
}

// outcome is the decision. A significant change of less than half the slowdown is none that was asked for.
func (j Judgement) outcome(slowdown float64, enough bool) string {
	switch {
	case j.Slower <= endAlpha && j.Change >= slowdown/2:
		return "slower"
	case j.Faster <= endAlpha && j.Change <= -slowdown/2:
		return "faster"
	case !enough:
		return "undecided"
	}
	return "not slower"
}

// Verdict is the result as a sentence.
func (d *Detection) Verdict() string {
	share := func(v float64) string { return fmt.Sprintf("%+.2f%%", 100*v) }
	change := fmt.Sprintf("%s (%s to %s)", share(d.Change), share(d.Range[0]), share(d.Range[1]))
	switch d.Outcome {
	case "slower", "faster":
		return fmt.Sprintf("%s is %s: %s, p=%.4f", d.B.Name, d.Outcome, change, min(d.Slower, d.Faster))
	case "undecided":
		need := d.Seconds * math.Pow(d.Error*sharp/d.Slowdown, 2)
		return fmt.Sprintf("undecided: after %.0f s the change is %s, and a slowdown of %s would be missed too often on so noisy a machine; it needs about --seconds %.0f, longer kernels, or a machine without other work",
			d.Seconds, change, figures.Share(d.Slowdown), math.Ceil(max(need, d.Seconds*1.5)))
	}
	return fmt.Sprintf("%s is not slower by %s, which would have been seen with a probability of 90%%: %s", d.B.Name, figures.Share(d.Slowdown), change)
}

// Pair is two scripts that stay on the GPU, each in a process.
type Pair struct {
	A, B    *Side
	Against []Check // B's outputs compared with A's, from the same inputs
	Method  string  // in which both are timed; "" if they run on the CPU
	servers [2]*server
	folder  string
}

// Start starts both scripts at once. They launch, check what they compute, and wait.
func Start(a, b *Side) (*Pair, error) {
	p := &Pair{A: a, B: b}
	if err := p.start(); err != nil {
		p.End()
		return nil, err
	}
	return p, nil
}

func (p *Pair) start() (err error) {
	if p.folder, err = os.MkdirTemp("", "reproduce-"); err != nil {
		return err
	}
	sides := []*Side{p.A, p.B}
	for i, s := range sides {
		if p.servers[i], err = serve(s, p.folder); err != nil {
			return err
		}
	}
	for _, i := range []int{1, 0} { // B first: it is the new one, and fails more often
		m := &Measurement{}
		if err := p.servers[i].read("measured", m); err != nil {
			return err
		}
		sides[i].Runs = append(sides[i].Runs, m)
	}
	if p.Method = p.A.Runs[0].Method; p.Method != p.B.Runs[0].Method {
		p.Method = "events" // which time both
	}
	outputs := filepath.Join(p.folder, "outputs.pt")
	if err := p.servers[0].ask("keep "+outputs, nil); err != nil {
		return err
	}
	return p.servers[1].ask("against "+outputs, &p.Against)
}

// End ends both processes.
func (p *Pair) End() {
	for _, v := range p.servers {
		if v != nil {
			v.end()
		}
	}
	os.RemoveAll(p.folder)
}

// Sample samples the instructions of B's launches into the profile of a name, without its suffix.
func (p *Pair) Sample(name string) error { return p.servers[1].ask("sample "+name, nil) }

// Detect times both scripts until a slowdown would be seen, for so many seconds at most, in batches of milliseconds.
func Detect(p *Pair, slowdown, seconds float64, millis int, progress func(string)) (*Detection, error) {
	a, b := p.A, p.B
	d := &Detection{A: a, B: b, Slowdown: slowdown, Against: p.Against, Method: p.Method,
		Same: sameText(a.Script, b.Script) && a.Python == b.Python && slices.Equal(a.Flags, b.Flags)}
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	ready, said := false, 0.0
	for d.Seconds < seconds && !ready && !evident(d.Blocks, slowdown, random) {
		if err := d.block(p, millis, random.IntN(2)); err != nil {
			return nil, err
		}
		if d.Seconds >= said+5 {
			said = d.Seconds
			progress(fmt.Sprintf("%s in %.0f s", figures.Count(uint64(len(d.Blocks)), "block"), d.Seconds))
		}
		ready = enough(d.Blocks, slowdown)
	}
	d.WarmUp = warmUp(d.Blocks)
	kept := d.Blocks[d.WarmUp:]
	d.Judgement = judge(kept, random)
	d.Outcome = d.outcome(slowdown, ready)
	var times [2][]float64
	for _, block := range kept {
		times[0], times[1] = append(times[0], block.A[:]...), append(times[1], block.B[:]...)
	}
	for i, s := range []*Side{a, b} {
		s.Runs[0].Median = figures.Median(times[i])
	}
	return d, nil
}

// sameText says whether two scripts are copies of each other.
func sameText(a, b string) bool {
	x, err := os.ReadFile(a)
	y, wrong := os.ReadFile(b)
	return err == nil && wrong == nil && bytes.Equal(x, y)
}

// block measures A B B A, or B A A B.
func (d *Detection) block(p *Pair, millis, first int) error {
	var block Block
	for i, side := range []int{first, 1 - first, 1 - first, first} {
		began := time.Now()
		var answer batch
		err := p.servers[side].ask(fmt.Sprintf("batch %d %s", millis, p.Method), &answer)
		if err == nil && (len(answer.Times) == 0 || slices.Min(answer.Times) <= 0) {
			err = p.servers[side].failed(errors.New("a launch has no time"))
		}
		if err != nil {
			return err
		}
		d.Seconds += time.Since(began).Seconds()
		[]*[2]float64{&block.A, &block.B}[side][i/2] = typical(answer.Times)
		if answer.Clock > 0 && d.Clocks == nil {
			d.Clocks = []int{answer.Clock, answer.Clock}
		}
		if answer.Clock > 0 {
			d.Clocks = []int{min(d.Clocks[0], answer.Clock), max(d.Clocks[1], answer.Clock)}
		}
		if answer.Throttled {
			d.Throttled++
		}
	}
	d.Blocks = append(d.Blocks, block)
	return nil
}

// typical is the mean of the middle half of the times: events have steps, between which a median would jump.
func typical(times []float64) float64 {
	sorted := slices.Sorted(slices.Values(times))
	middle := sorted[len(sorted)/4 : len(sorted)-len(sorted)/4]
	sum := 0.0
	for _, t := range middle {
		sum += t
	}
	return sum / float64(len(middle))
}

// server is a script of template benchmark that does what it is asked to.
type server struct {
	side   *Side
	asks   *os.File
	lines  *bufio.Scanner
	errors *os.File
	said   chan string // on standard error, once it has ended
	kill   func()
	wait   func()
}

type batch struct {
	Times     []float64 `json:"times_ms"`
	Clock     int       `json:"sm_mhz"`
	Throttled bool      `json:"throttled"`
}

// patience is how long a script may take for an answer. The first has compilations in it, and the search of an autotuner.
const patience = 5 * time.Minute

// serve starts a script. What it leaves in the folder if it is killed, because it does not end in time, is removed with the folder.
func serve(s *Side, folder string) (v *server, err error) {
	var theirs, ours [3]*os.File // standard input, output and errors
	for i := range theirs {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		theirs[i], ours[i] = write, read
		if i == 0 {
			theirs[i], ours[i] = read, write
		}
		defer theirs[i].Close()
	}
	cmd := s.Command(s.Script, append([]string{"--serve", folder}, s.Flags...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	v = &server{side: s, asks: ours[0], lines: bufio.NewScanner(ours[1]), errors: ours[2], said: make(chan string, 1)}
	v.lines.Buffer(nil, 16<<20)
	if v.kill, v.wait, err = s.begin(cmd); err != nil {
		return nil, fmt.Errorf("run %s: %w", s.Script, err)
	}
	go func() {
		text, _ := io.ReadAll(v.errors)
		v.said <- string(text)
	}()
	return v, nil
}

// ask has the script do something, and reads its answer.
func (v *server) ask(what string, answer any) error {
	if _, err := fmt.Fprintln(v.asks, what); err != nil {
		return v.failed(err)
	}
	word, _, _ := strings.Cut(what, " ")
	return v.read(word, answer)
}

// read reads an answer. Lines that a kernel prints are none.
func (v *server) read(word string, answer any) error {
	hangs := time.AfterFunc(patience, v.kill)
	for v.lines.Scan() {
		if text, ok := strings.CutPrefix(v.lines.Text(), "goproton "+word+" "); ok {
			hangs.Stop()
			if answer == nil {
				return nil
			}
			if err := fromPython(text, answer); err != nil {
				return v.failed(err)
			}
			return nil
		}
	}
	if !hangs.Stop() {
		return v.failed(fmt.Errorf("it was ended after %v without an answer", patience))
	}
	return v.failed(errors.New("it ended"))
}

// failed is the error of a script, with its last words.
func (v *server) failed(err error) error {
	said := strings.TrimSpace(v.end())
	lines := strings.Split(said, "\n")
	return fmt.Errorf("run %s (%s): %w: %s%s", v.side.Script, v.side.Name, err, strings.Join(lines[max(0, len(lines)-6):], "\n"), v.side.lacks(said))
}

// end ends the script, and returns what it said on standard error: nothing that it would still do is of use. What it has started ends with its input.
func (v *server) end() (said string) {
	v.asks.Close()
	v.kill()
	v.wait()
	v.errors.SetReadDeadline(time.Now().Add(time.Second)) // which what it has started may keep open
	said = <-v.said
	v.said <- said
	return said
}
