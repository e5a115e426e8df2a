package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/tritonparse"
)

// kindRow is a launch kind in the output of `proton trace info --kinds --json`.
type kindRow struct {
	Kind     string          `json:"kind"`
	Kernel   string          `json:"kernel"`
	Hash     string          `json:"hash,omitempty"`
	Launches int             `json:"launches"`
	File     string          `json:"file"` // of the first, as ID and Line
	ID       int             `json:"id"`
	Line     int             `json:"line"`
	Grid     json.RawMessage `json:"grid"`
	Args     string          `json:"args"` // in brief
}

func (f *traceInfoFlags) listKinds(t *tritonparse.Trace, filter tritonparse.Filter, stdout io.Writer) error {
	rows, total, err := f.kindRows(t, filter)
	if err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b *kindRow) int {
		return cmp.Or(cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(b.Launches, a.Launches))
	})
	if f.json {
		return printJSON(stdout, rows)
	}
	w := term.NewTable(stdout, "KERNEL", "KIND", "HASH", "LAUNCHES", "FIRST", "GRID", "ARGUMENTS")
	for _, r := range rows {
		w.Row(r.Kernel, r.Kind, shortHash(r.Hash), r.Launches, r.ID, strings.ReplaceAll(string(r.Grid), "null", "-"), r.Args)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s of %s\n", figures.Count(len(rows), "kind"), figures.Count(total, "launch"))
	return err
}

// kindRows are the launch kinds of the selected kernel that match the filter, and the number of their launches.
func (f *traceInfoFlags) kindRows(t *tritonparse.Trace, filter tritonparse.Filter) ([]*kindRow, int, error) {
	if len(filter) > 0 {
		return f.filteredKinds(t, filter)
	}
	kinds, err := t.Kinds()
	rows, total := []*kindRow{}, 0
	for _, k := range kinds {
		if f.kernel != "" && k.Name != f.kernel {
			continue
		}
		l, err := k.Record()
		if err != nil {
			return nil, 0, err
		}
		rows = append(rows, newKindRow(l, k.Launches))
		total += k.Launches
	}
	return rows, total, err
}

// filteredKinds reads all launches, because launches of one kind may differ in what the filter tests.
func (f *traceInfoFlags) filteredKinds(t *tritonparse.Trace, filter tritonparse.Filter) ([]*kindRow, int, error) {
	rows, total := []*kindRow{}, 0
	byKind := map[string]*kindRow{}
	var misnamed tritonparse.Misnamed
	err := t.EachLaunch(func(l *tritonparse.LaunchRecord) error {
		if f.kernel != "" && l.Name != f.kernel {
			return nil
		}
		if !filter.Match(l.Raw) {
			misnamed.Look(filter, l.Raw)
			return nil
		}
		total++
		key := l.Name + "\x00" + l.Kind
		if byKind[key] == nil {
			byKind[key] = newKindRow(l, 0)
			rows = append(rows, byKind[key])
		}
		byKind[key].Launches++
		return nil
	})
	if err == nil && total == 0 {
		err = misnamed.Err(t.Source)
	}
	return rows, total, err
}

func newKindRow(first *tritonparse.LaunchRecord, launches int) *kindRow {
	grid, _ := json.Marshal(first.Grid) //nolint:errcheck // whole numbers
	return &kindRow{first.Kind, first.Name, first.Hash, launches, filepath.Base(first.File), first.ID, first.Line, grid, briefArguments(first.Args)}
}
