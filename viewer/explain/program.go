package explain

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/collectives"
	"github.com/goproton/goproton/viewer/idle"
	"github.com/goproton/goproton/viewer/kernels"
)

// row is a frame of the profile that had time of its own.
type row struct {
	node   *profile.Node
	name   string
	kernel bool // otherwise a copy, a fill or a wait
	nanos  float64
	count  float64
	least  float64 // ns at the roof; NaN if its work is not known
	bound  string  // "compute" or "memory"
	beyond float64 // bytes that the GPU's memory moved, over those declared; NaN if they were not measured
	tuning bool    // below the autotuner's benchmarks
}

// program reads the tree, and makes subjects of the program and of what GPUs waited for.
func (s *survey) program() error {
	if err := s.readRows(); err != nil {
		return err
	}
	on := newSubject(programKind, s.total, s.total)
	set := on.numbers
	var short, shortLaunches float64
	fused := map[string]bool{} // kernels that could be parts of one
	for _, r := range s.rows {
		share := r.nanos / s.total
		switch {
		case r.kernel && collective.MatchString(r.name):
			set["collectives_time_share"] += share
			continue
		case r.kernel:
			set["kernel_launches"] += r.count
		case profile.WorkOf(r.name) == profile.LinkedCopy:
			set["link_copies_time_share"] += share
			set["link_copies"] += r.count
			set["pageable_copies"] += r.count * figures.OneIf[float64](strings.Contains(r.name, "Pageable"))
			continue
		default:
			continue
		}
		if elementwise.MatchString(r.name) && !(r.nanos < r.count*shortKernel) {
			set["elementwise_time_share"] += share
			fused[r.name] = true
		}
		if r.tuning {
			set["autotune_time_share"] += share
		}
		if r.count > 0 && r.nanos/r.count < shortKernel {
			short += share
			shortLaunches += r.count
		}
	}
	set["elementwise_kernels"], set["short_kernels_time_share"] = float64(len(fused)), short
	if shortLaunches > 0 {
		set["mean_kernel_time_ns"] = short * s.total / shortLaunches
	}
	s.subjects = append(s.subjects, on)
	return s.idle(on)
}

// shortKernel is about what a launch costs the program, in ns.
const shortKernel = 6000

// readRows computes the time of every frame, and its least time where flops or bytes are known.
func (s *survey) readRows() error {
	p := s.Profile
	if d := s.device(); d != nil {
		s.doc.GPU = cmp.Or(d.Name, vendors.ArchName(d.Type, d.Arch))
	}
	var t *viewer.Table
	names, err := []string{"time", "count", "roof_time", "bound", beyondDeclared}, error(nil)
	for { // the last are known where flops or bytes are, and where they were measured
		if t, err = viewer.NewTable(p, viewer.Options{Metrics: names, BaseUnits: true, Peaks: s.Peaks}); err == nil {
			break
		}
		switch {
		case errors.As(err, new(*viewer.OptionError)):
			return err
		case len(names) == 1:
			return noTime(p)
		}
		if names[len(names)-1] == beyondDeclared {
			names = names[:len(names)-1]
		} else {
			names = names[:len(names)/2]
		}
	}
	column := func(name string) int { return slices.Index(names, name) }
	own := func(r *viewer.Row, name string) float64 {
		if i := column(name); i >= 0 {
			return r.Own[i] * cmp.Or(figures.Nanos(t.Columns[i].Unit), 1)
		}
		return math.NaN()
	}
	for r := range t.All() {
		nanos := own(r, "time")
		if !(nanos > 0) {
			continue
		}
		one := &row{node: r.Node, name: r.Name, kernel: profile.WorkOf(r.Name) == profile.KernelWork, nanos: nanos, count: figures.OrZero(own(r, "count")), least: own(r, "roof_time"), beyond: own(r, beyondDeclared)}
		if profile.WorkOf(r.Name) == profile.HostWaiting {
			continue
		}
		if i := column("bound"); i >= 0 {
			one.bound = t.Text(r, i)
		}
		for up := r.Parent; up != nil; up = up.Parent {
			one.tuning = one.tuning || up.Name == "<autotune>"
		}
		s.rows = append(s.rows, one)
		s.total += nanos
	}
	if s.total == 0 {
		return noTime(p)
	}
	if s.total >= math.MaxInt64 { // as a float, which is one more
		return fmt.Errorf("the kernels of the profile took %g ns together, more than a time can be: the file is damaged", s.total)
	}
	s.doc.GPUTime = int64(math.Round(s.total))
	return nil
}

