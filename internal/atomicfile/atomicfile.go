// Package atomicfile replaces a file in one step: a reader sees the old content or the new, never a part, and
// a writer that dies half-way leaves the old file alone. Profiles and traces are written through it.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
)

// Write calls fill with a temporary file beside path and renames it to path when fill succeeded.
// A path that exists and is no regular file (a pipe, /dev/stdout) is written in place.
//
// The data are not synced to disk: the rename is there against a process that is killed, not against a power
// cut, and a checkpoint every two seconds must not wait for a disk.
func Write(path string, fill func(w io.Writer) error) error {
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
		if errors.As(err, &at) { // the passing name tells nobody anything
			err = at.Err
		}
		return fmt.Errorf("write %s: %w", path, err)
	}
	unfinished.add(tmp.Name())
	defer unfinished.remove(tmp.Name())
	err = fill(tmp)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), target)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// unfinished are the files that are being written.
var unfinished files

type files struct {
	sync.Mutex
	names map[string]bool
}

func (f *files) add(name string) {
	f.Lock()
	defer f.Unlock()
	if f.names == nil {
		f.names = map[string]bool{}
	}
	f.names[name] = true
}

func (f *files) remove(name string) {
	f.Lock()
	defer f.Unlock()
	delete(f.names, name)
}

// Abandon removes what is half written: the process ends, and no Write will come to its end.
func Abandon() {
	unfinished.Lock()
	defer unfinished.Unlock()
	for name := range unfinished.names {
		os.Remove(name)
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

// create makes a new file beside target with the mode the umask gives. os.CreateTemp would make it 0600,
// and a profile that a container's root wrote could not be read by the user beside it.
func create(target string) (*os.File, error) {
	dir, base := filepath.Split(target)
	for try := 0; ; try++ {
		name := fmt.Sprintf("%s.%s.%08x.tmp", dir, base, rand.Uint32())
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil || !errors.Is(err, fs.ErrExist) || try == 100 {
			return f, err
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
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
