package spool

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

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
