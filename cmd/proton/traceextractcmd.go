package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/extract"
	"github.com/goproton/goproton/tritonparse/nearby"
)

type traceExtractFlags struct {
	pick   tracePick
	out    string
	stages []string
	args   bool
	blobs  bool
	from   []string
	force  bool
	json   bool
}

func newTraceExtractCommand() *cobra.Command {
	var f traceExtractFlags
	cmd := &cobra.Command{
		Use:   "extract [flags] TRACE -o DIR",
		Short: "write representations, sources, machine code and tensors of a trace to files",
		Long: `extract writes the texts of compilations to files named after the kernel, the beginning of the compile hash and the
representation: matmul_kernel.72d67842.ptx. They include the Python source, and the cubin if it is next to the trace.
A cubin in another folder, such as ~/.triton/cache, is found if --files-from names that folder.

--args adds the arguments, one entry for each launch kind. --blobs copies the recorded tensors from the folder next to
the trace.`,
		Example: `  proton trace extract trace.ndjson.gz -o ir
  proton trace extract logs --kernel 'matmul*' --stages ttgir,ptx,python -o ir
  proton trace extract trace.bin.ndjson --line 1557 --args --blobs -o one`,
		Args: oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.pick.check(cmd); err != nil {
				return usage(err)
			}
			return f.run(args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := flagsOf(cmd)
	flags.StringVarP(&f.out, "output", "o", "", "write to the folder `DIR`, which is created if needed")
	f.pick.register(cmd)
	flags.StringSliceVar(&f.stages, "stages", nil, "only `STAGES`: ttir, ttgir, llir, ptx, sass, json …, python, cubin")
	flags.BoolVar(&f.args, "args", false, "also arguments, as JSON")
	flags.BoolVar(&f.blobs, "blobs", false, "also recorded tensors")
	flags.StringArrayVar(&f.from, "files-from", nil, filesFromUsage)
	flags.BoolVar(&f.force, "force", false, "replace files in DIR")
	flags.BoolVar(&f.json, "json", false, "list what was written as JSON")
	return cmd
}

// tracePick holds the flags that choose compilations of a trace.
type tracePick struct {
	kernels string
	hash    string
	line    uint
	byLine  bool
	file    string
}

func (p *tracePick) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&p.kernels, "kernel", "", kernelsUsage)
	flags.StringVar(&p.hash, "hash", "", "only the compilation whose hash begins with `HASH`")
	flags.UintVar(&p.line, "line", 0, "only the compilation or the launch at line `N`, as trace info counts lines")
	flags.StringVar(&p.file, "file", "", "if there are several files: --line belongs to the file `NAME` of the trace")
}

// check refuses flags that exclude each other.
func (p *tracePick) check(cmd *cobra.Command) error {
	p.byLine = cmd.Flags().Changed("line")
	switch {
	case p.byLine && (p.kernels != "" || p.hash != ""):
		return errors.New("--line already selects a compilation; leave out --kernel and --hash")
	case !p.byLine && p.file != "":
		return errors.New("--file needs --line N: it names the file of that line")
	}
	return nil
}

// open reads a trace and finds the selected compilations; launch is nil unless --line is that of a launch.
func (p *tracePick) open(source string, o tritonparse.OpenOptions, stderr io.Writer) (t *tritonparse.Trace, picked []*tritonparse.Compilation, launch *tritonparse.LaunchRecord, err error) {
	names, err := tritonparse.ParseNames(p.kernels)
	if err != nil {
		return nil, nil, nil, usage(err)
	}
	if t, err = tritonparse.Open(source, o); err != nil {
		return nil, nil, nil, err
	}
	warnOfTrace(stderr, t)
	hash := p.hash
	if p.byLine {
		if hash, launch, err = t.HashAt(p.file, int(min(p.line, math.MaxInt))); err != nil {
			return nil, nil, nil, err
		}
	}
	for _, c := range t.Compilations() {
		if names.Match(c.Name) && strings.HasPrefix(c.Hash, hash) {
			picked = append(picked, c)
		}
	}
	if len(picked) == 0 {
		return nil, nil, nil, p.nothing(t)
	}
	return t, picked, launch, nil
}

// nothing is the error for an empty selection. It names what could be selected.
func (p *tracePick) nothing(t *tritonparse.Trace) error {
	var names []string
	for _, c := range t.Compilations() {
		if name := term.Printable(c.Name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("no compilation and no launch in %s", t.Source)
	}
	slices.Sort(names)
	const most = 10
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	var asked []string
	if p.kernels != "" {
		asked = append(asked, "of a kernel "+p.kernels)
	}
	if p.hash != "" {
		asked = append(asked, "with a hash that begins with "+p.hash)
	}
	return fmt.Errorf("no compilation %s in %s; its kernels are %s", strings.Join(asked, " "), t.Source, strings.Join(names, ", "))
}

func (f *traceExtractFlags) run(source string, stdout, stderr io.Writer) error {
	if f.out == "" {
		return usagef("must specify an output folder: proton trace extract TRACE -o DIR")
	}
	if err := nearby.CheckSources(f.from); err != nil {
		return usage(err)
	}
	t, picked, launch, err := f.pick.open(source, tritonparse.OpenOptions{NoTexts: true}, stderr)
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(f.out); err == nil && len(entries) > 0 && !f.force {
		return fmt.Errorf("%s is not empty; give --force to replace files in it, or another name", f.out)
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return cannotWrite(f.out, err)
	}
	o := extract.Options{
		Folder: f.out, Stages: f.stages, Args: f.args, Blobs: f.blobs, FilesFrom: f.from,
		Warn: func(s string) { tell(stderr, "%s", term.Printable(s)) },
		Keep: func(c *tritonparse.Compilation) bool {
			return slices.ContainsFunc(picked, func(p *tritonparse.Compilation) bool { return p.Hash == c.Hash })
		},
	}
	if launch != nil {
		o.Launch = func(l *tritonparse.LaunchRecord) bool { return l.File == launch.File && l.Line == launch.Line }
	}
	for _, c := range picked {
		if c.Inferred {
			o.Warn(fmt.Sprintf("%s %s was not traced when it was compiled: the trace has only its launches", c.Name, c.Hash[:min(8, len(c.Hash))]))
		}
	}
	written := fillsFolder()
	files, err := extract.Write(t, o)
	written()
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(stdout, files)
	}
	for _, file := range files {
		if _, err := fmt.Fprintln(stdout, term.Printable(filepath.Join(f.out, file.Name))); err != nil {
			return err
		}
	}
	return nil
}
