//go:build !linux

// Package ownfile writes files. Profiles are only collected on Linux: elsewhere nobody closes our descriptors.
package ownfile

import (
	"io/fs"
	"os"
)

// File is an open file.
type File struct{ *os.File }

// Open opens a file as os.OpenFile does.
func Open(name string, flag int, perm fs.FileMode) (*File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}
