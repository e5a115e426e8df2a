package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/inside"
	"github.com/goproton/goproton/viewer/kernels"
)

// flagsOfInside are those that --inside knows.
var flagsOfInside = []string{"inside", "source", "samples", "source-path", "json", "format", "full-names", "mangled", "width", "color", "ascii", "no-pager", "from", "help", "allow-high-compression"}

// checkInside refuses flags that --inside does not know.
func (f *viewerFlags) checkInside(flags *pflag.FlagSet) error {
	if foreign := others(flags, flagsOfInside); len(foreign) > 0 {
		return fmt.Errorf("--inside excludes %s: it prints a table of its own", strings.Join(foreign, ", "))
	}
	if pattern := f.samples.source.pattern; pattern != "" {
		return fmt.Errorf("--source %s: with --inside, --source takes no kernel: write --inside %s --source", pattern, pattern)
	}
	return f.samples.files("", nil).CheckMoves()
}

// printInside prints the scopes inside of kernels.
func (f *viewerFlags) printInside(file string, p *profile.Profile, stdin io.Reader, out io.Writer) (_ []string, err error) {
	o := inside.Options{Terminal: f.terminal.Terminal, Names: viewer.NameFormat(f.format), Source: f.samples.source.asked}
	if sampled := f.samples.sampled; sampled != "" {
		if o.Samples, err = readProfile(sampled, stdin, fromFlag{}); err != nil {
			return nil, err
		}
	}
	if o.Source || o.Samples != nil {
		o.Files = f.samples.files(file, cmp.Or(o.Samples, p))
	}
	if f.samples.json {
		return nil, inside.WriteJSON(out, p, f.samples.inside.pattern, o)
	}
	return inside.Write(out, p, f.samples.inside.pattern, o)
}

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
