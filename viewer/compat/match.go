package compat

import (
	"fmt"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// source is a recorded metric in the role of a value: its subtree sum if it is inclusive, else the frame's own.
type source struct {
	at        int
	inclusive bool
	name      string // as recorded
}

func (s source) of(r *row) float64 {
	if s.inclusive {
		return r.sum[s.at]
	}
	return r.own[s.at]
}

// label is the name of the value: "time (ns) (inc)".
func (s source) label() string {
	if s.inclusive {
		return s.name + " (inc)"
	}
	return s.name
}

// find looks a recorded metric up by its name with or without the unit. Inclusive metrics win.
func (t *table) find(wanted string) (source, error) {
	lower := strings.ToLower(wanted)
	for _, inclusive := range []bool{true, false} {
		for i := range t.columns {
			c := &t.columns[i]
			if c.inclusive() == inclusive && (strings.ToLower(c.name) == lower || figures.MetricName(c.name) == lower) {
				return source{i, inclusive, c.name}, nil
			}
		}
	}
	return source{}, fmt.Errorf("Metric %s is not found. Use the --list flag to list available metrics", lower) //lint:ignore ST1005 proton-viewer's own words, which scripts look for
}

func (c *column) inclusive() bool { return c.kind == profile.Inclusive && !c.text }

// have reports whether a metric was recorded, under exactly that name.
func (t *table) have(name string) bool {
	_, ok := t.index[name]
	return ok
}

// defaultMetric is what is shown when no metric was requested.
func (t *table) defaultMetric() string {
	for _, c := range []struct{ recorded, shown string }{{"time", "time/ms"}, {"cycles", "cycles"}, {"cpu_time", "cpu_time/ms"}} {
		if _, err := t.find(c.recorded); err == nil {
			return c.shown
		}
	}
	for i := range t.columns {
		if t.columns[i].inclusive() {
			return t.columns[i].name
		}
	}
	for i := range t.columns {
		if !t.columns[i].text {
			return t.columns[i].name
		}
	}
	return t.columns[0].name
}
