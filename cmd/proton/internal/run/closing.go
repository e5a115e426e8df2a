package run

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/term"
)

const (
	maxProblems = 5 // more than that scrolls the closing line away
	mostNames   = 8 // in a sentence
)

// report writes the problems that processes reported, and then the closing line. It reports whether nothing was recorded, or
// nothing of it written.
func (s summary) report(w io.Writer, options Options, root, status string, signal int) (nothing bool) {
	empty := s.Kernels == 0
	problems := s.Problems
	if at := s.reason(); empty && at >= 0 { // it stands in the closing line
		problems = slices.Delete(slices.Clone(problems), at, at+1)
	}
	problems = append(slices.Clip(problems), s.withoutScopes(options.Inside)...)
	for i, problem := range problems {
		if i == maxProblems {
			fmt.Fprintf(w, "proton: warning: and %d more like these\n", len(problems)-i)
			break
		}
		fmt.Fprintf(w, "proton: warning: %s\n", problem)
	}
	for _, p := range s.Unfinished {
		how := "ended"
		if p.Replaced {
			how = "executed another program"
		}
		fmt.Fprintf(w, "proton: warning: process %d (%s) %s without finishing its profile: its file has what was recorded up to the last checkpoint\n", p.PID, term.Cut(p.Command, 60), how)
	}
	if empty {
		fmt.Fprintf(w, "proton: nothing was recorded: %s\n", s.whyEmpty(root, status, options.isReplay(), signal))
		return true
	}
	if missing := s.missing(); missing != "" {
		fmt.Fprintf(w, "proton: warning: %s\n", missing)
	}
	if counters := s.Counters.Sentence(""); counters != "" {
		fmt.Fprintf(w, "proton: counters: %s\n", counters)
	}
	for _, note := range s.Notes {
		fmt.Fprintf(w, "proton: %s\n", note)
	}
	for _, line := range budgetLines(s.Budgets) {
		fmt.Fprintf(w, "proton: %s\n", line)
	}
	prefix := ""
	if options.isReplay() {
		prefix = fmt.Sprintf("a replay of %s: ", cmp.Or(s.GPU, "a GPU"))
		if options.Synthetic {
			prefix = fmt.Sprintf("a replay of a synthetic %s: ", cmp.Or(s.GPU, "GPU"))
		}
	}
	printed := options.Name == "-"
	fmt.Fprintf(w, "proton: %s%s\n", prefix, s.line(printed, options.recordsCopies()))
	return len(s.Files) == 0 && !printed
}

// reason is the place of the first problem for which kernels may be missing, -1 if there is none.
func (s summary) reason() int {
	return slices.IndexFunc(s.Problems, func(p string) bool { return !slices.Contains(s.Harmless, p) })
}

// withoutScopes returns a sentence for each pattern of kernels that were to get scopes and that matches none.
func (s summary) withoutScopes(patterns string) (sentences []string) {
	var ran []string
	matched := map[string]bool{}
	for _, p := range s.Processes {
		if p.Inside == nil {
			continue
		}
		ran = appendNew(ran, p.Inside.Kernels)
		for _, pattern := range p.Inside.Matched {
			matched[pattern] = true
		}
	}
	for _, pattern := range strings.Split(patterns, ",") {
		pattern = strings.TrimSpace(pattern)
		if pattern == "" || matched[pattern] {
			continue
		}
		seen := "the program launched no Triton kernel"
		if len(ran) > 0 {
			slices.Sort(ran)
			seen = "the program launched " + figures.First(ran, mostNames)
		}
		sentences = append(sentences, fmt.Sprintf("--inside: no kernel is named %s; %s", term.ShellWord(pattern), seen))
	}
	return sentences
}

// recordsCopies reports whether the profile has more GPU time than that of kernels.
func (o Options) recordsCopies() bool {
	asked := strings.ToLower(o.Activities)
	return strings.Contains(asked, "mem") || asked == "" && o.Data == "trace"
}

