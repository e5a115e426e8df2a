package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/interpreter/counts"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer"
)

// countFlags are those of `proton interpret` about what is counted.
type countFlags struct {
	count  bool
	output string
	format string
	force  bool
	gpu    string

	device *profile.Device
	target formats.Target
}

func (f *countFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.count, "count", false, "print bytes and flops of each kernel by source line")
	flags.StringVarP(&f.output, "output", "o", "", "write them to `OUT`, a profile that viewer, report, diff, gate and pprof read; the suffix selects the format")
	flags.StringVar(&f.format, "to", "", "write in `FORMAT` whatever the suffix")
	registerForce(cmd, &f.force)
	flags.StringVar(&f.gpu, "gpu", "", "add the least time that each kernel and line takes on `GPU`, as in H200: a bound, not an estimate; implies --count and --unique")
	choices(cmd, "to", formatChoices()...)
}

func (f *countFlags) asked() bool { return f.count || f.output != "" }

// check checks the flags before anything runs.
func (f *countFlags) check(unique *bool) (err error) {
	if f.gpu != "" {
		d, err := peaks.Board(f.gpu)
		if err != nil {
			return fmt.Errorf("read --gpu: %w", err)
		}
		f.device, *unique = &d, true
		f.count = f.count || f.output != "-"
	}
	if f.output == "" && f.format != "" {
		if _, err := formats.ByName(f.format); err != nil {
			return err
		}
		return fmt.Errorf("--to %s is the format of -o OUT: give it too", f.format)
	}
	if f.output == "" {
		return nil
	}
	if f.output == "-" && f.count {
		return fmt.Errorf("--count and -o - both write to standard output: leave one of them out")
	}
	if f.target, err = outputTarget(f.output, f.format); err != nil {
		return err
	}
	return mayWrite(f.output, f.force)
}

// write prints and writes the counts. With JSON on standard output nothing is printed.
func (f *countFlags) write(kernels []*counts.Kernel, stdout, stderr io.Writer, json bool) error {
	unique := slices.ContainsFunc(kernels, func(k *counts.Kernel) bool { return k.Different })
	p := counts.Profile(kernels)
	if f.device != nil {
		p.Devices = []profile.Device{*f.device}
	}
	if f.output != "" {
		for _, lost := range f.target.Format.Drops(p) {
			tell(stderr, "%s cannot hold %s", f.target.Format.Name, lost)
		}
		if err := writeProfile(f.target, f.output, p, stdout); err != nil {
			return err
		}
	}
	if note := p.Info[profile.InfoNote]; note != "" {
		tell(stderr, "%s", note)
	}
	if !f.count || json {
		return nil
	}
	terminal := terminalFlags{Terminal: viewer.Terminal{All: true}, color: "auto"}
	if err := terminal.suit(stdout); err != nil {
		return err
	}
	notes, err := viewer.Render(stdout, p, "", viewer.Options{Metrics: f.columns(p, unique)}, terminal.Terminal)
	tellEach(stderr, notes)
	if f.device != nil {
		is := "a bound that no launch can beat whose tensors come from memory and go there; most stay above"
		if slices.ContainsFunc(kernels, func(k *counts.Kernel) bool { return k.Of > 0 }) {
			is = "of counts that are scaled, and so about a bound that no launch can beat"
		}
		tell(stderr, "roof_time is the least time on %s, at the peaks of its arithmetic and memory: %s", f.device.Name, is)
		for _, k := range counts.ByKernel(kernels) {
			f.noteLeast(k, stderr)
		}
	}
	return err
}

// noteLeast says where arithmetic alone takes longer than roof_time has it, because it cannot be on all multiprocessors at once, and where
// roof_time adds what may overlap.
func (f *countFlags) noteLeast(k *counts.Kernel, stderr io.Writer) {
	least := k.Least(f.device)
	if longest := max(least.Dots, least.Others); least.Units > 1 && longest > 0 {
		has := figures.Count(k.Most, "program instance") + " a launch"
		if k.Most > f.device.NumSMs {
			has += ", which all do the same"
		}
		tell(stderr, "%s has %s, for %d multiprocessors: its arithmetic alone takes at least %s on those that it can use", k.Name, has, f.device.NumSMs, figures.Time(longest*1e9))
	}
	if both := least.Dots + least.Others; least.Dots > 0 && least.Others > 0 && both/least.Units > least.Memory {
		tell(stderr, "%s: roof_time is dot products (%s) after all other arithmetic (%s); a GPU may do both at once, so that the longer of them is the bound",
			k.Name, figures.Time(least.Dots/least.Units*1e9), figures.Time(least.Others/least.Units*1e9))
	}
}

// columns are the metrics of the table.
func (f *countFlags) columns(p *profile.Profile, unique bool) (names []string) {
	for name := range p.Kinds {
		if _, flops := profile.Flops(name); flops {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	if unique { // otherwise these are the same
		names = append([]string{counts.ActiveMetric}, names...)
	}
	names = append([]string{profile.BytesMetric}, names...)
	names = slices.DeleteFunc(names, func(name string) bool { _, has := p.Kinds[name]; return !has })
	if f.device != nil {
		names = append([]string{"roof_time", "bound"}, names...)
	}
	if len(names) == 0 {
		return []string{profile.CountMetric}
	}
	return names
}
