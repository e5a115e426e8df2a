package run

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
)

// Status is what the runtime of one profiled process leaves in <status>/<pid>.json, at every checkpoint and
// at its end.
type Status struct {
	Pid          int      `json:"pid"`
	Command      string   `json:"command"`
	Kernels      int64    `json:"kernels"`
	GPUTimeNanos int64    `json:"gpu_time_ns"`
	Lost         int64    `json:"lost"`
	Unattributed int64    `json:"unattributed"`
	Sampling     Sampling `json:"sampling"`
	Files        []string `json:"files"`
	Problems     []string `json:"problems"` // sentences with the fix
	GPU          string   `json:"gpu"`      // product name of the first one
	UsedGPU      bool     `json:"used_gpu"` // the process initialised CUDA
	Finished     bool     `json:"finished"`
}

// Sampling is what the instruction samples of a process came to.
type Sampling struct {
	Period      int64 `json:"period"` // cycles between two of them; 0 when nothing was sampled
	Samples     int64 `json:"samples"`
	Apportioned int64 `json:"apportioned"` // shared out by kernel time: several call paths launched their function
	Unlaunched  int64 `json:"unlaunched"`  // of functions that were not seen launching
	Dropped     int64 `json:"dropped"`     // lost by the hardware
	BufferFull  bool  `json:"buffer_full"` // an unknown number is missing
}

func (s *Sampling) add(o Sampling) {
	s.Period = max(s.Period, o.Period)
	s.Samples += o.Samples
	s.Apportioned += o.Apportioned
	s.Unlaunched += o.Unlaunched
	s.Dropped += o.Dropped
	s.BufferFull = s.BufferFull || o.BufferFull
}

// summary is what all processes of a run said.
type summary struct {
	Processes    []Status // by process id
	Kernels      int64
	GPUTimeNanos int64
	Lost         int64
	Unattributed int64
	Sampling     Sampling
	GPU          string
	Files        []string
	Problems     []string // each once
	Unfinished   []Status
}

// readSummary reads the status files of a folder. They are written atomically, so one that cannot be read is
// an error and not a race.
func readSummary(folder string) (summary, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "[0-9]*.json"))
	if err != nil {
		return summary{}, fmt.Errorf("list status files: %w", err)
	}
	var s summary
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return summary{}, fmt.Errorf("read the status of a profiled process: %w", err)
		}
		var one Status
		if err := json.Unmarshal(text, &one); err != nil {
			return summary{}, fmt.Errorf("read the status of a profiled process: %s: %w", filepath.Base(path), err)
		}
		s.Processes = append(s.Processes, one)
	}
	sort.Slice(s.Processes, func(i, j int) bool { return s.Processes[i].Pid < s.Processes[j].Pid })
	for _, p := range s.Processes {
		s.add(p)
	}
	sort.Strings(s.Files) // the plain name before those with a process id
	return s, nil
}

func (s *summary) add(p Status) {
	s.Kernels += p.Kernels
	s.GPUTimeNanos += p.GPUTimeNanos
	s.Lost += p.Lost
	s.Unattributed += p.Unattributed
	s.Sampling.add(p.Sampling)
	if s.GPU == "" {
		s.GPU = p.GPU
	}
	s.Files = appendNew(s.Files, p.Files)
	s.Problems = appendNew(s.Problems, p.Problems)
	if !p.Finished && len(p.Files) > 0 {
		s.Unfinished = append(s.Unfinished, p)
	}
}

// appendNew appends what a short list does not have yet: ranks of one job share their problems.
func appendNew(list, more []string) []string {
next:
	for _, text := range more {
		for _, have := range list {
			if have == text {
				continue next
			}
		}
		list = append(list, text)
	}
	return list
}
