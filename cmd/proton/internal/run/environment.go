package run

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/internal/version"
)

// Layout is where the parts of an installation are.
type Layout struct {
	Library   string                   // libproton.so
	Bootstrap string                   // folder of the sitecustomize.py that loads the goproton package into Python processes
	Python    string                   // folder that has the goproton package alone, "" if that is among other packages of a Python
	Probe     string                   // proton-probe, "" if there is none
	Replay    string                   // proton-replay, "" if there is none
	Stub      string                   // folder of the replaying libcupti and libcuda, "" if there is none
	Preload   func(name string) string // path of a library for LD_PRELOAD, "" if there is none

	Interpreter string // the Python in which pip has installed the command, "" if it did not or that Python is not known
}

// FindLayout looks for the parts in PROTON_HOME if that is set, else next to the executable, as "make build"
// leaves them, in ../lib/goproton, as packages of a distribution install them, and in the Python package of this version, as pip
// installs it. PROTON_LIB names the library alone. Missing parts are empty.
func FindLayout(executable string, env func(string) string) Layout {
	if real, err := filepath.EvalSymlinks(executable); err == nil {
		executable = real
	}
	folder := filepath.Dir(executable)
	packages := wheels(folder)
	folders := append([]string{folder, filepath.Join(folder, "../lib/goproton")}, packages...)
	if home := settings.Home.Get(env); home != "" {
		folders = []string{home}
	}
	part := func(name string) string {
		for _, folder := range folders {
			if full, err := filepath.Abs(filepath.Join(folder, name)); err == nil && exists(full) {
				return full
			}
		}
		return ""
	}
	layout := Layout{Library: part("libproton.so"), Probe: part("proton-probe"), Replay: part("proton-replay"), Stub: part("stub"), Preload: part, Interpreter: interpreterOf(folder, packages)}
	const bootstrap = "bootstrap/sitecustomize.py" // a whole name, because bin has an interpreter called python
	if inFolder := part(filepath.Join("python", bootstrap)); inFolder != "" {
		layout.Bootstrap = filepath.Dir(inFolder)
		layout.Python = filepath.Dir(layout.Bootstrap)
	} else if inPackage := part(bootstrap); inPackage != "" {
		layout.Bootstrap = filepath.Dir(inPackage)
	}
	if library := settings.Library.Get(env); library != "" {
		layout.Library = library
	}
	return layout
}

// wheels are the folders of the Python package of this version that pip may have installed together with a command in the
// given folder: for each Python below the same prefix, and next to the folder if pip was given a target. The executable
// is not among the packages, so that it starts without Python. Several Pythons of one prefix share the command, so the version decides.
func wheels(bin string) []string {
	var folders []string
	prefix := filepath.Dir(bin)
	for _, packages := range []string{"lib*/python3*/*-packages", "."} {
		found, _ := fs.Glob(os.DirFS(prefix), path.Join(packages, "goproton-"+version.Number+".dist-info")) // the pattern is valid
		for _, metadata := range found {
			folders = append(folders, filepath.Join(prefix, filepath.Dir(metadata), "goproton"))
		}
	}
	return folders
}

// Environment adds to a list of variables what Python needs to import goproton. Nothing is recorded there unless the program
// asks for it.
func (l Layout) Environment(base []string) []string {
	vars := variables(slices.Clone(base))
	if l.Python != "" {
		vars.prepend("PYTHONPATH", l.Python)
	}
	if l.Library != "" {
		vars.set(settings.Library.Name, l.Library)
	}
	return vars
}

// environment adds to a list of variables those that have the library loaded: Python processes find GoProton's sitecustomize
// first, and a driver that can inject a library loads it into every other process that initialises the driver.
// Where a vendor's driver cannot, LD_PRELOAD gets a small library that loads it into programs that link that driver.
func environment(base []string, config runinfo.Config, layout Layout) (list, warnings []string, err error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, nil, fmt.Errorf("write PROTON_RUN_CONFIG: %w", err)
	}
	vars, err := layout.Bootstrapped(base, settings.RunConfig, string(text))
	if err != nil {
		return nil, nil, err
	}
	library := vars.get(settings.Library.Name)
	for _, variable := range vendors.Injections() {
		if other := vars.get(variable); other != "" && other != library {
			warnings = append(warnings, fmt.Sprintf("%s is already set to %s and is kept: programs other than Python are not profiled; unset it to profile them", variable, other))
		} else {
			vars.set(variable, library)
		}
	}
	for _, v := range vendors.All {
		if v.Preload == "" || !v.Present(settings.Root.Get(os.Getenv)) && !v.Has(config.Backend) {
			continue
		}
		if path := layout.Preload(v.Preload); path != "" {
			vars.prepend("LD_PRELOAD", path)
		} else {
			warnings = append(warnings, fmt.Sprintf("find %s: it is not next to the proton command, so programs other than Python are not profiled: %s", v.Preload, runinfo.Install))
		}
	}
	return vars, warnings, nil
}

// Bootstrapped adds to a list of variables those that have GoProton begin in Python processes: the setting says with what.
func (l Layout) Bootstrapped(base []string, setting *settings.Setting, value string) (vars variables, err error) {
	switch {
	case l.Library == "":
		return nil, fmt.Errorf("find libproton.so: it is not next to the proton command: %s, or set PROTON_LIB to its path", runinfo.Install)
	case l.Bootstrap == "":
		return nil, fmt.Errorf("find the goproton package: there is no python folder next to the proton command: %s, or set PROTON_HOME to the folder that contains it", runinfo.Install)
	}
	library, err := filepath.Abs(l.Library)
	if err != nil {
		return nil, fmt.Errorf("make %s absolute: %w", l.Library, err)
	}
	if _, err := os.Stat(library); err != nil {
		return nil, fmt.Errorf("find libproton.so: %w: %s, or set PROTON_LIB to its path", err, runinfo.Install)
	}
	vars = slices.Clone(base)
	vars.set(setting.Name, value)
	vars.set(settings.Library.Name, library)
	if l.Python != "" {
		vars.prepend("PYTHONPATH", l.Python)
	}
	vars.prepend("PYTHONPATH", l.Bootstrap)
	return vars, nil
}

// variables is a list as execve takes it.
type variables []string

func (v *variables) get(name string) string {
	for _, entry := range *v {
		if value, found := strings.CutPrefix(entry, name+"="); found {
			return value
		}
	}
	return ""
}

func (v *variables) set(name, value string) {
	kept := slices.DeleteFunc(*v, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	*v = append(kept, name+"="+value)
}

// prepend puts folders in front of a search path. An empty old value adds nothing: an empty element would
// mean the current directory.
func (v *variables) prepend(name string, folders ...string) {
	if old := v.get(name); old != "" {
		folders = append(folders, old)
	}
	v.set(name, strings.Join(folders, string(os.PathListSeparator)))
}
