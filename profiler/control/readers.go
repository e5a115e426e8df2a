package control

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/profiler"
)

// readers are who reads what living sessions record: a sender, and servers of counters. They are given when a session is started first.
type readers struct {
	sync.Mutex
	of map[int]runinfo.Session
}

// began notes who reads what a session records.
func (s *Service) began(id int, asked runinfo.Session) {
	if asked.Metrics != nil {
		s.counted.began(id)
	}
	if asked.Metrics == nil && asked.Push == nil {
		return
	}
	s.readers.Lock()
	defer s.readers.Unlock()
	if s.readers.of == nil {
		s.readers.of = map[int]runinfo.Session{}
	}
	maps.DeleteFunc(s.readers.of, func(id int, _ runinfo.Session) bool { return !s.Manager.Lives(id) })
	s.readers.of[id] = asked
}

// keepsReaders reports whether a session of that name lives. It refuses other readers than that one has: what they were asked for
// would not come to them.
func (s *Service) keepsReaders(name string, asked runinfo.Session) (lives bool, err error) {
	id, lives := s.Manager.Named(name)
	if !lives {
		return false, nil
	}
	s.readers.Lock()
	defer s.readers.Unlock()
	has := s.readers.of[id]
	if !samePush(has.Push, asked.Push) {
		err = otherReaders("push", name)
	} else if !sameMetrics(has.Metrics, asked.Metrics) {
		err = otherReaders("prometheus", name)
	}
	return true, err
}

func otherReaders(what, name string) error {
	return &profiler.ArgumentError{Text: fmt.Sprintf("%s: the session %s lives, and was started without this: leave %s out, or finalize the session first", what, name, what)}
}

// samePush reports whether nothing else is asked for than a session has. A spool that is not known yet is not compared.
func samePush(has, asked *runinfo.Push) bool {
	return asked == nil || has != nil && has.Seconds == asked.Seconds && maps.Equal(has.Labels, asked.Labels) && (asked.Spool == "" || has.Spool == asked.Spool)
}

// sameMetrics is samePush for counters.
func sameMetrics(has, asked *runinfo.Metrics) bool {
	return asked == nil || has != nil && (len(asked.Folders) == 0 || slices.Equal(has.Folders, asked.Folders))
}
