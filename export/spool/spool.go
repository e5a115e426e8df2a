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

	"github.com/goproton/goproton/internal/ownfile"
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
	err := ownfile.Replace(path, fill)
	if errors.Is(err, fs.ErrNotExist) && Make(w.folder) == nil { // a user has deleted the spool
		err = ownfile.Replace(path, fill)
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

// EndOf reads the name of a file in a spool: when the window in it ended; ok is false if the file has no window.
func EndOf(name string) (end time.Time, ok bool) {
	e, ok := entry(strings.TrimSuffix(name, sending))
	return e.End, ok
}

// OtherName is the path of a window while a sender has claimed it, and of a claimed one where it waits.
func OtherName(path string) string {
	if waits, claimed := strings.CutSuffix(path, sending); claimed {
		return waits
	}
	return path + sending
}

// hurry begins the name of a file by which a process that waits for its windows, and has not the lock, asks the sender that has it to
// send at once what waits. The file is there while the process waits. It is empty: the holder needs no more than to see it.
const hurry = "hurry-"

func hurryPath(folder string) string {
	return filepath.Join(folder, fmt.Sprintf("%s%d", hurry, os.Getpid()))
}

// AskToHurry leaves the file of this process. One that is there already stays.
func AskToHurry(folder string) error {
	f, err := os.OpenFile(hurryPath(folder), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("ask the sender of a spool to hurry: %w", err)
	}
	return f.Close()
}

// AskNoLonger removes the file of this process.
func AskNoLonger(folder string) { _ = os.Remove(hurryPath(folder)) }

// Hurries returns the files of processes that ask. That of a process that was killed stays.
func Hurries(folder string) (paths []string) {
	files, _ := os.ReadDir(folder) //nolint:errcheck // a folder that is gone has none
	for _, f := range files {
		if strings.HasPrefix(f.Name(), hurry) {
			paths = append(paths, filepath.Join(folder, f.Name()))
		}
	}
	return paths
}

// recoverClaimed has windows wait again that a sender was sending when it died. The lock is held.
func recoverClaimed(folder string) {
	left, _ := fs.Glob(os.DirFS(folder), "*"+suffix+sending) //nolint:errcheck // the pattern is valid
	for _, name := range left {
		path := filepath.Join(folder, name)
		_ = os.Rename(path, strings.TrimSuffix(path, sending))
	}
}

// abandonedAfter is the age of a half-written window that no process writes any more.
const abandonedAfter = time.Hour

// removeAbandoned deletes what processes were writing when they were killed.
func removeAbandoned(folder string, now time.Time) {
	left, _ := fs.Glob(os.DirFS(folder), ".*.tmp") //nolint:errcheck // the pattern is valid
	for _, name := range left {
		path := filepath.Join(folder, name)
		if info, err := os.Lstat(path); err == nil && now.Sub(info.ModTime()) > abandonedAfter {
			_ = os.Remove(path)
		}
	}
}

// Trim deletes the oldest windows of all processes while there are more than limit bytes, and returns how many.
func Trim(folder string, limit int64) (deleted int64) {
	list, _ := List(folder) //nolint:errcheck // the sender's next listing says it
	total := int64(0)
	for _, e := range list {
		total += e.Size
	}
	for i := 0; i < len(list) && total > limit; i++ {
		if list[i].Remove() == nil {
			deleted++
		}
		total -= list[i].Size
	}
	return deleted
}
