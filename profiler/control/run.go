package control

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goproton/goproton/internal/ctl"
	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/profiler"
)

// run is the one session of a process below `proton run`.
type run struct {
	config  runinfo.Config
	session int
	done    bool

	began  time.Time
	socket *ctl.Socket   // nil: `proton ctl` does not reach this process
	over   chan struct{} // closed when the session of a process that was attached to has ended
	naming naming
	hang   *hangs // nil: the program is not watched for a hang

	usesGPU  bool         // and `proton run` knows
	looked   time.Time    // for a request of `proton run`
	answered atomic.Int64 // requests

	writing sync.Mutex // held while files of the profile are written, and named

	mu       sync.Mutex // the drainer writes checkpoints while the program may be ending
	files    []string
	infos    []os.FileInfo // of files, as they were written; nil where that is not known
	problems []string      // about names
}

func (r *run) setFiles(files []string) {
	infos := filesAreNow(files)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files, r.infos = files, infos
}

// wrote is setFiles for files of which some could not be written if there was an error: those are as they were.
func (r *run) wrote(files []string, err error) {
	if err == nil {
		r.setFiles(files)
		return
	}
	infos := filesAreNow(files)
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, file := range r.files {
		if !slices.Contains(files, file) {
			files, infos = append(files, file), append(infos, r.infos[i])
		}
	}
	r.files, r.infos = files, infos
}

func filesAreNow(files []string) []os.FileInfo {
	infos := make([]os.FileInfo, len(files))
	for i, file := range files {
		infos[i], _ = os.Stat(file) //nolint:errcheck // nil: it is not looked at again
	}
	return infos
}

func (r *run) written() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.files...)
}

// RunConfigured reports whether this process was started by `proton run`.
func RunConfigured() bool { return settings.RunConfig.Get(os.Getenv) != "" }

func (s *Service) runBegin(p begun) (any, error) {
	if s.run != nil {
		return map[string]int{"session": s.run.session}, nil
	}
	var c runinfo.Config
	if err := json.Unmarshal([]byte(settings.RunConfig.Get(os.Getenv)), &c); err != nil {
		return nil, fmt.Errorf("read PROTON_RUN_CONFIG: %w; it is set by `proton run`", err)
	}
	return s.beginRun(c, p)
}

func (s *Service) beginRun(c runinfo.Config, p begun) (any, error) {
	process := thisProcess()
	name, err := runName(c, process)
	if err != nil {
		return nil, err
	}
	c.SitePackages = append(p.SitePackages, c.SitePackages...)
	id, err := s.startSession(name, c.Session)
	if err != nil {
		return nil, err
	}
	if c.Status != "" { // before the first round, which writes a status of this program
		_ = runinfo.MoveAside(c.Status, os.Getpid(), ".json")
	}
	s.run = &run{config: c, session: id, began: time.Now(), naming: naming{process: process}}
	// Of a program and its helpers the one that launches first gets the plain name. A launcher like torchrun
	// only looks at the GPUs, and gets none.
	s.Manager.OnFirstWork(func() { s.claimName() })
	if c.Checkpoint > 0 {
		s.Manager.Checkpoint(c.Checkpoint, s.runCheckpoint)
	}
	if c.Status != "" {
		s.Manager.OnRound(s.eachRound)
	}
	if c.Ctl {
		s.listen()
	}
	if c.WatchHang > 0 {
		s.watchHang(c.WatchHang)
	}
	// Whatever the program does to itself later on, `proton run` knows that it was there.
	if c.Status != "" {
		_ = s.writeStatus(s.Manager.Status(), nil, false)
	}
	return map[string]int{"session": id}, nil
}

// image distinguishes this program from others that the same process has executed before it, or will.
var image = fmt.Sprintf("%016x", rand.Uint64())

// runName is the session's name: the template's, made absolute because the program may change its folder.
func runName(c runinfo.Config, process runinfo.Process) (string, error) {
	name, err := runinfo.OutName(c.Name, process, os.Getenv)
	if err != nil || name == "" || name == "-" {
		return name, err
	}
	return filepath.Abs(name)
}

// GPUStarts is called when the program initialises its GPU.
func (s *Service) GPUStarts() {
	s.Manager.GPUStarts(func() {
		if RunConfigured() && s.run == nil {
			s.Call("run.begin", nil)
		}
	})
}

// eachRound is called by the drainer's rounds where there is a `proton run` to report to.
func (s *Service) eachRound() {
	s.reportGPU()
	s.answerRequest()
}

// reportGPU has `proton run` know that the program uses a GPU: if it is killed before its first checkpoint, its kernels are missing.
func (s *Service) reportGPU() {
	if s.run.usesGPU || s.run.done {
		return
	}
	status := s.Manager.Status()
	if status.Waiting || !s.run.writing.TryLock() { // else the program is ending, and reports itself
		return
	}
	defer s.run.writing.Unlock()
	s.run.usesGPU = true
	_ = s.writeStatus(status, nil, false)
}

// runCheckpoint leaves behind what there is, should the program be killed. It does nothing while another goroutine writes the profile:
// the end of the session, which holds writing, waits for this goroutine.
func (s *Service) runCheckpoint() {
	s.Manager.Collect()
	if s.run.writing.TryLock() {
		defer s.run.writing.Unlock()
		s.writeSoFar()
	}
}

