package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/goproton/goproton/export/spool"
	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// readInOrder reads files with all processors and hands the profiles over on the caller's goroutine, one by one and in the order
// of the files. At most GOMAXPROCS files are read ahead of the one that is handed over, and fewer if they are large.
func readInOrder(files []string, read func(i int) (*profile.Profile, error), visit func(i int, p *profile.Profile, err error)) {
	ahead := runtime.GOMAXPROCS(0)
	if ahead == 1 || len(files) < 2 || slices.Contains(files, "-") { // standard input is read in turn
		for i := range files {
			p, err := read(i)
			visit(i, p, err)
		}
		return
	}
	queue, visited := make(chan *reading, ahead), make(chan int64, ahead+1) // weights
	go func() {
		held, weight := 0, int64(0)
		for i, file := range files {
			one := &reading{weight: weightOf(file), done: make(chan struct{})}
			for held > 0 && (held > ahead || weight+one.weight > mostAhead) {
				weight -= <-visited
				held--
			}
			held++
			weight += one.weight
			go func() {
				defer close(one.done)
				one.profile, one.err = read(i)
			}()
			queue <- one
		}
	}()
	for i := range files {
		one := <-queue
		<-one.done
		visit(i, one.profile, one.err)
		visited <- one.weight
	}
}

// reading is a file that is being read, or was and waits for its turn.
type reading struct {
	weight  int64
	done    chan struct{}
	profile *profile.Profile
	err     error
}

const (
	mostAhead  = 64 << 20 // bytes of files, unpacked, beyond which no other file is begun
	packedGain = 8        // how many times a packed tree grows, about
)

// weightOf is about how many bytes a file has unpacked.
func weightOf(file string) int64 {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return 0
	case inflate.Unpacked(file) != file:
		return packedGain * info.Size()
	}
	return info.Size()
}

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
