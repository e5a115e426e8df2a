package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// runs are all files of a sorter.
func (s *Sorter) runs() []*run { return slices.Concat(s.levels...) }

// put adds so many texts of random numbers and returns what is expected of each number.
func put(s *Sorter, n, numbers int) [][]string {
	dice := rand.New(rand.NewPCG(1, 2))
	want := make([][]string, numbers)
	for i := range n {
		number := dice.IntN(numbers)
		text := fmt.Sprintf("%d of %d %s", i, number, strings.Repeat("x", dice.IntN(60)))
		s.Add(number, []byte(text))
		want[number] = append(want[number], text)
	}
	return want
}

// TestOrder: what was put comes out by number, and of a number in its order, held or in files that were merged once or twice.
func TestOrder(t *testing.T) {
	for _, room := range []int{1 << 20, 64 << 10, 4 << 10, 150} {
		folder := t.TempDir()
		s := NewSorter(folder, room)
		want := put(s, 6_000, 300)
		r, err := s.Read()
		if err != nil {
			t.Fatal(err)
		}
		if files := len(s.runs()); (files > 0) != (room < 1<<20) || files > 3*fanIn {
			t.Errorf("room %d: %d files", room, files)
		}
		// A signal that ends the process now finds nothing to leave behind.
		if named, err := os.ReadDir(folder); err != nil || len(named) > 0 && runtime.GOOS == "linux" {
			t.Errorf("room %d: %d files have names, %v", room, len(named), err)
		}
		for number := range want {
			if number%7 == 3 {
				continue // not asked for
			}
			var got []string
			if err := r.Each(number, func(text []byte) error { got = append(got, string(text)); return nil }); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want[number]) {
				t.Fatalf("room %d, number %d:\n got %q\nwant %q", room, number, got, want[number])
			}
		}
		s.Close()
		if files, err := os.ReadDir(folder); err != nil || len(files) > 0 {
			t.Errorf("room %d: %d files are left, %v", room, len(files), err)
		}
	}
}

// TestFullDisk: what cannot be written is an error when it is read, at the latest, and no file stays.
func TestFullDisk(t *testing.T) {
	folder := t.TempDir() + "/removed"
	s := NewSorter(folder, 100)
	put(s, 100, 3)
	if _, err := s.Read(); err == nil {
		t.Error("no error")
	}
	s.Close()
}

// TestDamage: a file that was changed meanwhile is an error, no text of other numbers.
func TestDamage(t *testing.T) {
	for _, cut := range []int64{0, 1} {
		folder := t.TempDir()
		s := NewSorter(folder, 4<<10)
		put(s, 1000, 3)
		s.wait()
		if len(s.runs()) == 0 {
			t.Fatal("no files")
		}
		for _, r := range s.runs() {
			info, err := r.file.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if cut > 0 {
				err = r.file.Truncate(info.Size() - cut)
			} else if err = r.file.Truncate(0); err == nil {
				_, err = r.file.WriteAt([]byte("\x08\x00\x00\x00garbages"), 0)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		r, err := s.Read()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Each(2, func([]byte) error { return nil }); err == nil {
			t.Errorf("cut %d: no error", cut)
		}
		s.Close()
	}
}

func BenchmarkPutAndRead(b *testing.B) {
	text := []byte(strings.Repeat("a launch with its arguments and a stack, ", 100))
	const n = 20_000
	b.SetBytes(int64(n * len(text)))
	for b.Loop() {
		s := NewSorter(b.TempDir(), 8<<20)
		for i := range n {
			copy(text[i%1000:], fmt.Appendf(nil, "%d", i))
			s.Add(i%5000, text)
		}
		r, err := s.Read()
		if err != nil {
			b.Fatal(err)
		}
		for i := range 5000 {
			if err := r.Each(i, func([]byte) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
		s.Close()
	}
}
