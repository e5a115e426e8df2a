//go:build !windows

package agent

import (
	"os"
	"syscall"
)

// interrupt asks a command to end: proton run then ends the program, and writes what was recorded.
func interrupt(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
