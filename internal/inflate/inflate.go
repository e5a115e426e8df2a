// Package inflate unpacks files and bounds how far they may grow: a file of a few hundred bytes can unpack to any amount,
// above all when it is packed twice, and a few bytes of what it unpacks to can stand for a large structure. Readers of
// profiles, traces and captures share both limits: Check for compression, whose limit a flag lifts, and Memory for the rest.
package inflate

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
)

// A packed file may unpack to Free bytes, or to Ratio times its own size if that is more. All layers of compression count
// together, against the bytes of the file itself.
//
// Trees as upstream writes them, indented at any depth, shrink to a 62nd to a 110th with gzip and to a 186th with zstd;
// traces and captures shrink to a tenth. The few honest files beyond the ratio are below Free, or need AllowAnyRatio.
const (
	Free  = 8 << 20
	Ratio = 256
)

// Flag is the flag of the command that calls AllowAnyRatio. Errors name it.
const Flag = "allow-high-compression"

// ErrRatio is wrapped by every error about a file that unpacks to more than the limit.
var ErrRatio = errors.New("it unpacks to far more than files of this kind do")

var anyRatio atomic.Bool

// AllowAnyRatio lifts the limit for the whole process. The command does so when the user gives Flag; it is one switch
// because a command may read profiles, traces and captures at once, and the user trusts all of them or none.
func AllowAnyRatio() { anyRatio.Store(true) }

// Lifted says whether AllowAnyRatio was called, for readers with limits of their own.
func Lifted() bool { return anyRatio.Load() }

// Check returns an error if unpacked bytes are too many for a file of which packed bytes have been read.
func Check(packed, unpacked int64) error {
	if unpacked <= Free || unpacked/Ratio <= packed || anyRatio.Load() {
		return nil
	}
	return fmt.Errorf("%w: %d bytes from the first %d; if you trust the file, give --%s", ErrRatio, unpacked, packed, Flag)
}

// Counter counts the bytes that are read through it: those of the file, before any layer of compression.
type Counter struct {
	R io.Reader
	N int64
}

// Read reads from R.
func (c *Counter) Read(p []byte) (int, error) {
	n, err := c.R.Read(p)
	c.N += int64(n)
	return n, err
}

// Bounded reads one layer of compression and ends with an error where Check says so. File counts the bytes of the file
// that the layer comes from.
type Bounded struct {
	R    io.Reader
	File *Counter
	n    int64
}

// Read reads from R.
func (b *Bounded) Read(p []byte) (int, error) {
	n, err := b.R.Read(p)
	b.n += int64(n)
	if err := Check(b.File.N, b.n); err != nil {
		return 0, err
	}
	return n, err
}

// N is how many bytes the layer has given.
func (b *Bounded) N() int64 { return b.n }

// Unpacked is the name of a file without the suffixes of compression.
func Unpacked(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
}

// A reader may keep Base bytes, and Multiple times what the file holds after decompression. Most files need 2 to 10 times
// their size; a format in which a byte stands for a structure of a hundred would let a small file fill the memory.
const (
	Base     = 32 << 20
	Multiple = 48
)

// ErrDense is wrapped by the error about a file that needs more memory than that.
var ErrDense = errors.New("it asks for far more memory than a file of its size should")

// Memory counts what a reader keeps of a file. The zero Memory is ready to use.
type Memory struct{ kept int64 }

// Keep adds n bytes and returns an error if they are too many for a file of which read bytes have been read.
func (m *Memory) Keep(n, read int64) error {
	m.kept += n
	if m.kept-Base > Multiple*read {
		return fmt.Errorf("%w: %d bytes of it take %d; it is damaged, or made to do harm", ErrDense, read, m.kept)
	}
	return nil
}