// beyondDeclared is the viewer's name of row.beyond.
const beyondDeclared = "traffic_ratio"

// device is the GPU that worked; the first of several, nil if none is described.
func (s *survey) device() *profile.Device {
	for i := range s.Profile.Devices {
		if d := &s.Profile.Devices[i]; d.NumSMs > 0 || d.Name != "" {
			return d
		}
	}
	return nil
}

// longest names the kernels with most time.
func (s *survey) longest(most int) (names []string) {
	rows := slices.Clone(s.rows)
	slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(b.nanos, a.nanos) })
	for _, r := range rows {
		if r.kernel && !slices.Contains(names, r.name) && len(names) < most {
			names = append(names, shortened(r.name))
		}
	}
	return names
}

// idle makes a subject of everything that kept GPUs idle, of the time without single long gaps, and one of those.
func (s *survey) idle(program *subject) error {
	report, err := idle.Of(s.Profile, mostOnce)
	if errors.Is(err, idle.ErrNoTimeline) || errors.Is(err, idle.ErrNoWork) {
		s.doc.Notes = append(s.doc.Notes, "idle times of the GPU are not known; to record them: proton run --idle PROGRAM, or with what the program did meanwhile: proton run --data timeline PROGRAM")
		return nil
	}
	if err != nil {
		return err
	}
	var wall, idleTime, waited, gaps float64
	for _, d := range report.Devices {
		wall, idleTime, waited, gaps = wall+float64(d.Wall), idleTime+float64(d.Idle), waited+float64(d.Waited), gaps+float64(d.Gaps)
	}
	if wall == 0 {
		return nil
	}
	s.doc.Wall = int64(wall)
	program.numbers["idle_share"] = idleTime / wall
	once, nanos := onceOnly(report.Longest, idleTime)
	if len(once) > 0 {
		s.gaps(newSubject(idleKind+"once", nanos, wall), float64(len(once)), float64(once[0].Nanos), once[0].Path.Frames())
	}
	launches := math.Max(1, program.numbers["kernel_launches"])
	for doing := range idle.Before + 1 {
		on := newSubject(idleKind+doing.String(), 0, wall-nanos)
		var longest float64
		var path []string
		named := false
		for _, c := range report.Causes { // the most time first
			if c.Doing != doing {
				continue
			}
			on.time += float64(c.Nanos)
			if slices.ContainsFunc(once, func(g idle.Gap) bool { return g.Doing == doing && c.Longest >= g.Part }) {
				continue // it is of such a gap, for the most part
			}
			if !named { // a tree knows no longest gap
				named, path = true, c.Path.Frames()
			}
			longest = math.Max(longest, float64(c.Longest))
		}
		for _, g := range once { // what it was mostly; further parts of it are those of the same thread
			if g.Doing == doing {
				on.time -= float64(g.Nanos)
			}
		}
		if doing == idle.Wait { // with what followed until the next work, since nothing was queued
			on.time = math.Max(on.time, math.Min(waited, idleTime-nanos))
		}
		if on.time <= 0 {
			continue
		}
		on.numbers["began_in_waits_share"] = waited / idleTime
		on.numbers["gaps_per_launch"], on.numbers["mean_kernel_time_ns"] = gaps/launches, s.total/launches
		s.gaps(on, gaps-float64(len(once)), longest, path)
	}
	return nil
}

// gaps adds a subject of some idle time.
func (s *survey) gaps(on *subject, gaps, longest float64, path []string) {
	set := on.numbers
	on.path = s.pathText(path)
	set["idle_ns"], set["idle_share"], set["gaps"] = on.time, on.time/on.of, gaps
	set["mean_gap_ns"] = on.time / math.Max(1, gaps)
	if longest > 0 {
		set["longest_gap_ns"] = longest
	}
	s.subjects = append(s.subjects, on)
}

// Gaps that happen once are of a millisecond at least, and a fifth of all idle time that is left without the longer ones.
const (
	mostOnce  = 16
	leastOnce = 1e6
	partOnce  = 0.2
)

