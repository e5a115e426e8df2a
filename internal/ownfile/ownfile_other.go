//go:build !linux

// Package ownfile writes files. Profiles are collected only on Linux: on other systems there is no program that could close a
// descriptor. Replace replaces a file in one step, and no end of the process leaves a Temporary file behind.
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

// Size returns the length of the file.
func (f *File) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// IsAt reports whether a path leads to the file.
func (f *File) IsAt(path string) bool {
	here, err := f.Stat()
	there, err2 := os.Stat(path)
	return err == nil && err2 == nil && os.SameFile(here, there)
}

// Descriptor returns the number of the open file.
func (f *File) Descriptor() (int, error) { return int(f.Fd()), nil }
