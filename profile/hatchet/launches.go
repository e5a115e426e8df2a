package hatchet

import (
	"fmt"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/jsonscan"
)

// Sums of traced launches are two more keys that upstream's readers skip: "launches" of a node, "launch_kinds" of the
// root.

// launches writes a node's sums on one line.
func (t *treeWriter) launches(list []profile.LaunchTimes) {
	if len(list) == 0 {
		return
	}
	t.next(false)
	t.key("launches")
	defer t.onOneLine()()
	t.list(len(list), func(i int) {
		l := &list[i]
		t.open('{')
		for j, fact := range []struct {
			name  string
			value uint64
		}{
			{"count", l.Count}, {"device", uint64(l.Device)}, {"kind", uint64(l.Kind)},
			{"max", l.Most}, {"min", l.Least}, {"ns", l.Nanos},
		} {
			t.next(j == 0)
			t.key(fact.name)
			t.unsigned(fact.value)
		}
		t.times(l.Times)
		t.close('}')
	})
}

// launchKinds writes what the launches are, a line each.
func (t *treeWriter) launchKinds(kinds []profile.LaunchKind) {
	if len(kinds) == 0 {
		return
	}
	t.next(false)
	t.key("launch_kinds")
	t.open('[')
	for i := range kinds {
		t.next(i == 0)
		t.launchKind(&kinds[i])
	}
	t.close(']')
}

func (t *treeWriter) launchKind(k *profile.LaunchKind) {
	defer t.onOneLine()()
	t.open('{')
	t.next(true)
	t.key("function")
	t.unsigned(k.Function)
	t.next(false)
	t.key("hash")
	t.str(k.Hash)
	t.next(false)
	t.key("id")
	t.str(k.ID)
	t.next(false)
	t.key("kernel")
	t.str(k.Kernel)
	t.next(false)
	t.key("pid")
	t.unsigned(uint64(k.PID))
	t.close('}')
}

// launches reads a node's sums. That they fit the root's list is seen at the end: it may come behind them.
func (d *decoder) launches() (list []profile.LaunchTimes) {
	d.Array("at the start of launches", func() {
		var l profile.LaunchTimes
		d.Peek()
		start := d.Offset()
		d.Keep(functionSize)
		d.Object("at the start of launches of one kind", func(key string) {
			switch key {
			case "count":
				l.Count = d.unsigned()
			case "device":
				l.Device = d.whole()
			case "kind":
				l.Kind = d.whole()
			case "max":
				l.Most = d.unsigned()
			case "min":
				l.Least = d.unsigned()
			case "ns":
				l.Nanos = d.unsigned()
			case "times":
				l.Times = d.times()
			default:
				d.Skip(0)
			}
		})
		if err := l.Check(); err != nil && d.Err == nil {
			d.Fail(start, "launches of a node: %v", err)
		}
		d.lastKind = max(d.lastKind, l.Kind)
		list = append(list, l)
	})
	return list
}

// whole reads a number that an int holds.
func (d *decoder) whole() int {
	d.Peek()
	at := d.Offset()
	n := d.unsigned()
	if n > 1<<31-1 && d.Err == nil {
		d.Fail(at, "expected a whole number below 2147483648")
		return 0
	}
	return int(n)
}

// launchKinds reads what launches are.
func (d *decoder) launchKinds() []profile.LaunchKind {
	list := []profile.LaunchKind{}
	d.Array("at the start of launch_kinds", func() {
		var k profile.LaunchKind
		d.Keep(functionSize)
		d.Object("at the start of a kind of launches", func(key string) {
			switch key {
			case "function":
				k.Function = d.unsigned()
			case "hash":
				k.Hash = d.Intern(d.Str("a string"))
			case "id":
				k.ID = d.Intern(d.Str("a string"))
			case "kernel":
				k.Kernel = d.Intern(d.Str("a string"))
			case "pid":
				k.PID = d.whole()
			default:
				d.Skip(0)
			}
		})
		list = append(list, k)
	})
	return list
}

// checkLaunches makes sure that every kind that a node names is there.
func (d *decoder) checkLaunches(p *profile.Profile) error {
	if d.lastKind < len(p.Launches) {
		return nil
	}
	return &jsonscan.Error{Offset: d.Offset(), Reason: fmt.Sprintf("launches of kind %d, and the root's key \"launch_kinds\" has %d", d.lastKind, len(p.Launches))}
}