// line is the closing line of a run that recorded something. copies says that the profile also has the time of copies.
func (s summary) line(printed, copies bool) string {
	var b strings.Builder
	in := ""
	if copies {
		in = " in kernels (memcpy and memset not counted)"
	}
	timed := figures.Time(s.GPUTimeNanos) + " of GPU time" + in
	if s.Counters.Set == counters.LinesSet && s.GPUTimeNanos == 0 {
		timed = "counted by line and not timed"
	}
	fmt.Fprintf(&b, "%s, %s, %s dropped", figures.Count(s.Kernels, "kernel"), timed, figures.Grouped(s.Lost))
	if s.Unattributed > 0 {
		fmt.Fprintf(&b, ", %s without a call path", figures.Grouped(s.Unattributed))
	}
	b.WriteString(samplesClause(s.Sampling))
	if w := s.Windows; w != nil {
		fmt.Fprintf(&b, ", in %s of %s", figures.Plural(w.Opened, "window", "windows"), figures.Time(w.Nanos))
	}
	if n := s.processes(); n > 1 {
		b.WriteString(", " + figures.Count(n, "process"))
	}
	switch n := len(s.Files); {
	case n == 0 && printed:
		b.WriteString("; printed to standard output")
	case n == 0:
		b.WriteString("; the profile was not written")
	case n == 1:
		view := viewCommand(s.Files[0])
		if s.Counters.Set == counters.LinesSet {
			view = strings.Replace(view, "viewer", "viewer --source", 1)
		}
		fmt.Fprintf(&b, "; wrote %s; view: %s", shown(s.Files[0]), view)
	default:
		fmt.Fprintf(&b, "; wrote %s: %s; %s", figures.Count(len(s.Files), "file"), someFiles(s.Files), nextCommand(s.Files))
	}
	return b.String()
}

// nextCommand is what to do with several files: those of ranks are added up.
func nextCommand(files []string) string {
	name := ranksOf(files)
	switch {
	case name == "":
		return "view the first: " + viewCommand(files[0])
	case strings.HasSuffix(files[0], ".chrome_trace"):
		return fmt.Sprintf("on one clock: proton merge --timeline %s -o %s", term.ShellWord(shown(name)), term.ShellWord(shown(name+".chrome_trace")))
	}
	return fmt.Sprintf("add them up: proton merge %s -o %s", term.ShellWord(shown(name)), term.ShellWord(shown(name+".hatchet")))
}

var rankInName = regexp.MustCompile(`^(.+)\.rank[0-9]+\.[^/]*$`)

// ranksOf returns the name of a run all of whose files are of ranks, "" if some are not.
func ranksOf(files []string) (name string) {
	for i, file := range files {
		found := rankInName.FindStringSubmatch(file)
		if found == nil || i > 0 && found[1] != name {
			return ""
		}
		name = found[1]
	}
	return name
}

// samplesClause is the part of the closing line about instruction samples: their number, and what limits their accuracy.
func samplesClause(s runinfo.Sampling) string {
	if s.Period == 0 {
		return ""
	}
	var doubts []string
	for _, doubt := range []struct {
		samples int64
		what    string
	}{
		{s.Apportioned, "apportioned by kernel time"},
		{s.Unlaunched, "of functions not seen launching"},
		{s.Dropped, "lost by the GPU"},
	} {
		if doubt.samples > 0 {
			doubts = append(doubts, figures.Share(float64(doubt.samples)/float64(max(s.Samples+s.Dropped, doubt.samples)))+" "+doubt.what)
		}
	}
	if s.BufferFull {
		doubts = append(doubts, "more missing as the GPU's buffer was full: use a longer interval or a larger buffer")
	}
	text := ", " + figures.Count(s.Samples, "sample")
	if len(doubts) > 0 {
		text += " (" + strings.Join(doubts, ", ") + ")"
	}
	return text
}

func viewCommand(file string) string {
	if strings.HasSuffix(file, ".chrome_trace") {
		return "ui.perfetto.dev, or proton viewer " + term.ShellWord(shown(file))
	}
	return "proton viewer " + term.ShellWord(shown(file))
}

