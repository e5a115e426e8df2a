package tree

import "github.com/goproton/goproton/profile"

func launchMembers(l *profile.LaunchTimes) members {
	return members{
		{"count", &l.Count}, {"device", &l.Device}, {"kind", &l.Kind}, {"max", &l.Most}, {"min", &l.Least}, {"ns", &l.Nanos}, {"times", &l.Times},
	}
}

func launchKindMembers(k *profile.LaunchKind) members {
	return members{{"function", &k.Function}, {"hash", &k.Hash}, {"id", &k.ID}, {"kernel", &k.Kernel}, {"pid", &k.PID}}
}

func launches(w Writer, all []profile.LaunchTimes) {
	w.Key("launches")
	before := w.Wrap(false)
	w.List(len(all)) // not by objects: nearly every node may have launches, and members that are returned by a parameter take memory
	for i := range all {
		w.Next()
		launchMembers(&all[i]).write(w)
	}
	w.EndList()
	w.Wrap(before)
}

// readLaunches reads the sums of a node. Finish checks their kinds: the list of kinds may come later.
func (d *Decoder) readLaunches(r Reader) (all []profile.LaunchTimes) {
	for c := r.List("launches"); c.More; c = r.Next(c) {
		var l profile.LaunchTimes
		start := r.Here()
		r.Keep(entrySize)
		launchMembers(&l).read(r, "launches of one kind")
		if err := l.Check(); err != nil {
			r.Fail(start, "launches of a node: %v", err)
		}
		d.kindsNamed = max(d.kindsNamed, l.Kind+1)
		all = append(all, l)
	}
	return all
}
