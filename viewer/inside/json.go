package inside

import (
	"io"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/kernels"
)

// Schema names the layout of WriteJSON's document. Keys may be added.
const Schema = "goproton.inside/1"

type (
	jsonKernel struct {
		Name       string       `json:"name"`
		Launches   uint64       `json:"launches"`
		Blocks     uint64       `json:"blocks"`
		Warps      uint64       `json:"warps"`
		AllWarps   uint64       `json:"all_warps"`
		Nanos      uint64       `json:"ns"`
		CopyNanos  uint64       `json:"copy_ns"`
		WarpNanos  uint64       `json:"warp_ns"`
		Cycles     uint64       `json:"cycles"`
		Rate       figures.JSON `json:"cycles_per_ns"`
		RateOff    figures.JSON `json:"cycles_per_ns_off"`
		BlockTimes *jsonTimes   `json:"block_ns"`
		With       *jsonTimes   `json:"kernel_ns,omitempty"`
		Without    *jsonTimes   `json:"kernel_ns_without_scopes,omitempty"`
		Imbalance  figures.JSON `json:"imbalance"`
		BySM       [][3]uint64  `json:"by_sm"`
		Builds     []jsonBuild  `json:"builds"`
		Losses     jsonFigures  `json:"losses"`
		Scopes     []jsonScope  `json:"scopes"`
		Samples    *jsonSamples `json:"samples,omitempty"`
		Notes      []string     `json:"notes"`
	}
	jsonFigures map[string]uint64
	jsonBuild   struct {
		Mode     string `json:"mode"`
		Triton   string `json:"triton"`
		Arch     string `json:"arch"`
		Warps    int    `json:"warps"`
		SlotSize int    `json:"slot_size"`
		Rings    int    `json:"rings"`
	}
	jsonTimes struct {
		Count  uint64       `json:"count"`
		Min    uint64       `json:"min"`
		Mean   float64      `json:"mean"`
		P50    figures.JSON `json:"p50"`
		P95    figures.JSON `json:"p95"`
		Max    uint64       `json:"max"`
		StdDev figures.JSON `json:"stddev"`
	}
	jsonScope struct {
		Name      string       `json:"name"`
		Cycles    uint64       `json:"cycles"`
		Whole     uint64       `json:"whole_cycles"`
		Own       uint64       `json:"own_cycles"`
		Share     figures.JSON `json:"share"`
		Time      figures.JSON `json:"ns_per_warp_and_block"`
		Count     uint64       `json:"count"`
		Events    uint64       `json:"events"`
		Crossed   uint64       `json:"crossed"`
		Each      *jsonTimes   `json:"each"`
		Sums      *jsonTimes   `json:"sums"`
		Imbalance figures.JSON `json:"imbalance"`
		ByWarp    [][3]uint64  `json:"by_warp"`
		BySM      [][3]uint64  `json:"by_sm"`
		Lines     []jsonLine   `json:"lines"`
		Scopes    []jsonScope  `json:"scopes"`
	}
	jsonLine struct {
		File string `json:"file"`
		Line int    `json:"line"`
		Last int    `json:"last,omitempty"` // of the scope, by the source text
	}
	jsonSamples struct {
		Samples uint64            `json:"samples"`
		Parts   []jsonPart        `json:"parts"`
		Lines   []jsonSampledLine `json:"lines"`
	}
	jsonPart struct {
		Scopes  []string `json:"scopes"` // names
		Outside bool     `json:"outside"`
		Own     uint64   `json:"own_cycles"`
		jsonCounts
	}
	jsonSampledLine struct {
		File string `json:"file"`
		Line int    `json:"line"`
		jsonCounts
	}
	jsonCounts struct {
		Samples   uint64            `json:"samples"`
		Stalled   uint64            `json:"stalled"`
		NotIssued uint64            `json:"not_issued"`
		Reasons   map[string]uint64 `json:"reasons"`
	}
)

// WriteJSON prints the kernels that match a pattern, as Find has them; docs/viewer.md describes the keys.
func WriteJSON(w io.Writer, p *profile.Profile, pattern string, o Options) error {
	chosen, _, err := Find(p, pattern)
	if err != nil {
		return err
	}
	doc := struct {
		Schema  string       `json:"schema"`
		Kernels []jsonKernel `json:"kernels"`
	}{Schema: Schema}
	for _, k := range chosen {
		j := kernelJSON(k, &o)
		if o.Samples != nil {
			s, err := Join(k, o.Samples, o.files())
			if err != nil {
				return err
			}
			j.Samples = s.json()
		}
		doc.Kernels = append(doc.Kernels, j)
	}
	return jsontext.Write(w, doc, "")
}

