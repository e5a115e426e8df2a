package run

import (
	"fmt"
	"time"

	"github.com/goproton/goproton/internal/procstat"
)

// Program is a process that another one watches.
type Program struct {
	pid   int
	began uint64 // since the start of the machine: another process may get the number later
}

// Watch finds a process.
func Watch(pid int) (*Program, error) {
	began, lives := procstat.Began(pid)
	if !lives {
		return nil, fmt.Errorf("there is no process %d", pid)
	}
	return &Program{pid, began}, nil
}

// lives reports whether the process has not ended.
func (p *Program) lives() bool {
	began, lives := procstat.Began(p.pid)
	return lives && began == p.began
}

// Wait returns when the process has ended.
func (p *Program) Wait() {
	for p.lives() {
		time.Sleep(200 * time.Millisecond)
	}
}
