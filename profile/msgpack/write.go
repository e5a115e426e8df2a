package msgpack

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goproton/goproton/internal/atomicfile"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/fold"
	"github.com/goproton/goproton/profile/internal/rootkinds"
	"github.com/goproton/goproton/profile/internal/sampletable"
)

// Write writes p.
func Write(w io.Writer, p *profile.Profile) error {
	if p == nil || p.Root == nil {
		return errors.New("encode profile: it has no root node; start a session before writing")
	}
	p = fold.Deep(p)
	e := newEncoder(w, p)
	e.profile(p)
	return e.flush()
}

// WriteFile writes p to a file and replaces an older one in one step.
func WriteFile(path string, p *profile.Profile) error {
	return atomicfile.Write(path, func(w io.Writer) error { return Write(w, p) })
}

// Encode returns p as bytes; nil for a profile without a root.
func Encode(p *profile.Profile) []byte {
	if p == nil || p.Root == nil {
		return nil
	}
	p = fold.Deep(p)
	e := newEncoder(nil, p)
	e.profile(p)
	return e.buf
}

// spillAt is what is collected before a write, as in package hatchet.
const spillAt = 64 << 10

// encoder appends MessagePack to buf, and empties it into w now and then if there is one.
type encoder struct {
	w     io.Writer
	err   error
	buf   []byte
	kinds profile.Kinds
	seen  *rootkinds.Seen
	list  []ranked // scratch of sorted

	sampling *profile.Sampling // what nodes' samples mean; nil: there are none
}

func newEncoder(w io.Writer, p *profile.Profile) *encoder {
	return &encoder{w: w, kinds: p.Kinds, seen: rootkinds.NewOf(p), sampling: p.Sampling}
}

func (e *encoder) flush() error {
	if len(e.buf) > 0 && e.err == nil {
		_, e.err = e.w.Write(e.buf)
	}
	e.buf = e.buf[:0]
	return e.err
}

func (e *encoder) profile(p *profile.Profile) {
	e.array(2)
	e.node(p.Root, p)
	e.devices(p.Devices)
}

// node writes a node and what is below it; whole is the profile if n is its root. Upstream's three keys come
// first, then those that only we have.
func (e *encoder) node(n *profile.Node, whole *profile.Profile) {
	if e.w != nil && len(e.buf) >= spillAt {
		e.flush()
	}
	metrics, keys := n.Metrics, 3
	var exceptions []string
	if whole != nil {
		metrics = e.seen.WithZeros(metrics)
		exceptions = e.seen.Exceptions(n)
		keys += least1(len(whole.Info)) + least1(len(exceptions))
	}
	times := n.Times != nil && n.Times.Count > 0
	if times {
		keys++
	}
	sampled := e.sampling != nil && len(n.Samples) > 0
	if sampled {
		keys++
	}
	if whole != nil && e.sampling != nil {
		keys++
	}
	if len(n.Launches) > 0 {
		keys++
	}
	if whole != nil && len(whole.Launches) > 0 {
		keys++
	}
	e.mapping(keys)
	e.str("frame")
	e.mapping(2)
	e.str("name")
	e.str(n.Name)
	e.str("type")
	e.str("function")
	e.str("metrics")
	e.metrics(metrics)
	e.str("children")
	e.array(len(n.Children))
	for _, c := range n.Children {
		e.node(c, nil)
	}
	if whole != nil {
		e.strings("info", slices.Sorted(maps.Keys(whole.Info)), func(key string) string { return whole.Info[key] })
		e.strings("kinds", exceptions, func(name string) string { return e.kinds[name].String() })
	}
	if sampled {
		e.samples(n.Samples)
	}
	if whole != nil && e.sampling != nil {
		e.str("sampling")
		e.object(sampletable.Table(e.sampling))
	}
	if whole != nil && len(whole.Launches) > 0 {
		e.launchKinds(whole.Launches)
	}
	if len(n.Launches) > 0 {
		e.launches(n.Launches)
	}
	if times {
		e.times(n.Times)
	}
}

