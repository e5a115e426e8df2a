// Package run profiles a program from outside: it finds what to start, sets the environment variables that have the library
// loaded into the program and its children, runs the program as if it had been started from the terminal directly, and
// reports at the end what was recorded and where.
//
// It never touches a GPU and contains no cgo. The runtime answers through small status files, one for each
// profiled process.
package run

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/replay"
)

// Exit codes of "proton run" beyond those of the target itself.
const (
	ExitEmpty         = 3   // the target succeeded, but nothing was recorded, or could be written
	ExitNotExecutable = 126 // as shells have it
	ExitNotFound      = 127
)

// ContinuerArg is the first argument of the process that continues another one. The number of the target follows.
const ContinuerArg = "__continue"

// Options is a command line, parsed.
type Options struct {
	runinfo.Config      // what the command line sets; Name "" = named after the target
	NoStats        bool // no distributions of kernel times
	Push           Push
	Metrics        Metrics
	AllowEmpty     bool   // nothing recorded is not an error
	Python         string // interpreter; "" = the one of this command, or as the shell would find it
	// AfterTarget is called when the target has ended, with the folder of its processes' status files; nil = nothing.
	AfterTarget func(status string)
	// Written is called with the profiles that were written, if there are any; nil = nothing.
	Written func(files []string)
	Target  []string
}

// Result is how a target ended.
type Result struct {
	Code   int // exit code, when no signal ended it
	Signal int // number of the signal that ended it, else 0
}

// Run profiles one target and writes the closing line to stderr. It returns an error if the target cannot be started; the result
// says how the target ended.
func Run(options Options, layout Layout, root string, stderr io.Writer) (Result, error) {
	command, play, err := resolveTarget(options, layout)
	if err != nil {
		return Result{}, err
	}
	if play != nil {
		defer play.Close()
		fmt.Fprintf(stderr, "proton: %s\n", play.Describe())
		options.Synthetic = play.Machine.Synthetic
	}
	if command.Note != "" {
		fmt.Fprintf(stderr, "proton: %s\n", command.Note)
	}
	status, err := statusFolder()
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(status)

	config, err := layout.newConfig(options, command, play, status)
	if err != nil {
		return Result{}, err
	}
	pushing, err := options.Push.start(&config, command.Name, stderr)
	if err != nil {
		return Result{}, err
	}
	server := options.Metrics.serve(&config, pushing, stderr)
	absent := asRecorded(play, &config)
	environment, warnings, err := environment(os.Environ(), config, layout)
	if err != nil {
		return Result{}, err
	}
	if warning := unsetVariable(config.Name, os.Getenv); warning != "" {
		warnings = append(warnings, warning)
	}
	if play != nil && play.Newer != "" {
		warnings = append(warnings, options.Target[0]+": "+play.Newer)
	}
	warnings = append(warnings, absent...)
	for _, warning := range warnings {
		fmt.Fprintf(stderr, "proton: warning: %s\n", warning)
	}
	if cost := options.insideCost(); cost != "" {
		fmt.Fprintf(stderr, "proton: %s\n", cost)
	}
	if play != nil {
		environment = withReplay(environment, play)
	}
	result, err := Supervise(command, environment, forCheckpoints(status))
	if err != nil {
		return Result{}, err
	}
	if options.AfterTarget != nil {
		defer options.AfterTarget(status)
	}
	removeLeft(config.Name, status)
	pushing.finish(status, stderr)
	options.Metrics.finish(server)
	return finish(options, result, status, root, stderr)
}

// insideCost says before the run what scopes inside kernels will cost, and what costs less; "" without such scopes.
func (o Options) insideCost() string {
	mode, _, _ := strings.Cut(o.Mode, ":")
	switch {
	case o.isReplay() || o.Inside == "" && !strings.EqualFold(o.Backend, "instrumentation"):
		return ""
	case o.Inside == "":
		return "kernels with scopes inside will be slower, short ones of a few µs most: --mode default:sampling_strategy=selective:sampling_options=0 has one warp of each block record"
	case mode != "":
		return "the chosen kernels will be slower, short ones of a few µs most: without --mode " + mode + " they record in the cheapest way"
	}
	return "the chosen kernels will be slower, by 14 to 21 % if they take 3 to 12 µs (seen on an H200): the closing lines say by how much; fewer names in --inside slow down fewer kernels"
}

// statusFolder makes the folder for the status files of processes: in TMPDIR, or if that is full in shared memory.
func statusFolder() (string, error) {
	var first error
	for _, in := range []string{"", "/dev/shm"} {
		folder, err := os.MkdirTemp(in, "proton-run-")
		if err == nil {
			if err = canWrite(folder); err == nil {
				return folder, nil
			}
			os.RemoveAll(folder)
		}
		if first == nil {
			first = err
		}
	}
	return "", fmt.Errorf("create a folder for status files: %w; set TMPDIR to a writable folder", first)
}

// removeLeft removes the incomplete files of processes that were killed.
func removeLeft(name, status string) {
	list, err := runinfo.ReadStatuses(status)
	if err != nil {
		return // finish says so
	}
	for _, p := range list {
		if p.Finished || Lives(p.PID) { // a running process may complete its own
			continue
		}
		folders := map[string]bool{filepath.Dir(name): true}
		for _, file := range p.Files {
			folders[filepath.Dir(file)] = true
		}
		for folder := range folders {
			ownfile.RemoveLeft(folder, p.PID)
		}
	}
}

// finish reports what was recorded and chooses the exit code.
func finish(options Options, result Result, status, root string, stderr io.Writer) (Result, error) {
	summary, err := readSummary(status)
	if err != nil {
		return Result{}, err
	}
	nothing := summary.report(stderr, options, root, status, result.Signal)
	if nothing && !options.AllowEmpty && result == (Result{}) {
		result.Code = ExitEmpty
	}
	if options.Written != nil && len(summary.Files) > 0 {
		options.Written(summary.Files)
	}
	return result, nil
}

// newConfig fills in what a command line leaves open.
func (l Layout) newConfig(options Options, command Command, play *replay.Replay, status string) (runinfo.Config, error) {
	config := options.Config
	name, err := outputName(options.Name, command.Name)
	if err != nil {
		return config, err
	}
	config.Name, config.Stats, config.Status, config.SitePackages = name, new(!options.NoStats), status, l.sitePackages()
	if play != nil {
		config.Replay = filepath.Base(options.Target[0])
		config.Backend = play.Machine.Backend
	}
	return config, nil
}

// sitePackages are the folders of Python packages, of the active environment and of the user: a program that is not Python may
// find its vendor's library in a wheel there. A Python process reports its own, which are more.
func (l Layout) sitePackages() []string {
	var prefixes []string
	for _, variable := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if active := os.Getenv(variable); active != "" {
			prefixes = append(prefixes, active)
		}
	}
	if python, err := l.FindPython(""); err == nil {
		prefixes = append(prefixes, filepath.Dir(filepath.Dir(python.Path)))
		if real, err := filepath.EvalSymlinks(python.Path); err == nil {
			prefixes = append(prefixes, filepath.Dir(filepath.Dir(real)))
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	return appendNew(nil, settings.SitePackages(prefixes...))
}
