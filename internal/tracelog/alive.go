package tracelog

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// alive says whether the process of a spool still runs on this machine. The lock on the ring is not enough: the kernel releases a
// process's lock when the process closes any descriptor of the file, as a program does that copies its own trace folder.
func (h header) alive() bool {
	return h.Started != 0 && h.PID != os.Getpid() && h.Host == hostLabel() && started(h.PID) == h.Started
}

// started is when a process began, in the kernel's ticks; 0 if there is no such process, or if it has ended and only waits for
// its parent.
func started(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	at := bytes.LastIndexByte(text, ')') // the name before it may hold anything
	if err != nil || at < 0 {
		return 0
	}
	const state, start = 0, 19 // counted from there
	fields := bytes.Fields(text[at+1:])
	if len(fields) <= start || fields[state][0] == 'Z' || fields[state][0] == 'X' {
		return 0
	}
	ticks, _ := strconv.ParseUint(string(fields[start]), 10, 64)
	return ticks
}
