package doctor

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/goproton/goproton/gpu/vendors"
)

// Python is the interpreter that "proton run script.py" would use.
type Python struct {
	Path         string            `json:"path,omitempty"`
	Version      string            `json:"version,omitempty"`
	Packages     map[string]string `json:"packages,omitempty"` // of those that matter to profiling
	SitePackages []string          `json:"-"`
}

// ask is run by the interpreter, with the names of packages as arguments. It imports neither torch nor Triton: that would take
// seconds and may initialise the GPU.
const ask = `
import importlib.metadata as m, json, os, platform, sys
def version(name):
    try: return m.version(name)
    except m.PackageNotFoundError: return None
print(json.dumps({
    "version": platform.python_version(), "implementation": platform.python_implementation(),
    "executable": sys.executable,
    "packages": {n: v for n in sys.argv[1:] for v in [version(n)] if v},
    "path": [p for p in sys.path if os.path.isdir(p)],
}))
`

// examinePython asks the interpreter what it has.
func (r *Report) examinePython(m Machine) {
	if m.Python == "" {
		r.found("Python", Note, "no python3 or python in PATH; programs in other languages can be profiled", "activate an environment, or set PYTHON")
		return
	}
	r.Python.Path = m.Python
	var answer struct {
		Version        string            `json:"version"`
		Implementation string            `json:"implementation"`
		Executable     string            `json:"executable"`
		Packages       map[string]string `json:"packages"`
		Path           []string          `json:"path"`
	}
	if err := m.askJSON(&answer, os.Environ(), m.Python, append([]string{"-c", ask}, packages()...)...); err != nil {
		r.found("Python", Warning, err.Error(), "give another interpreter in PYTHON")
		return
	}
	r.Python.Version, r.Python.Packages, r.Python.SitePackages = answer.Version, answer.Packages, answer.Path
	if answer.Executable != "" {
		r.Python.Path = answer.Executable // what a shim or a link leads to
	}
	text := fmt.Sprintf("%s %s at %s", answer.Implementation, answer.Version, r.Python.Path)
	switch {
	case answer.Implementation != "CPython":
		r.found("Python", Problem, text+": only CPython can be profiled", "use CPython 3.9 to 3.14")
	case !supportedPython(answer.Version):
		r.found("Python", Warning, text+": not one of the versions that were tried, 3.9 to 3.14", "use one of them if something looks wrong")
	default:
		r.found("Python", OK, text, "")
	}
	if m.OtherPython != "" {
		r.found("other Python", Note, m.OtherPython+", which is active or in PATH, is not the Python in which GoProton is installed", "to use it, add --python "+m.OtherPython+" or install GoProton there")
	}
	r.examineTriton()
}

// packages are those that matter to profiling.
func packages() []string {
	names := []string{"triton", "pytorch-triton", "torch"}
	for _, c := range all {
		names = append(names, c.packages...)
	}
	return names
}

func (r *Report) examineTriton() {
	triton, torch := cmp.Or(r.Python.Packages["triton"], r.Python.Packages["pytorch-triton"]), cmp.Or(r.Python.Packages["torch"], "none")
	switch major, _ := majorMinor(triton); {
	case triton == "":
		r.found("Triton", Note, fmt.Sprintf("this Python has no Triton; torch: %s; %s kernels of any origin can be profiled", torch, vendors.APIs()), "")
	case major < 3:
		r.found("Triton", Warning, fmt.Sprintf("Triton %s, torch %s: launch hooks are supported from Triton 3.0", triton, torch), "upgrade Triton, or run with --hook none")
	default:
		r.found("Triton", OK, fmt.Sprintf("Triton %s, torch %s", triton, torch), "")
	}
}

func supportedPython(version string) bool {
	major, minor := majorMinor(version)
	return major == 3 && minor >= 9 && minor <= 14
}

// majorMinor reads the first two numbers of a version, zeros where there are none.
func majorMinor(version string) (major, minor int) {
	_, _ = fmt.Sscanf(strings.ReplaceAll(version, ".", " "), "%d %d", &major, &minor)
	return major, minor
}
