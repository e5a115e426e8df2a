package ownfile

import (
	"io"
	"io/fs"
	"os"
)

// ReadFile reads a file as os.ReadFile does.
func ReadFile(name string) ([]byte, error) {
	f, err := Open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// WriteFile writes a file as os.WriteFile does.
func WriteFile(name string, text []byte, perm fs.FileMode) error {
	f, err := Open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
