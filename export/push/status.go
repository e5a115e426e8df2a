package push

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"github.com/goproton/goproton/internal/ownfile"
)

// Status is what a sender has done so far. The spool has it as status.json, for other programs.
type Status struct {
	Sender        string `json:"sender"` // a name of the sender that no other has: processes in containers may have the same id
	Target        string `json:"target"`
	PID           int    `json:"pid"`
	Sending       bool   `json:"sending"`       // it has the lock
	Sent          int64  `json:"sent"`          // windows that the server took
	Bytes         int64  `json:"bytes"`         // bytes of their requests
	Retries       int64  `json:"retries"`       // requests that were or will be repeated
	Refused       int64  `json:"refused"`       // windows, or GPUs of them, that the server will never take
	Unreadable    int64  `json:"unreadable"`    // windows whose files are damaged
	Evicted       int64  `json:"evicted"`       // windows deleted to make room in the spool, by this sender
	Folded        int64  `json:"folded"`        // call paths that were sent as (other)
	Waiting       int64  `json:"waiting"`       // windows in the spool
	WaitingBytes  int64  `json:"waiting_bytes"` // bytes of these windows
	LastError     string `json:"last_error,omitempty"`
	WhyRefused    string `json:"why_refused,omitempty"`
	WhyUnreadable string `json:"why_unreadable,omitempty"`

	CountersSent      int64  `json:"counters_sent,omitempty"` // requests with counters that the server took
	CountersFailed    int64  `json:"counters_failed,omitempty"`
	LastCountersError string `json:"last_counters_error,omitempty"` // "" after one that was taken
}

const statusFile = "status.json"

// newName is a name that no other sender has, also not one of an earlier run that has left its status.
func newName() string { return fmt.Sprintf("%d-%016x", os.Getpid(), rand.Uint64()) }

func (s *Sender) leaveStatus() {
	text, err := json.Marshal(s.Status())
	if err != nil {
		return
	}
	_ = ownfile.Replace(filepath.Join(s.Folder, statusFile), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// ReadStatus reads what the last sender of a spool has left, with what waits now.
func ReadStatus(folder string) (st Status, err error) {
	text, err := os.ReadFile(filepath.Join(folder, statusFile))
	if err == nil {
		err = json.Unmarshal(text, &st)
	}
	st.Waiting, st.WaitingBytes = waiting(folder)
	return st, err
}

// StatusOf returns a function that reads what one sender of a spool has done, whose numbers never fall. Another sender may have the
// lock and leave its status, before and after. Only what waits is that of the spool.
func StatusOf(folder, sender string) func() Status {
	var mu sync.Mutex
	var last Status
	return func() Status {
		mu.Lock()
		defer mu.Unlock()
		st, err := ReadStatus(folder)
		if err == nil && sender != "" && st.Sender == sender {
			last = st
		}
		last.Waiting, last.WaitingBytes = st.Waiting, st.WaitingBytes
		return last
	}
}
