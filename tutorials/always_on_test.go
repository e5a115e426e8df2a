package tutorials

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// What arrives of a job that is always on equals the local profiles, and the page shows what the tutorial prints. With -update it rewrites
// the page.
func TestAlwaysOn(t *testing.T) {
	env := testkit.Built(t)
	needs(t, "build/tools/pushserver", "make test builds it (. tools/steps.sh; install_tools)")
	alwaysOn(t, env, "tutorials/always_on/always_on.py --without prometheus,collector")
}

// The same with a real collector and a real Prometheus.
func TestAlwaysOnWithCollectorAndPrometheus(t *testing.T) {
	testkit.OnlyInCheck(t, "it starts a collector that takes minutes to build, and Prometheus")
	env := testkit.Built(t)
	needs(t, "build/tools/pushserver", "make test builds it (. tools/steps.sh; install_tools)")
	needs(t, "build/collector/otelcol", "run tools/collector.sh")
	needs(t, ".venv/oracles/prometheus/usr/bin/prometheus", "run tools/prometheus.sh")
	alwaysOn(t, env, "tutorials/always_on/always_on.py")
}

func needs(t *testing.T, path, how string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(testkit.Root(t), path)); err != nil {
		t.Skipf("needs %s: %s", path, how)
	}
}

func alwaysOn(t *testing.T, env []string, command string) {
	t.Helper()
	words := strings.Fields(command)
	cmd := exec.Command(python(t), words...)
	cmd.Dir, cmd.Env = testkit.Root(t), env
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	text := string(out)
	for _, port := range []struct{ before, usual string }{
		{"--push otlp\\+http://127.0.0.1:", "4318"}, {"--prometheus ", "9464"}, {"instant http://127.0.0.1:", "9090"},
		{"(?s)rank 0:.*?counters at http://127.0.0.1:", "9464"}, {"(?s)rank 1:.*?counters at http://127.0.0.1:", "9465"},
	} {
		text = regexp.MustCompile("("+port.before+")[0-9]+").ReplaceAllString(text, "${1}"+port.usual)
	}
	const page = "always_on/README.md"
	block := regexp.MustCompile("(?s)```console\n\\$ " + regexp.QuoteMeta(command) + "\n.*?```")
	old := testkit.Read(t, page)
	before, after, _ := strings.Cut(old, "<!-- output -->")
	shown := block.ReplaceAllLiteralString(after, "```console\n$ "+command+"\n"+text+"```")
	if shown != after {
		testkit.Golden(t, page, before+"<!-- output -->"+shown)
	}
}
