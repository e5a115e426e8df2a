package run

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/internal/procstat"
	"github.com/goproton/goproton/internal/runinfo"
)

// Names of files in the folder of an attached process.
const (
	attachConfig = "attach.json"
	attachScript = "attach.py"
	attachError  = "error"
	attachEnd    = "end"
	attachName   = "profile" // of profiles, without suffix
)

// answerPatience is how long a process may take until its session has begun. Python waits for the GIL, and libcupti takes a second to load.
const answerPatience = 30 * time.Second

// Attach profiles a process that runs, for a time. The process ends the session by itself, also if this one is killed. interrupted ends it early.
func Attach(options Options, layout Layout, root string, pid int, seconds float64, interrupted <-chan os.Signal, stderr io.Writer) (code int, err error) {
	library, err := attachable(pid, layout)
	if err != nil {
		return 0, err
	}
	folder, err := statusFolder()
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	if err := shared(pid, folder, library); err != nil {
		return 0, err
	}
	config := options.Config
	config.Name, config.Stats, config.Status, config.Duration, config.SitePackages = filepath.Join(folder, attachName), new(!options.NoStats), folder, seconds, layout.sitePackages()
	if err := writeAttached(folder, library, config, layout); err != nil {
		return 0, err
	}
	process, err := Watch(pid)
	if err != nil {
		return 0, err
	}
	if err := inject(pid, library, filepath.Join(folder, attachConfig)); err != nil {
		return 0, err
	}
	if err := awaitBegin(process, folder); err != nil {
		return 0, err
	}
	fmt.Fprintf(stderr, "proton: process %d is profiled for %v; Ctrl-C ends that\n", pid, Seconds(seconds))
	awaitEnd(process, folder, interrupted)
	return finishAttached(options, folder, root, stderr)
}

// attachable says why a process cannot be attached to. It returns the library to load.
func attachable(pid int, layout Layout) (library string, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("there is no process %d", pid)
	case err != nil:
		return "", fmt.Errorf("look into process %d: %w: run proton attach as its user, or as root", pid, err)
	case procstat.Stopped(pid):
		return "", fmt.Errorf("process %d is stopped: let it go on first (kill -CONT %d)", pid, pid)
	case layout.Library == "":
		return "", fmt.Errorf("find libproton.so: it is not next to the proton command: %s, or set PROTON_LIB to its path", runinfo.Install)
	}
	if library, err = filepath.Abs(layout.Library); err != nil {
		return "", err
	}
	if library, err = filepath.EvalSymlinks(library); err != nil {
		return "", fmt.Errorf("find libproton.so: %w: %s, or set PROTON_LIB to its path", err, runinfo.Install)
	}
	return library, checkProgram(pid, string(maps), library)
}

// checkProgram refuses programs into which the library cannot be loaded, or in which it would find nothing.
func checkProgram(pid int, maps, library string) error {
	ours, err := elf.Open(library)
	if err != nil {
		return fmt.Errorf("read %s: %w", library, err)
	}
	defer ours.Close()
	theirs, err := elf.Open(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return fmt.Errorf("read the program of process %d: %w: run proton attach as its user, or as root", pid, err)
	}
	defer theirs.Close()
	environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) //nolint:errcheck // empty
	has := func(name string) bool { return strings.Contains(maps, "/"+name) }
	switch {
	case theirs.Class != ours.Class || theirs.Machine != ours.Machine:
		return fmt.Errorf("process %d is a program for %v, and the profiler is for %v", pid, theirs.Machine, ours.Machine)
	case has("ld-musl"):
		return fmt.Errorf("process %d uses the C library musl, and the profiler needs glibc", pid)
	case !has("libc.so.6") && !has("libc-2."):
		return fmt.Errorf("process %d is linked statically: no library can be loaded into it", pid)
	case has("libproton-preload") || bytes.Contains(environment, []byte("PROTON_RUN_CONFIG=")):
		return fmt.Errorf("process %d is profiled by proton run already; proton ctl starts and stops that (proton run --ctl)", pid)
	}
	var early, libraries []string
	for _, v := range vendors.All {
		libraries = append(libraries, v.Library)
		switch {
		case has(v.Library) && v.Late:
			return nil
		case has(v.Library):
			early = append(early, v.API)
		}
	}
	if len(early) > 0 {
		return fmt.Errorf("process %d uses %s, whose profiling has to begin before the program uses its GPU: start it with proton run", pid, early[0])
	}
	return fmt.Errorf("process %d has not loaded %s: it uses no GPU yet, or a child process does: give the process id of that one", pid, strings.Join(libraries, " or "))
}

