package control

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/launcher"
	"github.com/goproton/goproton/internal/outname"
	"github.com/goproton/goproton/internal/runinfo"
)

// The name of a run's profile in this process: it is claimed at the first work, and given up if another run has taken it.

func thisProcess() outname.Process {
	host, _ := os.Hostname()
	return outname.Process{Process: launcher.Detect(os.Getenv), PID: os.Getpid(), Host: host}
}

// claimName makes the session's name that of this program alone, and says where that needs another name.
func (s *Service) claimName() {
	path := s.Manager.Name(s.run.session)
	if path == "" || path == "-" {
		return
	}
	p := s.run.process
	if p.Problem != "" {
		s.run.doubt(p.Problem + ", so the profile has the process id in its name; correct the variable")
	}
	claimed, holder := outname.Claim(s.run.config.Status, path+".hatchet", p.PID, image)
	stem := strings.TrimSuffix(claimed, ".hatchet")
	if p.Ranked() && holder != 0 && !isAncestor(holder, p.PID) {
		s.run.doubt(fmt.Sprintf("processes %d and %d are both rank %d: the profile of the second is %s.*", holder, p.PID, p.Rank, filepath.Base(stem)))
	}
	if file := writtenSince(stem, s.run); file != "" {
		stem = s.anotherName(stem, file)
	}
	s.Manager.Rename(s.run.session, stem)
}

// writtenSince returns a file of a name that was written after this process began, by another run in the same folder. An older
// file is of a run before, and is replaced.
func writtenSince(stem string, r *run) string {
	for _, format := range slices.Concat(runinfo.Formats("tree"), runinfo.Formats("trace")) {
		for _, path := range []string{stem + "." + format, stem + ".part_0." + format} {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.ModTime().After(r.began) {
				return path
			}
		}
	}
	return ""
}

func (s *Service) anotherName(stem, file string) string {
	stem = strings.TrimSuffix(outname.Another(stem+".hatchet", s.run.process.PID), ".hatchet")
	s.run.doubt(fmt.Sprintf("another run writes %s at the same time: this profile is %s.*; give each run a --name of its own", file, filepath.Base(stem)))
	return stem
}

// keepName gives the session another name if another run has replaced a file of its profile since that was written.
func (s *Service) keepName() {
	file := s.run.replaced()
	if file == "" {
		return
	}
	stem := s.Manager.Name(s.run.session)
	s.Manager.Rename(s.run.session, s.anotherName(stem, file))
	s.run.setFiles(nil)
}

// replaced returns a file that is not the one that was written last.
func (r *run) replaced() string {
	if strings.HasPrefix(strings.ToLower(r.config.Mode), "periodic_flushing") || r.config.When != nil && r.config.When.Split {
		return "" // a phase that a checkpoint has written is written again when it is complete
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, was := range r.infos {
		if now, err := os.Stat(r.files[i]); err == nil && was != nil && !os.SameFile(was, now) {
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

// isAncestor reports whether a process was started by another, directly or not. A rank's own children have its variables.
func isAncestor(ancestor, pid int) bool {
	for range 64 {
		parent, err := parentOf(pid)
		if err != nil || parent <= 1 {
			return false
		}
		if parent == ancestor {
			return true
		}
		pid = parent
	}
	return false
}

// parentOf reads the fourth field of stat; the second is a name in parentheses, which may hold anything.
func parentOf(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	after := string(text[strings.LastIndexByte(string(text), ')')+1:])
	fields := strings.Fields(after)
	if len(fields) < 2 {
		return 0, fs.ErrInvalid
	}
	return strconv.Atoi(fields[1])
}
