package msgpack

import (
	"fmt"
	"io"
	"math"
	"os"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/number"
	"github.com/goproton/goproton/profile/internal/rootkinds"
	"github.com/goproton/goproton/profile/internal/sampletable"
)

// Read reads one profile. What it cannot understand is a *FormatError with the place in the file.
func Read(r io.Reader) (*profile.Profile, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return Decode(data)
}

// ReadFile reads the profile in a file.
func ReadFile(path string) (*profile.Profile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	p, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("read profile %s: %w", path, err)
	}
	return p, nil
}

// Decode reads the profile in data.
func Decode(data []byte) (*profile.Profile, error) {
	d := decoder{wire: wire{data: data, names: map[string]string{}}, lastKind: -1}
	p := &profile.Profile{}
	switch n := d.array("a tree and a device table"); {
	case d.err != nil:
	case n < 1 || n > 2:
		d.fail(0, "an array of %d; a .hatchet_msgpack file has a tree and a device table", n)
	default:
		p.Root = d.node(0)
		if n == 2 {
			p.Devices = d.devices()
		}
	}
	if d.err == nil && d.pos < len(data) {
		d.fail(d.pos, "%d bytes behind the end of the profile", len(data)-d.pos)
	}
	if d.err != nil {
		return nil, d.err
	}
	p.Info, p.Sampling, p.Launches, p.Rounded = d.info, d.sampling, d.launched, d.rounded
	if err := d.checkLaunches(); err != nil {
		return nil, err
	}
	if d.sampled {
		if err := sampletable.Check(p); err != nil {
			return nil, &FormatError{int64(len(data)), err.Error()}
		}
	}
	p.Kinds = rootkinds.Tell(p.Root, d.kinds)
	return p, nil
}

// Sniff says by its first bytes whether a file is one of ours: an array of one or two whose first is a map with the
// keys of a node.
func Sniff(head []byte) bool {
	if len(head) < 3 || head[0]&^3 != 0x90 || head[0] == 0x90 || head[0] == 0x93 || head[1]&0xf0 != 0x80 || head[1] == 0x80 {
		return false
	}
	d := wire{data: head, pos: 2, names: map[string]string{}}
	switch d.str("a key") {
	case "frame", "metrics", "children":
		return true
	}
	return false
}

type decoder struct {
	wire
	info  profile.Info  // of the root
	kinds profile.Kinds // by the root's key of that name
	list  []profile.Metric

	sampling *profile.Sampling // by the root's key of that name
	sampled  bool              // some node has samples

	launched []profile.LaunchKind // by the root's key launch_kinds
	lastKind int                  // the largest that a node names; -1: none

	index map[string]int // where a name is in list
}

func (d *decoder) node(depth int) *profile.Node {
	start := d.pos
	if depth > profile.MaxDepth {
		d.fail(start, "call paths of more than %d frames", profile.MaxDepth)
		return nil
	}
	d.keep(start, nodeSize)
	n := &profile.Node{}
	named := false
	for range d.mapping("a node") {
		switch key := d.str("a key of a node"); {
		case d.err != nil:
			return nil
		case key == "frame":
			named = d.frame(n) || named
		case key == "metrics":
			d.metrics(n)
		case key == "children":
			d.children(n, depth)
		case key == "times":
			n.Times = d.times()
		case key == "samples":
			n.Samples = d.samples()
		case key == "launches":
			n.Launches = d.launches()
		case key == "launch_kinds" && depth == 0:
			d.readLaunchKinds()
		case key == "sampling" && depth == 0:
			d.readSampling()
		case key == "info" && depth == 0:
			d.readInfo()
		case key == "kinds" && depth == 0:
			d.readKinds()
		default:
			d.skip(0)
		}
	}
	if d.err == nil && !named {
		d.fail(start, "a node without a frame name")
	}
	return n
}

func (d *decoder) frame(n *profile.Node) (named bool) {
	for range d.mapping("a frame") {
		if d.str("a key of a frame") != "name" {
			d.skip(0)
			continue
		}
		n.Name = d.str("a frame's name")
		named = d.err == nil
	}
	return named
}

func (d *decoder) children(n *profile.Node, depth int) {
	for range d.array("children") {
		if d.err != nil {
			return
		}
		if c := d.node(depth + 1); c != nil {
			n.Children = append(n.Children, c)
		}
	}
}

// metrics reads the metrics of a node. A name that comes twice, as upstream writes a user's "count", counts with its
// last value.
func (d *decoder) metrics(n *profile.Node) {
	start := d.pos
	count := d.mapping("metrics")
	if count > profile.MaxMetrics {
		d.fail(start, "%d metrics on one node; %d are the most", count, profile.MaxMetrics)
	}
	if d.index == nil {
		d.index = map[string]int{}
	}
	d.list = d.list[:0]
	clear(d.index)
	for range count {
		name := d.str("a metric's name")
		v := d.value()
		if d.err != nil {
			return
		}
		if at, twice := d.index[name]; twice {
			d.list[at].Value = v
			continue
		}
		d.keep(d.pos, metricSize)
		d.index[name] = len(d.list)
		d.list = append(d.list, profile.Metric{Name: name, Value: v})
	}
	n.Metrics = append([]profile.Metric(nil), d.list...)
}

