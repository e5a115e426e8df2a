// Package spool is a folder in which windows wait until they are sent to a server. Profiled processes put files there and touch
// no network; one sender per folder, in another process, takes them out in order. Files appear complete or not at all, so either
// side may be killed at any time, and what is left is for the next sender.
//
//	<end, ns since 1970>-<pid>-<number>.window        waits
//	<end>-<pid>-<number>-<parts>.window               waits; so many of its parts were sent
//	….window.sending                                  is being sent, by the holder of the lock
//	lock, status.json                                 the sender's
//	hurry-<pid>                                       of a process that waits for its windows, and has not the lock
package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goproton/goproton/internal/atomicfile"
	"github.com/goproton/goproton/internal/runinfo"
)

const (
	// ProcessLimit is how many bytes one process keeps in a spool: a day of windows of 1,000 call paths.
	ProcessLimit = 64 << 20
	// FolderLimit is how many bytes of all processes, dead ones included, a sender leaves in a spool.
	FolderLimit = 256 << 20

	suffix  = ".window"
	sending = ".sending"
)

// Make makes the folder of a spool, which only its user may enter, or checks the one that is there.
func Make(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make the spool: %w; set PROTON_PUSH_SPOOL to a folder that can be written", err)
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return fmt.Errorf("make the spool: %w", err)
	}
	if !ours(info) {
		return fmt.Errorf("make the spool: %s is not a folder of this user; set PROTON_PUSH_SPOOL to another", folder)
	}
	if info.Mode().Perm() != 0o700 {
		if err := os.Chmod(folder, 0o700); err != nil {
			return fmt.Errorf("make the spool: %w; set PROTON_PUSH_SPOOL to another folder", err)
		}
	}
	return nil
}

// Held is the lock of a spool.
type Held struct {
	file *os.File
	path string
}

// Release gives the lock up.
func (h *Held) Release() { h.file.Close() }

// Stands reports whether the lock is that of the spool as it is now. It is not after a user has deleted the spool.
func (h *Held) Stands() bool {
	ours, err := h.file.Stat()
	now, gone := os.Lstat(h.path)
	return err == nil && gone == nil && os.SameFile(ours, now)
}

// Writer puts the windows of one process into a spool: all of them, because it numbers them. It opens no folder: a profiled program may close or reuse any descriptor
// at any time, so that it asks for its own files by name only.
type Writer struct {
	folder string
	limit  int64

	mu     sync.Mutex
	kept   []file // of this process, oldest first; some may be sent by now
	bytes  int64  // of kept
	look   int    // at so many kept it is looked which were sent
	next   int
	status runinfo.SpoolStatus
}

type file struct {
	path string
	size int64
}

const fewKept = 64 // files

// NewWriter returns a writer that keeps at most limit bytes in a folder.
func NewWriter(folder string, limit int64) *Writer {
	return &Writer{folder: folder, limit: limit, look: fewKept}
}

// Put writes a window. When the files of this process exceed the limit, the oldest are deleted.
func (w *Writer) Put(end time.Time, fill func(io.Writer) error) error {
	w.mu.Lock()
	w.next++
	path := filepath.Join(w.folder, fmt.Sprintf("%019d-%d-%d%s", max(end.UnixNano(), 0), os.Getpid(), w.next, suffix))
	w.mu.Unlock()
	err := atomicfile.Write(path, fill)
	if errors.Is(err, fs.ErrNotExist) && Make(w.folder) == nil { // a user has deleted the spool
		err = atomicfile.Write(path, fill)
	}
	if err != nil {
		return err
	}
	info, err := os.Lstat(path)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.Windows++
	if err == nil {
		w.status.Bytes += info.Size()
		w.kept = append(w.kept, file{path, info.Size()})
		w.bytes += info.Size()
	}
	if w.bytes > w.limit || len(w.kept) >= w.look {
		w.evict()
	}
	return nil
}

// evict forgets the files that were sent, and deletes the oldest while there are too many bytes. What a sender is sending is not deleted.
func (w *Writer) evict() {
	w.bytes = 0
	w.kept = slices.DeleteFunc(w.kept, func(f file) bool {
		_, err := os.Lstat(f.path)
		gone := errors.Is(err, fs.ErrNotExist)
		if !gone {
			w.bytes += f.size
		}
		return gone
	})
	for len(w.kept) > 0 && w.bytes > w.limit {
		if os.Remove(w.kept[0].path) == nil {
			w.status.Evicted++
		}
		w.bytes -= w.kept[0].size
		w.kept = slices.Delete(w.kept, 0, 1)
	}
	w.look = max(2*len(w.kept), fewKept)
}

// Status returns what has been written so far.
func (w *Writer) Status() runinfo.SpoolStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// Entry is a window that waits.
type Entry struct {
	Path string
	Name string // <end>-<pid>-<number>, the same until it is deleted
	End  time.Time
	PID  int
	Size int64
	Sent int // parts of it that the server has
}

// List returns the windows of a spool that wait, oldest first.
func List(folder string) ([]Entry, error) {
	list, _, err := All(folder)
	return list, err
}

// All is List, and counts the windows that a sender has claimed.
func All(folder string) (list []Entry, claimed int, err error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, 0, fmt.Errorf("list the spool: %w", err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), suffix+sending) {
			claimed++
			continue
		}
		e, ok := entry(f.Name())
		info, err := f.Info()
		if !ok || err != nil || !info.Mode().IsRegular() {
			continue
		}
		e.Path, e.Size = filepath.Join(folder, f.Name()), info.Size()
		list = append(list, e)
	}
	return list, claimed, nil // ReadDir sorts by name, which begins with the time
}

func entry(name string) (e Entry, ok bool) {
	stem, is := strings.CutSuffix(name, suffix)
	parts := strings.Split(stem, "-")
	if !is || len(parts) < 3 || len(parts) > 4 {
		return Entry{}, false
	}
	var numbers [4]int64
	for i, part := range parts {
		var err error
		if numbers[i], err = strconv.ParseInt(part, 10, 64); err != nil {
			return Entry{}, false
		}
	}
	return Entry{Name: strings.Join(parts[:3], "-"), End: time.Unix(0, numbers[0]), PID: int(numbers[1]), Sent: int(numbers[3])}, true
}

// Claim takes a window out of the reach of its process, which could delete it while it is sent. It reports false if the
// window is gone.
func (e *Entry) Claim() bool {
	if os.Rename(e.Path, e.Path+sending) != nil {
		return false
	}
	e.Path += sending
	return true
}

// SentPart notes in the name of a claimed window that one more part of it was sent, so that no sender sends it again.
func (e *Entry) SentPart() {
	e.Sent++
	path := e.partPath() + sending
	if os.Rename(e.Path, path) == nil {
		e.Path = path
	}
}

// partPath is where the window waits when so many of its parts were sent.
func (e *Entry) partPath() string {
	return filepath.Join(filepath.Dir(e.Path), fmt.Sprintf("%s-%d%s", e.Name, e.Sent, suffix))
}

// Release puts a claimed window back.
func (e *Entry) Release() {
	back := strings.TrimSuffix(e.Path, sending)
	if os.Rename(e.Path, back) == nil {
		e.Path = back
	}
}

// Remove deletes a window, which was sent or refused.
func (e *Entry) Remove() error { return os.Remove(e.Path) }