// whyEmpty says why no kernel was recorded, and what to do. It names a cause only if a process reported it, or if it is certain
// here. signal is the one that ended the target, else 0.
func (s summary) whyEmpty(root, status string, replay bool, signal int) string {
	silent := s.silent()
	switch {
	case s.reason() >= 0:
		return s.Problems[s.reason()]
	case s.withoutWindow() != "":
		return s.withoutWindow()
	case s.Counters.Set == counters.LinesSet && len(silent) == 0:
		return s.Counters.Sentence("")
	case replay && len(silent) == 0:
		return "the capture has no kernel between its start and its end"
	case signal != 0 && (len(silent) > 0 || len(s.Processes) == 0):
		return fmt.Sprintf("signal %d (%s) ended the target before its first checkpoint: give a shorter --checkpoint", signal, syscall.Signal(signal))
	}
	if err := canWrite(status); err != nil {
		return fmt.Sprintf("processes could not report: %v; set TMPDIR to a writable folder", err)
	}
	used := 0
	for _, p := range s.Processes {
		if p.UsedGPU {
			used++
		}
	}
	noDriver := vendors.NoDriver(root)
	old, _ := os.ReadFile(filepath.Join(status, "old-python")) //nolint:errcheck // written by the bootstrap of such a Python only
	switch n := s.processes(); {
	case len(silent) > 0:
		return fmt.Sprintf("process %d (%s) reported its beginning and nothing after it. It may have executed another program, changed its root or its user, used up its descriptors, or ended without its exit handlers. Its standard error may say more", silent[0].PID, term.Cut(silent[0].Command, 60))
	case n == 0 && len(old) > 0:
		return fmt.Sprintf("the target ran in Python %s, and GoProton needs Python 3.9 or newer", term.Cut(string(old), 10))
	case n == 0 && noDriver != "":
		return "no process of the target loaded the profiler, and this machine shows " + noDriver + ": run proton doctor for details"
	case n == 0:
		return "no process of the target loaded the profiler: check that the target launches kernels, and that it does not start Python with -I or -E"
	case used == 0 && noDriver != "":
		return fmt.Sprintf("no process used %s, and this machine shows %s: run proton doctor for details", vendors.APIs(), noDriver)
	case used == 0:
		return fmt.Sprintf("%s watched and none used %s: check that the target launches kernels", figures.Plural(n, "process was", "processes were"), vendors.APIs())
	default:
		return fmt.Sprintf("%s watched; %d used %s and launched no kernel while the profile was active", figures.Plural(n, "process was", "processes were"), used, vendors.APIs())
	}
}

// withoutWindow says why recording windows have no kernels, "" if that is not the reason.
func (s summary) withoutWindow() string {
	w := s.Windows
	used := slices.ContainsFunc(s.Processes, func(p runinfo.Status) bool { return p.UsedGPU })
	switch {
	case w == nil || !used:
		return ""
	case w.Opened == 0:
		return "no recording window opened: " + w.Why
	}
	return fmt.Sprintf("no kernel was launched in %s of %s", figures.Plural(w.Opened, "recording window", "recording windows"), figures.Time(w.Nanos))
}

// missing names the processes that used the GPU and ended before a checkpoint had a kernel of theirs, as workers do that are killed; "" if
// there is none. A process whose recording windows have not opened misses nothing.
func (s summary) missing() string {
	var names []string
	for _, p := range s.silent() {
		outside := p.Windows != nil && p.Windows.Opened == 0
		if p.UsedGPU && !p.Replaced && !outside && len(p.Files) == 0 && !Lives(p.PID) {
			names = append(names, fmt.Sprintf("%d (%s)", p.PID, term.Cut(p.Command, 60)))
		}
	}
	who, what := "processes", "they"
	switch len(names) {
	case 0:
		return ""
	case 1:
		who, what = "process", "it"
	}
	return fmt.Sprintf("%s %s used the GPU and ended early, without exit handlers: what %s launched is missing; let workers end by themselves (close and join a pool instead of terminating it)", who, figures.First(names, mostNames), what)
}

// silent are the processes that did not report their end.
func (s summary) silent() []runinfo.Status {
	return slices.DeleteFunc(slices.Clone(s.Processes), func(p runinfo.Status) bool { return p.Finished })
}

// processes counts them; one that executed other programs has several statuses.
func (s summary) processes() (n int) {
	for _, p := range s.Processes {
		if !p.Replaced {
			n++
		}
	}
	return n
}

// canWrite reports whether a file can be written into a folder now.
func canWrite(folder string) error {
	path := filepath.Join(folder, "probe")
	defer os.Remove(path)
	return os.WriteFile(path, make([]byte, 4096), 0o600)
}

func someFiles(files []string) string {
	const enough = 4
	var names []string
	for _, file := range files[:min(enough, len(files))] {
		names = append(names, shown(file))
	}
	if len(files) > enough {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// shown returns the relative path of a file below the current folder, and any other path unchanged.
func shown(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	relative, err := filepath.Rel(here, path)
	if err != nil || strings.HasPrefix(relative, "..") {
		return path
	}
	return relative
}
