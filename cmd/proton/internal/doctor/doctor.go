// Package doctor examines a machine and says what profiling on it needs: each finding with its state and,
// where something is missing, the fix. It reads files below /proc and /dev, asks the driver through
// proton-probe and Python through one short command, and changes nothing. What it looks at for one vendor is
// in the files that begin with the vendor's name. No cgo.
package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/internal/version"
)

// State says how bad a finding is.
type State string

// The states, as they are printed and written as JSON.
const (
	OK      State = "ok"
	Note    State = "note"    // worth knowing
	Warning State = "warning" // something will not work, kernel timing will
	Problem State = "problem" // kernels will not be timed
)

// Finding is one thing that was looked at.
type Finding struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Text  string `json:"text"`
	Fix   string `json:"fix,omitempty"`
}

// Report is everything that was found. Fields are added, never renamed.
type Report struct {
	Version  string    `json:"version"` // of this program
	Driver   Driver    `json:"driver"`
	GPUs     []GPU     `json:"gpus"`
	CUPTI    []Library `json:"libcupti"`
	ROCm     *ROCm     `json:"rocm,omitempty"`
	Python   Python    `json:"python"`
	Findings []Finding `json:"findings"`

	noneShows bool // of the vendors' drivers
}

// Machine is what to examine. A test gives a folder as Root and its own programs.
type Machine struct {
	Root        string // before every path below /proc, /dev and the system's library folders
	Env         func(string) string
	Probe       string // path of proton-probe, "" if there is none
	Library     string // path of libproton.so, "" if there is none
	Python      string // interpreter, "" if there is none
	OtherPython string // of the active environment or of the shell, "" if that is the same
	Executable  string // of this program; "" = not looked for in PATH
	Timeout     time.Duration
}

// Examine looks at everything, in the order in which things depend on each other.
func Examine(m Machine) Report {
	if m.Env == nil {
		m.Env = func(string) string { return "" }
	}
	if m.Timeout == 0 {
		m.Timeout = 30 * time.Second // the first cuInit of a machine with many GPUs takes seconds
	}
	r := Report{Version: version.Text(), GPUs: []GPU{}, CUPTI: []Library{}} // written as [] and not as null
	vendors := present(m)
	if r.noneShows = vendors == nil; r.noneShows {
		r.noGPU(m)
	}
	for _, c := range vendors {
		for _, examine := range c.driver {
			examine(&r, m)
		}
	}
	r.examinePython(m)
	for _, c := range vendors {
		for _, examine := range c.collector {
			examine(&r, m)
		}
	}
	r.examineCommand(m)
	r.examineRuntime(m)
	return r
}

// Healthy says whether kernels can be timed on this machine.
func (r Report) Healthy() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.State == Problem })
}

func (r *Report) found(name string, state State, text, fix string) {
	r.Findings = append(r.Findings, Finding{name, state, text, fix})
}

// examineRuntime looks at our own parts and switches.
func (r *Report) examineRuntime(m Machine) {
	switch _, err := os.Stat(m.Library); {
	case m.Library == "":
		r.found("runtime", Problem, "libproton.so is not next to the proton command", runinfo.Install+", or set PROTON_LIB to its path")
	case err != nil:
		r.found("runtime", Problem, "libproton.so: "+err.Error(), runinfo.Install+", or set PROTON_LIB to its path")
	default:
		r.found("runtime", OK, "proton "+version.Text()+", "+m.Library, "")
	}
	if off := settings.Disable; off.On(m.Env) {
		r.found("runtime", Problem, off.Name+"="+strings.ToLower(off.Get(m.Env))+" makes every start of a session do nothing", "unset "+off.Name)
	}
}

func (m Machine) path(path string) string { return filepath.Join("/", m.Root, path) }

func (m Machine) read(path string) (string, error) {
	text, err := os.ReadFile(m.path(path))
	return string(text), err
}

func (m Machine) exists(path string) bool {
	_, err := os.Stat(m.path(path))
	return err == nil
}

// writable says whether a device can be opened as CUDA opens it.
func (m Machine) writable(path string) bool {
	f, err := os.OpenFile(m.path(path), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}
