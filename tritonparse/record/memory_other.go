//go:build !linux

package record

import (
	"errors"

	"github.com/goproton/goproton/internal/ownfile"
)

// errNotLinux is the answer to everything that shares memory with a process that is being traced.
var errNotLinux = errors.New("the trace of a process that died is completed on Linux only: read it there once, with proton trace info")

func mapFile(*ownfile.File, int) ([]byte, error) { return nil, errNotLinux }
func mapMemory(int) ([]byte, error)              { return nil, errNotLinux }
func unmap([]byte) error                         { return errNotLinux }
func reserve(*ownfile.File, int64) error         { return errNotLinux }
func lock(*ownfile.File) error                   { return errNotLinux }
