package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer"
)

// choices completes a flag with words, for the shell completion of "proton completion".
func choices(cmd *cobra.Command, flag string, words ...string) {
	complete(cmd, flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	})
}

// amountChoices completes a metric that was recorded as a number.
func amountChoices(cmd *cobra.Command, flag string) {
	complete(cmd, flag, func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		recorded := func(m viewer.Metric) bool { return !m.Derived && !m.Text }
		return metricsOf(args, recorded, "time", "count", "bytes", "flops", "cpu_time"), cobra.ShellCompDirectiveNoFileComp
	})
}

// metricChoices completes the last of several metrics with those of the profile on the command line.
func metricChoices(cmd *cobra.Command, flag string) {
	complete(cmd, flag, func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var words []string
		for _, name := range metricsOf(args, func(viewer.Metric) bool { return true }, "time", "time/%", "avg_time", "count", "util", "flop/s", "byte/s") {
			words = append(words, before+name)
		}
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

func complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic("BUG: " + err.Error())
	}
}

// metricsOf lists some metrics of the first profile among args, or the usual ones if there is none.
func metricsOf(args []string, wanted func(viewer.Metric) bool, usual ...string) []string {
	for _, file := range args {
		p, err := formats.ReadFile(file)
		if err != nil {
			continue
		}
		var names []string
		for _, m := range viewer.Metrics(p) {
			if wanted(m) {
				names = append(names, m.Name)
			}
		}
		return names
	}
	return usual
}

func formatChoices() []string {
	var names []string
	for _, f := range formats.All() {
		names = append(names, f.Name)
	}
	return names
}
