// Package procstat is about processes: parents and beginnings of others, which Linux says in /proc/PID/stat and other systems do not; and of
// this one, how much of its heap is alive, and waiting with a limit that counts only the time in which it was running.
package procstat

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Numbers of fields, counted from the one behind the process's name.
const (
	state  = 0
	parent = 1
	start  = 19
)

// fields are those behind the name, which stands in parentheses and may hold anything; nil if there is no such process.
func fields(pid int) [][]byte {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	at := bytes.LastIndexByte(text, ')')
	if err != nil || at < 0 {
		return nil
	}
	return bytes.Fields(text[at+1:])
}

// Parent is the process above another, 0 if that is not known.
func Parent(pid int) int {
	f := fields(pid)
	if len(f) <= parent {
		return 0
	}
	above, _ := strconv.Atoi(string(f[parent])) //nolint:errcheck // 0
	return above
}

// Stopped reports whether a process is stopped by a signal.
func Stopped(pid int) bool {
	f := fields(pid)
	return len(f) > state && string(f[state]) == "T"
}

// Below reports whether a process was started by another, directly or not.
func Below(pid, above int) bool {
	for range 1000 { // numbers that are used again meanwhile could make a circle
		if pid = Parent(pid); pid <= 1 || pid == above {
			break
		}
	}
	return pid == above && pid > 1
}

// Since is for how long a process has run, to a hundredth of a second; 0 if that is not known.
func Since(pid int) time.Duration {
	const perSecond = 100 // ticks, on every architecture that Go has
	var up float64        // seconds since the machine started
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0
	}
	if _, err := fmt.Sscan(string(text), &up); err != nil {
		return 0
	}
	ticks, lives := Began(pid)
	if !lives {
		return 0
	}
	return max(0, time.Duration((up-float64(ticks)/perSecond)*float64(time.Second)))
}

// Began is when a process began, in the kernel's ticks since the machine started. It is false if there is no such process, or if it
// has ended and only waits for its parent.
func Began(pid int) (ticks uint64, lives bool) {
	f := fields(pid)
	if len(f) <= start || bytes.ContainsAny(f[state], "ZX") {
		return 0, false
	}
	ticks, _ = strconv.ParseUint(string(f[start]), 10, 64) //nolint:errcheck // 0
	return ticks, true
}
