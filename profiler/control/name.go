package control

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goproton/goproton/internal/procstat"
	"github.com/goproton/goproton/internal/runinfo"
)

// naming is how the profile of a run gets its name in this process: the name is claimed at the first work, changes when the program
// says its rank, and is given up if another run has taken it.
type naming struct {
	mu      sync.Mutex // held while the name changes, which the program's threads and the drainer's rounds may do
	process runinfo.Process
	claimed bool
	moves   bool     // the rank became known after the name was claimed
	moved   []string // files of the name before, until the profile is written under its new name
}

// process is what is known of the process now: its rank may be known late only.
func (r *run) process() runinfo.Process {
	r.naming.mu.Lock()
	defer r.naming.mu.Unlock()
	return r.naming.process
}

func thisProcess() runinfo.Process {
	host, _ := os.Hostname()
	return runinfo.Process{Launched: runinfo.LaunchedBy(os.Getenv), PID: os.Getpid(), Host: host}
}

// rank is called when the program says its rank, by torch.distributed: processes that it has started by itself have no launcher's
// variables when they begin.
func (s *Service) rank(p position) (any, error) {
	if s.run == nil || s.run.done {
		return nil, nil
	}
	n := &s.run.naming
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process.Rank >= 0 || n.process.Problem != "" || p.Rank < 0 || p.Rank >= p.World {
		return nil, nil
	}
	n.process.Rank, n.process.World, n.process.Launcher = p.Rank, p.World, "torch.distributed"
	s.Manager.SetLaunched(s.run.session, n.process.Launched)
	n.moves = n.claimed
	return nil, nil
}

// claimName makes the session's name that of this program alone, once, and says where that needs another name.
func (s *Service) claimName() {
	n := &s.run.naming
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.claimed {
		n.claimed = true
		s.claim()
	}
}

func (s *Service) claim() {
	s.countRestart()
	p := s.run.naming.process
	path, err := runName(s.run.config, p)
	if err != nil || path == "" || path == "-" {
		return
	}
	if p.Problem != "" {
		s.run.doubt(p.Problem + ", so the profile has the process id in its name; correct the variable")
	}
	claimed, holder := claimName(s.run.config.Status, path+".hatchet", p.PID, image)
	stem := strings.TrimSuffix(claimed, ".hatchet")
	if p.Ranked() && holder != 0 && !procstat.Below(p.PID, holder) { // a rank's own children have its variables
		s.run.doubt(fmt.Sprintf("processes %d and %d are both rank %d: the profile of the second is %s.*", holder, p.PID, p.Rank, filepath.Base(stem)))
	}
	if file := writtenSince(stem, s.run.began); file != "" {
		stem = s.anotherName(stem, file)
	}
	s.Manager.Rename(s.run.session, stem)
}

// countRestart counts how often torchrun has started this rank again, where torchrun does not count it: each profile of the name that
// was written since torchrun began, by a process that has ended, is of an attempt before.
func (s *Service) countRestart() {
	n := &s.run.naming
	agent := n.process.Agent(n.process.PID)
	if agent == 0 {
		return
	}
	began := time.Now().Add(-procstat.Since(agent))
	given := n.process.Restart
	for n.process.Restart < given+1000 {
		path, err := runName(s.run.config, n.process)
		again := n.process
		again.Restart++
		if next, nextErr := runName(s.run.config, again); err != nil || nextErr != nil || next == path || !s.ofEarlierAttempt(path, began) {
			break
		}
		n.process = again
	}
	if n.process.Restart != given {
		s.Manager.SetLaunched(s.run.session, n.process.Launched)
	}
}

// ofEarlierAttempt reports whether a name is that of a process that has ended, below the same launcher: in this run of `proton run`, which
// stands around the launcher, or in another one, which stood below it.
func (s *Service) ofEarlierAttempt(path string, launched time.Time) bool {
	pid := s.run.naming.process.PID
	if holder, since := nameHolder(s.run.config.Status, path+".hatchet"); holder != 0 {
		_, lives := procstat.Began(holder)
		return !lives && holder != pid && since.Before(s.run.began) // a child of this process may have ended first
	}
	return writtenSince(path, launched) != "" && writtenSince(path, s.run.began) == ""
}

// writtenSince returns a file of a name that was written after a time. After this process began, that was another run in the same folder.
// An older file is of a run before, and is replaced.
func writtenSince(stem string, began time.Time) string {
	for _, format := range slices.Concat(runinfo.Formats("tree"), runinfo.Formats("trace")) {
		for _, path := range []string{stem + "." + format, stem + ".part_0." + format} {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.ModTime().After(began) {
				return path
			}
		}
	}
	return ""
}

// anotherName is a name with the process id. In containers, other runs may have processes of the same id.
func (s *Service) anotherName(stem, file string) string {
	named := stem
	for n := 1; n < 1000; n++ {
		stem = strings.TrimSuffix(anotherName(named+".hatchet", os.Getpid(), n), ".hatchet")
		if writtenSince(stem, s.run.began) == "" {
			break
		}
	}
	s.run.doubt(fmt.Sprintf("another run writes %s at the same time: this profile is %s.*; give each run a --name of its own", file, filepath.Base(stem)))
	return stem
}

// keepName gives the session another name before it is written: that of its rank, once that is known, or one of its own if
// another run has replaced a file of the profile since that was written.
func (s *Service) keepName() {
	n := &s.run.naming
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.moves {
		n.moves, n.moved = false, s.filesOfRun()
		s.claim()
		s.run.setFiles(nil)
	}
	if s.Manager.WritesPhases(s.run.session) {
		return // a phase that a checkpoint has written is written again when it is complete
	}
	stem := s.Manager.Name(s.run.session)
	file := s.run.replaced(stem)
	if file == "" {
		return
	}
	s.Manager.Rename(s.run.session, s.anotherName(stem, file))
	s.run.setFiles(nil)
}

// removeMoved removes the files of the name before, now that the profile is written under its new one.
func (s *Service) removeMoved() {
	n := &s.run.naming
	n.mu.Lock()
	defer n.mu.Unlock()
	now := s.run.written()
	for _, file := range n.moved {
		if !slices.Contains(now, file) {
			os.Remove(file)
		}
	}
	n.moved = nil
}

// filesOfRun are the files that the run's session has written. Those of sessions that the program has started itself are left out.
func (s *Service) filesOfRun() []string {
	stem := s.Manager.Name(s.run.session)
	return slices.DeleteFunc(s.run.written(), func(file string) bool { return !strings.HasPrefix(file, stem+".") })
}

// replaced returns a file of a name that is not the one that was written last. The program's own sessions replace theirs when they end.
func (r *run) replaced(stem string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, was := range r.infos {
		if !strings.HasPrefix(r.files[i], stem+".") {
			continue
		}
		now, err := os.Stat(r.files[i])
		if err != nil || was == nil {
			continue
		}
		// The number of a file that was replaced goes to the next file. A timeline is open, which keeps its number, and grows.
		grows := filepath.Ext(r.files[i]) == "."+runinfo.Formats("trace")[0]
		if !os.SameFile(was, now) || !grows && !now.ModTime().Equal(was.ModTime()) {
			return r.files[i]
		}
	}
	return ""
}

// doubt adds a sentence to the status.
func (r *run) doubt(sentence string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, sentence)
}

func (r *run) doubts() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.problems)
}
