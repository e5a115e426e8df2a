package main

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/goproton/goproton/internal/testkit"
)

var errFull = errors.New("no space left on device")

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func quietly(cmd *cobra.Command, out io.Writer, args ...string) error {
	cmd.SetOut(out)
	cmd.SetErr(io.Discard)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return cmd.Execute()
}

// A list of metrics that cannot be written is an error, as every other view is.
func TestListOnAFullDisk(t *testing.T) {
	matmul := filepath.Join(recorded(t), "matmul.hatchet")
	for _, args := range [][]string{{"--list", matmul}, {"--list", "--json", matmul}, {matmul}} {
		if err := quietly(newViewerCommand(), full{}, args...); !errors.Is(err, errFull) {
			t.Errorf("%v: %v, want %v", args, err, errFull)
		}
	}
}

// A rule for a metric that no file has could never fail: the gate has not decided, whatever the other rules say.
func TestGateOfAnUnknownMetric(t *testing.T) {
	matmul := filepath.Join(recorded(t), "matmul.hatchet")
	for rule, want := range map[string]int{"nonsense > 5%": gateUndecided, "time >> 5%": 2} {
		var code *exitError
		err := quietly(newGateCommand(), io.Discard, "--fail-on", rule, "--baseline", matmul, "--", matmul)
		if !errors.As(err, &code) || code.code != want || code.err == nil || want == gateUndecided && !strings.Contains(code.err.Error(), "there is no metric nonsense") {
			t.Errorf("%s: %v, want code %d", rule, err, want)
		}
	}
}

// A pattern that cannot be read is a wrong command line, wherever kernels are chosen.
func TestWrongPatterns(t *testing.T) {
	sampled, scoped := filepath.Join(testkit.Root(t), "viewer/kernels/testdata/hotline.hatchet"), filepath.Join(recorded(t), "inside.hatchet.gz")
	for _, words := range []string{"viewer --source=( SAMPLED", "viewer --sass=( SAMPLED", "viewer --inside=( SCOPED", "diff --source=( SAMPLED SAMPLED", "run --mode pcsampling:kernels=( true"} {
		var said strings.Builder
		if code := execute(append([]string{"proton"}, strings.Fields(strings.NewReplacer("SAMPLED", sampled, "SCOPED", scoped).Replace(words))...), &said); code != 2 || !strings.Contains(said.String(), `read the pattern "("`) {
			t.Errorf("%s: exit code %d, %s", words, code, said.String())
		}
	}
}
