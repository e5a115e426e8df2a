package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/ctl"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/internal/version"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/nearby"
	"github.com/goproton/goproton/tritonparse/reproduce"
	"github.com/goproton/goproton/viewer/explain"
)

// candidateDocument is what --candidate prints as JSON.
type candidateDocument struct {
	Schema    string                `json:"schema" jsonschema:"layout of this document: goproton.candidate/1"`
	Kernel    string                `json:"kernel,omitempty"`
	Launch    *tritonparse.Place    `json:"launch,omitempty" jsonschema:"record of the trace that has the arguments"`
	Candidate string                `json:"candidate" jsonschema:"file, and function if it is not called like the kernel"`
	GPU       string                `json:"gpu,omitempty"`
	Verdict   string                `json:"verdict" jsonschema:"wrong (outputs differ), faster, slower, not slower, undecided, or not timed (no GPU); empty after an error"`
	Says      string                `json:"says" jsonschema:"the verdict as a sentence"`
	Outputs   []reproduce.Check     `json:"outputs" jsonschema:"tensors that either side wrote: how far those of the candidate are from those of the kernel"`
	Recorded  *candidateSide        `json:"recorded,omitempty"`
	New       *candidateSide        `json:"new,omitempty"`
	Change    float64               `json:"change_of_time" jsonschema:"of the candidate: -0.1 is a tenth less time"`
	Range     []float64             `json:"change_of_time_95" jsonschema:"range with 95 % confidence"`
	Method    string                `json:"method,omitempty" jsonschema:"CUDA graph or events; each launch finds a cold L2 cache"`
	Explained *explain.Document     `json:"explained,omitempty" jsonschema:"why the candidate takes its time, as proton explain says it"`
	Script    string                `json:"script,omitempty" jsonschema:"runs the launch again; --candidate FILE runs the candidate"`
	Seconds   float64               `json:"seconds" jsonschema:"that all of this took"`
	Notes     []string              `json:"notes"`
	Errors    []jsontext.Diagnostic `json:"errors,omitempty" jsonschema:"why there is no verdict"`
}

// candidateSide is what was measured of one of the two.
type candidateSide struct {
	Median    float64 `json:"median_us"`
	GBs       float64 `json:"gb_per_s,omitempty"`
	TFlops    float64 `json:"tflop_per_s,omitempty"`
	Registers *int    `json:"registers,omitempty"`
	Spills    *int    `json:"spills,omitempty"`
	Shared    *int    `json:"shared_bytes,omitempty"`
}

const (
	candidateShare   = 0.02 // a slowdown that is to be seen, unless --detect says another
	candidateSeconds = 2    // of measuring at most, unless --seconds says others
	candidateMillis  = 10   // a batch, so that the blocks of a test fit into so short a time
)

// runCandidate compares, times and explains a candidate.
func (f *reproduceFlags) runCandidate(source string, selection reproduce.Selection, stdout, stderr io.Writer) error {
	began := time.Now()
	doc := &candidateDocument{Schema: "goproton.candidate/1", Candidate: f.candidate, Outputs: []reproduce.Check{}, Range: []float64{}, Notes: []string{}}
	err := f.tryCandidate(doc, source, selection, stderr)
	doc.Seconds = time.Since(began).Round(time.Millisecond).Seconds()
	switch {
	case f.json:
		if err != nil {
			doc.Errors = []jsontext.Diagnostic{{Message: err.Error(), Next: "proton reproduce --help"}}
		}
		if wrong := printJSON(stdout, doc); wrong != nil {
			return wrong
		}
	case err == nil:
		err = doc.print(stdout)
	}
	return cmp.Or(err, exitOf(doc.Verdict))
}

// endsWithScripts calls what runs scripts. A signal ends those, so that the call returns and removes what it has made, and then the command.
func endsWithScripts(run func() error) error {
	ctx, stop := untilSignal()
	defer stop()
	go func() {
		<-ctx.Done()
		if by, is := errors.AsType[signalled](context.Cause(ctx)); is {
			reproduce.EndAll()
			time.Sleep(5 * reproduce.KillAfter) // busy machines
			os.Exit(128 + int(by))
		}
	}()
	err := run()
	if ctx.Err() != nil {
		return endedBy(ctx, nil)
	}
	return err
}

