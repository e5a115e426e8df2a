package reproduce

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// machine makes batches with the noise that was recorded on an H200: a piece of the recorded launches in their order, from a random place. What the
// captures do not have is added: a first second with a lower clock, a clock that drifts, and the work of others, which hits single batches.
type machine struct {
	r      *rand.Rand
	series []float64
	drift  float64
	batch  int
}

// launches is how many a batch has; a real one of a kernel of 5 us has hundreds.
const launches = 40

func (m *machine) run(factor float64) float64 {
	m.drift += 0.002 * m.r.NormFloat64()
	factor *= math.Exp(m.drift) * (1 + 0.05*math.Exp(-float64(m.batch)/6))
	if m.r.IntN(30) == 0 {
		factor *= 1 + 0.3*m.r.Float64()
	}
	m.batch++
	at := m.r.IntN(len(m.series))
	var times []float64
	for i := range launches {
		times = append(times, factor*m.series[(at+i)%len(m.series)])
	}
	return typical(times)
}

// gate measures as Detect does, until a slowdown would be seen or a minute of batches is over.
func (m *machine) gate(slower, slowdown float64) (outcome string, blocks int) {
	var all []Block
	most := 60_000 / (4 * BatchMillis)
	for !enough(all, slowdown) && len(all) < most && !evident(all, slowdown, m.r) {
		var b Block
		first := m.r.IntN(2)
		for i, side := range []int{first, 1 - first, 1 - first, first} {
			if side == 0 {
				b.A[i/2] = m.run(1)
			} else {
				b.B[i/2] = m.run(1 + slower)
			}
		}
		all = append(all, b)
	}
	return judge(all[warmUp(all):], m.r).outcome(slowdown, enough(all, slowdown)), len(all)
}

func recordedDurations(t testing.TB) map[string][]float64 {
	t.Helper()
	files, err := filepath.Glob("testdata/durations/*.txt")
	if err != nil || len(files) < 5 {
		t.Fatal(err, files)
	}
	all := map[string][]float64{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Fields(string(text)) {
			ns, err := strconv.ParseFloat(line, 64)
			if err != nil {
				t.Fatal(err)
			}
			all[filepath.Base(file)] = append(all[filepath.Base(file)], ns/1e6)
		}
	}
	return all
}

// TestOnePercentIsDetected is the promise of --detect 1%: of 2,000 gates with a slowdown of 1 % at least 90 % find it, and of 2,000 gates of equal
// sides at most 1 % fail, with the recorded noise of five kernels. At a true rate of 1 % more than 38 false alarms come once in 10,000 times.
func TestOnePercentIsDetected(t *testing.T) {
	times := 400
	if !testkit.All() {
		times = 200
	}
	found, alarms, all, undecided, longest := 0, 0, 0, 0, 0
	for name, series := range recordedDurations(t) {
		r := rand.New(rand.NewPCG(7, uint64(len(series))))
		mine, false1, blocks := 0, 0, 0
		for range times {
			outcome, n := (&machine{r: r, series: series}).gate(0.01, 0.01)
			if outcome == "slower" {
				mine++
			}
			equal, n2 := (&machine{r: r, series: series}).gate(0, 0.01)
			if equal == "slower" {
				false1++
			}
			for _, o := range []string{outcome, equal} {
				if o == "undecided" {
					undecided++
				}
			}
			blocks += n + n2
			longest = max(longest, n, n2)
		}
		t.Logf("%s: found %d of %d slowdowns of 1%%, %d false alarms in %d, %.1f s of batches on average", name, mine, times, false1, times, float64(blocks)/float64(2*times)*4*BatchMillis/1000)
		if float64(mine) < 0.9*float64(times) {
			t.Errorf("%s: found %d of %d, want 90%%", name, mine, times)
		}
		found, alarms, all = found+mine, alarms+false1, all+times
	}
	t.Logf("%d of %d found, %d of %d false alarms, %d undecided, at most %.0f s", found, all, alarms, all, undecided, float64(longest)*4*BatchMillis/1000)
	if most := float64(all)*detectAlpha + 4*math.Sqrt(float64(all)*detectAlpha); float64(alarms) > most {
		t.Errorf("%d of %d gates of equal sides failed, want at most %.0f", alarms, all, most)
	}
}

