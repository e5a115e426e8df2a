package hooks

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
)

// pythons finds one interpreter for each CPython version, on PATH or below .pythons.
func pythons(t *testing.T) map[string]string {
	t.Helper()
	var candidates []string
	for _, name := range []string{"python3", "python3.9", "python3.10", "python3.11", "python3.12", "python3.13", "python3.14"} {
		if path, err := exec.LookPath(name); err == nil {
			candidates = append(candidates, path)
		}
	}
	for _, pattern := range []string{"../.pythons/bin/python3.*", "../.pythons/*/bin/python3.*"} {
		found, _ := filepath.Glob(pattern)
		candidates = append(candidates, found...)
	}
	byVersion := map[string]string{}
	for _, path := range candidates {
		out, err := exec.Command(path, "-c", "import sys, threading; print('%d.%d' % sys.version_info[:2])").Output()
		version := strings.TrimSpace(string(out))
		if err != nil || byVersion[version] != "" {
			continue // python3.9-config and the like
		}
		path, err = filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		byVersion[version] = path
	}
	if len(byVersion) == 0 {
		t.Skip("needs CPython: install python3, or unpack one under .pythons/")
	}
	return byVersion
}

// built has the libraries that testlib has built, by their flags. TestMain removes their folder.
var built = struct {
	folder string
	paths  map[string]string
}{paths: map[string]string{}}

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(built.folder)
	os.Exit(code)
}

// testlib builds the library that the Python tests import, once for all tests.
func testlib(t *testing.T, flags ...string) string {
	t.Helper()
	key := strings.Join(flags, " ")
	if path := built.paths[key]; path != "" {
		return path
	}
	if built.folder == "" {
		folder, err := os.MkdirTemp("", "goproton-hooks")
		if err != nil {
			t.Fatal(err)
		}
		built.folder = folder
	}
	path := filepath.Join(built.folder, fmt.Sprintf("testlib%d.so", len(built.paths)))
	args := append(append([]string{"build", "-buildmode=c-shared"}, flags...), "-o", path, "./internal/testlib")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("build the test library: %v\n%s", err, out)
	}
	built.paths[key] = path
	return path
}

func runNative(t *testing.T, python, lib string, env ...string) {
	t.Helper()
	env = append(env, "FLOPS_NAMES="+strings.Join(flopsNames(), " "))
	for _, script := range []string{"test_native.py", "test_trace.py"} {
		runScript(t, python, "testdata/native/"+script, lib, env...)
	}
}

// flopsNames are the metrics that the viewer reads as flops.
func flopsNames() []string {
	names := []string{"flops", "FLOPS16"}
	for _, bits := range profile.OperandWidths {
		names = append(names, fmt.Sprint("flops", bits))
	}
	for _, dtype := range profile.OperandTypes {
		names = append(names, "flops_"+dtype)
	}
	return slices.DeleteFunc(names, func(name string) bool { _, is := profile.Flops(name); return !is })
}

func runScript(t *testing.T, python, script, lib string, env ...string) {
	t.Helper()
	cmd := exec.Command(python, script, lib)
	cmd.Env = append(append(os.Environ(), "TEST_PYTHON="+python), env...)
	cmd.WaitDelay = testkit.Patience() // for children that it has left behind
	timer := time.AfterFunc(testkit.Patience(), func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s %s: %v\n%s", python, script, err, out)
	}
	t.Logf("%s", out)
}

func TestNativeModule(t *testing.T) {
	all := pythons(t)
	lib := testlib(t)
	for version, python := range all {
		t.Run(version, func(t *testing.T) { runNative(t, python, lib) })
	}
}

// The walker through the public API is used where the internal one does not know the interpreter.
func TestNativeModulePublicWalker(t *testing.T) {
	all := pythons(t)
	lib := testlib(t)
	for version, python := range all {
		if path, err := exec.LookPath("python3"); err == nil && python != path && !testkit.All() {
			continue // the machine's own interpreter is enough
		}
		t.Run(version, func(t *testing.T) { runNative(t, python, lib, "PROTON_PYTHON_WALKER=public") })
	}
}

