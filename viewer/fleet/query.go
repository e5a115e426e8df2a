package fleet

import (
	"cmp"
	"regexp"
	"strconv"
	"time"

	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/profile"
)

// Query is what to look at. The zero value is everything.
type Query struct {
	Since, Until time.Time         // of the start of a profile: Since is inside, Until is not
	Ranks        map[int]bool      // nil for all
	Labels       map[string]string // that the profile must have
	GPU          string            // ordinal of the GPU; "" for all
	Exclude      *regexp.Regexp    // of names of frames that are left out, with what is below them; nil for none
	Metric       string            // a recorded amount, with or without its unit, in any case; "" is the time of kernels
	Top          int               // frames and ranks to report
}

// Takes says whether a profile is asked for.
func (q *Query) Takes(p *profile.Profile, rank string) bool {
	if !q.Since.IsZero() || !q.Until.IsZero() {
		ns, err := strconv.ParseInt(p.Info[profile.InfoStart], 10, 64)
		if err != nil || !q.TakesStart(time.Unix(0, ns)) {
			return false
		}
	}
	for name, want := range q.Labels {
		if Label(p.Info, name) != want {
			return false
		}
	}
	return q.TakesRank(rank)
}

// TakesStart says whether profiles that start at a time are asked for.
func (q *Query) TakesStart(t time.Time) bool {
	return !t.Before(q.Since) && (q.Until.IsZero() || t.Before(q.Until))
}

// TakesRank says whether profiles of a rank are asked for.
func (q *Query) TakesRank(rank string) bool {
	if q.Ranks == nil {
		return true
	}
	n, err := strconv.Atoi(rank)
	return err == nil && q.Ranks[n]
}

// onGPU says whether the values of a node are of the GPU that is asked for.
func (q *Query) onGPU(n *profile.Node) bool {
	if q.GPU == "" {
		return true
	}
	v, has := n.Metric(profile.DeviceIDMetric)
	return has && v.Str() == q.GPU
}

// leavesOut says whether a node is left out, with what is below it. The root has no name of the program's.
func (q *Query) leavesOut(n *profile.Node, depth int) bool {
	return q.Exclude != nil && depth > 0 && q.Exclude.MatchString(n.Name)
}

// Label is a label of a profile: of a window one of those that it is pushed with, else a fact of the run.
func Label(info profile.Info, name string) string {
	if name == "service" || name == runinfo.LabelService {
		return cmp.Or(info[runinfo.InfoLabel+runinfo.LabelService], info[profile.InfoName])
	}
	return cmp.Or(info[runinfo.InfoLabel+name], info[name])
}