func least1(n int) int { return min(n, 1) }

// strings writes a key and an object of strings, unless it is empty.
func (e *encoder) strings(name string, keys []string, value func(key string) string) {
	if len(keys) == 0 {
		return
	}
	e.str(name)
	e.mapping(len(keys))
	for _, key := range keys {
		e.str(key)
		e.str(value(key))
	}
}

func (e *encoder) times(s *profile.Sketch) {
	e.str("times")
	e.mapping(6)
	e.str("count")
	e.unsigned(s.Count)
	e.str("min")
	e.unsigned(s.Min)
	e.str("max")
	e.unsigned(s.Max)
	e.str("mean")
	e.float(s.Mean)
	e.str("m2")
	e.float(s.M2)
	e.str("buckets")
	e.array(len(s.Buckets))
	for _, b := range s.Buckets {
		low, _ := profile.BucketBounds(b.Index)
		e.array(2)
		e.unsigned(low)
		e.unsigned(b.Count)
	}
}

func (e *encoder) metrics(list []profile.Metric) {
	e.mapping(len(list))
	for _, m := range e.sorted(list) {
		e.str(m.Name)
		e.value(m.Value)
	}
}

// fixed are the metrics that upstream's profilers measure, in its order. A group counts only where its first two
// are there: a user may well have called a metric "count".
var fixed = [...][]string{
	{"time (ns)", "count", rootkinds.DeviceID, rootkinds.DeviceType},
	{"num_samples", "num_stalled_samples", "stalled_branch_resolving", "stalled_no_instruction", "stalled_short_scoreboard",
		"stalled_wait", "stalled_long_scoreboard", "stalled_tex_throttle", "stalled_barrier", "stalled_membar",
		"stalled_imc_miss", "stalled_mio_throttle", "stalled_math_pipe_throttle", "stalled_drain", "stalled_lg_throttle",
		"stalled_not_Selected", "stalled_misc", "stalled_dispatch_stall", "stalled_sleeping", "stalled_selected"},
	{"cycles", "normalized_cycles", rootkinds.DeviceID, rootkinds.DeviceType},
}

// ranked is a metric with its place among the fixed ones; 0 for the user's.
type ranked struct {
	*profile.Metric
	rank int
}

// sorted returns metrics in upstream's order: the fixed ones, then the user's by name.
func (e *encoder) sorted(list []profile.Metric) []ranked {
	var present [len(fixed)]bool
	for g := range fixed {
		present[g] = has(list, fixed[g][0]) && has(list, fixed[g][1])
	}
	e.list = e.list[:0]
	for i := range list {
		e.list = append(e.list, ranked{&list[i], rank(list[i].Name, present)})
	}
	slices.SortFunc(e.list, func(a, b ranked) int { return cmp.Or(a.rank-b.rank, strings.Compare(a.Name, b.Name)) })
	return e.list
}

func rank(name string, present [len(fixed)]bool) int {
	for g := range fixed {
		if at := slices.Index(fixed[g], name); present[g] && at >= 0 {
			return (g-len(fixed))*len(fixed[1]) + at
		}
	}
	return 0
}

func has(list []profile.Metric, name string) bool {
	return slices.ContainsFunc(list, func(m profile.Metric) bool { return m.Name == name })
}

func (e *encoder) value(v profile.Value) {
	switch v.Type() {
	case profile.Int:
		e.integer(v.Int())
	case profile.Float:
		f, _ := v.Float()
		e.float(f)
	case profile.String:
		e.str(v.Str())
	case profile.Ints:
		e.array(len(v.Ints()))
		for _, i := range v.Ints() {
			e.integer(i)
		}
	case profile.Floats:
		e.array(len(v.Floats()))
		for _, f := range v.Floats() {
			e.float(f)
		}
	}
}

