package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// convertFlags are the flags of `proton convert` as they were given.
type convertFlags struct {
	out    string
	to     string
	from   fromFlag
	metric string
	strict bool
	force  bool
	list   bool
}

func newConvertCommand() *cobra.Command {
	var f convertFlags
	cmd := &cobra.Command{
		Use:   "convert [flags] FILE… -o OUT",
		Short: "write a profile in another format",
		Long: `convert reads a profile in any format and writes it in another. The input format is recognised from the
contents of the file, including gzip and zstd. The output format is chosen by the end of OUT, which may add
.gz or .zst, or by --to. FILE and OUT may be - for standard input and output.

Data that the output format cannot hold is left out, with one line on standard error for each kind of data.
With --strict, nothing is written in this case.

A profile in parts (run.part_0.hatchet, run.part_1.hatchet …) is read as one profile: give either the name of
the whole, run.hatchet, or all its parts. To combine several runs, use proton merge.`,
		Example: `  proton convert run.hatchet -o run.hatchet_msgpack.zst
  proton convert run.hatchet -o run.folded --metric bytes
  proton convert run.part_*.hatchet -o run.hatchet
  proton convert --list`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.list:
				return listFormats(cmd.OutOrStdout())
			case len(args) == 0:
				return usagef("must specify a file to read, or - for standard input: proton convert FILE -o OUT")
			}
			return f.run(args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := flagsOf(cmd)
	flags.StringVarP(&f.out, "output", "o", "-", "write to the file `OUT`; - for standard output")
	flags.StringVar(&f.to, "to", "", "write `FORMAT`, optionally followed by .gz or .zst: "+formatNamesToWrite())
	f.from.register(cmd)
	choices(cmd, "to", formatChoices()...)
	flags.StringVar(&f.metric, "metric", "", "write the metric `NAME` if the format holds only one")
	metricChoices(cmd, "metric")
	flags.BoolVar(&f.strict, "strict", false, "fail instead of leaving anything out")
	registerForce(cmd, &f.force)
	flags.BoolVarP(&f.list, "list", "l", false, "list the formats and what each holds")
	return cmd
}

func formatNamesToWrite() string {
	var names []string
	for _, f := range formats.All() {
		if f.Write != nil {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

func (f *convertFlags) run(files []string, stdin io.Reader, stdout, stderr io.Writer) error {
	target, err := f.target()
	if err != nil {
		return err
	}
	if err := mayWrite(f.out, f.force); err != nil {
		return err
	}
	p, err := f.read(files, stdin)
	if err != nil {
		return err
	}
	tellNoTimes(stderr, "", p)
	drops := target.Drops(p)
	for _, d := range drops {
		tell(stderr, "%s cannot hold %s", target.Format.Name, d)
	}
	if f.strict && len(drops) > 0 {
		return fmt.Errorf("%s cannot hold all of the profile, and --strict is given; see proton convert --list", target.Format.Name)
	}
	return f.explain(writeProfile(target, f.out, p, stdout))
}

// tellNoTimes says why a profile has no times, where that has a reason of its own.
func tellNoTimes(stderr io.Writer, name string, p *profile.Profile) {
	if why := counters.NoTimes(p); why != "" {
		tell(stderr, "%s%s", name, why)
	}
}

// explain adds the name of the file to an error that does not have it.
func (f *convertFlags) explain(err error) error {
	if _, named := errors.AsType[*fs.PathError](err); named || err == nil || f.out != "-" {
		return err
	}
	return fmt.Errorf("write to standard output: %w", err)
}

// target is the output format: by --to, or else by the name of the file.
func (f *convertFlags) target() (formats.Target, error) {
	var target formats.Target
	var err error
	switch {
	case f.to != "":
		target, err = formats.TargetNamed(f.to)
		if byPath, pathErr := formats.TargetOf(f.out, target.Format); err == nil && pathErr == nil {
			target.Compression = max(target.Compression, byPath.Compression)
		}
	case f.out == "-":
		err = errors.New("no output format: give --to FORMAT for standard output, or a file with -o OUT")
	default:
		if target, err = formats.TargetOf(f.out, nil); err != nil {
			err = fmt.Errorf("%w: --to FORMAT", err)
		}
	}
	if err != nil {
		return target, usage(err)
	}
	target.Metric = f.metric
	return target, nil
}

func (f *convertFlags) read(files []string, stdin io.Reader) (*profile.Profile, error) {
	if len(files) == 1 {
		return readProfile(files[0], stdin, f.from)
	}
	parts, err := formats.SortParts(files)
	if err != nil {
		return nil, usage(err)
	}
	return formats.ReadParts(parts, f.from.Format)
}

// listFormats prints the name of each format and what it holds.
func listFormats(w io.Writer) error {
	table := term.NewTable(w, "FORMAT", "FILES", "HOLDS", "WHAT IT IS")
	for _, f := range formats.All() {
		about := f.About
		if f.Write == nil {
			about += " (read only)"
		}
		table.Row(f.Name, strings.Join(f.Suffixes, " "), f.Holds, about)
	}
	return table.Flush()
}
