package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/cmd/proton/internal/interpret"
	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/interpreter/counts"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/nearby"
	"github.com/goproton/goproton/tritonparse/reproduce"
)

// tracedFlags select launches of a trace, as those of `proton reproduce` do.
type tracedFlags struct {
	reproduceFlags
	kinds bool
}

// ofTraces are the flags that only traces have.
var ofTraces = []string{"slowest", "profile", "include", "exclude", "kinds", "line", "launch-id", "hash", "files-from"}

func (f *tracedFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.slowest, "slowest", 0, "run the `N` launches with the most time in --profile, or without it with the most bytes and flops in their code (default 1)")
	flags.Lookup("slowest").NoOptDefVal = "1"
	flags.StringVar(&f.profile, "profile", "", "for --slowest: the profile `FILE` of the same run")
	flags.StringVarP(&f.include, "include", "i", "", "for --profile: count only call paths through a frame that matches `REGEXP`")
	flags.StringVarP(&f.exclude, "exclude", "e", "", "for --profile: count no call path through a frame that matches `REGEXP`")
	flags.BoolVar(&f.kinds, "kinds", false, "run each kind of launches once, and count it as often as it was launched")
	flags.StringVar(&f.line, "line", "", "run the launch in record `N`, as proton trace info shows it; FILE:N in a folder of several files")
	flags.IntVar(&f.launch, "launch-id", 0, "run launch number `N`, counted from 0, among those of --kernel or --hash if given")
	flags.StringVar(&f.hash, "hash", "", "run a launch of the compilation whose hash begins with `H`")
	flags.StringArrayVar(&f.options.FilesFrom, "files-from", nil, filesFromUsage)
}

// isTrace says whether an argument is a trace, and not a program: a file of records, or a folder with one.
func isTrace(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if !info.IsDir() {
		return strings.Contains(filepath.Base(path), ".ndjson") || strings.HasSuffix(path, ".clp")
	}
	if _, err := os.Stat(filepath.Join(path, "__main__.py")); err == nil { // which Python runs
		return false
	}
	files, err := filepath.Glob(filepath.Join(path, "*.ndjson*"))
	return err == nil && len(files) > 0
}

// choose returns the launches to run, one call after another: their places, and how often each counts.
func (f *tracedFlags) choose(trace *tritonparse.Trace) (places []reproduce.Selection, whys []string, times []int, err error) {
	selection, err := f.selection()
	if f.slowest > 0 && f.profile == "" {
		err = nil
		if f.line != "" || f.hash != "" || f.launch != 0 {
			err = fmt.Errorf("--slowest already selects a launch; leave out --line, --hash and --launch-id")
		}
	}
	if err == nil {
		err = nearby.CheckSources(f.options.FilesFrom)
	}
	switch {
	case err != nil:
		return nil, nil, nil, usage(err)
	case f.kinds, f.slowest > 0 && f.profile == "":
		return f.ofKinds(trace)
	}
	if f.profile != "" {
		selection.Kernel = "" // of which --profile has the time
	}
	places, whys, err = f.places(trace, selection)
	return places, whys, make([]int, len(places)), err
}

// ofKinds are the kinds of launches of which the trace says the grid and arguments, those with most work first if some are chosen.
func (f *tracedFlags) ofKinds(trace *tritonparse.Trace) (places []reproduce.Selection, whys []string, times []int, err error) {
	kinds, err := trace.Kinds()
	if err != nil {
		return nil, nil, nil, err
	}
	type chosen struct {
		*tritonparse.Kind
		work tritonparse.Work
	}
	var list []chosen
	for _, k := range kinds {
		c := trace.Compilation(k.Hash)
		if !k.Whole || c == nil || c.Inferred || c.Texts["ttir"] == "" || f.kernel != "" && f.kernel != k.Name {
			continue
		}
		l, err := k.Record()
		if err != nil {
			return nil, nil, nil, err
		}
		list = append(list, chosen{k, c.Work(l)})
	}
	if len(list) == 0 {
		return nil, nil, nil, fmt.Errorf("%s has no launch with its grid, its arguments and the TTIR of its kernel", trace.Source)
	}
	if f.slowest > 0 {
		slices.SortStableFunc(list, func(a, b chosen) int {
			return -cmp.Or(cmp.Compare(a.work.Bytes*int64(a.Launches), b.work.Bytes*int64(b.Launches)), cmp.Compare(a.work.Flops, b.work.Flops))
		})
		list = list[:min(len(list), f.slowest)]
	}
	for i, k := range list {
		at, why := k.First, ""
		if k.Recorded != nil {
			at = *k.Recorded
		}
		if f.slowest > 0 {
			why = fmt.Sprintf("number %d by the bytes that its code moves in %s; --profile has times", i+1, figures.Count(k.Launches, "launch"))
		}
		places, whys = append(places, reproduce.Selection{File: at.File, Line: at.Line}), append(whys, why)
		times = append(times, map[bool]int{true: k.Launches, false: 1}[f.kinds])
	}
	return places, whys, times, nil
}

