package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/pprofile"
)

// recursive is a profile whose scopes call each other and themselves, with kernels at every depth.
func recursive() *profile.Profile {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive}}
	r := rand.New(rand.NewPCG(3, 4))
	scopes, kernels := []string{"solve", "step", "project", "correct"}, []string{"gemm", "axpy", "norm"}
	var fill func(n *profile.Node, depth int)
	fill = func(n *profile.Node, depth int) {
		for _, k := range kernels[:r.IntN(len(kernels))+1] {
			n.Children = append(n.Children, &profile.Node{Name: k, Metrics: []profile.Metric{{Name: "time (ns)", Value: profile.IntValue(1 + r.Int64N(1e6))}}})
		}
		for _, s := range scopes {
			if depth < 5 && r.IntN(2) == 0 {
				c := &profile.Node{Name: s}
				n.Children = append(n.Children, c)
				fill(c, depth+1)
			}
		}
	}
	fill(p.Root, 0)
	return p
}

// stackSums adds up the samples of pprof's form of a profile: by the name of the frame on top, by each name on the stack once, and by
// each name together with what called its outermost frame.
func stackSums(t *testing.T, p *profile.Profile) (own, inclusive, called map[string]float64) {
	t.Helper()
	var written bytes.Buffer
	if err := pprofile.Write(&written, p); err != nil {
		t.Fatal(err)
	}
	stacks, err := pprof.Parse(&written)
	if err != nil {
		t.Fatal(err)
	}
	time := slices.IndexFunc(stacks.SampleType, func(v *pprof.ValueType) bool { return v.Type == "time" })
	own, inclusive, called = map[string]float64{}, map[string]float64{}, map[string]float64{}
	for _, s := range stacks.Sample {
		names := []string{} // the frame on top first
		for _, l := range s.Location {
			for _, line := range l.Line {
				name := line.Function.Name
				if line.Line > 0 {
					name = fmt.Sprintf("%s:%d@%s", line.Function.Filename, line.Line, name)
				}
				names = append(names, name)
			}
		}
		if names[len(names)-1] != "ROOT" {
			names = append(names, "ROOT")
		}
		value, outermost := float64(s.Value[time]), map[string]string{}
		own[names[0]] += value
		for i, name := range names {
			outermost[name] = strings.Join(names[i+1:min(i+2, len(names))], "")
		}
		for name, caller := range outermost {
			inclusive[name] += value
			called[caller+" > "+name] += value
		}
	}
	return own, inclusive, called
}

// TestSumsOfTheFlameGraphAreThoseOfPprof compares what the page draws bottom up, and around each name, with pprof's form of the profile.
func TestSumsOfTheFlameGraphAreThoseOfPprof(t *testing.T) {
	path, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node: install nodejs")
	}
	for what, p := range map[string]*profile.Profile{"recursive": recursive(), "model": model(2000, 1)} {
		cmd := exec.Command(path, "tests/sums.js", pageOf(t, what, p))
		cmd.Dir, cmd.Stderr = "web", os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Own, Callees, Callers, Called map[string]float64 }
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		own, inclusive, called := stackSums(t, p)
		for title, pair := range map[string][2]map[string]float64{
			"bottom up": {own, got.Own}, "callees": {inclusive, got.Callees}, "callers": {inclusive, got.Callers}, "called": {called, got.Called}} {
			want, got := pair[0], pair[1]
			if len(got) != len(want) || len(got) == 0 {
				t.Errorf("%s, %s: %d names, pprof has %d", what, title, len(got), len(want))
			}
			for name, v := range want {
				if math.Abs(got[name]-v) > 1e-9*v {
					t.Errorf("%s, %s: %s has %v, pprof has %v", what, title, name, got[name], v)
				}
			}
		}
	}
}

var narrow = screen{width: 800, height: 800}

func TestFlameGraphBottomUpAndAround(t *testing.T) {
	path := pageOf(t, "recursive", recursive())
	for _, s := range []screen{desk, narrow, phone} {
		p := browser(t).open(t, path, s)
		p.click("#tab-flame")
		const name, canvas = "#panel-flame .details h2", "#panel-flame canvas"
		p.pick("#panel-flame", "Show", "up")
		p.reads("#panel-flame .details .kind", "all frames")
		p.eval(`document.querySelector("` + canvas + `").focus()`)
		p.keys("ArrowDown")
		p.reads("#panel-flame .details .kind", "own GPU time")
		leaf := p.text(name)
		p.keys("ArrowDown", "Enter")
		p.reads("#panel-flame .details .kind", "caller")
		caller := p.text(name)
		p.reads("#panel-flame .details .chain", leaf+" "+caller)
		p.reads("#panel-flame .crumbs", "ROOT › "+leaf+" › "+caller)
		p.readable(t, s, "flame-up")
		p.keys("Escape", "Escape")
		p.reads("#panel-flame .crumbs", "")
		p.eval(`[...document.querySelectorAll("#panel-flame .details button")].find((b) => b.textContent === "Callers and callees").click()`)
		p.reads("#panel-flame .details .kind", "all frames of this name")
		p.reads(name, caller)
		p.painted()
		p.readable(t, s, "flame-around")
		p.click("#panel-flame .neighbours .link")
		p.wait(`document.querySelector("` + name + `").innerText !== "` + caller + `"`)
		p.eval(`document.querySelector("` + canvas + `").focus()`)
		p.keys("Escape")
		p.wait(`document.querySelector("#panel-flame .bar select").value === "down"`)
		p.close()
	}
}

// A search with slashes follows the call path in the flame graph and in the table.
func TestSearchAlongThePath(t *testing.T) {
	p := openModel(t, desk)
	p.click("#tab-table")
	p.keys("/")
	p.keys(strings.Split("backward/mlp/flash", "")...)
	p.wait(`/^\d+ frames, \d+\.\d%$/.test(document.getElementById("found").textContent)`)
	p.wait(`document.querySelector(".grid mark")?.textContent === "backward"`)
	p.wait(`![...document.querySelectorAll(".grid .row .name")].some((e) => e.textContent === "forward" || e.textContent === "optimizer")`)
	p.click("#tab-flame")
	p.keys("/")
	p.keys("Enter")
	p.reads("#panel-flame .details h2", "flash_fwd_kernel")
	p.wait(`document.querySelector("#panel-flame .details .crumbs").innerText.includes("backward")`)
	p.shoot("wide-flame-path")
}

func TestPagesOfDocumentsSayTheSearch(t *testing.T) {
	text := testkit.Read(t, "../../docs/report.md")
	help := testkit.Read(t, "web/help.js")
	for _, want := range []string{"forward/matmul", "callers and callees", "bottom up"} {
		if !strings.Contains(help, want) || !strings.Contains(text, want) {
			t.Errorf("%q is not in the help and in docs/report.md", want)
		}
	}
}
