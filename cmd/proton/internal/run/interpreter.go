package run

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/settings"
)

// Interpreter is a Python that was chosen.
type Interpreter struct {
	Path  string
	Other string // the Python of the active environment or of the shell, if that is another one and the user has chosen none
}

// note is what the user should know about the choice, "" if it is the expected one.
func (i Interpreter) note() string {
	if i.Other == "" {
		return ""
	}
	return fmt.Sprintf("running %s, in which GoProton is installed, and not %s: to run that, add --python %s or install GoProton there", i.Path, i.Other, i.Other)
}

// FindPython returns the interpreter that was asked for, else $PYTHON, else the one in which pip has installed this command, as
// torchrun and pytest use theirs, else the python3 or python that the shell would find.
func (l Layout) FindPython(asked string) (Interpreter, error) {
	if asked == "" {
		asked = settings.Python.Get(os.Getenv)
	}
	if asked != "" {
		path, err := exec.LookPath(asked)
		if err != nil {
			return Interpreter{}, notStarted("Python interpreter", asked, err)
		}
		return Interpreter{Path: path}, nil
	}
	shells := pythonOfShell()
	switch {
	case l.Interpreter == "" && shells == "":
		return Interpreter{}, &NotStartedError{ExitNotFound, errors.New("find a Python interpreter: neither python3 nor python is in PATH: activate an environment, or give --python")}
	case l.Interpreter == "":
		return Interpreter{Path: shells}, nil
	}
	found := Interpreter{Path: l.Interpreter}
	if other := activePython(shells); other != "" && !samePython(other, l.Interpreter) {
		found.Other = other
	}
	return found, nil
}

// pythonOfShell is the python3 or python in PATH.
func pythonOfShell() string {
	for _, name := range []string{"python3", "python"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// activePython is the interpreter of the active environment, else that of the shell. A script in PATH, as pyenv has it, leads to any
// Python, and is not known.
func activePython(shells string) string {
	for _, variable := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if active := os.Getenv(variable); active != "" {
			if path, err := exec.LookPath(filepath.Join(active, "bin", "python3")); err == nil {
				return path
			}
		}
	}
	if isScript(shells) {
		return ""
	}
	return shells
}

func isScript(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 2)
	n, _ := file.Read(head) //nolint:errcheck // nothing was read
	return string(head[:n]) == "#!"
}

// samePython says whether two paths lead to one Python. The Pythons of virtual environments are often links to one executable.
func samePython(a, b string) bool {
	resolve := func(path string) [2]string {
		environment := ""
		if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil && exists(filepath.Join(filepath.Dir(folder), "pyvenv.cfg")) {
			environment = folder
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		return [2]string{environment, path}
	}
	return resolve(a) == resolve(b)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// interpreterOf finds the Python in which pip has installed the packages below the prefix of a folder of commands: its environment's own, or
// the one of the version that the folder of packages names. Of several Pythons with one prefix, it is the one with which pip ran last, because
// the command is of that installation. A folder for pip --target is of no Python.
func interpreterOf(bin string, packages []string) string {
	prefix := filepath.Dir(bin)
	if exists(filepath.Join(prefix, "pyvenv.cfg")) && len(packages) > 0 {
		for _, name := range []string{"python3", "python"} {
			if path, err := exec.LookPath(filepath.Join(bin, name)); err == nil {
				return path
			}
		}
	}
	for _, folder := range slices.Backward(byAge(packages)) {
		version := filepath.Base(filepath.Dir(filepath.Dir(folder))) // PREFIX/lib/python3.12/site-packages/goproton
		if !strings.HasPrefix(version, "python3") {
			continue
		}
		for _, name := range []string{filepath.Join(bin, version), version} {
			if path, err := exec.LookPath(name); err == nil {
				return path
			}
		}
	}
	return ""
}

// byAge sorts folders by the times at which they were changed, the newest last.
func byAge(folders []string) []string {
	changed := func(folder string) int64 {
		info, err := os.Stat(folder)
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	return slices.SortedStableFunc(slices.Values(folders), func(a, b string) int {
		return cmp.Compare(changed(a), changed(b))
	})
}
