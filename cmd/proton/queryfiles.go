package main

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/goproton/goproton/export/spool"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// errSent is the error of reading a window of a spool that was sent since the spool was listed.
var errSent = errors.New("it was sent")

// readQueried reads profiles and windows in order.
func readQueried(files []string, from fromFlag, visit func(file string, p *profile.Profile, err error)) {
	read := func(i int) (*profile.Profile, error) { return readWindow(files[i], from) }
	readInOrder(files, read, func(i int, p *profile.Profile, err error) { visit(files[i], p, err) })
}

// readWindow reads a profile, or a window of a spool, which a sender may rename and delete meanwhile.
func readWindow(file string, from fromFlag) (*profile.Profile, error) {
	p, err := formats.ReadFileAs(file, from.Format)
	if _, window := spool.EndOf(filepath.Base(file)); !window || !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	if p, err = formats.ReadFileAs(spool.OtherName(file), from.Format); errors.Is(err, fs.ErrNotExist) {
		return nil, errSent
	}
	return p, err
}
