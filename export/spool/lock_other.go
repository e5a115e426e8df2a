//go:build !linux

package spool

import (
	"errors"
	"io/fs"
)

// Lock refuses: programs are profiled on Linux only.
func Lock(string) (held *Held, ok bool, err error) {
	return nil, false, errors.New("windows are sent on Linux only")
}

func ours(info fs.FileInfo) bool { return info.IsDir() }
