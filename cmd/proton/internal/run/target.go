package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/goproton/goproton/internal/settings"
)

// Command is what to execute for a target.
type Command struct {
	Path string   // the executable
	Args []string // with argv[0]
	Name string   // what the profile is named after
	Note string   // what the user should know about the choice of the executable
}

// NotStartedError is a target that cannot be started, with the exit code that a shell would give.
type NotStartedError struct {
	Code int
	err  error
}

func (e *NotStartedError) Error() string { return e.err.Error() }
func (e *NotStartedError) Unwrap() error { return e.err }

// Resolve turns the words after the flags into a command:
//
//	script.py args…    a Python script
//	-m module args…    a Python module
//	-c code args…      Python code
//	pytest args…       pytest, of the interpreter that was asked for, of the one of this command, or as the shell would find it
//	program args…      anything else that can be executed, a "python script.py" included
func (l Layout) Resolve(target []string, python string) (Command, error) {
	if len(target) == 0 {
		return Command{}, errors.New("nothing to run: give a script, -- -m module, or a program")
	}
	first := target[0]
	switch {
	case first == "-m" || first == "-c":
		if len(target) < 2 {
			return Command{}, fmt.Errorf("nothing after %s: give a module, as in: proton run -- -m package.module", first)
		}
		name := target[1]
		if first == "-c" {
			name = "python"
		}
		return l.pythonCommand(python, target, name)
	case filepath.Ext(first) == ".py":
		if _, err := os.Stat(first); err != nil {
			return Command{}, notStarted("script", first, err)
		}
		return l.pythonCommand(python, target, strings.TrimSuffix(filepath.Base(first), ".py"))
	case first == "pytest":
		if next := l.nextToInterpreter(first); next != "" && python == "" && settings.Python.Get(os.Getenv) == "" {
			return Command{Path: next, Args: target, Name: first}, nil
		}
		if _, err := exec.LookPath(first); python != "" || err != nil {
			return l.pythonCommand(python, append([]string{"-m"}, target...), "pytest")
		}
	}
	path, err := l.lookPath(first)
	if err != nil {
		return Command{}, notStarted("program", first, err)
	}
	name := filepath.Base(first)
	if strings.HasPrefix(name, "python") {
		name = pythonProgram(target[1:], name)
	}
	return Command{Path: path, Args: target, Name: name}, nil
}

// pythonProgram returns the script or module that the arguments of an interpreter run, and otherwise if they name neither, as
// with -c.
func pythonProgram(args []string, otherwise string) string {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-m" && i+1 < len(args):
			return args[i+1]
		case arg == "-W" || arg == "-X" || arg == "--check-hash-based-pycs":
			i++ // what follows is its value
		case arg == "-" || arg == "-c" || arg == "-m":
			return otherwise
		case !strings.HasPrefix(arg, "-"):
			return strings.TrimSuffix(filepath.Base(arg), ".py")
		}
	}
	return otherwise
}

func (l Layout) pythonCommand(python string, args []string, name string) (Command, error) {
	found, err := l.FindPython(python)
	if err != nil {
		return Command{}, err
	}
	return Command{Path: found.Path, Args: append([]string{found.Path}, args...), Name: name, Note: found.note()}, nil
}

// lookPath finds a program as the shell does, and otherwise next to the interpreter of this command, as torchrun of an environment that is
// not active.
func (l Layout) lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if next := l.nextToInterpreter(name); err != nil && next != "" {
		return next, nil
	}
	return path, err
}

// nextToInterpreter is a program next to the interpreter of this command, "" if there is none.
func (l Layout) nextToInterpreter(name string) string {
	path := filepath.Join(filepath.Dir(l.Interpreter), name)
	if _, err := exec.LookPath(path); err != nil || l.Interpreter == "" || strings.Contains(name, "/") {
		return ""
	}
	return path
}

func notStarted(kind, name string, err error) error {
	if lookup, is := errors.AsType[*exec.Error](err); is {
		err = lookup.Err
	}
	switch {
	case errors.Is(err, exec.ErrDot):
		return &NotStartedError{ExitNotFound, fmt.Errorf("find %s %s: it is only in the current folder: write ./%s", kind, name, name)}
	case errors.Is(err, fs.ErrPermission):
		return &NotStartedError{ExitNotExecutable, fmt.Errorf("start %s %s: it is not executable: chmod +x it, or give the interpreter before it", kind, name)}
	case errors.Is(err, exec.ErrNotFound) && !strings.Contains(name, "/"):
		return &NotStartedError{ExitNotFound, fmt.Errorf("find %s %s: not in PATH: check the spelling, or give its path", kind, name)}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return &NotStartedError{ExitNotFound, fmt.Errorf("find %s %s: there is no such file: check the spelling", kind, name)}
	}
	return &NotStartedError{ExitNotExecutable, fmt.Errorf("start %s %s: %w", kind, name, err)}
}
