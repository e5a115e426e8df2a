package atomicfile

import (
	"errors"
	"os"
)

// Temporary is a private file without a name: whatever ends the process, nothing of it stays behind. Where a file that is open
// cannot be removed, as on Windows, Close removes it.
type Temporary struct {
	*os.File
	removed bool
}

// NewTemporary makes one on the file system of a folder.
func NewTemporary(folder string) (*Temporary, error) {
	f, err := os.CreateTemp(folder, ".sort-*")
	if err != nil {
		return nil, err
	}
	return &Temporary{f, os.Remove(f.Name()) == nil}, nil
}

// Close closes the file, which is gone then.
func (f *Temporary) Close() error {
	err := f.File.Close()
	if !f.removed {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
