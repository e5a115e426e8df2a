package run

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/replay"
)

// isReplay reports whether the target is a capture instead of a program.
func (o Options) isReplay() bool { return o.Backend == "replay" }

// resolveTarget returns what to execute, and the replay to close afterwards if the target is a capture.
func resolveTarget(options Options, layout Layout) (Command, *replay.Replay, error) {
	if !options.isReplay() {
		command, err := layout.Resolve(options.Target, options.Python)
		return command, nil, err
	}
	if len(options.Target) != 1 {
		return Command{}, nil, fmt.Errorf("replay %s: give one capture: proton run --backend replay CAPTURE", strings.Join(options.Target, " "))
	}
	play, err := replay.Prepare(options.Target[0], replay.Parts{Host: layout.Replay, Library: layout.Library, Stub: layout.Stub})
	if err != nil {
		return Command{}, nil, err
	}
	return Command{Path: play.Path, Args: play.Args, Name: play.Name}, play, nil
}

// withReplay has the profiler find the recorded GPU instead of this machine's.
func withReplay(environment []string, play *replay.Replay) []string {
	vars := variables(environment)
	for _, entry := range play.Env {
		name, value, _ := strings.Cut(entry, "=")
		vars.set(name, value)
	}
	return vars
}

// asRecorded has a replay show what was recorded: it names the set of counters, takes a mode back that the recording has nothing for, and
// says what is left out.
func asRecorded(play *replay.Replay, config *runinfo.Config) (warnings []string) {
	if play == nil {
		return nil
	}
	timeline := runinfo.DataForm(config.Data) == "trace"
	alone := !timeline && config.PM == "" && config.Budget == "" && config.Inside == ""
	switch mode := config.ModeName(); {
	case mode == "counters" && !play.Counted, mode == "pcsampling" && !play.Sampled:
		what := map[string]string{"counters": "hardware counters", "pcsampling": "samples of instructions"}[mode]
		warnings = append(warnings, "the capture has no "+what+": kernels are shown with their times alone")
		config.Mode = ""
	case mode == "counters":
		warnings = append(warnings, asCounted(play, config)...)
	case mode == "" && alone && play.Set != "":
		config.Mode = "counters:set=" + play.Set
	}
	for _, part := range []struct {
		recorded   bool
		what, mode string
	}{
		{play.Sampled, "the samples of instructions in the capture are left out", "pcsampling"},
		{play.Counted, "the hardware counters in the capture are left out, and the time of the launches that were measured", "counters"},
	} {
		if !part.recorded || config.ModeName() == part.mode {
			continue
		}
		how := "to replay them, add --mode " + part.mode
		if timeline {
			how = "a timeline has none"
		}
		warnings = append(warnings, part.what+": "+how)
	}
	return warnings
}

// asCounted has a replay measure the recorded set if none is asked for, and what the recording has: counts by source line or sums of launches,
// and not the other of the two.
func asCounted(play *replay.Replay, config *runinfo.Config) (warnings []string) {
	_, options, _ := strings.Cut(config.Mode, ":")
	request, err := vendors.ParseMode(config.Backend, "counters", options)
	if err != nil {
		return nil // the profiler says what is wrong
	}
	set, asked := cmp.Or(play.Set, counters.DefaultSet), vendors.HasSet(options)
	if asked && play.ByLine == (request.Mode == record.ByLine) {
		return nil
	}
	config.Mode = "counters:" + vendors.WithSet(options, set)
	if !asked {
		return nil
	}
	has := "the capture was not counted by source line"
	if play.ByLine {
		has = "the capture was counted by source line"
	}
	return []string{fmt.Sprintf("%s: this is a replay with set=%s, not set=%s", has, set, request.Counters.Set)}
}
