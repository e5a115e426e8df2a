package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/pflag"

	"github.com/goproton/goproton/viewer/compare"
	"github.com/goproton/goproton/viewer/kernels"
	"github.com/goproton/goproton/viewer/listing"
)

// registerSource adds the flags of `proton diff` that compare instruction samples.
func (f *diffFlags) registerSource(flags *pflag.FlagSet) {
	flags.Var(&f.samples.source, "source", "compare instruction samples by source line, for kernels that match the `PATTERNS`, as in proton viewer")
	flags.Lookup("source").NoOptDefVal = hottest
	flags.StringArrayVar(&f.samples.paths, "source-path", nil, "replace `OLD=NEW` in paths of sources, or search a folder")
	flags.BoolVar(&f.terminal.All, "all", false, "with --source: also show lines with few samples")
}

// ofSourceDiff are the flags that have an effect with --source.
var ofSourceDiff = []string{"source", "source-path", "all", "rename", "include", "exclude", "output", "force", "ascii", "color", "width", "no-pager"}

// checkSource refuses flags that have no effect together.
func (f *diffFlags) checkSource(flags *pflag.FlagSet, files int) error {
	var foreign error
	flags.Visit(func(flag *pflag.Flag) {
		only := flag.Name == "source-path" || flag.Name == "all"
		switch {
		case !f.samples.asked() && only:
			foreign = fmt.Errorf("--%s needs --source", flag.Name)
		case f.samples.asked() && !slices.Contains(ofSourceDiff, flag.Name):
			foreign = fmt.Errorf("--%s has no effect with --source; use -i, -e, --rename or --all", flag.Name)
		}
	})
	if f.samples.asked() && files != 2 {
		return fmt.Errorf("--source compares two profiles; got %d: proton diff --source A B, or --source=KERNEL", files)
	}
	return errors.Join(foreign, (&kernels.Files{Moves: f.samples.paths}).CheckMoves())
}

// diffSource compares instruction samples by line.
func (f *diffFlags) diffSource(files []string, stdin io.Reader, stdout, stderr io.Writer) error {
	o, _, err := f.check()
	if err != nil {
		return usage(err)
	}
	if err := mayWrite(f.output, f.force); err != nil {
		return err
	}
	inputs, err := readInputs(files, stdin, f.from)
	if err != nil {
		return err
	}
	var options [2]kernels.Options
	for side, input := range inputs {
		options[side] = kernels.Options{Profile: input.Profile, Files: f.samples.files(files[side], input.Profile), Kernel: ".", Include: f.include, Exclude: f.exclude}
	}
	runs, err := kernels.CollectPair(options)
	if err != nil {
		return err
	}
	c, err := kernels.CompareSamples(runs, kernels.CompareOptions{Kernel: f.samples.source.pattern, Rename: compare.Renamed(o.Rename)})
	if err != nil {
		return err
	}
	var notes []string
	err = f.terminal.print(f.output, stdout, false, func(w io.Writer) (err error) {
		notes, err = listing.PrintComparison(w, c, f.terminal.Terminal)
		return err
	})
	tellEach(stderr, notes)
	return err
}
