package settings

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/testkit"
)

func set(text string) Env { return func(string) string { return text } }

func TestSwitches(t *testing.T) {
	for text, want := range map[string][2]bool{ // by default: off, on
		"": {false, true}, "0": {false, false}, "No": {false, false}, "off": {false, false}, "false": {false, false}, "n": {false, false},
		"1": {true, true}, "YES": {true, true}, "on": {true, true}, "true": {true, true}, "y": {true, true}, "maybe": {false, true},
	} {
		if off, on := GraphLate.On(set(text)), Stats.On(set(text)); off != want[0] || on != want[1] {
			t.Errorf("%q: %v and %v, want %v", text, off, on, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 30 * time.Second, "0": 0, "1.5": 1500 * time.Millisecond, "-1": 30 * time.Second, "nan": 30 * time.Second, "soon": 30 * time.Second,
		"inf": math.MaxInt64, "1e300": math.MaxInt64,
	} {
		if got := ExitPatience.Seconds(set(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "512": 512, "4k": 4 << 10, "64M": 64 << 20, "10GiB": 10 << 30, "1TB": 1 << 40, "": -1, "M": -1, "-1": -1, "1.5G": -1, "8000000000G": -1} {
		if got, ok := Size(text); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, ok, want)
		}
	}
}

func TestDefaultsAreOfTheirType(t *testing.T) {
	for _, s := range All {
		_, notNumber := strconv.ParseFloat(s.Default, 64)
		if s.Type == "switch" && s.Readers != "C" && s.Default != "0" && s.Default != "1" || s.Type == "seconds" && notNumber != nil {
			t.Errorf("%s is a %s with the default %q", s.Name, s.Type, s.Default)
		}
	}
}

func TestPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Environment variables\n\nA flag wins over its variable, and what a program passes to `start` wins over both. A switch takes 1, true, on, yes, y " +
		"and 0, false, off, no, n.\nThis page is written from `internal/settings/table.go`.\n\n| variable | type | default | read by | what it is for |\n|---|---|---|---|---|\n")
	for _, s := range All {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", s.Name, s.Type, s.Default, strings.Join(strings.Fields(s.Readers), ", "), s.Text)
	}
	b.WriteString("\n`proton run` also adds to `PYTHONPATH`, sets `CUDA_INJECTION64_PATH` and, for AMD GPUs, adds to `LD_PRELOAD`.\n")
	testkit.Golden(t, "../../docs/environment.md", b.String())
}

// reads matches the code that reads a variable, by extension: in Go the variable of this package, in C and Python its name.
var reads = map[string]*regexp.Regexp{
	".go": regexp.MustCompile(`"((?:PROTON|TRITON_PROTON)_[A-Z_]+)"|settings\.([A-Z]\w+)`),
	".c":  regexp.MustCompile(`(?:getenv|stub_number|wait_while)\("(PROTON_[A-Z_]+)"`),
	".py": regexp.MustCompile(`(?:environ(?:\.get\(|\[)|is_on\()"((?:PROTON|TRITON_PROTON)_[A-Z_]+)"`),
}

// goNames has the names in the environment of this package's variables.
func goNames(t *testing.T) map[string]string {
	text, err := os.ReadFile("table.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, m := range regexp.MustCompile(`(\w+) += &Setting\{"(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		names[m[1]] = m[2]
	}
	return names
}

// readers returns the languages that read each variable.
func readers(t *testing.T) map[string]map[string]bool {
	names, languages := goNames(t), map[string]string{".go": "Go", ".c": "C", ".py": "Python"}
	found := map[string]map[string]bool{}
	for _, room := range []string{"cmd", "cupti", "export", "gpu", "hooks", "hotpath", "internal", "profiler", "replay", "tritonparse", "viewer"} {
		for _, path := range sources(t, "../../"+room) {
			extension := filepath.Ext(path)
			for _, m := range reads[extension].FindAllStringSubmatch(testkit.Read(t, path), -1) {
				name := m[1]
				if len(m) == 3 && m[2] != "" {
					name = names[m[2]]
				} else if extension == ".go" {
					t.Errorf("%s names %s: use the variable of internal/settings", path, name)
				}
				if strings.HasPrefix(name, "PROTON_STUB_") {
					name = "PROTON_STUB_*"
				}
				if found[name] == nil {
					found[name] = map[string]bool{}
				}
				found[name][languages[extension]] = true
			}
		}
	}
	return found
}

// sources lists the files below a folder that may read variables.
func sources(t *testing.T, folder string) (files []string) {
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains([]string{"testdata", "tests", "gpu_tests", "settings"}, e.Name()):
			return fs.SkipDir
		case !e.IsDir() && reads[filepath.Ext(path)] != nil && !strings.HasSuffix(path, "_test.go"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The table has every reader, and every reader that it has exists.
func TestReaders(t *testing.T) {
	found := readers(t)
	for _, s := range All {
		if !strings.HasPrefix(s.Name, "PROTON_") && !strings.HasPrefix(s.Name, "TRITON_PROTON_") {
			continue
		}
		want := strings.Fields(s.Readers)
		if got := slices.Sorted(maps.Keys(found[s.Name])); !slices.Equal(got, want) {
			t.Errorf("%s is read by %v; the table says %v", s.Name, got, want)
		}
		delete(found, s.Name)
	}
	for name, by := range found {
		if strings.HasPrefix(name, "PROTON_") {
			t.Errorf("%s is read by %v and is not in the table", name, slices.Sorted(maps.Keys(by)))
		}
	}
}
