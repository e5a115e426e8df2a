package run

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// Program is a process that another one watches.
type Program struct {
	pid   int
	began string // since the start of the machine: another process may get the number later
}

// Watch finds a process.
func Watch(pid int) (*Program, error) {
	began, lives := beganAt(pid)
	if !lives {
		return nil, fmt.Errorf("there is no process %d", pid)
	}
	return &Program{pid, began}, nil
}

// Wait returns when the process has ended.
func (p *Program) Wait() {
	for {
		if began, lives := beganAt(p.pid); !lives || began != p.began {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// beganAt reads field 22 of a process's stat, which follows its name in parentheses. A process that nothing has waited for yet
// has ended.
func beganAt(pid int) (began string, lives bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 || bytes.ContainsAny(fields[0], "ZX") {
		return "", false
	}
	return string(fields[19]), true
}
