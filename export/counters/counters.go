// Package counters is what a profiled process counts for Prometheus and OpenTelemetry: GPU time, launches, bytes and so on, by GPU
// and outermost scope, and what was lost. The process adds up the windows of its session and leaves the sums in a
// file of its own; export reads the files of all processes of a run, outside of them. Sums only grow while a process runs.
// Taken takes a window from a profile that grows: what was not taken before.
package counters

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/profile"
)

// State is what a process has counted so far.
type State struct {
	PID          int                 `json:"pid"`
	Job          string              `json:"job,omitempty"`
	Host         string              `json:"host"`
	Rank         string              `json:"rank,omitempty"`   // "": it has none
	Replay       string              `json:"replay,omitempty"` // file name of the capture that is played
	Rows         []Row               `json:"rows"`
	Dropped      int64               `json:"dropped"`      // records
	Unattributed int64               `json:"unattributed"` // kernels without a call path
	LostSamples  int64               `json:"lost_samples"` // by the GPU
	Push         *runinfo.PushStatus `json:"push,omitempty"`
	Overhead     *Overhead           `json:"overhead,omitempty"` // of a session with a budget
	Finished     bool                `json:"finished"`           // nothing comes any more
}

// Overhead is what the profiler takes of the program's time, and may take; 0.01 is a percent.
type Overhead struct {
	Achieved float64 `json:"achieved"`
	Budget   float64 `json:"budget"`
}

// Row is the work of one kind that one GPU did below one outermost scope.
type Row struct {
	GPU      string  `json:"gpu"`   // its number in the process; "" if it is not known
	Scope    string  `json:"scope"` // its name as a label
	Work     string  `json:"work"`  // "kernel", "copy" or "fill"
	Nanos    uint64  `json:"ns"`
	Launches uint64  `json:"launches"`
	Samples  uint64  `json:"samples"`
	Bytes    uint64  `json:"bytes"`
	Flops    float64 `json:"flops"` // those of a day on one GPU exceed 63 bits
}

// Rows are rows by their key: a row with the same GPU, scope and work, and without numbers.
type Rows map[Row]*Row

// Add adds the numbers of a row to the one of a key.
func (s Rows) Add(key, o Row) {
	r := s[key]
	if r == nil {
		r = &key
		s[key] = r
	}
	r.Nanos += o.Nanos
	r.Launches += o.Launches
	r.Samples += o.Samples
	r.Bytes += o.Bytes
	r.Flops += o.Flops
}

// Since is what the process has counted after an earlier state, without rows in which nothing was.
func (s State) Since(earlier *State) State {
	before := Rows{}
	for _, r := range earlier.Rows {
		before.Add(r.key(), r)
	}
	rows := make([]Row, 0, len(s.Rows))
	for _, r := range s.Rows {
		b := before[r.key()]
		if b != nil && *b == r {
			continue
		}
		if b != nil {
			r.Nanos, r.Launches, r.Samples, r.Bytes, r.Flops = r.Nanos-b.Nanos, r.Launches-b.Launches, r.Samples-b.Samples, r.Bytes-b.Bytes, r.Flops-b.Flops
		}
		rows = append(rows, r)
	}
	s.Rows = rows
	s.Dropped -= earlier.Dropped
	s.Unattributed -= earlier.Unattributed
	s.LostSamples -= earlier.LostSamples
	if s.Push != nil && earlier.Push != nil {
		pushed := s.Push.Since(*earlier.Push)
		s.Push = &pushed
	}
	return s
}

// key is the row without numbers.
func (r Row) key() Row { return Row{GPU: r.GPU, Scope: r.Scope, Work: r.Work} }

// Sorted returns the rows in the order of their GPU, scope and work.
func (s Rows) Sorted() []Row {
	rows := make([]Row, 0, len(s)) // not nil, which JSON writes as null
	for _, r := range s {
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(figures.Natural(a.GPU, b.GPU), cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Work, b.Work))
	})
	return rows
}

const suffix = ".json"

// NewFile is the path of a file for this process that no other has, and that this process has not had before it executed the
// program that it is now.
func NewFile(folder string) string {
	return filepath.Join(folder, fmt.Sprintf("%d-%016x%s", os.Getpid(), rand.Uint64(), suffix))
}

// Write replaces the file.
func (s *State) Write(path string) error {
	return ownfile.Replace(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(s) })
}

// Files lists the files of a folder.
func Files(folder string) ([]string, error) {
	list, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("list the counters of processes: %w", err)
	}
	var files []string
	for _, f := range list {
		if filepath.Ext(f.Name()) == suffix && f.Type().IsRegular() {
			files = append(files, filepath.Join(folder, f.Name()))
		}
	}
	return files, nil
}

// Read reads a file.
func Read(path string) (s State, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return State{}, fmt.Errorf("read the counters of a process: %w", err)
	}
	return s, nil
}

const severalGPUs = "several"

// GPUs returns, for each node of what Take returns, the GPU that the node and those below it ran on: its number in the process. A
// windowNode has none if nothing says which, or if they differ.
func GPUs(root *profile.Node) map[*profile.Node]string {
	gpus := map[*profile.Node]string{}
	gpuOf(root, gpus)
	for n, gpu := range gpus {
		if gpu == severalGPUs {
			delete(gpus, n)
		}
	}
	return gpus
}

// gpuOf finds the GPU of a node and of those below it: "" if none says, severalGPUs if they differ.
func gpuOf(n *profile.Node, gpus map[*profile.Node]string) string {
	own := ""
	for _, c := range n.Children {
		switch gpu := gpuOf(c, gpus); {
		case own == "":
			own = gpu
		case gpu != "" && gpu != own:
			own = severalGPUs
		}
	}
	below := own
	if v, has := n.Metric(profile.DeviceIDMetric); has {
		if own = v.Str(); below != "" && below != own {
			below = severalGPUs
		} else {
			below = own
		}
	}
	gpus[n] = own
	return below
}
