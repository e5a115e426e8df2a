package report

import (
	"fmt"
	"path"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/inside"
)

// insideKernel is a kernel of the Inside tab, with its scopes.
type insideKernel struct {
	Name  uint64        `json:"name"` // a string
	Facts []string      `json:"facts"`
	Notes []string      `json:"notes"`
	Rows  []insideScope `json:"rows"` // outer scopes first
}

// insideScope is a scope. Numbers are null where they are unknown.
type insideScope struct {
	Depth  int          `json:"depth"`
	Name   uint64       `json:"name"`
	At     string       `json:"at"` // file and line
	Share  figures.JSON `json:"share"`
	Own    figures.JSON `json:"own"`
	Cycles figures.JSON `json:"cycles"`
	Time   figures.JSON `json:"time"`
	Count  figures.JSON `json:"count"`
	P50    figures.JSON `json:"p50"` // and the next two: cycles of a single warp in one block
	P95    figures.JSON `json:"p95"`
	Max    figures.JSON `json:"max"`

	Factor figures.JSON `json:"factor"` // imbalance over multiprocessors
	Most   uint32       `json:"most"`   // the busiest
	SMs    []float64    `json:"sms"`    // cycles of each, as parts of the busiest's
	Bars   []float64    `json:"bars"`   // warps and blocks by their cycles, from Least to Max in equal steps, as parts of the highest
	Least  uint64       `json:"least"`
}

const (
	maxInsideKernels = 20
	maxInsideScopes  = 500 // of a kernel
	insideBars       = 24
)

// insideOf is the data of the Inside tab; nil without scopes inside of kernels.
func (b *builder) insideOf(p *profile.Profile) (tab []insideKernel) {
	chosen, others, err := inside.Find(p, "")
	if err != nil {
		return nil
	}
	for _, k := range append(chosen, others...)[:min(1+len(others), maxInsideKernels)] {
		tab = append(tab, insideKernel{b.names.of(k.Name), cleaned(k.Facts()), cleaned(k.Notes()), b.insideRows([]insideScope{}, k.Scopes, 0)})
	}
	return tab
}

func (b *builder) insideRows(rows []insideScope, scopes []*inside.Scope, depth int) []insideScope {
	for _, s := range scopes {
		if len(rows) == maxInsideScopes {
			return rows
		}
		rows = b.insideRows(append(rows, b.insideRow(s, depth)), s.Inner, depth+1)
	}
	return rows
}

func (b *builder) insideRow(s *inside.Scope, depth int) insideScope {
	k := s.Kernel
	factor, most := s.Imbalance()
	row := insideScope{
		Depth: depth, Name: b.names.of(s.Name), Share: figures.JSON(k.Share(s.Cycles())), Own: figures.JSON(k.Share(s.Own())), Cycles: figures.JSON(s.Cycles()),
		Time: figures.JSON(s.Time()), Factor: figures.JSON(factor), Most: most, SMs: []float64{}, Bars: []float64{},
	}
	d := s.Data
	if d == nil {
		return row
	}
	row.Count = figures.JSON(d.Count())
	if len(d.Lines) > 0 {
		row.At = clean(fmt.Sprintf("%s:%d", path.Base(d.Lines[0].File), d.Lines[0].Line))
	}
	if t := d.Sums; t != nil && t.Count > 0 {
		row.P50, row.P95, row.Max, row.Least = figures.JSON(t.Quantile(0.5)), figures.JSON(t.Quantile(0.95)), figures.JSON(t.Max), t.Min
		row.Bars = histogram(t)
	}
	largest := uint64(1)
	for _, sm := range d.BySM {
		largest = max(largest, sm.Amount)
	}
	for _, sm := range d.BySM {
		row.SMs = append(row.SMs, rounded(float64(sm.Amount)/float64(largest)))
	}
	return row
}

// histogram counts the values of a distribution in equal steps from the smallest to the largest, as parts of the highest count.
func histogram(s *profile.Sketch) []float64 {
	var counts [insideBars]float64
	highest := 0.0
	for _, bucket := range s.Buckets {
		low, high := profile.BucketBounds(bucket.Index)
		middle := min(max(float64(low)+float64(high-low)/2, float64(s.Min)), float64(s.Max))
		at := 0
		if s.Max > s.Min {
			at = min(int((middle-float64(s.Min))/float64(s.Max-s.Min)*insideBars), insideBars-1)
		}
		counts[at] += float64(bucket.Count)
		highest = max(highest, counts[at])
	}
	bars := make([]float64, insideBars)
	for i, n := range counts {
		bars[i] = rounded(n / highest)
	}
	return bars
}

// rounded has three digits: more cannot be seen.
func rounded(part float64) float64 { return float64(int(part*1000+0.5)) / 1000 }
