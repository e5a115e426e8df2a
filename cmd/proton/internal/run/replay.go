package run

import (
	"fmt"
	"strings"

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
	vars := variables{list: environment}
	for _, entry := range play.Env {
		name, value, _ := strings.Cut(entry, "=")
		vars.set(name, value)
	}
	return vars.list
}
