package profiler

import "fmt"

// ArgumentError reports an argument that is not valid. Where upstream has a text for it, the text is upstream's, because
// scripts match it.
type ArgumentError struct{ Text string }

func (e *ArgumentError) Error() string { return "[PROTON] " + e.Text }

// SessionError reports a session or phase that does not exist.
type SessionError struct{ Text string }

func (e *SessionError) Error() string { return "[PROTON] " + e.Text }

// NotImplementedError reports something that upstream or a later version of ours has.
type NotImplementedError struct{ Text string }

func (e *NotImplementedError) Error() string { return e.Text }

func unknownSession(id int) error {
	return &SessionError{fmt.Sprintf("Session has not been initialized: %d", id)}
}
