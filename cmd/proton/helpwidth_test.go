package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// The introduction of every command fits a terminal of 80 columns, with all its words, and is as it was written on a wide one.
func TestIntroductionsFitTheTerminal(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		narrow := fitted(cmd.Long, 80)
		for line := range strings.Lines(narrow) {
			if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 80 {
				t.Errorf("%s: more than 80 columns: %s", cmd.CommandPath(), line)
			}
		}
		if got, want := strings.Fields(narrow), strings.Fields(cmd.Long); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: other words:\n%s", cmd.CommandPath(), narrow)
		}
		for _, width := range []int{0, 200} {
			if fitted(cmd.Long, width) != cmd.Long {
				t.Errorf("%s: changed for %d columns", cmd.CommandPath(), width)
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(newRoot())
}

func TestFitted(t *testing.T) {
	const text = "one two three four\nfive\n\nshort lines\nstay\n  a, b    what these are\n  averylongword-of-its-own"
	const want = "one two three\nfour five\n\nshort lines\nstay\n  a, b    what\n          these\n          are\n  averylongword-of-its-own"
	if got := fitted(text, 15); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
