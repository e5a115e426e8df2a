package main

import (
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/nearby"
)

// runLists prints the compilations or the launch kinds.
func (f *traceInfoFlags) runLists(path string, filter tritonparse.Filter, stdout, stderr io.Writer) error {
	t, err := tritonparse.Open(path, tritonparse.OpenOptions{NoTexts: true, Kinds: !f.compilations && len(filter) == 0})
	if err != nil {
		return err
	}
	warnOfTrace(stderr, t)
	if f.kernel != "" && !slices.ContainsFunc(t.Compilations(), func(c *tritonparse.Compilation) bool { return c.Name == f.kernel }) {
		return t.Unknown(f.kernel)
	}
	if f.compilations {
		return f.listCompilations(t, stdout, stderr)
	}
	return f.listKinds(t, filter, stdout)
}

// compilationRow is a compilation in the output of `proton trace info --compilations --json`.
type compilationRow struct {
	Kernel    string   `json:"kernel"`
	Hash      string   `json:"hash"`
	File      string   `json:"file"`
	Line      int      `json:"line"`
	PID       int      `json:"pid"`
	Inferred  bool     `json:"inferred,omitempty"` // from a launch: the compilation was not traced
	Launches  int      `json:"launches"`
	NumWarps  *int     `json:"num_warps,omitempty"`
	NumStages *int     `json:"num_stages,omitempty"`
	NumCTAs   *int     `json:"num_ctas,omitempty"`
	Stages    []string `json:"stages"`
	nearby.Resources
}

func (f *traceInfoFlags) listCompilations(t *tritonparse.Trace, stdout, stderr io.Writer) error {
	rows := []compilationRow{}
	for _, c := range t.Compilations() {
		if f.kernel != "" && c.Name != f.kernel {
			continue
		}
		r := compilationRow{Kernel: c.Name, Hash: c.Hash, File: filepath.Base(c.File), Line: c.Line, PID: c.PID, Inferred: c.Inferred, Launches: c.Launches, Stages: c.Stages()}
		for name, to := range map[string]**int{"num_warps": &r.NumWarps, "num_stages": &r.NumStages, "num_ctas": &r.NumCTAs} {
			if n, ok := c.Int(name); ok {
				*to = &n
			}
		}
		var err error
		if r.Resources, err = nearby.ResourcesOf(c); err != nil {
			tell(stderr, "%s", term.Printable(err.Error()))
		}
		rows = append(rows, r)
	}
	if f.json {
		return printJSON(stdout, rows)
	}
	w := term.NewTable(stdout, "KERNEL", "HASH", "LINE", "WARPS", "STAGES", "REGISTERS", "SPILLS", "SHARED", "OCCUPANCY", "LAUNCHES", "TEXTS")
	for i := range rows {
		r := &rows[i]
		spills, occupancy, texts := "-", "-", strings.Join(r.Stages, " ")
		if r.LocalLoads != nil {
			spills = strconv.Itoa(*r.LocalLoads + *r.LocalStores)
		}
		if r.Occupancy != nil {
			occupancy = figures.BriefShare(r.Occupancy.Share())
		}
		if r.Inferred {
			texts = "(inferred from a launch)"
		}
		w.Row(r.Kernel, shortHash(r.Hash), r.Line, number(r.NumWarps), number(r.NumStages), number(r.Registers), spills, number(r.Shared),
			occupancy, r.Launches, texts)
	}
	return w.Flush()
}

// number is a number that may not be known.
func number(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// shortHash is the part of a hash that commands print and accept.
func shortHash(hash string) string {
	if hash == "" {
		return "-"
	}
	return term.Printable(hash[:min(12, len(hash))])
}
