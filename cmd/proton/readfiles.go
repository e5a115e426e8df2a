package main

import (
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/profile"
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
	room := newRoom(ahead+1, mostAhead)
	queue := make(chan *reading, ahead)
	go func() {
		for i, file := range files {
			one := &reading{weight: weightOf(file), done: make(chan struct{})}
			room.take(one.weight)
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
		room.give(one.weight)
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

// room admits a number of things of a total weight; a single one of any weight.
type room struct {
	mu         sync.Mutex
	changed    sync.Cond
	places     int
	weight     int64
	mostPlaces int
	mostWeight int64
}

func newRoom(places int, weight int64) *room {
	r := &room{mostPlaces: places, mostWeight: weight}
	r.changed.L = &r.mu
	return r
}

func (r *room) take(weight int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.places > 0 && (r.places == r.mostPlaces || r.weight+weight > r.mostWeight) {
		r.changed.Wait()
	}
	r.places++
	r.weight += weight
}

func (r *room) give(weight int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places--
	r.weight -= weight
	r.changed.Signal()
}
