package runinfo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"github.com/goproton/goproton/internal/ownfile"
)

// Status is what a process leaves when its profile begins, at every checkpoint, and at its end.
type Status struct {
	PID          int         `json:"pid"`
	Command      string      `json:"command"`
	Kernels      int64       `json:"kernels"`
	GPUTimeNanos int64       `json:"gpu_time_ns"`
	Lost         int64       `json:"lost"`
	Unattributed int64       `json:"unattributed"` // kernels without a call path
	Sampling     Sampling    `json:"sampling"`
	Files        []string    `json:"files"`
	Problems     []string    `json:"problems"`           // sentences with the fix
	Harmless     []string    `json:"harmless,omitempty"` // of Problems: those for which no kernel is missing
	Notes        []string    `json:"notes,omitempty"`    // sentences about what was measured
	Inside       *Inside     `json:"inside,omitempty"`
	Windows      *Windows    `json:"windows,omitempty"`  // of a process that did not record all the time
	Push         *PushStatus `json:"push,omitempty"`     // of a session whose windows are pushed
	Budget       *Budget     `json:"budget,omitempty"`   // of a session with one
	Counters     *Counters   `json:"counters,omitempty"` // of a session that measures them
	GPU          string      `json:"gpu"`                // product name of the first one
	UsedGPU      bool        `json:"used_gpu"`           // the process initialised CUDA
	Finished     bool        `json:"finished"`
	Answered     int64       `json:"answered,omitempty"` // of the requests of `proton run` for a checkpoint, how many are answered

	Replaced bool `json:"-"` // the process executed another program, which has a status of its own
}

// Inside is what became of the kernels that were to get scopes, in a process that uses Triton.
type Inside struct {
	Kernels []string `json:"kernels"` // all that were loaded
	Matched []string `json:"matched"` // patterns of Config.Inside that match one of them
}

// Windows are the recording windows of a process, as of its last report.
type Windows struct {
	Opened int    `json:"opened"`
	Nanos  int64  `json:"ns"`            // how long they were open
	Steps  int    `json:"steps"`         // that the program has made
	Open   bool   `json:"open"`          // one is open
	Why    string `json:"why,omitempty"` // none has opened
	Paused bool   `json:"-"`             // by a user
}

// Sampling is what the instruction samples of a process came to.
type Sampling struct {
	Period      int64 `json:"period"` // cycles between two of them; 0 when nothing was sampled
	Samples     int64 `json:"samples"`
	Apportioned int64 `json:"apportioned"` // by kernel time: several call paths launched their function
	Unlaunched  int64 `json:"unlaunched"`  // of functions that were not seen launching
	Dropped     int64 `json:"dropped"`     // lost by the hardware
	NonUser     int64 `json:"non_user"`    // of code that is not the program's
	BufferFull  bool  `json:"buffer_full"` // an unknown number is missing
}

// Add adds what another process sampled.
func (s *Sampling) Add(o Sampling) {
	s.Period = max(s.Period, o.Period)
	s.Samples += o.Samples
	s.Apportioned += o.Apportioned
	s.Unlaunched += o.Unlaunched
	s.Dropped += o.Dropped
	s.NonUser += o.NonUser
	s.BufferFull = s.BufferFull || o.BufferFull
}

// Write replaces the status of the process in a folder.
func (s Status) Write(folder string) error {
	out, err := json.Marshal(s)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, fmt.Sprintf("%d.json", s.PID))
	if err := ownfile.WriteFile(path+".part", out, 0o666); err != nil {
		os.Remove(path + ".part")
		return err
	}
	return os.Rename(path+".part", path)
}

// MoveAside keeps what the process reported before it executed the program that it is now: PID.suffix is renamed
// to PID.1.suffix, or to the next number that is free.
func MoveAside(folder string, pid int, suffix string) error {
	path := filepath.Join(folder, fmt.Sprintf("%d%s", pid, suffix))
	for n := 1; ; n++ {
		err := os.Link(path, filepath.Join(folder, fmt.Sprintf("%d.%d%s", pid, n, suffix)))
		switch {
		case err == nil:
			return os.Remove(path)
		case errors.Is(err, fs.ErrExist):
		case errors.Is(err, fs.ErrNotExist): // there is nothing to keep
			return nil
		default:
			return err
		}
	}
}

// ReadStatuses reads the status files of a folder, by process id and then by age. They are written atomically, so one
// that cannot be read is an error and not a race.
func ReadStatuses(folder string) ([]Status, error) {
	names, err := fs.Glob(os.DirFS(folder), "[0-9]*.json")
	if err != nil {
		return nil, fmt.Errorf("list status files: %w", err)
	}
	var list []Status
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, fmt.Errorf("read the status of a profiled process: %w", err)
		}
		var one Status
		if err := json.Unmarshal(text, &one); err != nil {
			return nil, fmt.Errorf("read the status of a profiled process: %s: %w", name, err)
		}
		one.Replaced = name != fmt.Sprintf("%d.json", one.PID)
		list = append(list, one)
	}
	sort.SliceStable(list, func(i, j int) bool {
		if list[i].PID != list[j].PID {
			return list[i].PID < list[j].PID
		}
		return list[i].Replaced && !list[j].Replaced
	})
	return list, nil
}
