// Package tutorials holds programs to learn from; its tests keep them whole where no GPU can run them.
package tutorials

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// names are the tutorials: every folder with a page.
func names(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("*/README.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no tutorials: %v", err)
	}
	var list []string
	for _, page := range pages {
		list = append(list, filepath.Dir(page))
	}
	return list
}

// python returns the interpreter, or skips.
func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	return path
}

func TestEachTutorialIsListedAndRun(t *testing.T) {
	index, script := testkit.Read(t, "README.md"), testkit.Read(t, "run_all.sh")
	for _, name := range names(t) {
		if !strings.Contains(index, "]("+name+")") {
			t.Errorf("README.md does not list %s", name)
		}
		if !strings.Contains(script, "\nsteps_"+name+"()") || !regexp.MustCompile(`\btutorial `+name+`\b|\bfor name in [a-z ]*\b`+name+`\b`).MatchString(script) {
			t.Errorf("run_all.sh does not run %s: its page would never show a real run", name)
		}
	}
}

// TestPagesGiveTheCommandsThatRun checks that run_all.sh runs the commands of every page, except those without an output to show.
func TestPagesGiveTheCommandsThatRun(t *testing.T) {
	script := testkit.Read(t, "run_all.sh")
	unquoted := strings.NewReplacer("'", "", `"`, "")
	tried := unquoted.Replace(script)
	block := regexp.MustCompile("(?s)```sh\n(.*?)```")
	for _, name := range names(t) {
		for _, m := range block.FindAllStringSubmatch(testkit.Read(t, filepath.Join(name, "README.md")), -1) {
			for line := range strings.Lines(m[1]) {
				command, _, _ := strings.Cut(line, " #")
				command = strings.TrimSpace(command)
				if untried := []string{"make", "cp ", "go run", "proton viewer --sass", "proton report", "pip ", "jupyter "}; command == "" ||
					slices.ContainsFunc(untried, func(u string) bool { return strings.HasPrefix(command, u) }) {
					continue
				}
				if !strings.Contains(tried, "step "+unquoted.Replace(command)) {
					t.Errorf("%s/README.md says %q, which run_all.sh never runs", name, command)
				}
			}
		}
	}
}

func TestPythonCompiles(t *testing.T) {
	interpreter := python(t)
	files, _ := filepath.Glob("*/*.py")
	for _, file := range append(files, "fill.py") {
		// compile and not py_compile: nothing is to be written next to the source.
		out, err := exec.Command(interpreter, "-c", "import sys; compile(open(sys.argv[1]).read(), sys.argv[1], 'exec')", file).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}

func TestShellParses(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	if out, err := exec.Command(bash, "-n", "run_all.sh").CombinedOutput(); err != nil {
		t.Errorf("run_all.sh: %v\n%s", err, out)
	}
}

// fillIn runs a copy of fill.py over one made-up tutorial and returns its page and what was printed.
func fillIn(t *testing.T, page string, outputs map[string]string) (filled, said string, err error) {
	t.Helper()
	interpreter := python(t)
	folder := t.TempDir()
	write := func(path, text string) { testkit.Write(t, filepath.Join(folder, path), text) }
	write("tutorials/fill.py", testkit.Read(t, "fill.py"))
	write("tutorials/demo/README.md", page)
	write("out/machine.txt", "GPU: GPU-X\ndriver: 1.2\nPython: 3.12\ntorch: none\nTriton: none\nnvcc: none\nGoProton: v0\ndate: 2030-01-02\n")
	for name, text := range outputs {
		write(filepath.Join("out", name), text)
	}
	out, err := exec.Command(interpreter, filepath.Join(folder, "tutorials/fill.py"), filepath.Join(folder, "out")).CombinedOutput()
	return testkit.Read(t, filepath.Join(folder, "tutorials/demo/README.md")), string(out), err
}

const emptyPage = "# demo\n\n<!-- output -->\n<!-- /output -->\n\nafter\n"

func TestFillTwiceIsFillOnce(t *testing.T) {
	outputs := map[string]string{"demo.txt": "$ proton run demo\nback\\1slash " + strings.Repeat("ä", 200) + "\n"}
	once, said, err := fillIn(t, emptyPage, outputs)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	want := fmt.Sprintf("# demo\n\n<!-- output -->\n%s\n\n```console\n$ proton run demo\nback\\1slash %s…\n```\n<!-- /output -->\n\nafter\n",
		"Recorded on GPU-X, driver 1.2, Python 3.12, torch none, Triton none, GoProton v0; 2030-01-02. Lines are cut at 150 characters.",
		strings.Repeat("ä", 149-len("back\\1slash ")))
	if once != want {
		t.Errorf("--- got\n%s--- want\n%s", once, want)
	}
	if twice, _, _ := fillIn(t, once, outputs); twice != once {
		t.Errorf("a second fill changed the page:\n%s", twice)
	}
}

func TestFillInventsNothing(t *testing.T) {
	page, said, err := fillIn(t, emptyPage, map[string]string{"demo.failed.txt": "$ proton run demo\nexit code 1\n"})
	if err == nil || !strings.Contains(said, "no output for demo") {
		t.Errorf("a tutorial that failed was taken for one that ran: %v\n%s", err, said)
	}
	if page != emptyPage {
		t.Errorf("the page changed:\n%s", page)
	}
}
