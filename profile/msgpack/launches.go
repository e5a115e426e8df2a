package msgpack

import (
	"fmt"
	"math"

	"github.com/goproton/goproton/profile"
)

func (e *encoder) launches(list []profile.LaunchTimes) {
	e.str("launches")
	e.array(len(list))
	for i := range list {
		l := &list[i]
		times := l.Times != nil && l.Times.Count > 0
		keys := 6
		if times {
			keys++
		}
		e.mapping(keys)
		e.fact("kind", uint64(l.Kind))
		e.fact("device", uint64(l.Device))
		e.fact("count", l.Count)
		e.fact("ns", l.Nanos)
		e.fact("min", l.Least)
		e.fact("max", l.Most)
		if times {
			e.times(l.Times)
		}
	}
}

func (e *encoder) fact(key string, value uint64) {
	e.str(key)
	e.unsigned(value)
}

func (e *encoder) launchKinds(kinds []profile.LaunchKind) {
	e.str("launch_kinds")
	e.array(len(kinds))
	for i := range kinds {
		k := &kinds[i]
		e.mapping(5)
		for _, text := range [...][2]string{{"id", k.ID}, {"kernel", k.Kernel}, {"hash", k.Hash}} {
			e.str(text[0])
			e.str(text[1])
		}
		e.fact("pid", uint64(k.PID))
		e.fact("function", k.Function)
	}
}

// launches reads a node's sums. That they fit the root's list is seen at the end.
func (d *decoder) launches() (list []profile.LaunchTimes) {
	for range d.array("launches") {
		l, start := profile.LaunchTimes{}, d.pos
		d.keep(start, kindSize)
		for range d.mapping("launches of one kind") {
			switch key := d.str("a key of launches"); key {
			case "kind":
				l.Kind = d.whole()
			case "device":
				l.Device = d.whole()
			case "count":
				l.Count = d.unsigned()
			case "ns":
				l.Nanos = d.unsigned()
			case "min":
				l.Least = d.unsigned()
			case "max":
				l.Most = d.unsigned()
			case "times":
				l.Times = d.times()
			default:
				d.skip(0)
			}
			if d.err != nil {
				return nil
			}
		}
		if err := l.Check(); err != nil {
			d.fail(start, "launches of a node: %v", err)
		}
		if d.err != nil {
			return nil
		}
		d.lastKind = max(d.lastKind, l.Kind)
		list = append(list, l)
	}
	return list
}

// whole reads a number that an int holds.
func (d *decoder) whole() int {
	at := d.pos
	n := d.unsigned()
	if n > math.MaxInt32 {
		d.fail(at, "expected a whole number below 2147483648")
		return 0
	}
	return int(n)
}

func (d *decoder) readLaunchKinds() {
	d.launched = nil
	for range d.array("launch_kinds") {
		var k profile.LaunchKind
		d.keep(d.pos, kindSize)
		for range d.mapping("a kind of launches") {
			switch key := d.str("a key of a kind of launches"); key {
			case "id":
				k.ID = d.str("a kind's id")
			case "kernel":
				k.Kernel = d.str("a kernel's name")
			case "hash":
				k.Hash = d.str("a compile hash")
			case "pid":
				k.PID = d.whole()
			case "function":
				k.Function = d.unsigned()
			default:
				d.skip(0)
			}
			if d.err != nil {
				return
			}
		}
		if d.err != nil {
			return
		}
		d.launched = append(d.launched, k)
	}
}

// checkLaunches makes sure that every kind that a node names is there.
func (d *decoder) checkLaunches() error {
	if d.lastKind < len(d.launched) {
		return nil
	}
	return &FormatError{int64(len(d.data)), fmt.Sprintf("launches of kind %d, and the root's key \"launch_kinds\" has %d", d.lastKind, len(d.launched))}
}