// With PYTHONMALLOC=malloc the address sanitizer also finds uses of freed Python objects.
func TestNativeModuleWithAddressSanitizer(t *testing.T) {
	testkit.OnlyInCheck(t, "builds everything a second time")
	out, err := exec.Command("gcc", "-print-file-name=libasan.so").Output()
	asan := strings.TrimSpace(string(out))
	if err != nil || !filepath.IsAbs(asan) {
		t.Skip("needs gcc with libasan: install libgcc's sanitizer libraries")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3 on PATH")
	}
	runNative(t, python, testlib(t, "-asan"), "LD_PRELOAD="+asan, "ASAN_OPTIONS=detect_leaks=0", "PYTHONMALLOC=malloc")
}

const embedded = `
import os, sys
from importlib.machinery import ExtensionFileLoader, ModuleSpec
path = os.environ["EMBED_ARGUMENT"]
loader = ExtensionFileLoader("goproton._native", path)
n = loader.create_module(ModuleSpec("goproton._native", loader, origin=path))
n.call("start", '{"Shadow": true, "Python": true}')
with n.scope("a", {"m": 1}):
    n.call("launch", "{}")
assert '"Shadow":["a"]' in n.call("records", "{}")
print(n.python_walker())
`

// The interpreter may be a library whose host has loaded it with RTLD_LOCAL.
func TestNativeModuleInPrivateLibpython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3 on PATH")
	}
	out, err := exec.Command(python, "-c", "import sys, sysconfig as c; print(c.get_config_var('LIBDIR') + '/' + (c.get_config_var('INSTSONAME') or '')); print(sys.prefix)").Output()
	if err != nil {
		t.Fatal(err)
	}
	library, home, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if _, err := os.Stat(library); err != nil || !strings.Contains(library, ".so") {
		t.Skipf("needs a python3 with a shared libpython (--enable-shared); there is no %s", library)
	}
	host := filepath.Join(t.TempDir(), "embed")
	if out, err := exec.Command("gcc", "-o", host, "testdata/embed/embed.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("build the host: %v\n%s", err, out)
	}
	cmd := exec.Command(host, library, embedded, testlib(t))
	cmd.Env = append(os.Environ(), "PYTHONHOME="+home)
	got, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(got), "internal\n") {
		t.Errorf("got %v, output %q, want internal", err, got)
	}
}

// TestFlopsInPython: the Python package gives tensors the type that the native module gives numbers.
func TestFlopsInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3 on PATH")
	}
	cmd := exec.Command(python, "-B", "-c", "import metric; print(*sorted(n for n, made in metric.ROOFLINE_TYPES.items() if made is float))")
	cmd.Dir = "python/goproton"
	out, err := cmd.CombinedOutput()
	want := slices.DeleteFunc(flopsNames(), func(name string) bool { return name != strings.ToLower(name) })
	slices.Sort(want)
	if got := strings.Fields(string(out)); err != nil || !slices.Equal(got, want) {
		t.Errorf("the package has %q (%v), the viewer %q", got, err, want)
	}
}

func TestErrorJSON(t *testing.T) {
	defer func(old func(string, []byte) []byte) { Control = old }(Control)
	Control = func(method string, params []byte) []byte {
		switch method {
		case "fail":
			return ErrorJSON("ValueError", `"quoted" and ü`)
		case "panic":
			panic("on purpose")
		case "lookalike":
			return []byte(`{"errors": 0}`)
		}
		return params
	}
	for _, c := range []struct{ method, text, kind string }{
		{"fail", `"quoted" and ü`, "ValueError"},
		{"panic", "BUG: control call panic: on purpose; please report this", "RuntimeError"},
		{"lookalike", `{"errors": 0}`, ""},
		{"echo", `{"a":1}`, ""},
	} {
		text, kind := answer(c.method, []byte(`{"a":1}`))
		if string(text) != c.text || kind != c.kind {
			t.Errorf("%s: got %q, %q, want %q, %q", c.method, text, kind, c.text, c.kind)
		}
	}
	if !json.Valid(ErrorJSON("k", "\x00\"")) {
		t.Error("an error is not JSON")
	}
	Control = nil
	if _, kind := answer("start", nil); kind != "RuntimeError" {
		t.Errorf("no Control: got kind %q, want RuntimeError", kind)
	}
}
