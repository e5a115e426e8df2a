package lanes

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/goproton/goproton/profile"
)

// deviceName says by the names of a process and of a thread what of a GPU a lane shows.
type deviceName struct {
	process, thread *regexp.Regexp // the number of the GPU is the first group of process or, where that has none, of thread
	shows           share
	needs           *regexp.Regexp // the name of another process of the file, without which the names mean something else
}

// share is what a lane shows of a GPU's work.
type share uint8

const (
	nothing share = iota // what is on it is not work, or repeats the work of other lanes
	part                 // work that may also be on a lane that shows all of it
	all                  // work that is on no other lane
)

// deviceOf finds what the names of a lane say. Most traces have categories that say what is work of a GPU; then names only add its number.
func deviceOf(process, thread string, processes func(*regexp.Regexp) bool) (name *deviceName, device string) {
	if !hasLetter(process) {
		return nil, ""
	}
	for i := range deviceNames {
		n := &deviceNames[i]
		p := n.process.FindStringSubmatch(process)
		if p == nil || n.needs != nil && !processes(n.needs) {
			continue
		}
		t := []string{""}
		if n.thread != nil {
			if t = n.thread.FindStringSubmatch(thread); t == nil {
				continue
			}
		}
		for _, groups := range [][]string{p, t} {
			if len(groups) > 1 && device == "" {
				device = groups[1]
			}
		}
		return n, device
	}
	return nil, ""
}

// hasLetter reports whether a name may say something: most files have processes that are called by their numbers, up to millions.
func hasLetter(name string) bool { return strings.ContainsFunc(name, unicode.IsLetter) }

// findDevices finds lanes of GPUs by their names, and makes work of what is on them.
func (b *Builder) findDevices() {
	others := func(name *regexp.Regexp) bool {
		for _, l := range b.lanes {
			if name.MatchString(b.processOf(l)) {
				return true
			}
		}
		return false
	}
	found, most := map[*Lane]share{}, map[string]share{}
	for _, l := range b.lanes {
		if l.Described {
			continue
		}
		if l.GPU {
			l.Device = cmp.Or(l.Device, firstGroup(deviceNumber, l.Name))
		} else if name, device := deviceOf(b.processOf(l), l.Name, others); name != nil {
			l.Device, l.Kind, l.Thread = device, profile.StreamLane, 0
			found[l] = name.shows
			most[device] = max(most[device], name.shows)
		} else {
			continue
		}
		if stream, err := strconv.ParseUint(firstGroup(streamNumber, l.Name), 10, 32); err == nil && l.Stream == 0 {
			l.Stream = uint32(stream)
		}
	}
	if len(found) == 0 {
		return
	}
	b.categories.byName = true
	for i := range b.Profile.Timeline.Slices {
		s := &b.Profile.Timeline.Slices[i]
		l := b.lanes[s.Lane]
		if shows := found[l]; shows != nothing && shows == most[l.Device] && s.Kind == profile.ScopeSlice {
			s.Kind = kindOfWork(s.Name)
			l.GPU = true
		}
	}
}

func firstGroup(pattern *regexp.Regexp, text string) string {
	if groups := pattern.FindStringSubmatch(text); groups != nil {
		return groups[1]
	}
	return ""
}

// unnest makes scopes of the slices on lanes of nested work that have others within them.
func (b *Builder) unnest() {
	t, order := b.Profile.Timeline, []int32(nil)
	for i := range t.Slices {
		if b.lanes[t.Slices[i].Lane].Nests {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(x, y int32) int {
		a, b := &t.Slices[x], &t.Slices[y]
		return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Start, b.Start), cmp.Compare(b.Duration, a.Duration))
	})
	for i := 1; i < len(order); i++ { // of slices in this order, one that has others within it has the next one
		around, s := &t.Slices[order[i-1]], &t.Slices[order[i]]
		if s.Lane == around.Lane && s.Start+s.Duration <= around.Start+around.Duration && s.Start < around.Start+around.Duration {
			around.Kind = profile.ScopeSlice
		}
	}
}

// processOf is what the file calls the process of a lane.
func (b *Builder) processOf(l *Lane) string { return cmp.Or(b.processes[l.In.ID], l.In.ID) }

// likeDevice names a process, thread or slice that is called like a GPU or its work in a file in which nothing is known as work of one; "" if there
// is none.
func (b *Builder) likeDevice() string {
	like, seen := "", map[string]bool{}
	look := func(name string, pattern *regexp.Regexp) {
		if like == "" && !seen[name] && hasLetter(name) {
			if seen[name] = true; pattern.MatchString(name) {
				like = name
			}
		}
	}
	for _, l := range b.lanes {
		if l.GPU || l.Described || l.Kind != profile.ThreadLane {
			return ""
		}
		if l.Used {
			look(b.processOf(l), likeDevice)
			look(l.Name, likeDevice)
		}
	}
	for i := range b.Profile.Timeline.Slices {
		look(b.Profile.Timeline.Slices[i].Name, likeWork)
	}
	if like == "" {
		return ""
	}
	return fmt.Sprintf("nothing in the file is known as work of a GPU, though %q is called like one: all times are read as those of the host", like)
}