func (f *reproduceFlags) tryCandidate(doc *candidateDocument, source string, selection reproduce.Selection, stderr io.Writer) error {
	path := f.candidate
	if i := strings.LastIndexByte(path, ':'); i >= 0 && !isScript(path) {
		path = path[:i]
	}
	if _, err := os.Stat(path); isScript(path) && errors.Is(err, fs.ErrNotExist) {
		return usagef("read --candidate %s: there is no such file: check the spelling", f.candidate)
	} else if err != nil || !isScript(path) {
		return usagef("read --candidate %s: give a Python file, or FILE.py:NAME of a function in it", f.candidate)
	}
	a, script, err := f.candidateScript(doc, source, selection, stderr)
	if err != nil {
		return err
	}
	stem := strings.TrimSuffix(script, filepath.Ext(script))
	profile, trace := stem+"_candidate", stem+"_candidate_trace"
	if err := os.RemoveAll(trace); err != nil {
		return err
	}
	b := *a
	a.Name, b.Name = "recorded", "candidate"
	b.Flags = append(slices.Clone(a.Flags), "--candidate", f.candidate, "--trace", trace)
	if f.tolerance > 0 {
		b.Flags = append(b.Flags, "--tolerance", fmt.Sprint(f.tolerance))
	}
	p, err := reproduce.Start(a, &b)
	if err != nil {
		return err
	}
	defer p.End()
	doc.Kernel, doc.Outputs = p.A.Runs[0].Kernel, append(doc.Outputs, p.Against...)
	wrong := slices.ContainsFunc(p.Against, func(c reproduce.Check) bool { return !c.OK })
	if p.Method == "" {
		doc.Verdict, doc.Says = "not timed", "outputs were compared on the CPU, by proton interpret, because there is no GPU: nothing was timed"
	} else if err := f.timeCandidate(doc, p, profile, trace, stderr); err != nil {
		return err
	}
	if len(p.Against) == 0 {
		doc.Verdict, doc.Says = "undecided", "neither side changed a tensor: nothing was compared"
		if p.Method == "" {
			doc.Says += "; a kernel whose source the trace lacks runs from its recorded TTIR, for which a GPU is needed"
		}
	}
	if wrong {
		doc.Verdict, doc.Says = "wrong", "the outputs differ by more than rounding, or --tolerance; "+doc.Says
	}
	return nil
}

// candidateScript is the script of the launch, and the side that runs it.
func (f *reproduceFlags) candidateScript(doc *candidateDocument, source string, selection reproduce.Selection, stderr io.Writer) (*reproduce.Side, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	a := &reproduce.Side{Interpreter: f.interpreter(f.options.Python), Flags: []string{"--interpreter", self}}
	if a.Warm, err = f.warmed(a.Interpreter); err != nil {
		return nil, "", err
	}
	if isScript(source) {
		doc.Script = source
	} else {
		trace, err := f.open(source, stderr)
		if err != nil {
			return nil, "", err
		}
		places, _, err := f.places(trace, selection)
		if err != nil {
			return nil, "", err
		}
		launch, err := reproduce.PickForComparison(trace, places[0])
		if err != nil {
			return nil, "", err
		}
		f.options.Force, f.options.Stamp = true, ""
		written := fillsFolder()
		result, err := reproduce.Generate(trace, launch, f.options)
		written()
		if err != nil {
			return nil, "", err
		}
		doc.Launch, doc.Script = &result.Launch, result.Script
	}
	a.Script = doc.Script
	return a, doc.Script, nil
}

// warmed is the process of --keep-warm for an interpreter and the variables that Python, torch and Triton read when they are imported.
func (f *reproduceFlags) warmed(in reproduce.Interpreter) (*reproduce.Warm, error) {
	if f.warm == 0 {
		return nil, nil
	}
	folder, err := ctl.Folder(os.Getenv)
	if err != nil {
		return nil, err
	}
	sum := fnv.New64a()
	fmt.Fprintln(sum, version.Text(), in.Python)
	for _, entry := range in.Env {
		if importedWith.MatchString(entry) {
			fmt.Fprintln(sum, entry)
		}
	}
	return &reproduce.Warm{Socket: filepath.Join(folder, fmt.Sprintf("%x.warm", sum.Sum64())), Idle: time.Duration(float64(f.warm) * float64(time.Second))}, nil
}

