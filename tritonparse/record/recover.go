package record

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goproton/goproton/internal/procstat"
)

// Recovered is what Recover found.
type Recovered struct {
	Counts             // what had been left unwritten
	Processes int      // that had died
	Problems  []string // of ring files that could not be used; they stay where they are
}

// Recover writes out what processes that died, or had no time left, have left in a trace folder. Ring files of living
// processes are not touched.
func Recover(folder string) (Recovered, error) {
	var found Recovered
	names, err := fs.Glob(os.DirFS(folder), ringPrefix+"*.ring")
	if err != nil {
		return found, fmt.Errorf("look for unwritten launches: %w", err)
	}
	for _, name := range names {
		path := filepath.Join(folder, name)
		counts, problems, err := recoverOne(path)
		switch {
		case errors.Is(err, errInUse), errors.Is(err, fs.ErrNotExist), errors.Is(err, errNoDefinitions): // alive; another process did it
			continue
		case err != nil:
			found.Problems = append(found.Problems, fmt.Sprintf("what is left in %s cannot be used: %v", path, err))
			continue
		}
		found.Processes++
		found.add(counts)
		found.Problems = append(found.Problems, problems...)
	}
	return found, nil
}

// errNoDefinitions: the process died between making its two files, or the process that recovered it died between removing them.
var errNoDefinitions = errors.New("nothing is left but the ring")

// recoverOwn writes out what a process has left that had the id of this process before.
func recoverOwn(h header) error {
	path := h.ringFile("ring")
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	if _, _, err := recoverOne(path); err != nil && !errors.Is(err, errNoDefinitions) {
		return fmt.Errorf("what is left in %s cannot be used and is given up: %w", path, err)
	}
	return nil
}

func recoverOne(path string) (counts Counts, problems []string, err error) {
	r, err := openRing(path)
	if err != nil {
		return counts, nil, err
	}
	defer func() { r.close(err == nil || errors.Is(err, errNoDefinitions)) }()
	definitionsPath := strings.TrimSuffix(path, ".ring") + ".definitions"
	d, err := readDefinitionsFile(definitionsPath)
	if errors.Is(err, fs.ErrNotExist) {
		return counts, nil, errNoDefinitions
	}
	if err != nil {
		return counts, nil, err
	}
	if d.header.alive() {
		return counts, nil, errInUse
	}
	d.header.Options.Folder = filepath.Dir(path) // it may have moved
	x := expander{header: d.header, dictionary: &dictionary{values: d.values}, out: output{header: d.header}}
	before := r.last()
	if err := x.resume(before, d); err != nil {
		return counts, nil, err
	}
	var sources sourceLines
	for _, text := range d.events[x.events:] {
		x.addEvent(x.header.complete(text, &sources))
	}
	x.drain(r)
	x.counts.Lost += r.lost()
	x.finish(r)
	if x.failed {
		return counts, nil, errors.New(x.problems[0])
	}
	if err := os.Remove(definitionsPath); err != nil {
		return counts, nil, err
	}
	status{Counts: x.counts, Problems: x.problems, Files: x.out.names}.write(d.header.Options.Status, d.header.PID)
	counts = x.counts
	counts.Launches -= int64(before.Launches)
	counts.Compilations -= int64(before.Others >> 32)
	counts.Autotunes -= int64(before.Others & 0xFFFFFFFF)
	return counts, x.problems, nil
}

func readDefinitionsFile(path string) (definitions, error) {
	file, err := os.Open(path)
	if err != nil {
		return definitions{}, err
	}
	defer file.Close()
	return readDefinitions(bufio.NewReaderSize(file, 1<<16))
}

// resume continues after the last commit of the process. In a ring that was copied while it was in use, c.Read may exceed what was
// written: then nothing is left to read.
func (x *expander) resume(c commit, d definitions) error {
	if c.Events > uint64(len(d.events)) {
		return fmt.Errorf("%w: it says that more was written than there is", errDamaged)
	}
	x.read, x.events = c.Read, c.Events
	x.counts = Counts{Launches: int64(c.Launches), Compilations: int64(c.Others >> 32), Autotunes: int64(c.Others & 0xFFFFFFFF)}
	if c.Number == 0 {
		x.out.rank = noRank
		return nil
	}
	return x.out.continueAt(c)
}

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
