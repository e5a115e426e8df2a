package hatchet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/jsonscan"
	"github.com/goproton/goproton/profile/internal/number"
)

// Read reads one profile. What it cannot understand is a *FormatError with the place in the file.
func Read(r io.Reader) (*profile.Profile, error) {
	d := newDecoder(r)
	p := &profile.Profile{}
	elements := 0
	d.Array("at the start of a .hatchet file", func() {
		switch elements++; elements {
		case 1:
			p.Root = d.node(0)
		case 2:
			p.Devices = d.devices()
		default:
			d.Fail(d.Offset(), "a third element; a .hatchet file has a tree and a device table")
		}
	})
	if !d.atEnd() {
		d.Unexpected("the end of the file")
	}
	if d.Err == nil && p.Root == nil {
		d.Fail(0, "the file holds no tree; profile again")
	}
	if d.Err != nil {
		return nil, d.Err
	}
	if err := d.finish(p); err != nil {
		return nil, err
	}
	return p, nil
}

// finish fills in what is known when everything has been read.
func (d *decoder) finish(p *profile.Profile) error {
	p.Info, p.Rounded = d.runInfo, d.Rounded
	p.Kinds = d.kinds(p.Root)
	p.Sampling, p.Launches = d.sampling, d.launched
	if err := d.checkLaunches(p); err != nil {
		return err
	}
	return d.checkSamples(p)
}

