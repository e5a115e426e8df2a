package main

import (
	"fmt"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer/kernels"
)

// splitLaunches adds a frame below each kernel for every kind of its launches.
func (f *viewerFlags) splitLaunches(p *profile.Profile) ([]string, error) {
	var trace *tritonparse.Trace
	if f.samples.trace != "" {
		var err error
		if trace, err = openTrace(f.samples.trace); err != nil {
			return nil, err
		}
	}
	return kernels.Split(p, trace)
}

// openTrace reads a trace after completing it for killed processes.
func openTrace(source string) (*tritonparse.Trace, error) {
	completeTraces(toUser(), source)
	t, err := tritonparse.Open(source, tritonparse.OpenOptions{Kinds: true})
	if err != nil {
		return nil, fmt.Errorf("read trace %s: %w", source, err)
	}
	return t, nil
}
