package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/term"
)

// TestHelpFitsTheTerminal: the help of every command fits 80 columns, with all its words. Commands, which a reader copies, may be longer.
func TestHelpFitsTheTerminal(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		text := cmd.Long + "\n\n" + cmd.UsageString()
		narrow := term.Fit(text, 80)
		for line := range strings.Lines(narrow) {
			if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 80 && !strings.HasPrefix(line, "  proton ") {
				t.Errorf("%s: more than 80 columns: %s", cmd.CommandPath(), line)
			}
		}
		if got, want := strings.Fields(narrow), strings.Fields(text); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: other words:\n%s", cmd.CommandPath(), narrow)
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(newRoot())
}

// TestMessagesHaveOnePrefix: every message begins with "proton: ", whatever the subcommand.
func TestMessagesHaveOnePrefix(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	other := regexp.MustCompile(`"proton( [a-z]+)+: `)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range other.FindAllString(string(text), -1) {
			t.Errorf("%s prints %s: use tell", file, found)
		}
	}
}
