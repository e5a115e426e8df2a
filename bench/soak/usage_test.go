package soak

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// usage is what the system says of a process.
type usage struct {
	resident, goHeap     int64 // bytes; goHeap is what is resident of the memory that Go's runtime manages
	descriptors, threads int
}

// watched is a process whose memory is read.
type watched struct {
	name     string
	pid      int
	bounded  bool    // it must not grow
	readings []usage // of this minute
	minutes  []usage // the median of each
}

func (w *watched) read() error {
	u, err := usageOf(w.pid)
	w.readings = append(w.readings, u)
	return err
}

// minute ends a minute.
func (w *watched) minute() string {
	m := medians(w.readings)
	w.minutes, w.readings = append(w.minutes, m), nil
	return fmt.Sprintf("%-10s %7.2f MiB, of them Go's %7.2f; %d descriptors, %d threads", w.name, mib(m.resident), mib(m.goHeap), m.descriptors, m.threads)
}

// usageOf reads /proc. Go's memory has no name and lies below the addresses that Linux gives to programs and libraries.
func usageOf(pid int) (u usage, err error) {
	smaps, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		return u, err
	}
	const programs = 0x5000_0000_0000
	inGo := false
	for lines := bufio.NewScanner(bytes.NewReader(smaps)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if from, _, is := strings.Cut(fields[0], "-"); is {
			at, err := strconv.ParseUint(from, 16, 64)
			inGo = err == nil && len(fields) == 5 && at < programs
		} else if fields[0] == "Rss:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			u.resident += kib << 10
			if inGo {
				u.goHeap += kib << 10
			}
		}
	}
	u.descriptors, u.threads = entries(pid, "fd"), entries(pid, "task")
	return u, nil
}

func entries(pid int, folder string) int {
	list, _ := os.ReadDir(fmt.Sprintf("/proc/%d/%s", pid, folder)) //nolint:errcheck // 0: the process has ended
	return len(list)
}

func TestUsage(t *testing.T) {
	before, err := usageOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	room := make([]byte, 64<<20)
	for i := range room {
		room[i] = 1
	}
	file, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	after, err := usageOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	if grown := after.goHeap - before.goHeap; grown < 60<<20 || after.resident-before.resident < grown/2 {
		t.Errorf("64 MiB of Go's heap: %+v, then %+v", before, after)
	}
	if after.descriptors <= before.descriptors || after.threads < 1 {
		t.Errorf("one more file: %+v, then %+v", before, after)
	}
	runtime.KeepAlive(room)
}