// devices writes type → ordinal → facts, in upstream's order of facts.
func (e *encoder) devices(list []profile.Device) {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b profile.Device) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), compareOrdinals(a.ID, b.ID))
	})
	types := map[string]int{}
	for _, d := range sorted {
		types[d.Type]++
	}
	e.mapping(len(types))
	for i, d := range sorted {
		if i == 0 || sorted[i-1].Type != d.Type {
			e.str(d.Type)
			e.mapping(types[d.Type])
		}
		e.str(d.ID)
		if d.Name == "" {
			e.mapping(5)
		} else {
			e.mapping(6)
			e.str("name")
			e.str(d.Name)
		}
		e.str("clock_rate")
		e.integer(d.ClockRate)
		e.str("memory_clock_rate")
		e.integer(d.MemoryClockRate)
		e.str("bus_width")
		e.integer(d.BusWidth)
		e.str("arch")
		e.str(d.Arch)
		e.str("num_sms")
		e.integer(d.NumSMs)
	}
}

// compareOrdinals puts 2 before 10.
func compareOrdinals(a, b string) int {
	x, errA := strconv.Atoi(a)
	y, errB := strconv.Atoi(b)
	if errA != nil || errB != nil {
		return strings.Compare(a, b)
	}
	return cmp.Compare(x, y)
}

func (e *encoder) mapping(n int) { e.header(n, 0x80, 0xde) }
func (e *encoder) array(n int)   { e.header(n, 0x90, 0xdc) }

// header writes the head of a container: up to 15 in one byte, else the 16 or the 32 bit form.
func (e *encoder) header(n int, short, long byte) {
	switch {
	case n < 16:
		e.buf = append(e.buf, short|byte(n))
	case n <= math.MaxUint16:
		e.buf = binary.BigEndian.AppendUint16(append(e.buf, long), uint16(n))
	default:
		e.buf = binary.BigEndian.AppendUint32(append(e.buf, long+1), uint32(n))
	}
}

// str writes a string. Bytes that are not valid UTF-8 are written as U+FFFD: Python's reader would refuse the whole
// file.
func (e *encoder) str(s string) {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	switch n := len(s); {
	case n < 32:
		e.buf = append(e.buf, 0xa0|byte(n))
	case n <= math.MaxUint8:
		e.buf = append(e.buf, 0xd9, byte(n))
	case n <= math.MaxUint16:
		e.buf = binary.BigEndian.AppendUint16(append(e.buf, 0xda), uint16(n))
	default:
		e.buf = binary.BigEndian.AppendUint32(append(e.buf, 0xdb), uint32(n))
	}
	e.buf = append(e.buf, s...)
}

func (e *encoder) float(f float64) {
	e.buf = binary.BigEndian.AppendUint64(append(e.buf, 0xcb), math.Float64bits(f))
}

func (e *encoder) unsigned(v uint64) {
	switch {
	case v < 128:
		e.buf = append(e.buf, byte(v))
	case v <= math.MaxUint8:
		e.buf = append(e.buf, 0xcc, byte(v))
	case v <= math.MaxUint16:
		e.buf = binary.BigEndian.AppendUint16(append(e.buf, 0xcd), uint16(v))
	case v <= math.MaxUint32:
		e.buf = binary.BigEndian.AppendUint32(append(e.buf, 0xce), uint32(v))
	default:
		e.buf = binary.BigEndian.AppendUint64(append(e.buf, 0xcf), v)
	}
}

func (e *encoder) integer(v int64) {
	switch {
	case v >= 0:
		e.unsigned(uint64(v))
	case v >= -32:
		e.buf = append(e.buf, byte(v))
	case v >= math.MinInt8:
		e.buf = append(e.buf, 0xd0, byte(v))
	case v >= math.MinInt16:
		e.buf = binary.BigEndian.AppendUint16(append(e.buf, 0xd1), uint16(v))
	case v >= math.MinInt32:
		e.buf = binary.BigEndian.AppendUint32(append(e.buf, 0xd2), uint32(v))
	default:
		e.buf = binary.BigEndian.AppendUint64(append(e.buf, 0xd3), uint64(v))
	}
}
