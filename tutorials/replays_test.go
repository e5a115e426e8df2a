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

// TestReplaysOnPages runs the console block that begins with a replay: the page shows what this version prints. With -update it
// rewrites the block.
func TestReplaysOnPages(t *testing.T) {
	env := testkit.Built(t)
	block := regexp.MustCompile("(?s)```console\n\\$ proton run [^\n]*--backend replay .*?```")
	for _, name := range []string{"overlap", "amd", "inside", "notebook"} { // that of matmul is abridged by hand, and needs a disassembler
		page := filepath.Join(name, "README.md")
		text := testkit.Read(t, page)
		shown := block.ReplaceAllStringFunc(text, func(old string) string { return replayed(t, env, name, old) })
		if shown != text {
			testkit.Golden(t, page, shown)
		}
	}
}

// replayed is a console block as its commands print it now next to a tutorial's sources, with lines cut as fill.py cuts them.
func replayed(t *testing.T, env []string, tutorial, block string) string {
	t.Helper()
	const width = 150
	folder := t.TempDir()
	sources, err := filepath.Glob(filepath.Join(tutorial, "*.py"))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(source)), []byte(testkit.Read(t, source)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var parts []string
	for _, m := range regexp.MustCompile(`(?m)^\$ (proton .*)$`).FindAllStringSubmatch(block, -1) {
		line := strings.ReplaceAll(m[1], "../../testdata/", filepath.Join(testkit.Root(t), "testdata")+"/")
		cmd := exec.Command("sh", "-c", line+" 2>&1")
		cmd.Dir, cmd.Env = folder, env
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		part := "$ " + m[1] + "\n"
		for line := range strings.Lines(strings.ReplaceAll(string(out), filepath.Join(testkit.Root(t), "testdata"), "../../testdata")) {
			if strings.HasPrefix(line, "Time: ") { // pprof's, of the replay
				continue
			}
			runes := []rune(strings.TrimRight(line, " \n"))
			if len(runes) > width {
				runes = append(runes[:width-1], '…')
			}
			part += string(runes) + "\n"
		}
		parts = append(parts, part)
	}
	return "```console\n" + strings.Join(parts, "\n") + "```"
}
