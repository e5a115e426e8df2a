package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/version"
)

// machine is a folder with Pythons and an installed command.
type machine struct{ root string }

func (m machine) path(parts ...string) string {
	return filepath.Join(append([]string{m.root}, parts...)...)
}

func (m machine) write(t *testing.T, path string) string {
	t.Helper()
	path = m.path(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("\x7fELF"), 0o777); err != nil {
		t.Fatal(err)
	}
	return path
}

func (m machine) link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.path(path)), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, m.path(path)); err != nil {
		t.Fatal(err)
	}
}

// install puts the package below a prefix, as pip does, and returns the command's layout.
func (m machine) install(t *testing.T, prefix, packages string) func() Layout {
	t.Helper()
	m.write(t, prefix+"/"+packages+"/goproton/libproton.so")
	m.write(t, prefix+"/"+packages+"/goproton-"+version.Number+".dist-info/RECORD")
	command := m.write(t, prefix+"/bin/goproton")
	return func() Layout { return FindLayout(command, func(string) string { return "" }) }
}

func newMachine(t *testing.T) machine {
	t.Helper()
	m := machine{t.TempDir()}
	m.write(t, "usr/bin/python3.11")
	m.link(t, "python3.11", "usr/bin/python3")
	m.write(t, "usr/bin/python3.12")
	t.Setenv("PATH", m.path("usr/bin"))
	for _, variable := range []string{"VIRTUAL_ENV", "CONDA_PREFIX", "PYTHON"} {
		t.Setenv(variable, "")
	}
	return m
}

func (m machine) environment(t *testing.T, name string) {
	t.Helper()
	m.write(t, name+"/pyvenv.cfg")
	m.link(t, m.path("usr/bin/python3.11"), name+"/bin/python3")
}

// Scripts run in the Python that the command is installed in, however it was installed, and another one that was perhaps meant is named.
func TestInterpreterOfTheCommand(t *testing.T) {
	for name, c := range map[string]struct {
		prefix, packages string
		path, variable   string // of the shell
		want, other      string
	}{
		"an environment that is not active": {prefix: "env", packages: "lib/python3.11/site-packages", want: "env/bin/python3", other: "usr/bin/python3"},
		"the active environment":            {prefix: "env", packages: "lib/python3.11/site-packages", path: "env/bin", variable: "env", want: "env/bin/python3"},
		"in PATH alone":                     {prefix: "env", packages: "lib/python3.11/site-packages", path: "env/bin", want: "env/bin/python3"},
		"another is active":                 {prefix: "env", packages: "lib/python3.11/site-packages", path: "work/bin", variable: "work", want: "env/bin/python3", other: "work/bin/python3"},
		"pip --user":                        {prefix: "home/.local", packages: "lib/python3.11/site-packages", want: "usr/bin/python3.11"},
		"pip --user of another Python":      {prefix: "home/.local", packages: "lib/python3.12/site-packages", want: "usr/bin/python3.12", other: "usr/bin/python3"},
		"the system's":                      {prefix: "usr", packages: "lib/python3.11/dist-packages", want: "usr/bin/python3.11"},
		"pip --target":                      {prefix: "target", packages: ".", path: "work/bin", variable: "work", want: "work/bin/python3"},
		"a Python that is gone":             {prefix: "home/.local", packages: "lib/python3.9/site-packages", want: "usr/bin/python3"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.environment(t, "env")
			m.environment(t, "work")
			if c.path != "" {
				t.Setenv("PATH", m.path(c.path)+":"+m.path("usr/bin"))
			}
			if c.variable != "" {
				t.Setenv("VIRTUAL_ENV", m.path(c.variable))
			}
			layout := m.install(t, c.prefix, c.packages)()
			got, err := layout.FindPython("")
			want := Interpreter{Path: m.path(c.want)}
			if c.other != "" {
				want.Other = m.path(c.other)
			}
			if err != nil || got != want {
				t.Errorf("%+v, %v, want %+v", got, err, want)
			}
			if note := got.note(); (note != "") != (c.other != "") || note != "" && !strings.Contains(note, "add --python "+want.Other) {
				t.Errorf("the note is %q", note)
			}
			asked, err := layout.FindPython(m.path("usr/bin/python3.12"))
			if err != nil || asked != (Interpreter{Path: m.path("usr/bin/python3.12")}) {
				t.Errorf("asked for: %+v, %v", asked, err)
			}
		})
	}
}

// Several Pythons of one prefix have one command, which is that of the last installation.
func TestInterpreterOfTheLastInstallation(t *testing.T) {
	m := newMachine(t)
	m.install(t, "home/.local", "lib/python3.11/site-packages")
	layout := m.install(t, "home/.local", "lib/python3.12/site-packages")
	for _, last := range []string{"3.12", "3.11"} {
		for i, version := range []string{"3.11", "3.12"} {
			at := time.Unix(int64(1000+i), 0)
			if version == last {
				at = time.Unix(5000, 0)
			}
			if err := os.Chtimes(m.path("home/.local/lib/python"+version+"/site-packages/goproton"), at, at); err != nil {
				t.Fatal(err)
			}
		}
		if got := layout().Interpreter; got != m.path("usr/bin/python"+last) {
			t.Errorf("installed last with %s: %s", last, got)
		}
	}
}

// Programs next to that Python are found too, after those of the shell; pytest is of that Python first.
func TestProgramsNextToTheInterpreter(t *testing.T) {
	m := newMachine(t)
	m.environment(t, "env")
	layout := m.install(t, "env", "lib/python3.11/site-packages")()
	resolve := func(word string) string {
		t.Helper()
		got, err := layout.Resolve([]string{word, "x"}, "")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(append([]string{got.Path}, got.Args[1:]...), " ")
	}
	if got, want := resolve("pytest"), m.path("env/bin/python3")+" -m pytest x"; got != want {
		t.Errorf("pytest without one: %s, want %s", got, want)
	}
	shells := m.write(t, "usr/bin/pytest")
	if got := resolve("pytest"); got != shells+" x" {
		t.Errorf("pytest of the shell: %s", got)
	}
	own, torchrun := m.write(t, "env/bin/pytest"), m.write(t, "env/bin/torchrun")
	if got := resolve("pytest"); got != own+" x" {
		t.Errorf("pytest of both: %s", got)
	}
	if got := resolve("torchrun"); got != torchrun+" x" {
		t.Errorf("torchrun of the environment: %s", got)
	}
	shells = m.write(t, "usr/bin/torchrun")
	if got := resolve("torchrun"); got != shells+" x" {
		t.Errorf("torchrun of both: %s", got)
	}
}
