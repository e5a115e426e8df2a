package launchtext

import "sync"

// Shared are things that goroutines share, by the texts that they are made of. All are forgotten when they take too much memory.
type Shared[V any] struct {
	mu   sync.RWMutex
	of   map[string]V
	size int
}

// Get returns the thing of a text, or the zero value.
func (s *Shared[V]) Get(text []byte) V {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.of[string(text)]
}

// Put adds a thing that takes so many bytes, of at most so many in all.
func (s *Shared[V]) Put(text string, v V, bytes, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size += bytes; s.of == nil || s.size > most {
		s.of, s.size = map[string]V{}, bytes
	}
	s.of[text] = v
}

func (s *Shared[V]) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of, s.size = nil, 0
}