var importedWith = regexp.MustCompile(`^(PATH|PYTHON|LD_|CUDA|HIP|ROC|TORCH|PYTORCH|TRITON|OMP|MKL)`)

// timeCandidate times both in turns, then samples the candidate and explains it.
func (f *reproduceFlags) timeCandidate(doc *candidateDocument, p *reproduce.Pair, profile, trace string, stderr io.Writer) error {
	share, seconds, millis := candidateShare, float64(candidateSeconds), candidateMillis
	if f.detect != "" {
		millis, seconds = reproduce.BatchMillis, f.seconds
		share, _ = f.slowdown() // which complete has checked
	}
	d, err := reproduce.Detect(p, share, seconds, millis, func(s string) { tell(stderr, "%s", s) })
	if err != nil {
		return err
	}
	doc.Verdict, doc.Says, doc.Change, doc.Range, doc.Method = d.Outcome, d.Verdict(), digits(d.Change), []float64{digits(d.Range[0]), digits(d.Range[1])}, d.Method
	doc.GPU, doc.Recorded, doc.New = p.A.Runs[0].Device, sideOf(p.A.Runs[0]), sideOf(p.B.Runs[0])
	doc.Notes = append(doc.Notes, detectionNotes(d)...)
	if err := p.Sample(profile); err != nil {
		doc.Notes = append(doc.Notes, "the candidate is not explained: "+err.Error())
		return nil
	}
	explained := explainFlags{}
	if t, err := tritonparse.Open(trace, tritonparse.OpenOptions{}); err == nil {
		explained.trace = trace
		doc.New.compiled(t)
	}
	if doc.Explained, err = explained.explain([]string{profile + ".hatchet"}, nil); err != nil {
		doc.Notes = append(doc.Notes, "the candidate is not explained: "+err.Error())
		return nil
	}
	doc.Explained.Cut(3)
	return nil
}

func sideOf(m *reproduce.Measurement) *candidateSide {
	s := &candidateSide{Median: digits(m.Median * 1e3), Registers: m.Compiled.Registers, Spills: m.Compiled.Spills, Shared: m.Compiled.Shared}
	if m.Median > 0 {
		s.GBs, s.TFlops = digits(m.Bytes/m.Median/1e6), digits(m.Flops/m.Median/1e9)
	}
	return s
}

// compiled takes what the compiler made from a trace, if the candidate is a function that has one kernel.
func (s *candidateSide) compiled(t *tritonparse.Trace) {
	if all := t.Compilations(); len(all) == 1 && s.Registers == nil {
		r, _ := nearby.ResourcesOf(all[0]) // what is not known stays so
		s.Registers, s.Shared = r.Registers, r.Shared
	}
}

// digits leaves five: further ones say nothing, and cost a reader.
func digits(v float64) float64 { return figures.Rounded(v, 5) }

// print writes the document as a screen of text.
func (d *candidateDocument) print(w io.Writer) error {
	if d.Recorded != nil {
		t := term.NewTable(w, "SIDE", "MEDIAN us", "GB/s", "Tflop/s", "REGISTERS", "SPILLED", "SHARED")
		for i, s := range []*candidateSide{d.Recorded, d.New} {
			rate := "-"
			if s.TFlops > 0 {
				rate = fmt.Sprintf("%.1f", s.TFlops)
			}
			t.Row([]string{"recorded", "candidate"}[i], fmt.Sprintf("%.2f", s.Median), fmt.Sprintf("%.1f", s.GBs), rate, number(s.Registers), number(s.Spills), number(s.Shared))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	printChecks(w, d.Outputs)
	width := term.Width(w)
	if _, err := io.WriteString(w, term.Broken("verdict: "+term.Printable(d.Says), 2, cmp.Or(width, 80))); err != nil {
		return err
	}
	if d.Explained != nil {
		fmt.Fprintln(w)
		if err := d.Explained.Write(w, width); err != nil {
			return err
		}
	}
	tellEach(toUser(), d.Notes)
	tell(toUser(), "%s against %s in %s; again: python %s --candidate %s", d.Candidate, term.Printable(d.Kernel), figures.Time(int64(d.Seconds*1e9)), d.Script, d.Candidate)
	return nil
}
