package inside

import (
	"fmt"
	"strings"

	records "github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// Notes say what the numbers of a kernel lack, and what to do about it.
func (k *Kernel) Notes() (notes []string) {
	l := k.Data.Losses
	launches := l.Launches
	l.Launches = 0 // a running session says them in other words: it knows why they are in no file
	for _, loss := range records.Losses(&l, k.Data.Builds) {
		notes = append(notes, k.Name+": "+loss)
	}
	if l.Overwritten > 0 {
		notes[0] += "; without them cycles, shares and counts are too small"
	}
	if launches > 0 {
		notes = append(notes, fmt.Sprintf("%s: the records of %s did not arrive; more memory for them (PROTON_INSIDE_MEMORY, in MiB), a smaller buffer_size or fewer launches at a time help",
			k.Name, figures.Count(launches, "launch")))
	}
	if k.Data.Cycles == 0 {
		notes = append(notes, k.Name+": its clock could not be measured, so that times are unknown and shares are parts of the outermost scopes")
	}
	return notes
}

// Facts describe what was recorded of a kernel, a line each.
func (k *Kernel) Facts() (lines []string) {
	d := k.Data
	lines = append(lines, fmt.Sprintf("%s, %s; records of %s of %s warps", figures.Count(d.Launches, "launch"), figures.Count(d.Blocks, "block"),
		figures.Grouped(d.Warps), figures.Grouped(d.AllWarps)))
	if t := d.Times; t != nil && t.Count > 0 {
		line := fmt.Sprintf("a block ran %s (median; p95 %s, max %s)", figures.KnownTime(t.Quantile(0.5)), figures.KnownTime(t.Quantile(0.95)), figures.Time(t.Max))
		if rate := d.Rate(); rate > 0 {
			line += ", at " + figures.Places(rate, 3) + " GHz" + k.rateOff()
		}
		lines = append(lines, line)
	}
	if n := len(d.BySM); n > 0 {
		factor, busiest := Imbalance(d.BySM, 0)
		line := "on " + figures.Count(n, "multiprocessor")
		if n > 1 {
			line += fmt.Sprintf("; the busiest, %d, had %s times the mean", busiest, figures.Places(factor, 2))
		}
		lines = append(lines, line)
	}
	if cost := k.cost(); cost != "" {
		lines = append(lines, cost)
	}
	for _, b := range d.Builds {
		lines = append(lines, buildText(b))
	}
	return lines
}

// rateOff says by how much the rate of the clock may be off.
func (k *Kernel) rateOff() string {
	switch off := k.Data.RateOff(); {
	case off == 0: // of files that do not say it
		return ""
	case off >= k.Data.Rate():
		return " or more"
	default:
		return " (±" + figures.Share(off/k.Data.Rate()) + ")"
	}
}

// cost says what recording took.
func (k *Kernel) cost() string {
	var parts []string
	if ratio, known := k.Overhead(); known {
		parts = append(parts, fmt.Sprintf("kernel %s with scopes, %s without (%s times; medians)", figures.KnownTime(k.With.Quantile(0.5)), figures.KnownTime(k.Without.Quantile(0.5)), figures.Places(ratio, 2)))
	}
	if d := k.Data; d.CopyNanos > 0 && d.Blocks > 0 {
		parts = append(parts, fmt.Sprintf("at least %s per block to copy records", figures.Time(float64(d.CopyNanos)/float64(d.Blocks))))
	}
	if len(parts) == 0 {
		return ""
	}
	return "recording cost: " + strings.Join(parts, "; ")
}

// buildText describes a build by what of its mode is not the default.
func buildText(b profile.InsideBuild) string {
	name, options := records.Mode(b.Mode)
	parts := []string{"mode " + name}
	for _, o := range options {
		parts = append(parts, o.Name+" "+o.Value)
	}
	text := strings.Join(parts, ", ")
	if b.Triton != "" {
		text += "; Triton " + b.Triton
	}
	return fmt.Sprintf("%s; %s a block, %s for their records", text, figures.Count(b.Warps, "warp"), figures.Bytes.Text(float64(b.Rings)))
}
