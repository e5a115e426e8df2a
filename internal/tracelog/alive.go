package tracelog

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// alive says whether the process of a spool still runs on this machine. Its lock on the ring says so too, but the system takes
// that away as soon as the process closes the file once more, as one does that copies its own folder of logs.
func (h header) alive() bool {
	return h.Started != 0 && h.PID != os.Getpid() && h.Host == hostLabel() && started(h.PID) == h.Started
}

// started is when a process began, in the kernel's ticks; 0 for none, and for one that has only not been waited for.
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
