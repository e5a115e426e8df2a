package explain

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"path"
	"strings"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/term"
)

// MostBytes is the length of the JSON that programs get: about 2,000 tokens of a language model, of 2.9 bytes each.
const MostBytes = 5700

// WriteJSON writes the document. If it is longer than most bytes (0: any number), the last findings and then notes are left out, and counted.
func (d *Document) WriteJSON(w io.Writer, most int) error {
	for {
		var b bytes.Buffer
		if err := jsontext.Write(&b, d, ""); err != nil {
			return fmt.Errorf("write findings as JSON: %w", err)
		}
		switch n := len(d.Findings); {
		case most == 0 || b.Len() <= most || n < 2 && len(d.Notes) == 0:
			_, err := w.Write(b.Bytes())
			return err
		case n < 2:
			d.Notes = d.Notes[:len(d.Notes)-1]
		default:
			d.Cut(n - 1)
		}
	}
}

// Write writes the document as a screen of text.
func (d *Document) Write(w io.Writer, width int) error {
	if width == 0 {
		width = 80
	}
	var b strings.Builder
	head := fmt.Sprintf("%s: %s of GPU time", term.Printable(d.Profile), figures.Time(d.GPUTime))
	if d.GPU != "" {
		head += " on " + term.Printable(d.GPU)
	}
	if d.Wall > 0 {
		head += ", " + figures.Time(d.Wall) + " from first to last work"
	}
	b.WriteString(term.Broken(head, 2, width))
	if len(d.Findings) == 0 {
		b.WriteString(term.Broken("nothing found that costs much time", 0, width))
	}
	for i := range d.Findings {
		d.Findings[i].write(&b, i+1, width)
	}
	var end []string
	if d.LeftOut > 0 {
		end = append(end, figures.Count(d.LeftOut, "further finding")+" with less to save: proton explain --top shows them")
	}
	if d.Quiet >= 0.005 && d.GPUTime > 0 {
		end = append(end, figures.Share(d.Quiet)+" of the GPU time is in kernels without a sure finding")
	}
	if end != nil {
		b.WriteString(term.Broken("\n"+strings.Join(end, "; "), 0, width))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// write writes a finding: what, where and how much, then the line, the evidence, what helps and the next command.
func (f *Finding) write(b *strings.Builder, number, width int) {
	head, at := fmt.Sprintf("%d %s", number, f.Class), f.Path
	switch {
	case f.Kernel != "":
		at = f.Kernel
	case at == "":
		at = "the whole program"
	}
	if f.Line != nil {
		at += fmt.Sprintf(" %s:%d", path.Base(f.Line.File), f.Line.Number)
	}
	of := float64(f.Time)
	if f.Kernel == "" { // of the program, and not of what it spends on the cause
		of = f.whole
	}
	saves := fmt.Sprintf("saves at most %s of %s", figures.KnownTime(float64(f.Saves)), figures.KnownTime(of))
	b.WriteByte('\n')
	b.WriteString(term.Broken(fmt.Sprintf("%s: %s: %s", head, term.Printable(at), saves), 2, width))
	sure := "confidence " + f.Confidence.String()
	if f.Also > 0 {
		sure += ", in " + figures.Count(f.Also+1, "compilation")
	}
	lines := []string{fmt.Sprintf("%s (%s)", term.Printable(f.Says), sure)}
	if f.Line != nil && f.Line.Text != "" {
		lines = append(lines, fmt.Sprintf("%d | %s", f.Line.Number, term.Cut(term.Printable(f.Line.Text), width-10)))
	}
	lines = append(lines, f.evidenceText(), "try: "+f.Try, "next: "+term.Printable(f.Next))
	for _, line := range lines {
		b.WriteString(term.Broken("  "+line, 4, width))
	}
}

// evidenceText writes the first measurements: metrics by their names without what all have.
func (f *Finding) evidenceText() string {
	const most = 4
	var parts []string
	for _, e := range f.Evidence[:min(most, len(f.Evidence))] {
		parts = append(parts, e.text())
	}
	return strings.Join(parts, ", ")
}

// viewersWords are the viewer's names of numbers that have another one here, and what holds where it is 1.
var viewersWords = map[string]string{
	"roof_share": "util", "occupancy_share": "occupancy_limit", "registers_per_thread": "registers", "dram_bytes_over_declared": "traffic_ratio",
	"memory_bound": "bound by memory", "fp32_multiplication": "multiplication in fp32",
}

// text is a measurement under the name that proton viewer -m takes, and a stall under that of its reason. What only explain has is in plain words.
func (e *Evidence) text() string {
	name, value := strings.ReplaceAll(e.Metric, "_", " "), figures.Number(e.Value)
	base, perLaunch := strings.CutSuffix(e.Metric, "_per_launch")
	share, isShare := strings.CutSuffix(e.Metric, "_share")
	figure := cmp.Or(counters.Find(e.Metric), counters.Find(base), counters.Find(share))
	switch {
	case isShare:
		name, value = strings.TrimSuffix(name, " share"), figures.Share(e.Value)
	case strings.HasSuffix(e.Metric, "_ns"):
		name, value = strings.TrimSuffix(name, " ns"), figures.KnownTime(e.Value)
	case perLaunch && figure != nil && figure.Unit == counters.Bytes:
		value = figures.Short(figures.Bytes.Text(e.Value))
	case e.Value == math.Trunc(e.Value):
		value = figures.Grouped(int64(e.Value))
	}
	words := viewersWords[e.Metric]
	switch reason, stall := strings.CutPrefix(share, "stall_"); {
	case strings.Contains(words, " ") && e.Value == 1:
		return words
	case e.Metric == "memory_bound" && e.Value == 0:
		return "bound by compute"
	case words != "":
		name = words
	case stall && isShare && (figure == nil || reason == "barrier"): // the one that samples have, too
		name = "stall " + reason
	case figure != nil && perLaunch:
		return figure.Name + " " + value + " a launch"
	case figure != nil:
		name = figure.Name
	}
	return name + " " + value
}
