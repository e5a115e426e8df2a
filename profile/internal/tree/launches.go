package tree

import "github.com/goproton/goproton/profile"

func launches(w Writer, all []profile.LaunchTimes) {
	w.Key("launches")
	before := w.Wrap(false)
	w.List(len(all))
	for i := range all {
		l := &all[i]
		members := 6
		if hasTimes(l.Times) {
			members++
		}
		w.Next()
		w.Object(members)
		number(w, "count", l.Count)
		number(w, "device", uint64(l.Device))
		number(w, "kind", uint64(l.Kind))
		number(w, "max", l.Most)
		number(w, "min", l.Least)
		number(w, "ns", l.Nanos)
		if hasTimes(l.Times) {
			times(w, "times", l.Times)
		}
		w.EndObject()
	}
	w.EndList()
	w.Wrap(before)
}

// launchKinds writes what the launches are, a line each.
func launchKinds(w Writer, kinds []profile.LaunchKind) {
	w.Key("launch_kinds")
	w.List(len(kinds))
	for i := range kinds {
		k := &kinds[i]
		w.Next()
		before := w.Wrap(false)
		w.Object(5)
		number(w, "function", k.Function)
		text(w, "hash", k.Hash)
		text(w, "id", k.ID)
		text(w, "kernel", k.Kernel)
		number(w, "pid", uint64(k.PID))
		w.EndObject()
		w.Wrap(before)
	}
	w.EndList()
}

// readLaunches reads the sums of a node. Finish checks their kinds: the list of kinds may come later.
func (d *Decoder) readLaunches(r Reader) (all []profile.LaunchTimes) {
	for c := r.List("launches"); c.More; c = r.Next(c) {
		var l profile.LaunchTimes
		start := r.Here()
		r.Keep(entrySize)
		for c := r.Object("launches of one kind"); c.More; c = r.Next(c) {
			switch string(r.Key()) {
			case "count":
				l.Count = unsigned(r)
			case "device":
				l.Device = whole(r)
			case "kind":
				l.Kind = whole(r)
			case "max":
				l.Most = unsigned(r)
			case "min":
				l.Least = unsigned(r)
			case "ns":
				l.Nanos = unsigned(r)
			case "times":
				l.Times = readTimes(r)
			default:
				r.Skip()
			}
		}
		if err := l.Check(); err != nil {
			r.Fail(start, "launches of a node: %v", err)
		}
		d.kindsNamed = max(d.kindsNamed, l.Kind+1)
		all = append(all, l)
	}
	return all
}

func readLaunchKinds(r Reader) []profile.LaunchKind {
	kinds := []profile.LaunchKind{}
	for c := r.List("launch_kinds"); c.More; c = r.Next(c) {
		var k profile.LaunchKind
		r.Keep(entrySize)
		for c := r.Object("a kind of launches"); c.More; c = r.Next(c) {
			switch string(r.Key()) {
			case "function":
				k.Function = unsigned(r)
			case "hash":
				k.Hash = str(r)
			case "id":
				k.ID = str(r)
			case "kernel":
				k.Kernel = str(r)
			case "pid":
				k.PID = whole(r)
			default:
				r.Skip()
			}
		}
		kinds = append(kinds, k)
	}
	return kinds
}
