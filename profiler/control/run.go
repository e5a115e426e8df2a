package control

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/goproton/goproton/internal/outname"
	"github.com/goproton/goproton/profiler"
)

// runConfig is what `proton run` tells the processes below it, in PROTON_RUN_CONFIG.
type runConfig struct {
	Name         string   `json:"name"`
	Context      string   `json:"context"`
	Backend      string   `json:"backend"`
	Mode         string   `json:"mode"`
	Data         string   `json:"data"`
	Graph        string   `json:"graph"`
	Stats        *bool    `json:"stats"`
	Activities   string   `json:"activities"`
	Format       string   `json:"format"`
	Status       string   `json:"status"`
	Checkpoint   float64  `json:"checkpoint"`
	SitePackages []string `json:"site_packages"`
}

// run is the one session of a process below `proton run`.
type run struct {
	config  runConfig
	session int
	done    bool

	claim func() error // makes the session's name this process's own, once

	mu    sync.Mutex // the drainer writes checkpoints while the program may be ending
	files []string
}

func (r *run) setFiles(files []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = files
}

func (r *run) written() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.files...)
}

// RunConfigured reports whether this process was started by `proton run`.
func RunConfigured() bool { return os.Getenv("PROTON_RUN_CONFIG") != "" }

func (s *Service) runBegin(p *params) (any, error) {
	if s.run != nil {
		return map[string]int{"session": s.run.session}, nil
	}
	var c runConfig
	if err := json.Unmarshal([]byte(os.Getenv("PROTON_RUN_CONFIG")), &c); err != nil {
		return nil, fmt.Errorf("read PROTON_RUN_CONFIG: %w; it is set by `proton run`", err)
	}
	whole, err := wholeGraphs(c.Graph)
	if err != nil {
		return nil, err
	}
	name, err := runName(c)
	if err != nil {
		return nil, err
	}
	id, err := s.Manager.Start(profiler.StartOptions{
		Name: name, Context: c.Context, Data: c.Data, Backend: c.Backend, Mode: c.Mode,
		Activities: c.Activities, NoStats: noStats(c.Stats), Format: c.Format,
		Source: profiler.SourceOptions{WholeGraphs: whole, SitePackages: append(p.SitePackages, c.SitePackages...)},
	})
	if err != nil {
		return nil, err
	}
	s.run = &run{config: c, session: id, claim: sync.OnceValue(s.claimName)}
	// Of a program and its helpers the one that launches first gets the plain name. A launcher like torchrun
	// only looks at the GPUs, and gets none.
	s.Manager.OnFirstWork(func() { s.run.claim() })
	if c.Checkpoint > 0 {
		s.Manager.Checkpoint(c.Checkpoint, s.runCheckpoint)
	}
	return map[string]int{"session": id}, nil
}

// runName is the session's name: the template's, made absolute because the program may change its folder.
func runName(c runConfig) (string, error) {
	host, _ := os.Hostname()
	name, err := outname.Expand(c.Name, os.Getenv, os.Getpid(), host)
	if err != nil || name == "" || name == "-" {
		return name, err
	}
	return filepath.Abs(name)
}

func (s *Service) claimName() error {
	path := s.Manager.Name(s.run.session)
	if path == "" || path == "-" || s.run.config.Status == "" {
		return nil
	}
	claimed, err := outname.Claim(s.run.config.Status, path+".hatchet", os.Getpid())
	if err != nil {
		return err
	}
	s.Manager.Rename(s.run.session, strings.TrimSuffix(claimed, ".hatchet"))
	return nil
}

// GPUStarts is called when the program initialises its GPU.
func (s *Service) GPUStarts() {
	s.Manager.GPUStarts(func() {
		if RunConfigured() && s.run == nil {
			s.Call("run.begin", nil)
		}
	})
}

// runCheckpoint leaves behind what there is, should the program be killed.
func (s *Service) runCheckpoint() {
	s.Manager.Collect()
	status := s.Manager.Status()
	if status.Kernels > 0 {
		if s.run.claim() == nil {
			if files, err := s.Manager.WriteDrained(); err == nil {
				s.run.setFiles(files)
			}
		}
		status = s.Manager.Status()
	}
	s.writeStatus(status, nil, false)
}

