package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// everyCommand calls a function with each command but the first, hidden ones too.
func everyCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	for _, each := range cmd.Commands() {
		visit(each)
		everyCommand(each, visit)
	}
}

// A command line that is wrong is refused with exit code 2, whatever the command, and with one message of this program.
func TestWrongCommandLines(t *testing.T) {
	matmul := filepath.Join(recorded(t), "matmul.hatchet")
	t.Chdir(t.TempDir())
	anyText := map[string]bool{"string": true, "stringArray": true, "stringSlice": true, "PATTERNS": true}
	works := map[string]bool{"proton ctl": true, "proton demo": true, "proton doctor": true, "proton completion": true, "proton trace": true, "proton help": true, "proton mcp": true, "proton top": true}
	refused := func(words ...string) {
		t.Helper()
		var said bytes.Buffer
		code := execute(append([]string{"proton"}, words...), &said)
		lines := strings.Split(strings.TrimRight(said.String(), "\n"), "\n")
		if code != 2 || !strings.HasPrefix(lines[0], "proton: ") || strings.Contains(said.String(), "arg(s)") || strings.Contains(said.String(), "strconv") {
			t.Errorf("proton %s: exit code %d, want 2, and %q", strings.Join(words, " "), code, said.String())
		}
	}
	everyCommand(newRoot(), func(cmd *cobra.Command) {
		words := strings.Fields(cmd.CommandPath())[1:]
		with := func(more ...string) []string { return append(append([]string{}, words...), more...) }
		if cmd.DisableFlagParsing {
			return // pprof, whose own flags follow
		}
		if !works[cmd.CommandPath()] {
			refused(with()...)
		}
		refused(with("--no-such-flag")...)
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if !anyText[flag.Value.Type()] {
				refused(with("--"+flag.Name+"=;", matmul)...)
			}
			if _, some := flag.Value.(someSecondsFlag); some {
				refused(with("--"+flag.Name+"=0s", matmul)...)
			}
			if flag.Name != "metric" && flag.Name != "metrics" && len(choicesOf(cmd, flag.Name)) > 0 { // metrics are a profile's
				refused(with("--"+flag.Name+"=nothing-like-it", matmul, matmul)...)
			}
		})
	})
}

func choicesOf(cmd *cobra.Command, flag string) []string {
	complete, found := cmd.GetFlagCompletionFunc(flag)
	if !found {
		return nil
	}
	words, _ := complete(cmd, nil, "")
	return words
}
