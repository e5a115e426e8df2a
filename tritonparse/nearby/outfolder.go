package nearby

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"sync"
)

// Folder is one that is written to. Close it.
type Folder struct {
	root *os.Root
	path string
}

// Open opens a folder, and makes it if it is not there.
func Open(path string) (*Folder, error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Folder{root, path}, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Write writes a file. Its name is one below the folder, with slashes; folders in it are made. fill writes the contents.
func (f *Folder) Write(name string, perm fs.FileMode, fill func(io.Writer) error) error {
	if err := f.write(name, perm, fill); err != nil {
		var at *fs.PathError
		if errors.As(err, &at) { // its path is that of the temporary file
			err = at.Err
		}
		return fmt.Errorf("write %s: %w", filepath.Join(f.path, filepath.FromSlash(name)), err)
	}
	return nil
}

func (f *Folder) write(name string, perm fs.FileMode, fill func(io.Writer) error) error {
	if err := f.root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	half := unfinished{f.root, path.Join(path.Dir(name), fmt.Sprintf(".%016x.tmp", rand.Uint64()))}
	file, err := half.create(perm)
	if err != nil {
		return err
	}
	err = fill(file)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return half.end(name, err)
}

// unfinished is a file that is being written.
type unfinished struct {
	root *os.Root
	name string // of the temporary file
}

// writing are the files that Abandon removes.
var writing = struct {
	sync.Mutex
	files map[unfinished]bool
}{files: map[unfinished]bool{}}

func (u unfinished) create(perm fs.FileMode) (*os.File, error) {
	writing.Lock()
	defer writing.Unlock()
	file, err := u.root.OpenFile(u.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err == nil {
		writing.files[u] = true
	}
	return file, err
}

// end gives the file its name, or removes it if writing it has failed.
func (u unfinished) end(name string, err error) error {
	writing.Lock()
	defer writing.Unlock()
	delete(writing.files, u)
	if err == nil {
		err = u.root.Rename(u.name, name)
	}
	if err != nil {
		return errors.Join(err, u.root.Remove(u.name))
	}
	return nil
}

// Abandon removes half-written files, because the process is about to end. From then on no file is written: a goroutine that
// begins or ends one waits until continued is called, which only tests do.
func Abandon() (continued func()) {
	writing.Lock()
	for u := range writing.files {
		_ = u.root.Remove(u.name)
	}
	return writing.Unlock
}

// WriteText is Write for contents in memory.
func (f *Folder) WriteText(name string, perm fs.FileMode, text []byte) error {
	return f.Write(name, perm, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Copy copies a file into the folder and returns its size. A file that is that one already stays.
func (f *Folder) Copy(name, from string) (size int64, err error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	was, err := in.Stat()
	if err != nil {
		return 0, err
	}
	if there, err := f.root.Stat(name); err == nil && os.SameFile(was, there) {
		return was.Size(), nil
	}
	err = f.Write(name, 0o666, func(w io.Writer) error {
		size, err = io.Copy(w, in)
		return err
	})
	return size, err
}

// Size is that of a regular file in the folder, no links followed; false if there is none.
func (f *Folder) Size(name string) (int64, bool) {
	info, err := f.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}
