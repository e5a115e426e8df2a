// Package procstat is about processes: parents and beginnings of others, which Linux says in /proc/PID/stat and other systems do not; and of
// this one, how much of its heap is alive, and waiting with a limit that counts only the time in which it was running.
package procstat

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
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

// AfterCollection calls check after each collection, with the bytes that are alive, as long as it returns true.
func AfterCollection(check func(live uint64) (again bool)) {
	type marker struct{ _ [64]byte } // not so small that it shares its memory with others
	runtime.SetFinalizer(&marker{}, func(*marker) {
		if check(read("/gc/heap/live:bytes")) {
			AfterCollection(check)
		}
	})
}

const fewFree = 1 << 20 // bytes that are not worth a collection

// GiveBack returns a function for AfterCollection to call. It gives back to the system what is free, once in a minute. Go itself
// leaves a tenth more than the heap's goal resident, and uses that bit by bit: resident memory rose for an hour in a soak. Giving back takes a
// collection; of two programs for ten minutes, one with it took no more processor time.
func GiveBack() func() { return every(time.Minute, debug.FreeOSMemory) }

func every(least time.Duration, release func()) func() {
	released := time.Now()
	return func() {
		if time.Since(released) >= least && free() >= fewFree {
			released = time.Now()
			go release() // it collects, and this is part of a collection
		}
	}
}

// free is how many bytes of the heap hold nothing and were not given back.
func free() uint64 { return read("/memory/classes/heap/free:bytes") }

func read(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
