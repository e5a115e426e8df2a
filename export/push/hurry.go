package push

import (
	"maps"
	"os"
	"slices"
	"time"

	"github.com/goproton/goproton/export/spool"
)

// heed has this sender, which has the lock, hurry while other processes ask for it by files in the spool. Such a file counts
// for pace.asker; then it is removed, because its process may have been killed. A process that still waits leaves the file
// again.
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

// askHolder leaves a file that asks the holder of the lock to hurry, if windows wait and this sender is in a hurry but has no
// lock; otherwise it removes the file.
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
