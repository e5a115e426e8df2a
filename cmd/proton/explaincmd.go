package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/collectives"
	"github.com/goproton/goproton/viewer/explain"
	"github.com/goproton/goproton/viewer/kernels"
)

// explainFlags are the flags of `proton explain`.
type explainFlags struct {
	trace, kernel string
	peaks         []string
	json          bool
	top, width    int
	samples       sourceFlags
	from          fromFlag
}

func newExplainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [flags] PROFILE [PROFILE …]",
		Short: "say why a program is slow, and what to do next",
		Long: `explain says why a program is slow: the few facts that cost most time, the most that could be saved first. Each has a
class (launch, data movement, compute, occupancy, synchronisation, layout, spill, communication or host), the kernel and
its line, the measurements that it follows from, how sure it is, what it saves at most, and the next command.

PROFILE may have any format that proton reads, or be - for standard input. The more was recorded, the more is explained:
samples (proton run --mode pcsampling) have the lines, a timeline (--data timeline) has what the GPU waited for, the trace of the same
run (--trace) has occupancy, grids and the work of kernels. Timelines of several ranks are explained together.

--json prints a document of at most 2,000 tokens, --schema the JSON Schema of it. A failure is a document too, with exit code 1.`,
		Example: `  proton explain train.hatchet
  proton explain --kernel matmul --trace traces train.hatchet
  proton explain --json train.hatchet | jq '.findings[0]'
  proton explain train.rank*.chrome_trace`,
		Args: between(1, noLimit, "give a profile; see proton explain --help"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("top") && f.top < 1 {
				return usagef("read --top %d: show at least 1 finding", f.top)
			}
			return f.run(args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := flagsOf(cmd)
	flags.StringVar(&f.kernel, "kernel", "", "only what concerns kernels that match the `PATTERNS`, with commas between several")
	flags.StringVar(&f.trace, "trace", "", "read the `TRACE` of the same run too, a folder or a file")
	flags.IntVar(&f.top, "top", 0, "show `N` findings (default 3; with --json as many as fit)")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.StringSliceVar(&f.peaks, "peak", nil, peakUsage)
	flags.StringArrayVar(&f.samples.paths, "source-path", nil, "replace `OLD=NEW` in paths of sources, or search a folder")
	registerWidth(flags, &f.width, "break lines at `N` columns (default: the terminal's width, else 80)")
	f.from.register(cmd)
	withSchema[explain.Document](cmd, explain.Schema)
	return cmd
}

// run prints the findings.
func (f *explainFlags) run(files []string, stdin io.Reader, stdout, stderr io.Writer) error {
	doc, err := f.explain(files, stdin)
	if err != nil {
		return err
	}
	if f.json {
		most := explain.MostBytes
		if f.top > 0 {
			doc.Cut(f.top)
			most = 0
		}
		return doc.WriteJSON(stdout, most)
	}
	doc.Cut(cmp.Or(f.top, 3))
	if err := doc.Write(stdout, cmp.Or(f.width, term.Width(stdout))); err != nil {
		return err
	}
	tellEach(stderr, doc.Notes)
	return nil
}

func (f *explainFlags) explain(files []string, stdin io.Reader) (*explain.Document, error) {
	in := explain.Input{File: files[0], TraceName: f.trace, Kernel: f.kernel, Peaks: f.peaks}
	for i, file := range files {
		p, err := readProfile(file, stdin, f.from)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			in.Profile = p
		}
		if len(files) == 1 {
			break
		}
		if p.Timeline == nil {
			return nil, fmt.Errorf("%s has no timeline; several files are explained together if each is the timeline of a rank (proton run --data timeline)", file)
		}
		label := file
		if rank := p.Info[profile.InfoRank]; rank != "" {
			label = "rank" + rank
		}
		in.Ranks = append(in.Ranks, collectives.Rank{Label: label, Host: p.Info[profile.InfoHost], Run: p.Info[profile.InfoJob] + " " + p.Info.Attempt(), Timeline: p.Timeline})
	}
	if err := f.samples.files("", nil).CheckMoves(); err != nil {
		return nil, err
	}
	in.Files, in.Modules = f.samples.files(files[0], in.Profile), &kernels.Modules{Profile: files[0], Env: os.LookupEnv}
	if f.trace != "" {
		t, err := openTrace(f.trace)
		if err != nil {
			return nil, err
		}
		in.Trace = t
	} else if folder := traceOf(in.Profile); folder != "" && (in.Files.Below == "" || filepath.IsLocal(folder)) {
		if info, err := os.Stat(folder); err == nil && info.IsDir() { // where the run has put it
			if t, err := openTrace(folder); err == nil {
				in.Trace, in.TraceName = t, folder
			}
		}
	}
	return explain.Of(in)
}
