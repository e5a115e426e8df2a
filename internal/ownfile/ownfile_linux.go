// Package ownfile writes files from a library in a process of another program. A descriptor is a number in a
// table that belongs to the program: it may close all of them at any time, and get the same numbers for files of its
// own. So a File knows which file it is, and every operation first makes sure that its number still leads there. Where
// it does not, the file is opened again by its name; where that is another file by now, the operation fails with
// ErrTaken. Nothing is ever written to, or closed for, the program.
//
// Between the check and the write another thread of the program can still close and open: a window of less than a
// microsecond, which only the kernel could close.
package ownfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ErrTaken is matched by the error of a file whose descriptor the program closed and whose name leads elsewhere.
var ErrTaken = errors.New("the program closed our descriptor, and the file is no longer under its name")

// File is a regular file that is written, and perhaps read, at positions that the File keeps itself. It is not for
// concurrent use.
type File struct {
	name   string
	flag   int // to open it again with
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

// lowest is where our descriptors begin, if the process may have that many: a program that closes its standard input
// and opens another must get the number 0.
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
		flag &^= unix.O_CREAT | unix.O_EXCL // the file is there
	}
	return -1, ErrTaken
}

// raise moves a descriptor out of the program's way. It keeps the number that it has if there is no better one, unless
// that is one of the three with a meaning. The program may close the number and take it for a file of its own at any time:
// then fd stays open, and high may lead to that file.
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

// leadsTo says whether a descriptor is that of the file with this name.
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

// ours says whether the descriptor leads to the file.
func (f *File) ours() bool {
	info, err := status(f.fd)
	return err == nil && uint64(info.Dev) == f.device && info.Ino == f.inode
}

// ready makes sure that the descriptor leads to the file, by a new one if need be.
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
	before := f.fd // not ours to close
	if f.fd = fd; !f.ours() {
		unix.Close(fd)
		f.fd = before
		return &fs.PathError{Op: op, Path: f.name, Err: ErrTaken}
	}
	return nil
}

// Write writes at the current position. It does not run into RLIMIT_FSIZE, whose signal would end the program.
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

// largest is the maximum length of a file in bytes.
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

// Truncate sets the length of the file, and not the position.
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

// Descriptor returns the number, made sure of, for calls that the package does not have. It is good for one call.
func (f *File) Descriptor() (int, error) { return f.fd, f.ready("use") }

// Close closes the descriptor if it is ours. What a file system reports only then, as some over a network do, is an
// error.
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
