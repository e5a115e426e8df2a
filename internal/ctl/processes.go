package ctl

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/goproton/goproton/internal/procstat"
)

// Of returns the processes of a list that a pid means: that process or, if it does not listen, those below it.
func Of(list []Entry, pid int) (of []Entry, err error) {
	for _, e := range list {
		if e.PID == pid {
			return []Entry{e}, nil
		}
	}
	for _, e := range list {
		if procstat.Below(e.PID, pid) {
			of = append(of, e)
		}
	}
	if len(of) > 0 {
		return of, nil
	}
	if !lives(pid) {
		return nil, fmt.Errorf("there is no process %d; proton ctl lists the processes that can be controlled", pid)
	}
	if info, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); err == nil && owner(info) != os.Geteuid() {
		return nil, fmt.Errorf("process %d belongs to user %d, and only that user can control it: run proton ctl as that user", pid, owner(info))
	}
	return nil, fmt.Errorf("process %d cannot be controlled: start the program with proton run --ctl, or with proton run --paused", pid)
}
