// Package runinfo holds what "proton run" and the processes that it profiles tell each other: the configuration, which
// goes down in an environment variable, and the status, which comes up in small files.
//
// A process is one status: it has its process id in its name. A process that executes another program is two: the
// second moves the first's aside.
package runinfo

// Config is what the profiled processes of a run are asked for.
type Config struct {
	Session
	Name       string  `json:"name"` // template without suffix, absolute; "-" = standard output
	Hook       string  `json:"hook"`
	Status     string  `json:"status"`           // folder for status files and claims, "" = no reader
	Checkpoint float64 `json:"checkpoint"`       // seconds, 0 = none
	Trace      *Trace  `json:"trace,omitempty"`  // nil = none
	Ctl        bool    `json:"ctl,omitempty"`    // listen to `proton ctl`
	Inside     string  `json:"inside,omitempty"` // names of kernels that get scopes, patterns separated by commas
	Memory     bool    `json:"memory,omitempty"` // record the memory of PyTorch's allocator
	Torch      string  `json:"torch,omitempty"`  // what of PyTorch gets frames: operators, modules, separated by commas
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
