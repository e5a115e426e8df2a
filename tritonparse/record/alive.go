package record

import (
	"os"

	"github.com/goproton/goproton/internal/procstat"
)

// alive says whether the process of a ring still runs on this machine. The lock on the ring is not enough: the kernel releases a
// process's lock when the process closes any descriptor of the file, as a program does that copies its own trace folder.
func (h header) alive() bool {
	return h.Started != 0 && h.PID != os.Getpid() && h.Host == hostLabel() && started(h.PID) == h.Started
}

// started is when a process began, 0 if it does not run.
func started(pid int) uint64 {
	ticks, _ := procstat.Began(pid)
	return ticks
}