// shared gives the folder to the user of the process, and makes sure that the process finds it and the library by the same names.
func shared(pid int, folder, library string) error {
	if info, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
		if uid, gid, ok := ownerOf(info); ok && uid != os.Geteuid() {
			if err := os.Chown(folder, uid, gid); err != nil {
				return fmt.Errorf("give %s to the user of process %d: %w: run proton attach as that user", folder, pid, err)
			}
		}
	}
	for _, path := range []string{folder, library} {
		here, err := os.Stat(path)
		if err != nil {
			return err
		}
		there, err := os.Stat(fmt.Sprintf("/proc/%d/root%s", pid, path))
		if err != nil || !os.SameFile(here, there) {
			return fmt.Errorf("process %d does not see %s: it runs in another container: install GoProton there, and run proton attach in it", pid, path)
		}
	}
	return nil
}

// writeAttached leaves for the process what it is to do.
func writeAttached(folder, library string, config runinfo.Config, layout Layout) error {
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, attachConfig), text, 0o644); err != nil {
		return err
	}
	if layout.Bootstrap == "" {
		return nil // the program is profiled as if it were not Python
	}
	script := fmt.Sprintf("package, library, folder = %s, %s, %s\n%s", python(packageOf(layout)), python(library), python(folder), attachCode)
	return os.WriteFile(filepath.Join(folder, attachScript), []byte(script), 0o644)
}

func python(text string) string {
	quoted, _ := json.Marshal(text) // a text of JSON is one of Python
	return string(quoted)
}

// packageOf is the folder of the Python package goproton.
func packageOf(layout Layout) string {
	if layout.Python != "" {
		return filepath.Join(layout.Python, "goproton")
	}
	return filepath.Dir(layout.Bootstrap)
}

// attachCode runs in a Python process, on a thread of the profiler. If the program has a goproton of its own, that is used.
const attachCode = `
import os, sys
try:
    if sys.version_info < (3, 9):
        raise RuntimeError("the program runs in Python %d.%d, and GoProton needs Python 3.9 or newer" % sys.version_info[:2])
    if "goproton" not in sys.modules:
        from importlib.util import module_from_spec, spec_from_file_location
        spec = spec_from_file_location("goproton", os.path.join(package, "__init__.py"), submodule_search_locations=[package])
        module = module_from_spec(spec)
        sys.modules["goproton"] = module
        spec.loader.exec_module(module)
    from goproton import _run
    _run.attach(folder, library)
except BaseException as error:
    with open(os.path.join(folder, "error.part"), "w") as file:
        file.write("%s" % (error,))
    os.replace(os.path.join(folder, "error.part"), os.path.join(folder, "error"))
`

// awaitBegin waits for the first status of the process.
func awaitBegin(process *Program, folder string) error {
	for end := time.Now().Add(answerPatience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if text, err := os.ReadFile(filepath.Join(folder, attachError)); err == nil {
			return fmt.Errorf("attach to process %d: %s", process.pid, strings.TrimSpace(string(text)))
		}
		if list, err := runinfo.ReadStatuses(folder); err == nil && len(list) > 0 {
			return nil
		}
		if !process.lives() {
			return fmt.Errorf("process %d has ended", process.pid)
		}
	}
	return fmt.Errorf("process %d did not begin to record within %v: it may hold a lock that this needs, such as Python's; it goes on, and begins as soon as it can", process.pid, answerPatience)
}

// awaitEnd waits until the process has written its profile, or has ended.
func awaitEnd(process *Program, folder string, interrupted <-chan os.Signal) {
	for process.lives() {
		list, err := runinfo.ReadStatuses(folder)
		if err == nil && slices.ContainsFunc(list, func(s runinfo.Status) bool { return s.Finished }) {
			return
		}
		select {
		case <-interrupted:
			_ = os.WriteFile(filepath.Join(folder, attachEnd), nil, 0o666) // the next one ends this process
			interrupted = nil
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// finishAttached brings the profiles to where they were asked for, and reports.
func finishAttached(options Options, folder, root string, stderr io.Writer) (code int, err error) {
	s, err := readSummary(folder)
	if err != nil {
		return 0, err
	}
	name, err := outputName(options.Name, attachName)
	if err != nil {
		return 0, err
	}
	for i, file := range s.Files {
		to := strings.ReplaceAll(name, "%%", "%") + strings.TrimPrefix(file, filepath.Join(folder, attachName))
		if err := move(file, to); err != nil {
			return 0, fmt.Errorf("write the profile: %w", err)
		}
		s.Files[i] = to
	}
	if s.report(stderr, options, root, folder, 0) && !options.AllowEmpty {
		code = ExitEmpty
	}
	if options.Written != nil && len(s.Files) > 0 {
		options.Written(s.Files)
	}
	return code, nil
}

// move moves a file, also to another file system.
func move(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	return ownfile.Replace(to, func(w io.Writer) error { _, err := io.Copy(w, file); return err })
}
