package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// processors sets how many processors a test has.
func processors(t *testing.T, n int) {
	before := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// Files are handed over in their order, whichever is read first, and no more are held than there are processors and one.
func TestFilesAreReadInOrder(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		processors(t, n)
		files := make([]string, 50)
		var held, most atomic.Int64
		next := make(chan struct{}, 1)
		read := func(i int) (*profile.Profile, error) {
			now := held.Add(1)
			for known := most.Load(); now > known && !most.CompareAndSwap(known, now); known = most.Load() {
			}
			if n > 1 && i == 0 {
				<-next // ends after the second
			}
			if n > 1 && i == 1 {
				next <- struct{}{}
			}
			if i%7 == 3 {
				return nil, fmt.Errorf("file %d is broken", i)
			}
			return &profile.Profile{Rounded: i}, nil
		}
		var got []int
		readInOrder(files, read, func(i int, p *profile.Profile, err error) {
			switch {
			case i%7 == 3 && (err == nil || err.Error() != fmt.Sprintf("file %d is broken", i)), i%7 != 3 && (err != nil || p.Rounded != i):
				t.Errorf("file %d: %v, %v", i, p, err)
			}
			got = append(got, i)
			held.Add(-1)
		})
		if len(got) != len(files) || !slices.IsSorted(got) {
			t.Errorf("%d processors: order %v", n, got)
		}
		if limit := int64(n + 1); n > 1 && most.Load() > limit || n == 1 && most.Load() != 1 {
			t.Errorf("%d processors: %d profiles at once", n, most.Load())
		}
	}
}

// One file of any size is read, and others wait while they do not fit next to it; those that fit are read at once.
func TestLargeFilesWait(t *testing.T) {
	processors(t, 5)
	sizes := []int64{10 * mostAhead, mostAhead * 6 / 10, mostAhead * 3 / 10, mostAhead * 3 / 10, mostAhead, 2 * mostAhead, 0}
	var files []string
	for i, size := range sizes {
		files = append(files, filepath.Join(t.TempDir(), fmt.Sprint(i)))
		if err := errors.Join(os.WriteFile(files[i], nil, 0o600), os.Truncate(files[i], size)); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	held, weight, visited := 0, int64(0), 0
	second, third := make(chan struct{}), make(chan struct{})
	readInOrder(files, func(i int) (*profile.Profile, error) {
		mu.Lock()
		held++
		if weight += sizes[i]; held > 1 && weight > mostAhead {
			t.Errorf("file %d makes %d bytes of %d files", i, weight, held)
		}
		mu.Unlock()
		switch i { // each waits for the other
		case 1:
			close(second)
			<-third
		case 2:
			close(third)
			<-second
		}
		return nil, nil
	}, func(i int, _ *profile.Profile, _ error) {
		mu.Lock()
		defer mu.Unlock()
		held--
		weight -= sizes[i]
		visited++
	})
	if visited != len(files) {
		t.Errorf("%d of %d files are read", visited, len(files))
	}
}

// Standard input is read in turn: two readers would share it out.
func TestStandardInputIsReadInTurn(t *testing.T) {
	processors(t, 4)
	var running atomic.Int64
	readInOrder([]string{"-", "a", "-"}, func(int) (*profile.Profile, error) {
		if running.Add(1) > 1 {
			t.Error("two files are read at once")
		}
		defer running.Add(-1)
		return nil, errors.New("none")
	}, func(int, *profile.Profile, error) {})
}

// The sum, what is said, and its order are the same with any number of processors.
func TestMergeIsTheSameWithManyProcessors(t *testing.T) {
	folder := t.TempDir()
	var files []string
	for rank := range 12 {
		file := filepath.Join(folder, fmt.Sprintf("train.rank%d.hatchet", rank))
		if err := writeRank(file, 100+40*rank); err != nil {
			t.Fatal(err)
		}
		if rank%5 == 2 {
			if err := os.WriteFile(file, []byte("[{"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		files = append(files, file)
	}
	for _, flags := range []mergeFlags{{}, {by: "rank"}, {sorted: true}, {attempt: "last"}} {
		var first string
		for _, n := range []int{1, 2, 8} {
			processors(t, n)
			var notes []string
			p, _, broken := flags.merge(files, nil, func(text string) { notes = append(notes, text) })
			if broken != 2 {
				t.Fatalf("%d files are left out: %v", broken, notes)
			}
			format, err := formats.ByName("hatchet")
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := format.Write(&out, p); err != nil {
				t.Fatal(err)
			}
			said := out.String() + strings.Join(notes, "\n")
			if first == "" {
				first = said
			}
			if said != first {
				t.Errorf("%+v: %d processors give another result: %s", flags, n, strings.Join(notes, "\n"))
			}
		}
	}
}
