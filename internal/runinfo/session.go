// Package runinfo holds what "proton run" and the processes that it profiles tell each other: the configuration, which
// goes down in an environment variable, and the status, which comes up in small files.
//
// A process is one status: it has its process id in its name. A process that executes another program is two: the
// second moves the first's aside.
//
// The name of a profile is a template, so that ranks and hosts can have files of their own, and a path is claimed before it
// is written, so that two processes of one run never write the same file. Templates are expanded in the
// profiled process, not in "proton run": only there are rank and pid known.
package runinfo

import (
	"strings"

	"github.com/goproton/goproton/internal/when"
)

// Session is what a session is asked for, by "proton run", Python or C, in upstream's words. The keys are those of the control
// call "start" and of Config.
type Session struct {
	Context      string           `json:"context"`
	Backend      string           `json:"backend"`
	Mode         string           `json:"mode"`
	Data         string           `json:"data"`
	Graph        string           `json:"graph"`
	Stats        *bool            `json:"stats,omitempty"` // nil = as PROTON_STATS says
	Activities   string           `json:"activities"`
	Energy       bool             `json:"energy,omitempty"` // read the energy of GPUs
	PM           string           `json:"pm,omitempty"`     // read hardware counters of whole GPUs at this interval: "1ms"
	Idle         bool             `json:"idle,omitempty"`   // sum how long GPUs had nothing to do, in a tree
	Format       string           `json:"format"`
	TraceForm    string           `json:"trace_form,omitempty"`    // of a timeline's file
	SitePackages []string         `json:"site_packages,omitempty"` // where wheels with a libcupti may be
	When         *when.Conditions `json:"when,omitempty"`          // records only while they hold; nil = all the time
	Push         *Push            `json:"push,omitempty"`
	Metrics      *Metrics         `json:"metrics,omitempty"`
	Budget       string           `json:"budget,omitempty"`    // share of the program's time that the profiler may take: "1%"; "" = no limit
	Replay       string           `json:"replay,omitempty"`    // file name of the capture that is played; "" = a program runs
	Synthetic    bool             `json:"synthetic,omitempty"` // that capture was made with a fake driver
}

// ModeName is the mode without its options: "pcsampling" of "pcsampling:interval=1024".
func (s *Session) ModeName() string {
	name, _, _ := strings.Cut(strings.ToLower(s.Mode), ":")
	return name
}

// The words that a session may be asked for in, the default first.
var (
	Contexts    = []string{"shadow", "python"}
	DataForms   = []string{"tree", "timeline"}
	TraceForms  = []string{"goproton", "triton"}
	GraphLevels = []string{"node", "graph"}
	TorchWords  = []string{"operators", "modules", "flops"}      // --torch alone: the first two
	Activities  = []string{"kernel", "memcpy", "memset", "sync"} // the first always
)

// DataForm is the word for a form of data in files and settings: upstream calls a timeline a trace.
func DataForm(data string) string {
	if data = strings.ToLower(data); data == "timeline" {
		return "trace"
	}
	return data
}

// Formats lists what a form of data can be written as.
func Formats(data string) []string {
	if DataForm(data) == "trace" {
		return []string{"chrome_trace"}
	}
	return []string{"hatchet", "hatchet_msgpack"}
}

// Config is what the profiled processes of a run are asked for.
type Config struct {
	Session
	Name       string  `json:"name"` // template without suffix, absolute; "-" = standard output
	Hook       string  `json:"hook"`
	Status     string  `json:"status"`                 // folder for status files and claims, "" = no reader
	Checkpoint float64 `json:"checkpoint"`             // seconds, 0 = none
	Trace      *Trace  `json:"trace,omitempty"`        // nil = none
	Ctl        bool    `json:"ctl,omitempty"`          // listen to `proton ctl`
	Inside     string  `json:"inside,omitempty"`       // names of kernels that get scopes, patterns separated by commas
	Memory     bool    `json:"memory,omitempty"`       // record the memory of PyTorch's allocator
	Duration   float64 `json:"attached_for,omitempty"` // seconds after which a process that was attached to ends its session
	WatchHang  float64 `json:"watch_hang,omitempty"`   // seconds without finished work after which a GPU hangs; 0 = it is not watched
	Torch      string  `json:"torch,omitempty"`        // what of PyTorch gets frames: operators, modules, separated by commas
}

// Trace is what goproton.trace.init is asked for, its arguments by their names there.
type Trace struct {
	Folder      string `json:"folder"` // absolute
	Name        string `json:"name"`   // the same as it was given
	Launches    string `json:"launches"`
	Compression string `json:"compression"`
	Kernels     string `json:"kernels"`
	SASS        bool   `json:"sass"`
	FullSource  bool   `json:"full_source"`
	Statistics  bool   `json:"statistics"`
	Tensors     bool   `json:"tensors"`
	TensorLimit int64  `json:"tensor_limit"`
	TensorQuota int64  `json:"tensor_quota"`
	TensorSkip  int    `json:"tensor_skip"`
	TensorMax   int    `json:"tensor_max"`
}

// Metrics has a process leave what it counts in folders, from each of which another process serves or sends it.
type Metrics struct {
	Folders []string `json:"folders"` // which exist
	Scopes  int      `json:"scopes"`  // that have counters of their own, at most
}

// Install is what to do about a missing part. An archive with the viewer alone has the command without the other parts.
const Install = "install GoProton with pip (an archive has the viewer alone), or run make build in a checkout"
