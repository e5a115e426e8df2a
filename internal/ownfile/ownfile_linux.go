// Package ownfile writes files from a library in the process of another program. The program may close all descriptors at any
// time, and get the same numbers for its own files. So a File knows its device and inode, and every operation first checks that
// the descriptor still leads there. If it does not, the file is opened again by its name; if the name leads to another file, the
// operation fails with ErrTaken. No file of the program is written to or closed.
//
// Between the check and the write another thread of the program can still close the descriptor and open a file. That takes less
// than a microsecond, and only the kernel could prevent it.
//
// Replace replaces a file in one step: a reader sees the old content or the new, never a part, and a writer that dies half-way leaves the
// old file alone. A Temporary file is one that no end of the process leaves behind.
package ownfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ErrTaken is wrapped by the error for a file whose descriptor the program has closed and whose name leads elsewhere.
var ErrTaken = errors.New("the program closed the file's descriptor, and the file is no longer under its name")

// File is a regular file with its own position for writing and reading. It is not safe for concurrent use.
type File struct {
	name   string
	flag   int // for opening it again
	fd     int
	device uint64
	inode  uint64
	at     int64
}

// Open opens a file as os.OpenFile does. O_APPEND only places the first write at the end.
func Open(name string, flag int, perm fs.FileMode) (*File, error) {
	fd, err := open(name, flag&^os.O_APPEND, uint32(perm.Perm()))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f := &File{name: name, flag: flag &^ (os.O_CREATE | os.O_EXCL | os.O_TRUNC | os.O_APPEND), fd: fd}
	info, err := status(fd)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	f.device, f.inode = uint64(info.Dev), info.Ino
	if flag&os.O_APPEND != 0 {
		f.at = info.Size
	}
	return f, nil
}

// lowest is the least descriptor of a File, if the process may have that many. Low numbers are left to the program: if it closes
// its standard input and opens another file, that must get the number 0.
const lowest = 200

func open(name string, flag int, mode uint32) (int, error) {
	for left := 4; left > 0; left-- {
		fd, err := unix.Open(name, flag|unix.O_CLOEXEC, mode)
		if err == unix.EINTR {
			left++
			continue
		}
		if err != nil {
			return -1, err
		}
		high, err := raise(fd, name)
		if err == nil && leadsTo(high, name) {
			return high, nil
		}
		if high != fd && high >= 0 {
			unix.Close(high)
		}
		if err != nil {
			return -1, err
		}
		flag &^= unix.O_CREAT | unix.O_EXCL // the file exists now
	}
	return -1, ErrTaken
}

// raise moves a descriptor to a number of at least lowest, and closes fd. If there is no such number, it returns fd, unless that is
// one of the three standard descriptors. If the program has meanwhile taken fd for a file of its own, fd stays open, and high may
// lead to that file.
func raise(fd int, name string) (high int, err error) {
	high, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, lowest)
	if err != nil && fd > 2 {
		return fd, nil
	}
	if leadsTo(fd, name) {
		unix.Close(fd)
	}
	return high, err
}

// leadsTo reports whether a descriptor is that of the file with this name.
func leadsTo(fd int, name string) bool {
	file, err := status(fd)
	var named unix.Stat_t
	return err == nil && unix.Stat(name, &named) == nil && file.Dev == named.Dev && file.Ino == named.Ino
}

func status(fd int) (info unix.Stat_t, err error) {
	for {
		if err = unix.Fstat(fd, &info); err != unix.EINTR {
			return info, err
		}
	}
}

// Name is the path that the file was opened with, or renamed to.
func (f *File) Name() string { return f.name }

// ours reports whether the descriptor leads to the file.
func (f *File) ours() bool {
	info, err := status(f.fd)
	return err == nil && uint64(info.Dev) == f.device && info.Ino == f.inode
}