// TestSignsAreExact: with independent differences of any size the test rejects equal sides as often as its alpha says, and not much less.
func TestSignsAreExact(t *testing.T) {
	const times, alpha = 2000, 0.05
	r := rand.New(rand.NewPCG(1, 2))
	rejected := 0
	for range times {
		var blocks []Block
		for range 14 {
			blocks = append(blocks, Block{A: [2]float64{1, 1}, B: [2]float64{math.Exp(0.01 * r.NormFloat64() * r.ExpFloat64()), 1}})
		}
		if judge(blocks, r).Slower <= alpha {
			rejected++
		}
	}
	if d := float64(rejected) - times*alpha; math.Abs(d) > 4*math.Sqrt(times*alpha*(1-alpha)) {
		t.Errorf("%d of %d equal sides were rejected at %g", rejected, times, alpha)
	}
}

// TestTooNoisyToDecide: where a slowdown would be missed, no side is called equal.
func TestTooNoisyToDecide(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	series := make([]float64, 500)
	for i := range series {
		series[i] = 0.01 * math.Exp(1.5*r.NormFloat64())
	}
	for range 5 {
		if outcome, _ := (&machine{r: r, series: series}).gate(0, 0.01); outcome == "not slower" {
			t.Error("a machine on which 1 % is never seen gave a verdict")
		}
	}
	large, _ := (&machine{r: r, series: series}).gate(0.5, 0.01)
	if large != "slower" {
		t.Errorf("50 %% is %s", large)
	}
	d := &Detection{A: &Side{Name: "A"}, B: &Side{Name: "B"}, Slowdown: 0.01, Seconds: 60, Judgement: Judgement{Error: 0.01}, Outcome: "undecided"}
	if said := d.Verdict(); !strings.Contains(said, "undecided: after 60 s") || !strings.Contains(said, "--seconds 960") {
		t.Error(said)
	}
}

// TestWarmUpIsLeftOut: blocks at the beginning with another level are left out, whichever side is faster; drift and single blocks are not warm-up.
func TestWarmUpIsLeftOut(t *testing.T) {
	levels := func(factors ...float64) (all []Block) {
		for i := range 20 {
			f := 1 + 0.0005*float64(i%2)
			if i < len(factors) {
				f *= factors[i]
			}
			all = append(all, Block{A: [2]float64{f, f}, B: [2]float64{f, f}})
		}
		return all
	}
	for _, c := range []struct {
		factors []float64
		want    int
	}{{nil, 0}, {[]float64{1.3, 1.1, 1.02}, 3}, {[]float64{1, 1, 1.3}, 0}, {[]float64{0.8}, 1}} {
		if got := warmUp(levels(c.factors...)); got != c.want {
			t.Errorf("%v: %d blocks, want %d", c.factors, got, c.want)
		}
	}
}

func detected(a, b *Side) (*Detection, error) {
	p, err := Start(a, b)
	if err != nil {
		return nil, err
	}
	defer p.End()
	return Detect(p, 0.01, 60, BatchMillis/10, func(string) {}) // launches of the GPU of the tests take no time
}

// TestDetect: two resident scripts on a GPU of the tests, of which one takes 1 % longer, or as long.
func TestDetect(t *testing.T) {
	for _, test := range []struct{ factor, want string }{{"1.515", "slower"}, {"1.5", "not slower"}, {"1.35", "faster"}} {
		const computes = "out.put([1, 2, 3]); print('goproton is here')"
		a, b := benchmarkScript(t, "A", computes), benchmarkScript(t, "B", computes)
		a.Env = append(a.Env, "FAKE_MS=1.5", "FAKE_NOISE=0.01")
		b.Env = append(b.Env, "FAKE_MS="+test.factor, "FAKE_NOISE=0.01")
		d, err := detected(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if d.Outcome != test.want || len(d.Blocks) < leastBlocks || d.Seconds > 60 || len(d.Against) == 0 {
			t.Errorf("B of %s ms: %s; %d blocks in %.1f s", test.factor, d.Verdict(), len(d.Blocks), d.Seconds)
		}
	}
}

// TestDetectSaysWhatEnded: the script of a side that ends is an error with its last words.
func TestDetectSaysWhatEnded(t *testing.T) {
	a := benchmarkScript(t, "A", "out.put([1, 2, 3])")
	b := benchmarkScript(t, "B", "out.put([1, 2, 3]) if '--serve' not in __import__('sys').argv else __import__('sys').exit('the GPU is gone')")
	if _, err := detected(a, b); err == nil || !strings.Contains(err.Error(), "the GPU is gone") || !strings.Contains(err.Error(), b.Script) {
		t.Error(err)
	}
}
