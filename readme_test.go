package goproton

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var variable = regexp.MustCompile(`\b(PROTON|TRITON)_[A-Z0-9_]+\*?`)

// TestVariablesAreDocumented compares the table of docs/environment.md with the product's sources.
func TestVariablesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("docs/environment.md")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[A-Z].*?) \\|").FindAllStringSubmatch(string(page), -1) {
		for _, name := range variable.FindAllString(row[1], -1) {
			table[name] = false
		}
	}
	for _, path := range sources(t, ".go", ".c", ".h", ".py") {
		if !inProduct(filepath.ToSlash(path)) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range variable.FindAllString(string(text), -1) {
			if entry, found := documented(table, name); found {
				table[entry] = true
			} else {
				t.Errorf("%s has the environment variable %s, which docs/environment.md does not list: add a row", path, name)
				table[name] = true // once is enough
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if !table[name] {
			t.Errorf("docs/environment.md lists %s, which no source reads", name)
		}
	}
}

func inProduct(path string) bool {
	rooms := []string{"cmd", "cupti", "hooks", "internal", "profile", "profiler", "viewer"}
	return slices.ContainsFunc(rooms, func(r string) bool { return below(path, r) }) &&
		!below(path, "tritonparse/reproduce") && // it writes scripts, and the variables in them are Triton's
		!strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "/testdata/") && !strings.Contains(path, "tests/")
}

// documented finds a variable's entry: its own, or a prefix with a star.
func documented(table map[string]bool, name string) (entry string, found bool) {
	for entry := range table {
		if prefix, star := strings.CutSuffix(entry, "*"); entry == name || star && strings.HasPrefix(name, prefix) {
			return entry, true
		}
	}
	return "", false
}

// TestReadmeShowsWhatDemoPrints runs the viewer commands of README.md on the profile that "make demo" makes
// where there is no GPU.
func TestReadmeShowsWhatDemoPrints(t *testing.T) {
	const profile, capture = "build/demo/matmul", "testdata/captures/matmul.capture.gz"
	env := testkit.Built(t)
	shell := func(line string) string {
		cmd := exec.Command("sh", "-c", line)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	own := filepath.Join(t.TempDir(), "matmul")
	shell("proton run --backend replay --name " + own + " " + capture)
	shown := regexp.MustCompile("(?s)```console\n\\$ (build/proton viewer [^\n]*)\n(.*?)```").FindAllStringSubmatch(readme(t), -1)
	if len(shown) == 0 {
		t.Fatal("README.md shows no output of build/proton viewer")
	}
	for _, m := range shown {
		command, want := m[1], m[2]
		out := shell(strings.NewReplacer("build/proton", "proton", profile, own).Replace(command))
		if got := strings.TrimRight(out, "\n") + "\n"; got != want {
			t.Errorf("%s prints\n%s\nand README.md shows\n%s\nThe command is that of the sources, the replay that of the last make build.", command, got, want)
		}
	}
}

// TestLinksLeadSomewhere follows every link between files of the repository, to the heading that it names.
func TestLinksLeadSomewhere(t *testing.T) {
	code := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	link := regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	for _, path := range sources(t, ".md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			to := path
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(path), m[1])
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			} else if m[2] != "" && strings.HasSuffix(to, ".md") && !slices.Contains(anchors(testkit.Read(t, to)), m[2]) {
				t.Errorf("%s links to %s, which has no heading #%s", path, to, m[2])
			}
		}
	}
}

// anchors are the names by which links reach the headings of a page, as GitHub makes them.
func anchors(page string) []string {
	var names []string
	seen := map[string]int{}
	for _, m := range regexp.MustCompile("(?m)^#+ +(.*)$").FindAllStringSubmatch(regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(page, ""), -1) {
		kept := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		name := strings.ReplaceAll(kept, " ", "-")
		if seen[name]++; seen[name] > 1 {
			name += "-" + strconv.Itoa(seen[name]-1)
		}
		names = append(names, name)
	}
	for _, m := range regexp.MustCompile(`<a id="([^"]+)">`).FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	return names
}

// TestReadmeComparesAsMeasured holds README.md's table of ratios against docs/performance.md, which says how they were measured.
func TestReadmeComparesAsMeasured(t *testing.T) {
	page, err := os.ReadFile("docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	measured := tableRows(string(page))
	shown := tableRows(readme(t))
	for short, long := range map[string]string{
		"floor": "floor", "torch.profiler, kernels only": "torch.profiler",
		"scopes: goproton": "**goproton** shadow", "scopes: Triton 3.6's Proton": "triton.profiler shadow",
		"scopes and launch hook, as `proton run` does: goproton": "**goproton** shadow+hook",
		"scopes and launch hook: Triton 3.6's Proton":            "triton.profiler shadow+hook",
		"Python paths and launch hook: goproton":                 "**goproton** python+hook",
		"Python paths and launch hook: Triton 3.6's Proton":      "triton.profiler python+hook",
	} {
		if len(shown[short]) != 3 || len(measured[long]) < 3 {
			t.Errorf("README.md's row %q is %q, docs/performance.md's row %q is %q", short, shown[short], long, measured[long])
			continue
		}
		for i, cell := range shown[short] {
			ratio, _, _ := strings.Cut(measured[long][i], " ")
			f, err := strconv.ParseFloat(ratio, 64)
			if rounded := fmt.Sprintf("%.2f", f+1e-9); err != nil || cell != rounded {
				t.Errorf("README.md shows %s for %s, and %s was measured", cell, short, ratio)
			}
		}
	}
}

// tableRows are the first rows of tables in a page by their first cell.
func tableRows(page string) map[string][]string {
	rows := map[string][]string{}
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if _, known := rows[cells[0]]; !known && len(cells) > 1 {
			rows[cells[0]] = cells[1:]
		}
	}
	return rows
}

// TestReadmeIsShort: a newcomer decides in two minutes whether to go on.
func TestReadmeIsShort(t *testing.T) {
	if lines := strings.Count(readme(t), "\n"); lines > 150 {
		t.Errorf("README.md has %d lines, at most 150 are read: move what only some readers need to docs/", lines)
	}
}
