package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/inside"
)

// flagsOfInside are those that --inside knows.
var flagsOfInside = []string{"inside", "samples", "source-path", "json", "format", "full-names", "mangled", "width", "color", "ascii", "no-pager", "help", "allow-high-compression"}

// checkInside refuses flags that --inside does not know.
func (f *viewerFlags) checkInside(flags *pflag.FlagSet) error {
	if foreign := others(flags, flagsOfInside); len(foreign) > 0 {
		return fmt.Errorf("--inside excludes %s: it prints a table of its own", strings.Join(foreign, ", "))
	}
	if f.samples.json && f.samples.sampled != "" {
		return fmt.Errorf("--inside --json has no samples: leave out --json or --samples")
	}
	return f.samples.files("", nil).CheckMoves()
}

// printInside prints the scopes inside of kernels.
func (f *viewerFlags) printInside(file string, p *profile.Profile, stdin io.Reader, out io.Writer) (_ []string, err error) {
	o := inside.Options{Terminal: f.terminal, Names: viewer.NameFormat(f.format)}
	pattern := f.samples.inside.pattern
	if f.samples.json {
		return nil, inside.WriteJSON(out, p, pattern)
	}
	if sampled := f.samples.sampled; sampled != "" {
		if o.Samples, err = readProfile(sampled, stdin); err != nil {
			return nil, err
		}
		o.Files = f.samples.files(file, o.Samples)
	}
	return inside.Write(out, p, pattern, o)
}
