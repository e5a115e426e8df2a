package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/goproton/goproton/internal/term"
)

// The help of every command is one screen of 40 lines and 80 columns: a command with more than 15 flags shows ten at most, each with an example that the
// command takes.
func TestHelpIsAScreen(t *testing.T) {
	everyCommand(newRoot(), func(cmd *cobra.Command) {
		count := 0
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" {
				count++
			}
		})
		if !isBrief(cmd) {
			if count > 15 {
				t.Errorf("%s has %d flags, and no everyday ones", cmd.CommandPath(), count)
			}
			return
		}
		text := term.Fit(briefHelp(cmd), 80)
		lines := strings.Split(text, "\n")
		if len(lines) > 40 || slices.ContainsFunc(lines, func(line string) bool { return utf8.RuneCountInString(line) > 80 }) {
			t.Errorf("%s --help has %d lines, or one of more than 80 columns:\n%s", cmd.CommandPath(), len(lines), text)
		}
		shown := 0
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			texts := f.Annotations[everydayKey]
			if texts == nil {
				return
			}
			shown++
			words := strings.Fields(strings.ReplaceAll(texts[1], "'", ""))
			root := newRoot()
			found, rest, err := root.Find(words[1:])
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err != nil || found.CommandPath() != cmd.CommandPath() || !found.Flags().Changed(f.Name) {
				t.Errorf("the example of --%s, %q: %v", f.Name, texts[1], err)
			}
		})
		if shown > 10 {
			t.Errorf("%s shows %d everyday flags", cmd.CommandPath(), shown)
		}
	})
}

// The whole help fits 80 columns too, examples included, and every command takes --help-all, pprof as well.
func TestWholeHelpFits(t *testing.T) {
	everyCommand(newRoot(), func(cmd *cobra.Command) {
		for line := range strings.SplitSeq(term.Fit(cmd.Long+"\n"+cmd.UsageString(), 80), "\n") {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("%s --help-all has a line of more than 80 columns: %s", cmd.CommandPath(), line)
			}
		}
		root := newRoot()
		var out strings.Builder
		root.SetOut(&out)
		root.SetArgs(append(strings.Fields(cmd.CommandPath())[1:], "--"+helpAll))
		if err := root.Execute(); err != nil || !strings.Contains(out.String(), "Usage:") {
			t.Errorf("%s --help-all: %v, %.100q", cmd.CommandPath(), err, out.String())
		}
	})
}

// --help-all has every flag of a command, and the older spellings say what to write.
func TestHelpAllHasEveryFlag(t *testing.T) {
	everyCommand(newRoot(), func(cmd *cobra.Command) {
		text := flagSections(cmd.LocalFlags())
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			want := "--" + f.Name
			if of := f.Annotations[optionKey]; of != nil {
				want = ":" + strings.TrimPrefix(f.Name, of[0]+"-")
			}
			if (!f.Hidden || f.Annotations[optionKey] != nil || f.Annotations[olderKey] != nil) && !strings.Contains(text, want) {
				t.Errorf("%s --help-all lacks %s", cmd.CommandPath(), want)
			}
		})
	})
}
