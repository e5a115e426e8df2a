package tritonparse

import (
	"bytes"
	"cmp"
	"math"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// Measured is launches of one kernel that a profile has the times of, at one node. What is not known of them is "".
type Measured struct {
	Kernel string // name in the trace
	Hash   string // of the compilation
	Kind   string // see LaunchKind
	Node   *profile.Node
	Launch *profile.LaunchTimes // the launches in Node.Launches; nil if only the name of the kernel is known
	profile.Durations
}

// EachMeasured calls visit with the launches of each node that the filter leaves. Profiles of runs without a trace, and launches
// from before the trace began, have the name of the kernel only.
func EachMeasured(p *profile.Profile, filter profile.Filter, visit func(Measured)) {
	filter.Walk(p.Root, func(n *profile.Node, _ []string) {
		rest := Measured{Kernel: KernelOfFrame(n.Name), Node: n, Durations: profile.Durations{Count: Amount(n, profile.CountMetric), Nanos: Amount(n, profile.TimeMetric)}}
		if len(n.Launches) == 0 {
			if rest.Times = n.Times; n.Times != nil {
				rest.Least, rest.Most = n.Times.Min, n.Times.Max
			}
		}
		for i := range n.Launches {
			l := &n.Launches[i]
			if l.Kind < 0 || l.Kind >= len(p.Launches) {
				continue
			}
			kind := &p.Launches[l.Kind]
			rest.Count, rest.Nanos = rest.Count-min(rest.Count, l.Count), rest.Nanos-min(rest.Nanos, l.Nanos)
			visit(Measured{Kernel: cmp.Or(kind.Kernel, rest.Kernel), Hash: kind.Hash, Kind: kind.ID, Node: n, Launch: l, Durations: l.Durations})
		}
		if rest.Count > 0 || rest.Nanos > 0 {
			visit(rest)
		}
	})
}

// Amount is a node's own value of a metric that counts something, such as nanoseconds or launches; 0 if it has none.
func Amount(n *profile.Node, metric string) uint64 {
	if f := n.Number(metric); f > 0 && f < math.MaxInt64 {
		return uint64(f)
	}
	return 0
}

// EachRecorded hands over what Recorded finds, for each compilation that has it, in the order of the files. do may keep what
// it gets; launches have no ID. An error of do ends it and is returned.
func (t *Trace) EachRecorded(do func(*Compilation, *LaunchRecord) error) error {
	wanted := records{}
	for _, c := range t.compilations {
		if f := c.recorded.file; f != "" {
			wanted.add(f, c.recorded.line, c)
		}
	}
	for _, f := range t.Files {
		in := wanted[f]
		if len(in) == 0 {
			continue
		}
		err := eachRecord(f, func(rec ndjson.Record, _ []jsontext.Member) *LaunchRecord {
			if in[rec.Index] == nil {
				return nil
			}
			rec.Text = bytes.Clone(rec.Text)
			own, _ := jsontext.Members(rec.Text) // was well-formed just now
			return t.known.records.read(f, rec, own)
		}, func(l *LaunchRecord) error { return do(in[l.Line], l) })
		if err != nil {
			return err
		}
	}
	return nil
}
