package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/extract"
	"github.com/goproton/goproton/tritonparse/nearby"
)

type traceCatFlags struct {
	kernels string
	hashes  []string
	types   []string
	lines   string
	filter  string
	options extract.ExcerptOptions
	output  string
	blobs   bool
	force   bool
}

func newTraceCatCommand() *cobra.Command {
	var f traceCatFlags
	cmd := &cobra.Command{
		Use:   "cat [flags] TRACE",
		Short: "print records of a trace, or write a smaller trace",
		Long: `cat prints the records of a trace, which is a file or a folder, raw or parsed: all of them, or those that meet every
condition. Without --pretty the result is again a trace, with one unchanged record per line. OUT is compressed if its
name ends with .gz or .zst.

OUT is a complete trace: the cubins of its compilations are copied to cubins/ next to it, and with --blobs the
recorded tensors to saved_tensors/. The records themselves are unchanged.

Lines are counted as in trace info: from 0, without blank ones. If some launches of a compilation are left out, the
records of a parsed trace that summarise launches (launch_diff, roofline, autotune_analysis, autotune_summary) are
left out too, unless --type names them.`,
		Example: `  proton trace cat trace.ndjson.gz --lines 0,5-7 --no-ir --pretty
  proton trace cat logs --kernel 'matmul*' --most 10 -o small.ndjson.gz
  proton trace cat logs --kernel softmax --args-list n_cols=781 -o one.ndjson`,
		Args: oneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := flagsOf(cmd)
	flags.StringVar(&f.kernels, "kernel", "", kernelsUsage)
	flags.StringSliceVar(&f.hashes, "hash", nil, "only records of compilations whose hash begins with `HASH`")
	flags.StringSliceVar(&f.types, "type", nil, "only records of `TYPE`: compilation, launch, autotune, launch_diff …")
	flags.StringVar(&f.lines, "lines", "", "only the lines `LIST` of each file, such as 1,3,5-10,-5,20-")
	flags.StringVar(&f.filter, "args-list", "", "of launches, only those that match `FILTER`, as in trace info")
	flags.IntVar(&f.options.Most, "most", 0, "at most `N` launches of each compilation, 0 for all")
	flags.BoolVar(&f.options.Compilations, "with-compilations", false, "also the compilations of the launches")
	flags.BoolVar(&f.options.NoIR, "no-ir", false, "leave out the texts of representations, sources and source maps")
	flags.BoolVar(&f.options.Pretty, "pretty", false, "print each record on several lines, for reading")
	flags.StringVarP(&f.output, "output", "o", "", "write to `OUT` instead of standard output, and cubins next to it")
	flags.BoolVar(&f.blobs, "blobs", false, "also copy the recorded tensors next to OUT")
	flags.StringArrayVar((*[]string)(&f.options.FilesFrom), "files-from", nil, filesFromUsage)
	registerForce(cmd, &f.force)
	return cmd
}

const kernelsUsage = "only kernels whose names match `PATTERNS` (as in 'matmul_*', separated by commas)"

func (f *traceCatFlags) check() (err error) {
	o := &f.options
	if o.Kernels, err = tritonparse.ParseNames(f.kernels); err != nil {
		return err
	}
	if o.Lines, err = extract.ParseLines(f.lines); err != nil {
		return err
	}
	if o.Filter, err = tritonparse.ParseFilter(f.filter); err != nil {
		return err
	}
	if o.Most < 0 {
		return fmt.Errorf("--most %d: give a number of launches, or 0 for all", o.Most)
	}
	if err := nearby.CheckSources(o.FilesFrom); err != nil {
		return err
	}
	o.Hashes, o.Types = f.hashes, f.types
	o.Nearby = f.writesTrace()
	if f.blobs && !o.Nearby {
		return errors.New("--blobs copies tensors next to a trace that is written: give -o OUT, without --pretty")
	}
	return nil
}

// writesTrace reports whether the output is the file of a trace: that of --pretty is not, and a pipe has no folder for the files
// next to it.
func (f *traceCatFlags) writesTrace() bool {
	if f.output == "" || f.output == "-" || f.options.Pretty {
		return false
	}
	info, err := os.Stat(f.output)
	return err != nil || info.Mode().IsRegular()
}

func (f *traceCatFlags) run(source string, stdout, stderr io.Writer) error {
	if err := f.check(); err != nil {
		return usage(err)
	}
	files, err := tritonparse.Files(source)
	if err != nil {
		return err
	}
	if err := mayWrite(f.output, f.force); err != nil {
		return err
	}
	var result *extract.Excerpt
	write := func(w io.Writer) error {
		buffered := bufio.NewWriterSize(w, 64<<10)
		var err error
		if result, err = extract.WriteExcerpt(buffered, files, f.options); err != nil {
			return err
		}
		warnDamages(stderr, result.Damages, result.Damaged)
		if f.filter != "" && result.Records["launch"] == 0 {
			warnNoLaunch(stderr, f.filter)
		}
		switch {
		case result.Read == 0:
			return tritonparse.NoTrace(source, result.Damages)
		case len(result.Records) == 0:
			return fmt.Errorf("no record of %s matches all conditions; proton trace info lists the kernels and launches", source)
		}
		return buffered.Flush()
	}
	if f.output == "" || f.output == "-" {
		return write(term.Raw(stdout))
	}
	if err := writeTrace(f.output, write); err != nil {
		return err
	}
	taken := takeAlong(result.Nearby, filepath.Dir(f.output), f.blobs, f.force)
	taken.warn(stderr, f.output)
	_, err = fmt.Fprintf(stdout, "%s: %s%s\n", f.output, countRecords(result.Records), taken.count())
	return err
}

// countRecords counts records: 2 compilations, 31 launches, 3 others.
func countRecords(records map[string]int) string {
	others := 0
	for kind, n := range records {
		if kind != "compilation" && kind != "launch" {
			others += n
		}
	}
	parts := []string{figures.Count(records["compilation"], "compilation"), figures.Count(records["launch"], "launch")}
	if others > 0 {
		parts = append(parts, figures.Count(others, "other record"))
	}
	return strings.Join(parts, ", ")
}

// writeTrace writes a file, compressed according to its name. An existing file is replaced when all is written.
func writeTrace(path string, write func(w io.Writer) error) error {
	var inside error
	err := writeFile(path, func(w io.Writer) error {
		inside = packed(path, w, write)
		return inside
	})
	switch {
	case inside != nil:
		return inside
	case err != nil:
		return fmt.Errorf("%w; give another place with -o", err)
	}
	return nil
}

func packed(path string, w io.Writer, write func(w io.Writer) error) error {
	var z io.WriteCloser
	switch {
	case strings.HasSuffix(path, ".gz"):
		z = gzip.NewWriter(w)
	case strings.HasSuffix(path, ".zst"):
		var err error
		if z, err = zstd.NewWriter(w); err != nil {
			return err
		}
	default:
		return write(w)
	}
	err := write(z)
	return errors.Join(err, z.Close())
}