// onceOnly are the first gaps of a list, the longest first, that do not belong to the steady state: compilation, a first run, input.
func onceOnly(longest []idle.Gap, idleTime float64) (once []idle.Gap, nanos float64) {
	for _, g := range longest {
		if float64(g.Nanos) < leastOnce || float64(g.Nanos) < partOnce*(idleTime-nanos) {
			break
		}
		once, nanos = append(once, g), nanos+float64(g.Nanos)
	}
	return once, nanos
}

// pathText names a call path by its last frames.
func (s *survey) pathText(frames []string) string {
	const most = 4
	var names []string
	for _, name := range frames[max(0, len(frames)-most):] {
		names = append(names, shortened(s.label(kernels.FrameName(name))))
	}
	if len(frames) > most {
		names = append([]string{"…"}, names...)
	}
	if names == nil {
		return "outside of scopes"
	}
	return strings.Join(names, " > ")
}

// ranks makes a subject of the communication of all ranks: times are those of a rank, on average, and shares are of the time that its GPU worked.
func (s *survey) ranks() {
	list := s.Ranks
	if list == nil && s.Profile.Timeline != nil {
		list = ranksOf(s.Profile)
	}
	if len(list) == 0 {
		return
	}
	report := collectives.Compare(list)
	var n, busy, nccl, exposed, waiting float64
	for i, r := range report.Ranks {
		if r.NCCL == 0 {
			continue
		}
		n++
		nccl, exposed, waiting = nccl+float64(r.NCCL), exposed+float64(r.Exposed), waiting+float64(r.Waiting)
		for _, d := range idle.Find(list[i].Timeline, 0).Devices {
			busy += float64(d.Busy)
		}
	}
	if n == 0 || busy == 0 {
		return
	}
	on := newSubject(ranksKind, nccl/n, busy/n)
	set := on.numbers
	set["ranks"], set["communication_share"] = n, nccl/busy
	set["communication_exposed_share"], set["communication_waiting_share"] = exposed/busy, waiting/busy
	on.words["last"] = "it is not known which"
	if len(report.Kinds) > 0 && report.Kinds[0].Count > 0 {
		k := report.Kinds[0]
		on.words["last"] = k.Last + " in " + figures.Grouped(k.LastIn) + " of " + figures.Grouped(k.Count)
		set["last_rank_share"] = float64(k.LastIn) / float64(k.Count)
	}
	s.subjects = append(s.subjects, on)
	s.subjects[0].numbers["ranks"] = n // the program knows that they are explained
}

// ranksOf divides a timeline of several processes; one of a single process is one rank.
func ranksOf(p *profile.Profile) (list []collectives.Rank) {
	at := map[string]int{}
	of := map[int]int{} // by lane
	for _, lane := range p.Timeline.Lanes {
		i, known := at[lane.Process]
		if !known {
			i = len(list)
			at[lane.Process] = i
			list = append(list, collectives.Rank{Label: cmp.Or(lane.Process, "rank"+strconv.Itoa(i)), Timeline: &profile.Timeline{}})
		}
		of[lane.ID] = i
		list[i].Timeline.Lanes = append(list[i].Timeline.Lanes, lane)
	}
	for _, sl := range p.Timeline.Slices {
		if i, known := of[sl.Lane]; known {
			list[i].Timeline.Slices = append(list[i].Timeline.Slices, sl)
		}
	}
	return list
}

// noteMissing says what would explain more.
func (s *survey) noteMissing(run *kernels.Run) {
	if run == nil || run.Samples == nil {
		s.doc.Notes = append(s.doc.Notes, "the lines of kernels are not known; to record them: proton run --mode pcsampling PROGRAM")
	} else {
		s.doc.Notes = append(s.doc.Notes, run.Samples.Notes()...)
	}
	var unknown float64
	for _, on := range s.subjects {
		if on.kind == kernelKind && math.IsNaN(on.number("roof_share")) && on.number("library_kernel") < 1 {
			unknown += on.time
		}
	}
	if unknown > 0.3*s.total && s.Trace == nil {
		s.doc.Notes = append(s.doc.Notes, "the work of kernels with "+figures.Share(unknown/s.total)+" of the time is not known, so that they may be at their roof; a trace has it: "+traceIt)
	}
}