// runEnd is endRun at the end of the process; "problem" is what `proton run` was not told.
func (s *Service) runEnd(*params) (any, error) {
	if s.run == nil {
		return nil, nil
	}
	answer := map[string]any{}
	if err := s.leave(Patience(), s.endRun); err != nil {
		answer["problem"] = err.Error()
	}
	answer["files"] = s.run.written()
	return answer, nil
}

// endRun ends the session, writes it and says so in the status file. It returns what could not be said there.
func (s *Service) endRun() error {
	if s.run == nil || s.run.done {
		return nil
	}
	s.run.done = true
	s.Manager.Flush()
	status := s.Manager.Status()
	var err error
	if status.Kernels > 0 || s.Manager.HasMetrics(s.run.session) {
		if err = s.run.claim(); err == nil {
			var files []string
			files, err = s.Manager.Finalize(&s.run.session, "")
			s.run.setFiles(files)
		}
	} else {
		s.Manager.Discard(s.run.session)
	}
	if told := s.writeStatus(status, err, true); told == nil && s.run.config.Status != "" {
		return nil
	}
	return err
}

type statusFile struct {
	PID          int      `json:"pid"`
	Command      string   `json:"command"`
	Kernels      uint64   `json:"kernels"`
	GPUTimeNanos uint64   `json:"gpu_time_ns"`
	Lost         uint64   `json:"lost"`
	Unattributed uint64   `json:"unattributed"`
	Sampling     sampling `json:"sampling"`
	Files        []string `json:"files"`
	Problems     []string `json:"problems"`
	GPU          string   `json:"gpu"`
	UsedGPU      bool     `json:"used_gpu"`
	Finished     bool     `json:"finished"`
}

// sampling is what the instruction samples of a process came to; internal/run reads it.
type sampling struct {
	Period      uint64 `json:"period"`
	Samples     uint64 `json:"samples"`
	Apportioned uint64 `json:"apportioned"`
	Unlaunched  uint64 `json:"unlaunched"`
	Dropped     uint64 `json:"dropped"`
	NonUser     uint64 `json:"non_user"`
	BufferFull  bool   `json:"buffer_full"`
}

// status is the JSON that control's "status" call answers and that status files hold.
func (s *Service) status() statusFile {
	return s.statusOf(s.Manager.Status(), nil, false)
}

func (s *Service) statusOf(st profiler.Status, err error, finished bool) statusFile {
	f := statusFile{
		PID: os.Getpid(), Command: command(), Kernels: st.Kernels, GPUTimeNanos: st.GPUNanos,
		Lost: st.Loss.Records + st.Loss.Buffers, Unattributed: st.Loss.Unattributed,
		Sampling: sampling{
			st.Sampling.Period, st.Sampling.Samples, st.Sampling.Apportioned, st.Sampling.Unlaunched,
			st.Sampling.Dropped, st.Sampling.NonUser, st.Sampling.BufferFull,
		},
		Files: []string{}, Problems: append([]string{}, st.Problems...), GPU: st.GPU, UsedGPU: !st.Waiting, Finished: finished,
	}
	if s.run != nil {
		f.Files = s.run.written()
	}
	if err != nil {
		f.Problems = append(f.Problems, err.Error())
	}
	return f
}

// writeStatus tells `proton run` how this process stands. Failing to is in itself not worth a word: the profile is
// what counts, and the parent says when it heard nothing.
func (s *Service) writeStatus(st profiler.Status, err error, finished bool) error {
	if s.run.config.Status == "" {
		return nil
	}
	out, _ := json.Marshal(s.statusOf(st, err, finished))
	path := filepath.Join(s.run.config.Status, fmt.Sprintf("%d.json", os.Getpid()))
	if err := os.WriteFile(path+".part", out, 0o666); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// command is the process's command line, for messages.
func command() string {
	raw, err := os.ReadFile("/proc/self/cmdline")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(raw), "\x00", " "))
}