// ReadFile reads the profile in a file.
func ReadFile(path string) (*profile.Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	defer f.Close()
	p, err := readFile(f)
	var bad *FormatError
	if errors.As(err, &bad) {
		return nil, fmt.Errorf("read profile %s: %w; give a .hatchet file that proton or Triton wrote", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read profile %s: %w", path, err)
	}
	return p, nil
}

// readFile reads plain files in pieces and whatever else can be opened as a stream.
func readFile(f *os.File) (*profile.Profile, error) {
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > 0 { // those of /proc say 0
		return ReadAt(f, info.Size())
	}
	return Read(f)
}

// decoder turns text into nodes. Nodes, their metrics and their lists of children are cut from slabs: a tree of a
// million nodes is some ten thousand allocations, not four million.
type decoder struct {
	*jsonscan.Scanner
	seen     map[string]*metricFacts
	texts    map[string]profile.Value // see text
	metrics  []profile.Metric         // of one node, to be copied at their final size
	pending  []*profile.Node          // children of the nodes that are still open, the innermost's last
	visits   int                      // nodes with metrics so far
	start    metricFacts              // stands before the first metric of every node
	runInfo  profile.Info
	declared profile.Kinds // from the root's key "kinds"; the other kinds follow from the root's metrics

	sampling *profile.Sampling // by the root's key of that name
	sampled  bool              // some node has samples

	launched []profile.LaunchKind // by the root's key launch_kinds
	lastKind int                  // the largest that a node names; -1: none

	limit   int64      // where the next piece of the file begins, see pieces.go; 0 when there is none
	open    []openNode // at the limit, the innermost first
	deepest int        // depth so far

	nodeSlab     slab[profile.Node]
	metricSlab   slab[profile.Metric]
	childrenSlab slab[*profile.Node]
}

func newDecoder(r io.Reader) *decoder {
	return &decoder{Scanner: jsonscan.New(r), seen: map[string]*metricFacts{}, texts: map[string]profile.Value{}, lastKind: -1}
}

// metricFacts is what is known of a metric. It also makes reading fast: most nodes name their metrics in the order of the
// node before them, on the same device, so the reader compares with that name and text before it looks any up.
type metricFacts struct {
	name  string
	text  bool          // some value is text, which also decides the kind, as the root does
	last  profile.Value // the last text
	next  *metricFacts  // what came behind it the last time
	visit int           // the last node that had it, and where in its list
	at    int
}

func (d *decoder) node(depth int) *profile.Node {
	d.Peek()
	start := d.Offset()
	if start == d.limit && d.limit > 0 && d.Err == nil {
		d.Err = errLimit
	}
	if depth > profile.MaxDepth {
		d.Fail(start, "call paths of more than %d frames", profile.MaxDepth)
	}
	if d.Err != nil {
		return nil
	}
	d.deepest = max(d.deepest, depth)
	n := &d.nodeSlab.cut(1)[0]
	d.Expect('{', "at the start of a node")
	named := d.members(n, depth, d.Begin('}'))
	switch {
	case d.Err == errLimit:
		d.open = append(d.open, openNode{n, named})
	case d.Err == nil && !named:
		d.Fail(start, "a node without a frame name")
	}
	return n
}

// members reads the keys of a node and says whether its name was among them.
func (d *decoder) members(n *profile.Node, depth int, more bool) (named bool) {
	for ; more; more = d.More('}') {
		switch key := d.Str(jsonscan.AKey); string(key) { // the key is gone after the colon: it may lie in the next buffer
		case "children":
			d.Colon()
			d.children(n, depth)
		case "frame":
			d.Colon()
			named = d.frame(n) || named
		case "metrics":
			d.Colon()
			d.readMetrics(n)
		case "times":
			d.Colon()
			n.Times = d.times()
		case "samples":
			d.Colon()
			n.Samples = d.samples()
		case "launches":
			d.Colon()
			n.Launches = d.launches()
		case "info", "kinds", "sampling", "launch_kinds":
			d.rootKey(string(key), depth)
		default:
			d.Colon()
			d.Skip(depth)
		}
	}
	return named
}

func (d *decoder) children(n *profile.Node, depth int) {
	d.Expect('[', "at the start of children")
	d.siblings(n, depth, d.Begin(']'))
}

// siblings reads children up to the bracket behind the last one.
func (d *decoder) siblings(n *profile.Node, depth int, more bool) {
	first := len(d.pending)
	for ; more; more = d.More(']') {
		if c := d.node(depth + 1); c != nil {
			d.pending = append(d.pending, c)
		}
	}
	own := d.pending[first:]
	if len(n.Children) > 0 { // the key came twice
		n.Children = append(n.Children, own...)
	} else if len(own) > 0 {
		n.Children = d.childrenSlab.cut(len(own))
		copy(n.Children, own)
	}
	clear(own)
	d.pending = d.pending[:first]
}

// rootKey reads what only the root has a meaning for.
func (d *decoder) rootKey(key string, depth int) {
	switch d.Colon(); {
	case depth > 0:
		d.Skip(depth)
	case key == "info":
		d.runInfo = d.info()
	case key == "sampling":
		d.sampling = d.samplingTable()
	case key == "launch_kinds":
		d.launched = d.launchKinds()
	default:
		d.declared = d.kindExceptions()
	}
}

func (d *decoder) frame(n *profile.Node) (named bool) {
	d.Expect('{', "at the start of a frame")
	for more := d.Begin('}'); more; more = d.More('}') {
		name := string(d.Str(jsonscan.AKey)) == "name"
		d.Colon()
		if !name {
			d.Skip(0)
			continue
		}
		n.Name = d.Intern(d.Str("a name in quotes"))
		named = d.Err == nil
	}
	return named
}

func (d *decoder) readMetrics(n *profile.Node) {
	d.visits++
	d.metrics = d.metrics[:0]
	facts := &d.start
	d.Expect('{', "at the start of metrics")
	for more := d.Begin('}'); more; more = d.More('}') {
		facts = d.metric(d.Str(jsonscan.AKey), facts)
		d.Colon()
		at := d.Offset()
		v := d.value(facts)
		switch {
		case d.Err != nil:
			return
		case facts.visit == d.visits:
			d.metrics[facts.at].Value = v
		case len(d.metrics) >= profile.MaxMetrics:
			d.Fail(at, "more than %d metrics on one node", profile.MaxMetrics)
			return
		default:
			facts.visit, facts.at = d.visits, len(d.metrics)
			d.metrics = append(d.metrics, profile.Metric{Name: facts.name, Value: v})
		}
	}
	n.Metrics = nil
	if len(d.metrics) > 0 {
		n.Metrics = d.metricSlab.cut(len(d.metrics))
		copy(n.Metrics, d.metrics)
	}
}

// metric finds the facts of a metric, given those of the one before it.
func (d *decoder) metric(key []byte, before *metricFacts) *metricFacts {
	if guess := before.next; guess != nil && guess.name == string(key) {
		return guess
	}
	name := d.Intern(key)
	facts := d.seen[name]
	if facts == nil {
		facts = &metricFacts{name: name}
		d.seen[name] = facts
	}
	before.next = facts
	return facts
}

func (d *decoder) value(facts *metricFacts) profile.Value {
	switch d.Peek() {
	case '"':
		facts.text = true
		return d.textValue(facts)
	case '[':
		return d.vector()
	case '{':
		d.Unexpected("a number, a string or a list")
		return profile.Value{}
	}
	return d.Scalar()
}

// textValue reads a string. A text that comes again is the same value, not a copy.
func (d *decoder) textValue(facts *metricFacts) profile.Value {
	text := d.Str("a string")
	if d.Err != nil || facts.last.Type() == profile.String && facts.last.Str() == string(text) {
		return facts.last
	}
	v, known := d.texts[string(text)]
	if !known {
		raw := string(text)
		v = profile.StringValue(strings.ToValidUTF8(raw, "\uFFFD"))
		d.texts[raw] = v
	}
	facts.last = v
	return v
}

// vector reads a list of numbers; one float makes all of them floats.
func (d *decoder) vector() profile.Value {
	var list number.Vector
	d.Array("at the start of a list", func() {
		if c := d.Peek(); c == '"' || c == '[' || c == '{' {
			d.Unexpected("a number")
			return
		}
		list.Add(d.Scalar())
	})
	d.Rounded += list.Rounded
	return list.Value()
}

// kinds decides by what the file can tell: text never adds up, whatever the file declares; of the rest, what is declared
// counts, then numbers that the root names are inclusive, and all others are exclusive.
func (d *decoder) kinds(root *profile.Node) profile.Kinds {
	kinds := make(profile.Kinds, len(d.seen))
	for name, facts := range d.seen {
		switch {
		case facts.text || name == deviceID || name == deviceType:
			kinds[name] = profile.Property
		default:
			kinds[name] = profile.Exclusive
		}
	}
	for _, m := range root.Metrics {
		if _, number := m.Value.Float(); number && kinds[m.Name] == profile.Exclusive {
			kinds[m.Name] = profile.Inclusive
		}
	}
	for name, kind := range d.declared {
		if facts := d.seen[name]; facts == nil || !facts.text {
			kinds[name] = kind
		}
	}
	return kinds
}

// devices reads type → ordinal → facts. Facts that we have no use for are skipped.
func (d *decoder) devices() []profile.Device {
	var list []profile.Device
	d.Object("at the start of the device table", func(typ string) {
		d.Object("at the start of a device type", func(id string) {
			d.Keep(functionSize)
			dev := profile.Device{Type: typ, ID: id}
			d.Object("at the start of a device", func(fact string) { d.deviceFact(&dev, fact) })
			list = append(list, dev)
		})
	})
	return list
}

func (d *decoder) deviceFact(dev *profile.Device, fact string) {
	if fact == "arch" {
		d.deviceArch(dev)
		return
	}
	if fact == "name" && d.Peek() == '"' {
		dev.Name = string(d.Str("a device's name"))
		return
	}
	into := dev.Number(fact)
	if into == nil {
		d.Skip(0)
		return
	}
	at := d.Offset()
	v := d.value(&metricFacts{})
	f, number := v.Float()
	if !number && d.Err == nil {
		d.Fail(at, "%s of a device is not a number", fact)
	}
	if f == f { // null leaves the fact unknown
		*into = v.Int()
	}
}

// deviceArch accepts "90" and 90.
func (d *decoder) deviceArch(dev *profile.Device) {
	if d.Peek() == '"' {
		dev.Arch = d.Intern(d.Str("an architecture"))
		return
	}
	at := d.Offset()
	v := d.Scalar()
	if v.Type() != profile.Int && d.Err == nil {
		d.Fail(at, "arch of a device is neither text nor a whole number")
	}
	dev.Arch = fmt.Sprint(v.Int())
}