func (d *decoder) value() profile.Value {
	switch d.kind() {
	case textKind:
		return profile.StringValue(d.str("text"))
	case arrayKind:
		return d.vector()
	}
	return d.number("a number, a string or an array")
}

// vector reads an array of numbers; one float makes all of them floats.
func (d *decoder) vector() profile.Value {
	n := d.array("a vector")
	d.keep(d.pos, numberSize*n)
	var list number.Vector
	for range n {
		v := d.number("a number of a vector")
		if d.err != nil {
			return profile.Value{}
		}
		list.Add(v)
	}
	d.rounded += list.Rounded
	return list.Value()
}

func (d *decoder) readInfo() {
	d.info = profile.Info{}
	for range d.mapping("info") {
		key := d.str("a key of info")
		d.keep(d.pos, textSize)
		d.info[key] = d.str("a string of info")
	}
}

func (d *decoder) readKinds() {
	d.kinds = profile.Kinds{}
	for range d.mapping("kinds") {
		name, at := d.str("a metric's name"), d.pos
		word := d.str("a kind")
		kind, ok := profile.ParseKind(word)
		if !ok && d.err == nil {
			d.fail(at, "%.40q is not a kind of metric: expected exclusive, inclusive or property", word)
		}
		d.kinds[name] = kind
	}
}

// times reads a distribution and makes sure that it is one.
func (d *decoder) times() *profile.Sketch {
	start := d.pos
	s := &profile.Sketch{}
	for range d.mapping("times") {
		switch key := d.str("a key of times"); key {
		case "count":
			s.Count = d.unsigned()
		case "min":
			s.Min = d.unsigned()
		case "max":
			s.Max = d.unsigned()
		case "mean":
			s.Mean, _ = d.number("a mean").Float()
		case "m2":
			s.M2, _ = d.number("a sum of squares").Float()
		case "buckets":
			s.Buckets = d.buckets()
		default:
			d.skip(0)
		}
	}
	if d.err == nil {
		if err := s.Check(); err != nil {
			d.fail(start, "times of a node: %v", err)
		}
	}
	return s
}

func (d *decoder) buckets() []profile.Bucket {
	var list []profile.Bucket
	for range d.array("buckets") {
		start := d.pos
		if n := d.array("a bucket"); n != 2 && d.err == nil {
			d.fail(start, "a bucket of times is [lower bound, count], not %d numbers", n)
		}
		low, count := d.unsigned(), d.unsigned()
		if d.err != nil {
			return nil
		}
		index := profile.BucketOf(low)
		if bound, _ := profile.BucketBounds(index); bound != low {
			d.fail(start, "no bucket of times begins at %d", low)
		}
		list = append(list, profile.Bucket{Index: index, Count: count})
	}
	return list
}

func (d *decoder) devices() []profile.Device {
	var list []profile.Device
	for range d.mapping("the device table") {
		typ := d.str("a device type")
		for range d.mapping("a device type") {
			dev := profile.Device{Type: typ, ID: d.str("a device's ordinal")}
			for range d.mapping("a device") {
				d.deviceFact(&dev)
			}
			d.keep(d.pos, deviceSize)
			if d.err != nil {
				return nil
			}
			list = append(list, dev)
		}
	}
	return list
}

func (d *decoder) deviceFact(dev *profile.Device) {
	fact := d.str("a device's fact")
	if fact == "arch" {
		dev.Arch = d.str("an architecture")
		return
	}
	if fact == "name" {
		dev.Name = d.str("a device's name")
		return
	}
	into := dev.Number(fact)
	if into == nil {
		d.skip(0)
		return
	}
	v := d.number("a device's number")
	if f, _ := v.Float(); !math.IsNaN(f) { // nil leaves the fact unknown
		*into = v.Int()
	}
}

// unsigned reads a whole number. Beyond 63 bits it was read as a float, which holds every bucket's bound exactly.
func (d *decoder) unsigned() uint64 {
	at := d.pos
	v := d.number("a whole number of at least 0")
	f, _ := v.Float()
	switch {
	case d.err != nil:
	case v.Type() == profile.Int && v.Int() >= 0:
		return uint64(v.Int())
	case f >= 0 && f < math.MaxUint64 && f == math.Trunc(f):
		return uint64(f)
	default:
		d.fail(at, "expected a whole number of at least 0")
	}
	return 0
}
