package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/viewer/pprofui"
)

func newPprofCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pprof [-FORMAT | -http=HOST:PORT] [flags] FILE...",
		Short: "show profiles with pprof: reports, a shell, web pages",
		Long: `pprof runs Go's pprof on any profile that proton reads: .hatchet, MessagePack, traces and pprof files, compressed
or not, - for standard input. Several files are added up. All of pprof's flags work; without -http and without a
format it starts pprof's shell. It reads nothing from the network and writes nothing to your home folder.

Pages in the browser
  -http=:0                 serve them at a free port of this machine until Ctrl-C; with a HOST, others can open them too
  --no-open                do not open a browser

Formats
  -top  -tree  -traces     the largest frames; callers and callees of each; every call path
  -peek=REGEXP             callers and callees of some frames
  -list=REGEXP             the source of Python functions with the time of each line
  -tags                    the labels: device, device_type, rank, and every metric that does not add up
  -svg  -png  -dot         the graph of calls (svg and png need Graphviz)
  -proto  -raw             the profile itself, as a pprof file or as text

Which numbers
  -sample_index=NAME       time (the default), count, cpu_time, bytes, flops16 or any other metric that adds up
  -mean                    per kernel: divided by count
  -unit=ms                 unit of times and bytes; otherwise each value in its own
  -base=FILE               subtract a profile; -diff_base=FILE also makes percentages relative to it
  -cum                     sort by the sum over everything below a frame, not by the frame's own value

Which frames
  -focus=REGEXP -ignore=REGEXP       call paths that pass through a frame, or do not
  -show=REGEXP  -hide=REGEXP         only these frames, or all but these: '\[gpu\]' are the kernels
  -show_from=REGEXP                  from this frame down
  -tagfocus=device=1 -tagignore=…    by label
  -tagroot=device,rank               labels as frames at the root; -tagroot=file with several files
  -lines                             Python frames by line; by default all lines of a function are one frame
  -nodecount=N -nodefraction=F       the most frames to show, and their smallest share

Which files
  -from=FORMAT             read them as FORMAT instead of recognising it: see proton convert --list. Files of pprof's formats
                           before profile.proto are not read; go tool pprof -proto FILE converts them

The manual of pprof's own flags is at github.com/google/pprof/blob/main/doc/README.md.`,
		Example: `  proton pprof -http=:0 train.hatchet
  proton pprof -top -cum train.hatchet
  proton pprof -top -show='\[gpu\]' -sample_index=bytes train.hatchet
  proton pprof -top -diff_base=before.hatchet after.hatchet
  proton pprof -http=:0 -tagroot=rank rank*.hatchet`,
		DisableFlagParsing: true,
		ValidArgsFunction:  completePprof,
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "--"+helpAll) { // which cobra does not see, since pprof reads the flags
				return cmd.Help()
			}
			err := pprofui.Run(args, cmd.InOrStdin(), cmd.ErrOrStderr())
			switch {
			case pprofui.WantsHelp(err):
				return cmd.Help()
			case errors.Is(err, pprofui.ErrUsage):
				return usage(err)
			case err != nil:
				return fmt.Errorf("pprof: %w", err)
			}
			return nil
		},
	}
}

// pprofFlags are the flags of pprof that the shell completes. Those that end in = take a value.
var pprofFlags = []string{
	"-http=", "--no-open", "-from=",
	"-top", "-tree", "-traces", "-peek=", "-list=", "-weblist=", "-tags", "-comments", "-svg", "-png", "-dot", "-callgrind", "-proto", "-raw", "-output=",
	"-sample_index=", "-mean", "-unit=", "-base=", "-diff_base=", "-normalize", "-cum", "-flat",
	"-focus=", "-ignore=", "-show=", "-hide=", "-show_from=", "-prune_from=", "-tagfocus=", "-tagignore=", "-tagshow=", "-taghide=", "-tagroot=", "-tagleaf=",
	"-functions", "-lines", "-files", "-filefunctions", "-addresses", "-nodecount=", "-nodefraction=", "-edgefraction=", "-source_path=", "-trim_path=", "-symbolize=",
}

// completePprof replaces cobra's completion, which does not know pprof's flags. Other words are files.
func completePprof(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	if !strings.HasPrefix(word, "-") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var list []string
	for _, flag := range pprofFlags {
		if strings.HasPrefix(flag, word) {
			list = append(list, flag)
		}
	}
	return list, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
