package push

import (
	"maps"
	"os"
	"slices"
	"time"

	"github.com/goproton/goproton/export/spool"
)

// heed has this sender hurry while other processes ask for it in the spool. It has the lock. The file of each counts for pace.asker; then
// it is removed, because the process may have been killed. One that still waits leaves it again.
func (s *Sender) heed() {
	now, asks, begins := time.Now(), false, false
	paths := spool.Hurries(s.Folder)
	for _, path := range paths {
		switch since, known := s.askers[path]; {
		case !known:
			if s.askers == nil {
				s.askers = map[string]time.Time{}
			}
			s.askers[path] = now
			asks, begins = true, true
		case now.Sub(since) < s.pace.asker:
			asks = true
		case os.Remove(path) == nil:
			delete(s.askers, path)
		}
	}
	maps.DeleteFunc(s.askers, func(path string, _ time.Time) bool { return !slices.Contains(paths, path) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heeds = asks; begins {
		s.notUntil = time.Time{}
	}
}

// askHolder asks the sender that has the lock to hurry while windows wait and this one is to hurry, which it cannot without the lock.
func (s *Sender) askHolder(wait bool) {
	s.mu.Lock()
	hurries := s.hurries()
	s.mu.Unlock()
	switch {
	case wait && hurries:
		s.asks = spool.AskToHurry(s.Folder) == nil // again at each look: the holder may have removed the file
	case s.asks:
		s.asks = false
		spool.AskNoLonger(s.Folder)
	}
}
