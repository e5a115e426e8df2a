package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/compare"
)

type traceDiffFlags struct {
	events   []int
	kernel   string
	hashes   []string
	launches []int
	every    bool
	whole    bool
	tensors  compare.Comparer
	profiles [2]string
	text     compare.TextOptions
	output   string
	force    bool
	json     bool
}

func newTraceDiffCommand() *cobra.Command {
	var f traceDiffFlags
	cmd := &cobra.Command{
		Use:   "diff [flags] A [B]",
		Short: "compare two compilations, or two whole traces",
		Long: `diff compares two compilations: of one trace, by default the first two of a kernel, or one of each of two traces. It
shows differing options and constants, registers and occupancy (if the cubin is next to the trace or still where it was
compiled), the Python sources, the Python lines that were compiled to more or fewer lines of each representation, and
the lines of the first representation that differs.

Names of values and registers, locations and metadata numbers are ignored as long as the same names stand for the same
values, and so is the position of a kernel in its file.

Two traces are compared as a whole unless a compilation is selected. Compilations are paired by hash, then by name and
options, by source, and by similar names.

Recorded tensors of the first launches that have any are compared too: contents element by element (proton run
--trace DIR:tensors), or statistics without contents (DIR:statistics). Tensors are recorded before a launch runs, so the
output of a launch shows up in a later one.`,
		Example: `  proton trace diff trace.ndjson.gz --kernel matmul_kernel
  proton trace diff trace.ndjson.gz --hash 72d6,e648 --ir ttgir,ptx --lines 0
  proton trace diff old new --profile old.hatchet --profile-b new.hatchet
  proton trace diff before after --kernel matmul_kernel -o diff.ndjson.gz
  proton trace diff before after --every-launch --rtol 0.01
  proton trace diff before after --kernel softmax_kernel --launches 3`,
		Args: between(1, 2, "must specify one trace or two: proton trace diff A [B]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := flagsOf(cmd)
	flags.StringVarP(&f.kernel, "kernel", "k", "", "compare the first two compilations of the kernel `NAME`, or the first of each trace")
	flags.StringSliceVar(&f.hashes, "hash", nil, "compare the compilations whose hashes begin with `H1,H2`; a single one selects it in both traces")
	flags.IntSliceVarP(&f.events, "events", "e", nil, "compare the compilations `I,J`, counted from 0 in the order of trace info --compilations")
	flags.IntSliceVar(&f.launches, "launches", nil, "compare the tensors of launches `I,J` of --kernel or --hash, counted from 0; a single one selects it in both")
	flags.BoolVar(&f.every, "every-launch", false, "compare the tensors of all launches of two traces, or of those of --kernel")
	flags.Float64Var(&f.tensors.Tolerance.Absolute, "atol", 1e-5, "elements are close if they differ by at most `X`")
	flags.Float64Var(&f.tensors.Tolerance.Relative, "rtol", 1e-3, "plus `X` times the element of B")
	flags.BoolVar(&f.whole, "trace", false, "compare two whole traces, the default if no compilation is selected")
	flags.StringVar(&f.profiles[0], "profile", "", "take the times of kernels from the `PROFILE` of A, or of both")
	flags.StringVar(&f.profiles[1], "profile-b", "", "take the times of B from `PROFILE`")
	flags.StringSliceVar(&f.text.Stages, "ir", nil, "print the differing lines of `STAGES`: ttir, ttgir, llir, ptx, amdgcn, sass, or none")
	flags.IntVar(&f.text.Most, "lines", 60, "print at most `N` lines of each representation, 0 for all")
	flags.StringVarP(&f.output, "output", "o", "", "write a trace for TritonParse's website to `OUT`, with the compilations and their differences")
	registerForce(cmd, &f.force)
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (f *traceDiffFlags) check(traces int) error {
	asked := 0
	for _, set := range []bool{f.kernel != "", len(f.hashes) > 0, len(f.events) > 0, f.whole} {
		if set {
			asked++
		}
	}
	switch {
	case asked > 1:
		return errors.New("--kernel, --hash, --events and --trace exclude each other; give one of them")
	case f.whole && traces == 1:
		return errors.New("--trace compares two traces; give a second one")
	case len(f.events) != 0 && len(f.events) != 2:
		return errors.New("--events takes two numbers: --events 0,1")
	case len(f.hashes) > 2 || len(f.hashes) == 1 && traces == 1 && f.launches == nil:
		return errors.New("--hash takes the beginnings of two hashes: --hash 72d6,e648")
	case f.profiles[1] != "" && f.profiles[0] == "":
		return errors.New("--profile-b needs the profile of A: give --profile")
	case f.every && (traces == 1 || len(f.hashes)+len(f.events)+len(f.launches) > 0 || f.output != ""):
		return errors.New("--every-launch compares the tensors of two traces; give a second trace, and no --hash, --events, --launches or -o")
	case len(f.launches) > 2:
		return errors.New("--launches takes two numbers: --launches 0,3")
	case len(f.launches) > 0 && f.kernel == "" && len(f.hashes) == 0:
		return errors.New("--launches needs a kernel: give --kernel or --hash")
	case len(f.launches) > 0 && slices.Min(f.launches) < 0:
		return errors.New("--launches are counted from 0")
	case !(f.tensors.Tolerance.Absolute >= 0) || !(f.tensors.Tolerance.Relative >= 0):
		return errors.New("--atol and --rtol are allowed differences: give 0 or more")
	case f.text.Most < 0:
		return fmt.Errorf("--lines %d: give a number of lines, or 0 for all", f.text.Most)
	}
	return nil
}

func (f *traceDiffFlags) run(sources []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if err := f.check(len(sources)); err != nil {
		return usage(err)
	}
	if err := mayWrite(f.output, f.force); err != nil {
		return err
	}
	var traces []*tritonparse.Trace
	for _, s := range sources {
		t, err := tritonparse.Open(s, tritonparse.OpenOptions{NoTexts: true})
		if err != nil {
			return err
		}
		warnOfTrace(stderr, t)
		traces = append(traces, t)
	}
	profiles, err := f.readProfiles(stdin)
	if err != nil {
		return err
	}
	a, b := traces[0], traces[len(traces)-1]
	if f.every {
		return f.runLaunches(a, b, stdout)
	}
	if len(traces) == 2 && f.kernel == "" && f.hashes == nil && f.events == nil {
		if f.text.Stages != nil {
			return usagef("--ir prints lines of two compilations; select them with --kernel, --hash or --events")
		}
		return f.runTraces(a, b, profiles, stdout)
	}
	if f.launches != nil {
		x, y, err := f.chooseLaunches(a, b)
		if err != nil {
			return err
		}
		return f.runPair(a, b, placeOf(a, x), placeOf(b, y), func(d *compare.Diff) error {
			d.CompareTensors(x, y, &f.tensors)
			return nil
		}, profiles, stdout)
	}
	i, j, err := f.choose(a, b)
	if err != nil {
		return err
	}
	return f.runPair(a, b, i, j, func(d *compare.Diff) error { return d.FindTensors(a, b, &f.tensors) }, profiles, stdout)
}

// readProfiles reads the profiles of A and B; a single one is for both.
func (f *traceDiffFlags) readProfiles(stdin io.Reader) (p [2]*profile.Profile, err error) {
	for i, file := range f.profiles {
		if file == "" {
			p[i] = p[0]
			continue
		}
		if p[i], err = readProfile(file, stdin, fromFlag{}); err != nil {
			return p, err
		}
	}
	return p, nil
}

// choose finds the two compilations.
func (f *traceDiffFlags) choose(a, b *tritonparse.Trace) (i, j int, err error) {
	switch {
	case len(f.events) == 2:
		for k, t := range []*tritonparse.Trace{a, b} {
			if n := len(t.Compilations()); f.events[k] < 0 || f.events[k] >= n {
				return 0, 0, fmt.Errorf("--events %d: %s has the compilations 0 to %d", f.events[k], t.Source, n-1)
			}
		}
		return f.events[0], f.events[1], nil
	case len(f.hashes) > 0:
		if i, err = compare.Find(a, f.hashes[0]); err != nil {
			return 0, 0, err
		}
		j, err = compare.Find(b, f.hashes[len(f.hashes)-1])
		return i, j, err
	case a != b:
		x, y := named(a, f.kernel), named(b, f.kernel)
		switch {
		case x == nil:
			return 0, 0, a.Unknown(f.kernel)
		case y == nil:
			return 0, 0, b.Unknown(f.kernel)
		}
		return x[0], y[0], nil
	}
	return f.twoOfOne(a)
}

// named are the indices of a kernel's compilations.
func named(t *tritonparse.Trace, kernel string) []int {
	var places []int
	for i, c := range t.Compilations() {
		if c.Name == kernel {
			places = append(places, i)
		}
	}
	return places
}

// twoOfOne are the first two compilations of the requested kernel, or of the first kernel that has two.
func (f *traceDiffFlags) twoOfOne(t *tritonparse.Trace) (i, j int, err error) {
	if f.kernel != "" {
		places := named(t, f.kernel)
		switch len(places) {
		case 0:
			return 0, 0, t.Unknown(f.kernel)
		case 1:
			return 0, 0, fmt.Errorf("%s was compiled only once in %s; there is nothing to compare it with", f.kernel, t.Source)
		}
		return places[0], places[1], nil
	}
	for _, c := range t.Compilations() {
		if places := named(t, c.Name); len(places) > 1 {
			return places[0], places[1], nil
		}
	}
	return 0, 0, fmt.Errorf("no kernel of %s was compiled twice; give a second trace, or select compilations with --events I,J", t.Source)
}

// runPair compares two compilations; tensors adds the comparison of two of their launches.
func (f *traceDiffFlags) runPair(a, b *tritonparse.Trace, i, j int, tensors func(*compare.Diff) error, profiles [2]*profile.Profile, stdout io.Writer) error {
	x, y := compare.Compilation(a, i), compare.Compilation(b, j)
	x.SetTime(profiles[0])
	y.SetTime(profiles[1])
	var err error
	if a == b {
		err = compare.Load(a, &x, &y)
	} else {
		err = errors.Join(compare.Load(a, &x), compare.Load(b, &y))
	}
	if err != nil {
		return err
	}
	d := compare.New(x, y)
	if err := f.chooseStages(d); err != nil {
		return usage(err)
	}
	if err := tensors(d); err != nil {
		return err
	}
	for k, side := range []*compare.Side{&d.A, &d.B} {
		if profiles[k] != nil && side.Time == nil {
			d.Notes = append(d.Notes, fmt.Sprintf("the profile of %s has no kernel %s %s", "AB"[k:k+1], side.Kernel, shortHash(side.Hash)))
		}
	}
	if f.output != "" {
		if err := writeTrace(f.output, d.WriteRecords); err != nil {
			return err
		}
	}
	if f.json {
		return printJSON(stdout, d)
	}
	return d.WriteText(stdout, f.text)
}

// chooseStages parses --ir: none, or the representations to compare.
func (f *traceDiffFlags) chooseStages(d *compare.Diff) error {
	if slices.Equal(f.text.Stages, []string{"none"}) {
		f.text.Stages = []string{}
	}
	var there []string
	for _, s := range d.Stages {
		there = append(there, s.Name)
	}
	for _, stage := range f.text.Stages {
		if !slices.Contains(there, stage) {
			return fmt.Errorf("read --ir %q: the compilations have %s", stage, strings.Join(there, ", "))
		}
	}
	return nil
}

func (f *traceDiffFlags) runTraces(a, b *tritonparse.Trace, profiles [2]*profile.Profile, stdout io.Writer) error {
	d, err := compare.Traces(a, b, profiles[0], profiles[1], &f.tensors)
	if err != nil {
		return err
	}
	if f.output != "" {
		if err := writeTrace(f.output, func(w io.Writer) error { return d.WriteRecords(w, a, b) }); err != nil {
			return err
		}
	}
	if f.json {
		return printJSON(stdout, d)
	}
	return d.WriteText(stdout)
}
