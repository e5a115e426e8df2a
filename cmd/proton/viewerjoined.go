package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	tree "github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer/joined"
	"github.com/goproton/goproton/viewer/source"
)

// printJoined prints a profile joined with its trace. p is nil if there is only the trace.
func (f *viewerFlags) printJoined(file string, p *tree.Profile, out io.Writer) ([]string, error) {
	sf := &f.samples
	trace, err := openTrace(sf.trace)
	if err != nil {
		return nil, err
	}
	modules := &source.Modules{Profile: file, Env: os.LookupEnv}
	o := joined.Options{Profile: p, Trace: trace, Modules: modules, Kernel: sf.source.pattern + sf.sass.pattern, Include: f.o.Include, Exclude: f.o.Exclude}
	var unsampled string
	if p != nil {
		o.Samples, err = source.Collect(p, source.Options{Kernel: o.Kernel, Include: o.Include, Exclude: o.Exclude, ByPath: sf.byPath})
		var nothing *source.NoMatchError
		switch {
		case errors.Is(err, source.ErrNoSamples):
		case errors.As(err, &nothing): // its times and its IR are still there
			unsampled = err.Error()
		case err != nil:
			return nil, fmt.Errorf("show the samples of %s: %w", file, err)
		}
	}
	j, err := joined.New(o)
	if err != nil {
		return nil, fmt.Errorf("join %s: %w", sf.trace, err)
	}
	l := source.Listing{Terminal: f.terminal, Unfold: sf.unfold, Context: sf.context, Files: sf.files(file, p), Modules: modules, IRStages: splitNames(sf.ir)}
	known := j.Stages()
	if sf.sass.asked { // instructions are what is listed
		known = slices.DeleteFunc(known, func(stage string) bool { return stage == "sass" })
	}
	for _, stage := range l.IRStages {
		if !slices.Contains(known, stage) {
			return nil, &exitError{code: 2, err: fmt.Errorf("read --ir %q: the compilations have %s", stage, strings.Join(known, ", "))}
		}
	}
	if unsampled != "" {
		j.Notes = append(j.Notes, unsampled)
	}
	json := sf.json || f.view == "json"
	switch {
	case sf.sass.asked && json:
		return nil, j.PrintSASSJSON(out, l)
	case sf.sass.asked:
		return j.PrintSASS(out, l)
	case json:
		return nil, j.PrintJSON(out, l)
	}
	return j.Print(out, l)
}

// splitLaunches gives kernels a frame for each kind of their launches.
func (f *viewerFlags) splitLaunches(p *tree.Profile) ([]string, error) {
	var trace *tritonparse.Trace
	if f.samples.trace != "" {
		var err error
		if trace, err = openTrace(f.samples.trace); err != nil {
			return nil, err
		}
	}
	return joined.Split(p, trace)
}

// openTrace reads a trace, after it was completed for processes that died.
func openTrace(source string) (*tritonparse.Trace, error) {
	completeTraces(toUser(), source)
	t, err := tritonparse.Open(source, tritonparse.OpenOptions{Kinds: true})
	if err != nil {
		return nil, fmt.Errorf("read trace %s: %w", source, err)
	}
	return t, nil
}
