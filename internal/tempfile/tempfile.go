// Package tempfile makes temporary files that no end of the process leaves behind.
package tempfile

import (
	"errors"
	"os"
)

// File is a private file without a name: whatever ends the process, nothing of it stays behind. Where a file that is open
// cannot be removed, as on Windows, Close removes it.
type File struct {
	*os.File
	removed bool
}

// New makes one on the file system of a folder.
func New(folder string) (*File, error) {
	f, err := os.CreateTemp(folder, ".sort-*")
	if err != nil {
		return nil, err
	}
	return &File{f, os.Remove(f.Name()) == nil}, nil
}

// Close closes the file, which is gone then.
func (f *File) Close() error {
	err := f.File.Close()
	if !f.removed {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
