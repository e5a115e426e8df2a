package foreign

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// patience is how long a pipe may have no writer. A program that writes one opens it at once, and then may take its time.
const patience = 10 * time.Second

// ErrNoWriter is why a pipe could not be read.
var ErrNoWriter = errors.New("is a pipe to which no program has written anything")

// Open opens a file that a user names, to be read once. A pipe that no program opens for writing fails after a while, and a
// device fails at once, because either would keep the reader for ever. Standard input is what it is.
func Open(path string) (io.ReadCloser, error) { return open(path, patience) }

func open(path string, patience time.Duration) (io.ReadCloser, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return os.Open(path) // for its error
	case info.Mode()&os.ModeNamedPipe != 0:
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		return &pipe{f, path, patience, time.Now(), false}, nil
	case info.Mode()&os.ModeDevice != 0 && !isAny(info, "/dev/stdin", os.DevNull):
		return nil, fmt.Errorf("open %s: it is a device, which may have no end; give a file", path)
	}
	return os.Open(path)
}

// isAny reports whether a file is one of those at some paths.
func isAny(info os.FileInfo, paths ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		other, err := os.Stat(path)
		return err == nil && os.SameFile(info, other)
	})
}

// pipe waits for its first writer, without which a read has nothing and does not wait.
type pipe struct {
	*os.File
	path     string
	patience time.Duration
	since    time.Time
	begun    bool
}

func (p *pipe) Read(b []byte) (int, error) {
	for {
		n, err := p.File.Read(b)
		if n > 0 || p.begun || !errors.Is(err, io.EOF) {
			p.begun = p.begun || n > 0
			return n, err
		}
		if time.Since(p.since) > p.patience {
			return 0, fmt.Errorf("%s %w for %v; give a file, or start the program that writes it first", p.path, ErrNoWriter, p.patience)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// MayShow says whether a file that a profile names may be read to be shown: it is a source file, by its own name and by that
// of the file behind its links. A file that is not there may be shown.
func MayShow(path string) bool {
	if !IsSource(path) {
		return false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return os.IsNotExist(err)
	}
	info, err := os.Lstat(real)
	return err == nil && info.Mode().IsRegular() && IsSource(real)
}

// LargestSource is the size of the largest file that is read, in bytes: sources of kernels are smaller by far.
const LargestSource = 8 << 20

// extensions of what compilers for GPUs read.
var extensions = []string{
	".py", ".pyx", ".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".ipp", ".cl", ".hip",
	".ptx", ".ll", ".mlir", ".ttir", ".ttgir", ".llir", ".rs", ".s", ".go", ".jl", ".mojo", ".f90", ".cuf",
}

// IsSource reports whether a path is that of a source, by its extension. Headers of C++ may have none.
func IsSource(file string) bool {
	extension := strings.ToLower(filepath.Ext(file))
	return slices.Contains(extensions, extension) || extension == "" && strings.Contains(file, "/include/")
}
