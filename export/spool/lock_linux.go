package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Lock makes this process the sender of a spool. It reports false while another process is. The kernel releases the lock of a
// process that dies, and what that was sending waits again.
func Lock(folder string) (held *Held, ok bool, err error) {
	path := filepath.Join(folder, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, false, fmt.Errorf("lock the spool: %w; set PROTON_PUSH_SPOOL to a folder that can be written", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("lock the spool %s: %w; set PROTON_PUSH_SPOOL to a folder on a disk that has locks", folder, err)
	}
	recoverClaimed(folder)
	removeAbandoned(folder, time.Now())
	return &Held{f, path}, true, nil
}

// ours reports whether a folder is one of this user's, and no link.
func ours(info fs.FileInfo) bool {
	owner, known := info.Sys().(*syscall.Stat_t)
	return info.IsDir() && known && int(owner.Uid) == os.Geteuid()
}
