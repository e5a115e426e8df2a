package formats

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
)

// fullDisk takes so many calls of Write, and of the next one half the bytes if it is halved.
type fullDisk struct {
	calls  int
	halved bool
	taken  int
}

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.taken++; d.taken <= d.calls {
		return len(b), nil
	}
	if d.halved {
		return len(b) / 2, syscall.ENOSPC
	}
	return 0, syscall.ENOSPC
}

// large is a profile with a tree and a timeline that takes several blocks of a disk in every format, also compressed.
func large() *profile.Profile {
	p := timed()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range int64(6000) {
		name := fmt.Sprintf("kernel_%016x_%016x", r.Uint64(), r.Uint64())
		k := &profile.Node{Name: name}
		k.Set(profile.TimeMetric, profile.IntValue(1+r.Int64N(1e9)))
		p.Root.Children = append(p.Root.Children, k)
		p.Timeline.Slices = append(p.Timeline.Slices, profile.Slice{Lane: 2, Kind: profile.KernelSlice, Name: name, Start: 2000 + 100*i,
			Duration: 1 + r.Int64N(99), Path: []string{"ROOT", name}})
	}
	p.Kinds[profile.TimeMetric] = profile.Inclusive
	return p
}

// targets are all formats that are written, with all compressions.
func targets() (all []Target) {
	for _, f := range All() {
		for _, c := range []Compression{Plain, Gzip, Zstd} {
			if f.Write != nil {
				all = append(all, Target{Format: f, Compression: c})
			}
		}
	}
	return all
}

// TestWritersReportAFullDisk has Writes of each format fail in turn, twenty of them or in make test five, and the last. No format says that a file
// is complete that is not.
func TestWritersReportAFullDisk(t *testing.T) {
	p, fail := large(), 5
	if testkit.All() {
		fail = 20
	}
	for _, target := range targets() {
		t.Run(target.Format.Name+target.Compression.Suffix(), func(t *testing.T) {
			whole := fullDisk{calls: 1 << 30}
			if err := target.Write(&whole, p); err != nil {
				t.Fatal(err)
			}
			for calls := 0; calls < whole.taken; calls += max(1, whole.taken/fail) {
				for _, halved := range []bool{false, true} {
					disk := &fullDisk{calls: calls, halved: halved}
					if err := target.Write(disk, p); !errors.Is(err, syscall.ENOSPC) {
						t.Errorf("after %d of %d writes: error %v", calls, whole.taken, err)
					}
				}
			}
			if err := target.Write(&fullDisk{calls: whole.taken - 1}, p); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("at the last of %d writes: error %v", whole.taken, err)
			}
		})
	}
}