// ready checks that the descriptor leads to the file, and opens the file again if it does not.
func (f *File) ready(op string) error {
	if f.fd < 0 {
		return &fs.PathError{Op: op, Path: f.name, Err: fs.ErrClosed}
	}
	if f.ours() {
		return nil
	}
	fd, err := open(f.name, f.flag, 0)
	if err != nil {
		return &fs.PathError{Op: op, Path: f.name, Err: fmt.Errorf("%w: %w", ErrTaken, err)}
	}
	before := f.fd // the program's, if it is open
	if f.fd = fd; !f.ours() {
		unix.Close(fd)
		f.fd = before
		return &fs.PathError{Op: op, Path: f.name, Err: ErrTaken}
	}
	return nil
}

// Write writes at the current position. Beyond RLIMIT_FSIZE it fails before the kernel sends the signal that would end the program.
func (f *File) Write(b []byte) (written int, err error) {
	if err := f.ready("write"); err != nil {
		return 0, err
	}
	if f.at+int64(len(b)) > largest() {
		return 0, &fs.PathError{Op: "write", Path: f.name, Err: unix.EFBIG}
	}
	for written < len(b) {
		n, err := unix.Pwrite(f.fd, b[written:], f.at)
		if n > 0 {
			written += n
			f.at += int64(n)
		}
		if err != nil && err != unix.EINTR {
			return written, &fs.PathError{Op: "write", Path: f.name, Err: err}
		}
	}
	return written, nil
}

// largest is the process's limit for the size of a file in bytes.
func largest() int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) != nil || limit.Cur > 1<<63-1 {
		return 1<<63 - 1
	}
	return int64(limit.Cur)
}

// Read reads from the current position.
func (f *File) Read(b []byte) (int, error) {
	if err := f.ready("read"); err != nil {
		return 0, err
	}
	for {
		n, err := unix.Pread(f.fd, b, f.at)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, &fs.PathError{Op: "read", Path: f.name, Err: err}
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		}
		f.at += int64(n)
		return n, nil
	}
}

// Seek sets the position of the next Write or Read.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		size, err := f.Size()
		if err != nil {
			return 0, err
		}
		offset += size
	}
	if offset < 0 {
		return 0, &fs.PathError{Op: "seek", Path: f.name, Err: unix.EINVAL}
	}
	f.at = offset
	return offset, nil
}

// Size returns the length of the file.
func (f *File) Size() (int64, error) {
	if err := f.ready("stat"); err != nil {
		return 0, err
	}
	info, err := status(f.fd)
	if err != nil {
		return 0, &fs.PathError{Op: "stat", Path: f.name, Err: err}
	}
	return info.Size, nil
}

// Truncate sets the length of the file; the position stays.
func (f *File) Truncate(size int64) error {
	if err := f.ready("truncate"); err != nil {
		return err
	}
	for {
		err := unix.Ftruncate(f.fd, size)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return &fs.PathError{Op: "truncate", Path: f.name, Err: err}
		}
		return nil
	}
}

// Rename moves the file, which stays open.
func (f *File) Rename(to string) error {
	if err := os.Rename(f.name, to); err != nil {
		return err
	}
	f.name = to
	return nil
}

// IsAt reports whether a path leads to the file.
func (f *File) IsAt(path string) bool {
	var info unix.Stat_t
	return unix.Stat(path, &info) == nil && uint64(info.Dev) == f.device && info.Ino == f.inode
}

// Descriptor returns the checked descriptor, for one call that this package does not have.
func (f *File) Descriptor() (int, error) {
	err := f.ready("use") // which may open the file again, with another descriptor
	return f.fd, err
}

// Close closes the descriptor if it still leads to the file. Network file systems may report a failed write only then.
func (f *File) Close() error {
	fd := f.fd
	if fd < 0 || !f.ours() {
		f.fd = -1
		return nil
	}
	f.fd = -1
	if err := unix.Close(fd); err != nil && err != unix.EINTR {
		return &fs.PathError{Op: "close", Path: f.name, Err: err}
	}
	return nil
}
