package ownfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
)

// Replace calls fill with a temporary file next to path and renames it to path when fill succeeded.
// A path that exists and is not a regular file (a pipe, /dev/stdout) is written in place.
//
// The data are not synced to disk: the rename protects against a process that is killed, not against a power cut, and a
// checkpoint every two seconds must not wait for a disk.
func Replace(path string, fill func(w io.Writer) error) error {
	target, special, err := resolve(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if special {
		return inPlace(target, fill)
	}
	tmp, err := create(target)
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) { // the name of the temporary file means nothing to a user
			err = at.Err
		}
		return failed(path, err)
	}
	defer unfinished.remove(tmp)
	err = fill(tmp)
	if closeErr := tmp.file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = tmp.rename(target)
	}
	if err != nil {
		os.Remove(tmp.file.Name())
		return failed(path, err)
	}
	return nil
}

// failed is the error of a Replace. It says what to do where that does not follow from the error.
func failed(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("write %s: %w; make room there, or give a place on another disk", path, err)
	case errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("write %s: %w; delete files of yours there, or give a place on another disk", path, err)
	case errors.Is(err, syscall.EFBIG):
		return fmt.Errorf("write %s: %w; raise the limit with ulimit -f", path, err)
	}
	return fmt.Errorf("write %s: %w", path, err)
}

// temporary is a file that is being written.
type temporary struct {
	file      *File
	mu        sync.Mutex // guards abandoned, and is held while the file is renamed
	abandoned bool
}

// ErrAbandoned is matched by the error of a Replace that Abandon ended.
var ErrAbandoned = errors.New("the writing was given up")

func (t *temporary) Write(b []byte) (int, error) {
	if t.isAbandoned() {
		return 0, ErrAbandoned
	}
	n, err := t.file.Write(b)
	written.Add(uint64(n))
	return n, err
}

func (t *temporary) isAbandoned() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.abandoned
}

func (t *temporary) rename(to string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.abandoned {
		return ErrAbandoned
	}
	return os.Rename(t.file.Name(), to)
}

// unfinished are the files that are being written.
var unfinished files

// written counts bytes, of all files.
var written atomic.Uint64

// Progress grows while files are being written, and writing says whether some are.
func Progress() (bytes uint64, writing bool) {
	unfinished.Lock()
	defer unfinished.Unlock()
	return written.Load(), len(unfinished.list) > 0
}

type files struct {
	sync.Mutex
	list []*temporary
}

func (f *files) add(t *temporary) {
	f.Lock()
	defer f.Unlock()
	f.list = append(f.list, t)
}

func (f *files) remove(t *temporary) {
	f.Lock()
	defer f.Unlock()
	f.list = slices.DeleteFunc(f.list, func(x *temporary) bool { return x == t })
}

// Abandon removes half-written files and has their Writes fail: the process ends, or what they write is out of date.
func Abandon() {
	unfinished.Lock()
	defer unfinished.Unlock()
	for _, t := range unfinished.list {
		t.mu.Lock()
		t.abandoned = true
		os.Remove(t.file.Name())
		t.mu.Unlock()
	}
}

// RemoveLeft removes from a folder what a process was writing when it was killed.
func RemoveLeft(folder string, pid int) {
	left, _ := fs.Glob(os.DirFS(folder), fmt.Sprintf(".*.%d-????????.tmp", pid))
	for _, name := range left {
		os.Remove(filepath.Join(folder, name))
	}
}

// resolve follows a symbolic link, so that the link stays and its target is replaced.
func resolve(path string) (target string, special bool, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, false, nil
	}
	if err != nil {
		return "", false, err
	}
	if info.IsDir() {
		return "", false, errors.New("it is a folder; give a file name")
	}
	if !info.Mode().IsRegular() {
		return path, true, nil
	}
	target, err = filepath.EvalSymlinks(path)
	return target, false, err
}

// create makes a new file next to target with the mode the umask gives. os.CreateTemp would make it 0600,
// and a profile that a container's root wrote could not be read by the user outside of it.
func create(target string) (*temporary, error) {
	dir, base := filepath.Split(target)
	for try := 0; ; try++ {
		name := fmt.Sprintf("%s.%s.%d-%08x.tmp", dir, base, os.Getpid(), rand.Uint32())
		f, err := Open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			t := &temporary{file: f}
			unfinished.add(t)
			return t, nil
		}
		if !errors.Is(err, fs.ErrExist) || try == 100 {
			return nil, err
		}
	}
}

func inPlace(path string, fill func(w io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	err = fill(f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return failed(path, err)
	}
	return nil
}

// Temporary is a private file without a name: whatever ends the process, nothing of it stays behind. Where a file that is open
// cannot be removed, as on Windows, Close removes it.
type Temporary struct {
	*os.File
	removed bool
}

// NewTemporary makes one on the file system of a folder.
func NewTemporary(folder string) (*Temporary, error) {
	f, err := os.CreateTemp(folder, ".sort-*")
	if err != nil {
		return nil, err
	}
	return &Temporary{f, os.Remove(f.Name()) == nil}, nil
}

// Close closes the file, which is gone then.
func (f *Temporary) Close() error {
	err := f.File.Close()
	if !f.removed {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