// answerRequest writes the profile as it is now if `proton run` asks for that, before it passes on a signal that may end the program.
func (s *Service) answerRequest() {
	const often = 20 * time.Millisecond
	if now := time.Now(); now.Sub(s.run.looked) > often {
		s.run.looked = now
		if n := runinfo.CheckpointRequests(s.run.config.Status); n > s.run.answered.Load() {
			s.Manager.Collect()
			if s.run.writing.TryLock() { // else the program is ending, and writes it itself
				defer s.run.writing.Unlock()
				s.takeDeltas(false)
				s.run.answered.Store(n)
				s.writeSoFar()
			}
		}
	}
}

// writeFiles writes all sessions as they are. When the file of one cannot be written, the others have been replaced all the same.
func (s *Service) writeFiles() {
	files, err := s.Manager.WriteDrained()
	s.run.wrote(files, err)
	if err == nil {
		s.removeMoved()
	}
}

func (s *Service) writeSoFar() {
	status := s.Manager.Status()
	if status.Kernels > 0 {
		s.claimName()
		s.keepName()
		s.writeFiles()
		status = s.Manager.Status()
	}
	s.writeStatus(status, nil, false)
}

// checkpointNow writes what was launched until now, for a process that is about to execute another program. A GPU that
// hangs is not waited for longer than at an exit.
func (s *Service) checkpointNow() {
	if s.run == nil || s.run.done {
		return
	}
	_ = s.patiently(Patience(), func() error {
		s.Manager.Flush()
		s.run.writing.Lock()
		defer s.run.writing.Unlock()
		s.writeSoFar()
		s.takeDeltas(false)
		return nil
	})
}

// runEnd is endRun at the end of the process; "problem" is what has not been reported to `proton run`.
func (s *Service) runEnd(struct{}) (any, error) {
	if s.run == nil {
		return nil, nil
	}
	answer := map[string]any{}
	if err := s.leave(Patience(), false, s.endRun); err != nil {
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
	if s.run.socket != nil {
		s.run.socket.Close()
	}
	s.Manager.Flush()
	s.run.hang.ends()
	s.run.writing.Lock() // a checkpoint that goes on would write under the name before
	defer s.run.writing.Unlock()
	s.keepName()
	status := s.Manager.Status()
	var err error
	if status.Kernels > 0 || s.Manager.HasMetrics(s.run.session) {
		s.claimName()
		var files []string
		files, err = s.Manager.Finalize(&s.run.session, "")
		s.run.setFiles(files)
		s.removeMoved()
	} else {
		s.Manager.Discard(s.run.session)
	}
	s.writeCounters(true)
	if s.run.config.Status == "" {
		return err
	}
	unreported := s.writeStatus(status, err, true)
	switch {
	case unreported == nil:
		return nil
	case err == nil && status.Kernels == 0:
		return nil // nothing to report
	}
	return s.inItsPlace(status, err, unreported)
}

// inItsPlace is the closing line of a process that cannot reach `proton run` any more: it has changed its root or its
// user, has no descriptor left, or the disk is full.
func (s *Service) inItsPlace(st profiler.Status, err, unreported error) error {
	what := fmt.Sprintf("%d kernels in process %d", st.Kernels, os.Getpid())
	switch files := s.run.written(); {
	case err != nil:
		what += fmt.Sprintf(": %v", err)
	case len(files) > 0:
		what += ": wrote " + strings.Join(files, ", ")
	}
	return fmt.Errorf("%s; proton run does not know, since the process cannot write to its status folder any more: %w", what, unreported)
}

// status is the JSON that control's "status" call answers and that status files hold.
func (s *Service) status() runinfo.Status {
	return s.statusOf(s.Manager.Status(), nil, false)
}

func (s *Service) statusOf(st profiler.Status, err error, finished bool) runinfo.Status {
	f := runinfo.Status{
		PID: os.Getpid(), Command: command(), Kernels: int64(st.Kernels), GPUTimeNanos: int64(st.GPUNanos),
		Lost: int64(st.Loss.Records + st.Loss.Buffers), Unattributed: int64(st.Loss.Unattributed),
		Sampling: st.Sampling, Windows: st.Windows,
		Files: []string{}, Problems: append([]string{}, st.Problems...), Harmless: st.Harmless, GPU: st.GPU, UsedGPU: !st.Waiting, Finished: finished,
	}
	f.Push, f.Budget, f.Counters = s.pushStatus(), budgetStatus(st.Budget), st.Counters
	if s.run != nil {
		f.Notes = append(f.Notes, s.run.hang.sentences()...)
		f.Files, f.Answered = s.run.written(), s.run.answered.Load()
		f.Problems = append(f.Problems, s.run.doubts()...)
	}
	if err != nil {
		f.Problems = append(f.Problems, err.Error())
	}
	return f
}

// writeStatus reports to `proton run`.
func (s *Service) writeStatus(st profiler.Status, err error, finished bool) error {
	if s.run.config.Status == "" {
		return nil
	}
	return s.statusOf(st, err, finished).Write(s.run.config.Status)
}

// command is the process's command line as it is now, for messages: workers of Ray and vLLM name themselves there.
func command() string {
	raw, err := ownfile.ReadFile("/proc/self/cmdline")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(raw), "\x00", " "))
}
