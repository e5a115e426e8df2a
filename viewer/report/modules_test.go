package report

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goproton/goproton/internal/testkit"
)

func TestModulesAreJoinedInOrder(t *testing.T) {
	modules := fstest.MapFS{
		"main.js": {Data: []byte("// @ts-check\nimport {b} from \"./b.js\";\nimport {a} from \"./a.js\";\n\n/** run\n * @param {number} x */\nfunction run(x) {\n  return a(x) + b; // both\n}\nrun(1);\n")},
		"a.js":    {Data: []byte("import {b} from \"./b.js\";\nexport function a(x) {\n  // half\n  return x / b;\n}\n")},
		"b.js":    {Data: []byte("export const b = /** @type {number} */ (2);\n")},
	}
	got, err := join(modules, "main")
	if err != nil {
		t.Fatal(err)
	}
	want := "(() => {\n\"use strict\";\nconst b = /** @type {number} */ (2);\nfunction a(x) {\nreturn x / b;\n}\nfunction run(x) {\nreturn a(x) + b; // both\n}\nrun(1);\n})();\n"
	if got != want {
		t.Errorf("joined to\n%s\nnot to\n%s", got, want)
	}
	modules["b.js"] = &fstest.MapFile{Data: []byte("import {a} from \"./a.js\";\nexport const b = a;\n")}
	if _, err := join(modules, "main"); err == nil {
		t.Error("modules that import each other were joined")
	}
	modules["b.js"] = &fstest.MapFile{Data: []byte("import {\n  a,\n} from \"./a.js\";\n")}
	if _, err := join(modules, "main"); err == nil {
		t.Error("an import of several lines was accepted")
	}
	if _, err := join(modules, "c"); err == nil {
		t.Error("a module that does not exist was joined")
	}
}

var (
	declaration = regexp.MustCompile(`(?m)^(export )?(?:async )?(?:function|const|let|class) (\w+)`)
	imported    = regexp.MustCompile(`(?m)^import \{([^}]*)\} from "\.{1,2}/(\w+)\.js";\n`)
	moduleWords = regexp.MustCompile(`(?m)^(import|export)\b.*`)
)

// TestModulesCanBeJoined holds what join relies on: no name is declared in two modules, what is imported is exported under
// the same name, every export is used, and no string or template goes over several lines, where the indentation would count.
func TestModulesCanBeJoined(t *testing.T) {
	files, err := filepath.Glob("web/*.js")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	page, err := script()
	if err != nil {
		t.Fatal(err)
	}
	declared, exported, used := map[string]string{}, map[string]bool{}, map[string]bool{}
	for _, file := range files {
		text, module := testkit.Read(t, file), filepath.Base(file)
		if !strings.HasPrefix(text, "// @ts-check\n") {
			t.Errorf("%s does not begin with // @ts-check", file)
		}
		for _, d := range declaration.FindAllStringSubmatch(text, -1) {
			if other := declared[d[2]]; other != "" {
				t.Errorf("%s and %s both declare %s", other, module, d[2])
			}
			declared[d[2]] = module
			if d[1] != "" {
				exported[module+" "+d[2]] = true
			}
			if !strings.Contains(page, d[2]) {
				t.Errorf("%s of %s is not on the page: nothing imports the module", d[2], module)
			}
		}
		for _, line := range moduleWords.FindAllString(imported.ReplaceAllString(text, ""), -1) {
			if !declaration.MatchString(line) {
				t.Errorf("%s: join does not know this form: %s", module, line)
			}
		}
		for i, line := range strings.Split(text, "\n") {
			if strings.Count(line, "`")%2 != 0 {
				t.Errorf("%s:%d: a template goes over several lines", file, i+1)
			}
		}
	}
	tests, _ := filepath.Glob("web/tests/*.js")
	for _, file := range append(files, tests...) {
		for _, from := range imported.FindAllStringSubmatch(testkit.Read(t, file), -1) {
			for name := range strings.FieldsFuncSeq(from[1], func(r rune) bool { return strings.ContainsRune(", \n", r) }) {
				used[from[2]+".js "+name] = true
				if !exported[from[2]+".js "+name] && !strings.Contains(file, "tests") {
					t.Errorf("%s imports %s, which %s.js does not export", file, name, from[2])
				}
			}
		}
	}
	for name := range exported {
		if !used[name] {
			t.Errorf("nothing imports %s", name)
		}
	}
}

// node runs a program in the folder of the modules, if node is there, and returns its output.
func node(t *testing.T, arguments ...string) []byte {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node: install nodejs")
	}
	cmd := exec.Command(path, arguments...)
	cmd.Dir = "web"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("node %s: %v\n%s", strings.Join(arguments, " "), err, bytes.TrimSpace(out))
	}
	return out
}

// TestModulesInNode runs the unit tests of the modules that need no page.
func TestModulesInNode(t *testing.T) {
	tests, err := fs.Glob(os.DirFS("web"), "tests/*.test.js")
	if err != nil || len(tests) == 0 {
		t.Fatal(tests, err)
	}
	node(t, append([]string{"--test"}, tests...)...)
}

// TestTypesOfModules has TypeScript check the modules, which say their types in comments, against page.d.ts.
func TestTypesOfModules(t *testing.T) {
	if testing.Short() {
		t.Skip("too slow for -short: TypeScript takes seconds")
	}
	compiler := testkit.Fetched(t, "oracles/npm/node_modules/typescript/bin/tsc")
	node(t, compiler, "--project", ".")
}