// kindLabel is the grid and the arguments of a launch; those that are constants are at the end of most lists.
func kindLabel(l *tritonparse.LaunchRecord) string {
	text := strings.ReplaceAll(fmt.Sprint(l.Grid), " ", ",")
	for i := range l.Args {
		more := " " + l.Args[i].Name + "=" + l.Args[i].Brief()
		if len(text)+len(more) > 160 {
			return text + " …"
		}
		text += more
	}
	return text
}

// noteOccupancy says how many program instances of a launch a GPU holds at a time, if the trace has the machine code of the kernel.
func noteOccupancy(c *tritonparse.Compilation, grid [3]int32, device *profile.Device, stderr io.Writer) {
	if c == nil {
		return
	}
	r, err := nearby.ResourcesOf(c)
	if err != nil || r.Occupancy == nil || r.Occupancy.Blocks == 0 || cmp.Or(r.Arch, fmt.Sprint(r.SM)) != peaks.Architecture(*device) {
		return
	}
	all := int64(grid[0]) * int64(grid[1]) * int64(grid[2])
	most := int64(r.Occupancy.Blocks) * device.NumSMs
	tell(stderr, "%s: %s at a time on each of %d multiprocessors, limited by %s: a grid of %d takes %s", c.Name, figures.Count(r.Occupancy.Blocks, "program instance"), device.NumSMs,
		strings.Join(r.Occupancy.Limits, " and "), all, figures.Count((all+most-1)/most, "wave"))
}

// interpretTrace runs launches of a trace.
func interpretTrace(source string, f *tracedFlags, device *profile.Device, o interpret.Options, stdout io.Writer) error {
	stderr := toUser()
	if len(o.Kernels) > 1 {
		return usagef("--kernel of a trace is the name of one kernel; give one of %s", strings.Join(o.Kernels, ", "))
	}
	f.kernel = strings.Join(o.Kernels, "")
	f.options.Seed, f.rounds = int64(o.Seed), 1
	o.Kernels = nil
	completeTraces(stderr, source)
	trace, err := tritonparse.Open(source, tritonparse.OpenOptions{Kinds: f.kinds || f.slowest > 0})
	if err != nil {
		return err
	}
	warnOfTrace(stderr, trace)
	places, whys, times, err := f.choose(trace)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	found, err := interpret.Launches(ctx, o, len(places), f.kinds, func(at int) (*interpret.Traced, error) {
		l, err := reproduce.Pick(trace, places[at])
		if err != nil {
			return nil, err
		}
		inputs, err := reproduce.ReadInputs(trace, l, f.options)
		if err != nil {
			return nil, err
		}
		what := fmt.Sprintf("%s, launch %d, record %d of %s", l.Name, l.ID, l.Line, l.File)
		if whys[at] != "" {
			what += ", " + whys[at]
		}
		if device != nil {
			noteOccupancy(trace.Compilation(l.Hash), inputs.Grid, device, stderr)
		}
		t := &interpret.Traced{What: what, Inputs: inputs, Times: times[at]}
		if c := trace.Compilation(l.Hash); c != nil {
			blocks, _ := c.Int("num_ctas")
			t.CTAs = int64(blocks)
		}
		if f.kinds {
			t.Of = counts.Kernel{Kind: l.Kind, Hash: l.Hash, Label: kindLabel(l)}
		}
		return t, nil
	}, stdout, stderr)
	return interpreted(ctx, found, err)
}