func (s *Samples) json() *jsonSamples {
	j := &jsonSamples{Samples: s.All, Parts: []jsonPart{}, Lines: []jsonSampledLine{}}
	for _, p := range s.Parts {
		part := jsonPart{Scopes: []string{}, Outside: p.Outside, Own: p.Own, jsonCounts: s.countsJSON(p.Counts)}
		for _, scope := range p.Scopes {
			part.Scopes = append(part.Scopes, scope.Name)
		}
		j.Parts = append(j.Parts, part)
	}
	for _, l := range s.Lines {
		j.Lines = append(j.Lines, jsonSampledLine{l.File, l.Number, s.countsJSON(l.Counts)})
	}
	return j
}

func (s *Samples) countsJSON(c kernels.Counts) jsonCounts {
	j := jsonCounts{Samples: c.Samples, Stalled: c.Stalled, NotIssued: c.NotIssued, Reasons: map[string]uint64{}}
	for i, n := range c.Reasons {
		if n > 0 {
			j.Reasons[s.facts.Reasons[i]] = n
		}
	}
	return j
}

func kernelJSON(k *Kernel, o *Options) jsonKernel {
	d := k.Data
	factor, _ := Imbalance(d.BySM, 0)
	j := jsonKernel{
		Name: k.Name, Launches: d.Launches, Blocks: d.Blocks, Warps: d.Warps, AllWarps: d.AllWarps, Nanos: d.Nanos, CopyNanos: d.CopyNanos, WarpNanos: d.WarpNanos,
		Cycles: d.Cycles, Rate: figures.JSON(d.Rate()), RateOff: figures.JSON(d.RateOff()), BlockTimes: timesJSON(d.Times), With: timesJSON(k.With), Without: timesJSON(k.Without),
		Imbalance: figures.JSON(factor), BySM: sharesJSON(d.BySM), Builds: []jsonBuild{}, Losses: jsonFigures{}, Scopes: o.scopesJSON(k.Scopes),
		Notes: append([]string{}, k.Notes()...),
	}
	for _, b := range d.Builds {
		j.Builds = append(j.Builds, jsonBuild(b))
	}
	for _, f := range d.Losses.Figures() {
		if *f.Value > 0 {
			j.Losses[f.Name] = *f.Value
		}
	}
	return j
}

func (o *Options) scopesJSON(scopes []*Scope) []jsonScope {
	all := []jsonScope{}
	for _, s := range scopes {
		j := jsonScope{Name: s.Name, Whole: s.Cycles(), Own: s.Own(), Share: figures.JSON(s.Kernel.Share(s.Cycles())), Time: figures.JSON(s.Time()),
			Lines: []jsonLine{}, Scopes: o.scopesJSON(s.Inner), BySM: [][3]uint64{}, ByWarp: [][3]uint64{}}
		factor, _ := s.Imbalance()
		j.Imbalance = figures.JSON(factor)
		if d := s.Data; d != nil {
			j.Cycles, j.Count, j.Events, j.Crossed = d.Cycles, d.Count(), d.Events, d.Crossed
			j.Each, j.Sums, j.ByWarp, j.BySM = timesJSON(d.Each), timesJSON(d.Sums), sharesJSON(d.ByWarp), sharesJSON(d.BySM)
			for _, l := range d.Lines {
				line := jsonLine{File: l.File, Line: l.Line}
				if o.Source {
					_, line.Last = linesOf(o.files().Text(l.File), s.Name, l.Line)
				}
				j.Lines = append(j.Lines, line)
			}
		}
		all = append(all, j)
	}
	return all
}

func timesJSON(s *profile.Sketch) *jsonTimes {
	if s == nil || s.Count == 0 {
		return nil
	}
	return &jsonTimes{s.Count, s.Min, s.Mean, figures.JSON(s.Quantile(0.5)), figures.JSON(s.Quantile(0.95)), s.Max, figures.JSON(s.StdDev())}
}

func sharesJSON(list []profile.InsideShare) [][3]uint64 {
	all := [][3]uint64{}
	for _, s := range list {
		all = append(all, [3]uint64{uint64(s.At), s.Count, s.Amount})
	}
	return all
}
