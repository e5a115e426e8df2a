package store

import "sync"

// firstError is the first error of several goroutines. Its lock may guard more of the type that has it.
type firstError struct {
	mu  sync.Mutex
	err error
}

// Failed is that error.
func (f *firstError) Failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Fail keeps an error, if it is the first.
func (f *firstError) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}
