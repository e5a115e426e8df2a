package main

import (
	"regexp"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// enumerates matches the usage of a flag whose values are words of a list.
var enumerates = regexp.MustCompile("`(FORMAT|FORM|ORDER|VIEW|ACTION|SOURCE|KIND|CONTEXT|DATA|LEVEL|HOOK|BACKEND|MODE|WHICH)`|the view `NAME`|[Mm]etrics? `NAMES?`")

// TestValuesAreCompleted: the shell completes the values of each flag that takes a word of a list, and those of metrics.
func TestValuesAreCompleted(t *testing.T) {
	seen := 0
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !enumerates.MatchString(f.Usage) {
				return
			}
			seen++
			values, found := cmd.GetFlagCompletionFunc(f.Name)
			if !found {
				t.Errorf("%s --%s has no completion: call choices where the flag is registered", cmd.CommandPath(), f.Name)
			} else if words, _ := values(cmd, nil, ""); len(words) == 0 {
				t.Errorf("%s --%s completes to nothing", cmd.CommandPath(), f.Name)
			}
		})
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(newRoot())
	if seen < 20 {
		t.Errorf("only %d flags take words of a list, want 20 or more: their usages are written in another way now", seen)
	}
}
