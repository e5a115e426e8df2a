package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/reproduce"
)

type reproduceFlags struct {
	line, kernel, hash string
	launch             int
	options            reproduce.Options
	kernelImport       string
	stamp              string
	intRange           string
	replacers          []string
	json               bool
}

func newReproduceCommand() *cobra.Command {
	var f reproduceFlags
	cmd := &cobra.Command{
		Use:   "reproduce [flags] TRACE",
		Short: "write a Python script that runs one recorded launch again",
		Long: `reproduce takes one launch of a TritonParse trace, raw or parsed, and writes a Python script that makes it again: the kernel
as it was compiled, with arguments as they were. The script needs torch and triton, nothing else.`,
		Args: oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.register(cmd)
	return cmd
}

func (f *reproduceFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.line, "line", "", "the launch in record `N` of the trace, as proton trace info shows it; FILE:N in a folder of several files")
	flags.StringVar(&f.kernel, "kernel", "", "a launch of the kernel `NAME`")
	flags.IntVar(&f.launch, "launch-id", 0, "with --kernel or --hash, which of its launches, `N` from 0")
	flags.StringVar(&f.hash, "hash", "", "a launch of the compilation whose hash begins with `H`")
	flags.StringVarP(&f.options.OutDir, "out-dir", "o", "repro_output", "folder to write to; there is one for each kernel in `DIR`")
	flags.StringVar(&f.options.Template, "template", "", "`NAME` of the script's template: example (default), tritonbench, or a file")
	flags.StringVar(&f.kernelImport, "kernel-import", "", "`HOW` the script has the kernel: default imports its original file, copy has its source, override-ttir the recorded TTIR (default: what works)")
	flags.BoolVar(&f.options.Embed, "embed-context", false, "write one file that has everything in it")
	flags.BoolVar(&f.options.PreserveAutotune, "preserve-autotune", false, "keep autotuner and heuristics; otherwise the recorded configuration runs")
	flags.StringVar(&f.intRange, "int-range", "", "`LEAST:LIMIT` of made-up integers, LIMIT left out (default 0 to the smallest size of a tensor)")
	flags.Int64Var(&f.options.Seed, "seed", 0, "`SEED` of made-up values")
	flags.StringArrayVar(&f.replacers, "replacer", nil, "program, with arguments, that gives texts for a template's placeholders: `CMD`; may be given again")
	flags.StringVar(&f.options.Python, "python", "", "`INTERPRETER` that reads the original source files (default python3)")
	flags.StringVar(&f.stamp, "stamp", "time", "end of the files' names, `TEXT`; empty for none (default: the time)")
	flags.BoolVar(&f.options.Force, "force", false, "replace the script if it exists")
	flags.BoolVar(&f.json, "json", false, "print JSON")
}

func (f *reproduceFlags) run(source string, stdout, stderr io.Writer) error {
	selection, err := f.selection()
	if err == nil {
		err = f.complete()
	}
	if err != nil {
		return &exitError{code: 2, err: err}
	}
	trace, err := tritonparse.Open(source, tritonparse.OpenOptions{})
	if err != nil {
		return err
	}
	damages, damaged := trace.Damages()
	warnDamages(stderr, "proton reproduce", damages, damaged)
	launch, err := reproduce.Pick(trace, selection)
	if err != nil {
		return err
	}
	f.options.Command = "proton " + shellWords(os.Args[1:])
	result, err := reproduce.Generate(trace, launch, f.options)
	if err != nil {
		return err
	}
	if f.json {
		encoder := json.NewEncoder(stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(result)
	}
	return printReproduced(stdout, result)
}

func (f *reproduceFlags) selection() (s reproduce.Selection, err error) {
	s = reproduce.Selection{Line: -1, Kernel: f.kernel, Launch: f.launch, Hash: f.hash}
	if f.line != "" {
		if f.kernel != "" || f.hash != "" {
			return s, errors.New("--line says already which launch; leave out --kernel and --hash")
		}
		number := f.line
		if i := strings.LastIndexByte(f.line, ':'); i >= 0 {
			s.File, number = f.line[:i], f.line[i+1:]
		}
		n, err := strconv.ParseUint(number, 10, 31)
		if err != nil {
			return s, fmt.Errorf("read --line %q: give the number of a record, from 0, as proton trace info --kernel NAME shows it", f.line)
		}
		s.Line = int(n)
	}
	if f.launch < 0 {
		return s, fmt.Errorf("read --launch-id %d: the first launch is 0", f.launch)
	}
	return s, nil
}

// complete makes sense of the flags that are no plain values.
func (f *reproduceFlags) complete() error {
	o := &f.options
	o.Import, o.Version, o.Stamp = reproduce.Import(f.kernelImport), version, f.stamp
	if f.stamp == "time" {
		o.Stamp = time.Now().Format("20060102150405")
	}
	if f.kernelImport != "" && !slices.Contains(reproduce.Imports, o.Import) {
		return fmt.Errorf("read --kernel-import %q: use default, copy or override-ttir", f.kernelImport)
	}
	if f.intRange != "" {
		least, limit, ok := strings.Cut(f.intRange, ":")
		a, errA := strconv.ParseInt(least, 10, 64)
		b, errB := strconv.ParseInt(limit, 10, 64)
		if !ok || errA != nil || errB != nil || a >= b {
			return fmt.Errorf("read --int-range %q: write LEAST:LIMIT, such as 0:128", f.intRange)
		}
		o.IntRange = [2]int64{a, b}
	}
	for _, r := range f.replacers {
		words := strings.Fields(r)
		if len(words) == 0 {
			return errors.New("read --replacer: give a program")
		}
		o.Replacers = append(o.Replacers, reproduce.Program(words))
	}
	if _, err := os.Stat(o.Template); o.Template != "" && err != nil && !slices.Contains(reproduce.Templates, o.Template) {
		return fmt.Errorf("read --template %q: there is no such file; the built-in ones are %s", o.Template, strings.Join(reproduce.Templates, ", "))
	}
	return nil
}

// shellWords writes a command line so that it can be typed again.
func shellWords(args []string) string {
	words := slices.Clone(args)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n'\"$&|<>;()*?[]#~`\\") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

func printReproduced(w io.Writer, r *reproduce.Result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", name, term.Printable(fmt.Sprintf(format, args...)))
	}
	row("kernel", "%s, launch %d, record %d of %s", r.Kernel, r.Launch.ID, r.Launch.Line, r.Launch.File)
	row("from", "%s: %s", r.Import, r.Why)
	row("script", "%s", r.Script)
	if r.Context != "" {
		row("context", "%s", r.Context)
	}
	if r.IRs != "" {
		row("IR", "%s", r.IRs)
	}
	for _, a := range r.Arguments {
		if a.From != "recorded" || a.Notes != "" {
			row("argument", "%s %s: %s", a.Name, a.Brief, strings.TrimSuffix(a.From+", "+a.Notes, ", "))
		}
	}
	for _, e := range r.Expected {
		row("result", "%s is checked: %s", e.Argument, e.From)
	}
	for _, n := range r.Notes {
		row("note", "%s", n)
	}
	return t.Flush()
}
