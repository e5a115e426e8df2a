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
	Idle         bool             `json:"idle,omitempty"` // sum how long GPUs had nothing to do, in a tree
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

// The words that a session may be asked for in, the default first.
var (
	Contexts    = []string{"shadow", "python"}
	DataForms   = []string{"tree", "trace"}
	TraceForms  = []string{"goproton", "triton"}
	GraphLevels = []string{"node", "graph"}
	TorchWords  = []string{"operators", "modules", "flops"}      // --torch alone: the first two
	Activities  = []string{"kernel", "memcpy", "memset", "sync"} // the first always
)

// Formats lists what a form of data can be written as.
func Formats(data string) []string {
	if strings.EqualFold(data, "trace") {
		return []string{"chrome_trace"}
	}
	return []string{"hatchet", "hatchet_msgpack"}
}
