package record

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/goproton/goproton/internal/ownfile"
)

// mapFile maps the first bytes of a file, shared with every process that maps it.
func mapFile(file *ownfile.File, size int) ([]byte, error) {
	fd, err := file.Descriptor()
	if err != nil {
		return nil, err
	}
	mem, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", file.Name(), err)
	}
	return mem, nil
}

// mapMemory returns zeroed memory that the garbage collector does not know.
func mapMemory(size int) ([]byte, error) {
	return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
}

func unmap(mem []byte) error { return unix.Munmap(mem) }

// reserve gives a file all of its blocks.
func reserve(file *ownfile.File, size int64) error {
	fd, err := file.Descriptor()
	if err == nil {
		err = unix.Fallocate(fd, 0, 0, size)
	}
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		_, err = file.Write(make([]byte, size))
	}
	if err != nil {
		return fmt.Errorf("reserve %d MB for %s: %w", size>>20, file.Name(), err)
	}
	return nil
}

// lock marks a file as that of a living process; errInUse says that another one has done so. Forked children do not inherit it.
func lock(file *ownfile.File) error {
	fd, err := file.Descriptor()
	if err != nil {
		return err
	}
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	err = unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &whole)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return errInUse
	}
	return err
}
