package inflate

import (
	"errors"
	"fmt"
)

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
