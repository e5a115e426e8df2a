package inflate

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Packing is a layer of compression.
type Packing uint8

const (
	None Packing = iota
	Gzip
	Zstd
)

func (p Packing) String() string { return [...]string{"plain", "gzip", "zstd"}[p] }

// Sniff says how a file that begins with head is packed. Four bytes are enough.
func Sniff(head []byte) Packing {
	switch {
	case len(head) >= 2 && string(head[:2]) == "\x1f\x8b":
		return Gzip
	case len(head) >= 4 && string(head[:4]) == "\x28\xb5\x2f\xfd":
		return Zstd
	}
	return None
}

// mostLayers is how many layers of compression a file may have. Two occur when a user compresses a .pb.gz.
const mostLayers = 2

// zstdWindow is the largest window that the zstd program reads without being asked to (--long=27).
const zstdWindow = 128 << 20

// bufferSize is what is read at once.
const bufferSize = 64 << 10

// Reader reads what a file holds below its layers of compression. Close ends what zstd has started and leaves the file
// open.
type Reader struct {
	*bufio.Reader
	file   Counter
	layers int
	zstd   []*zstd.Decoder
}

// NewReader opens all layers of r, of which there may be none.
func NewReader(r io.Reader) (*Reader, error) {
	u := &Reader{file: Counter{R: r}}
	u.Reader = bufio.NewReaderSize(&u.file, bufferSize)
	if err := u.open(); err != nil {
		u.Close()
		return nil, err
	}
	return u, nil
}

// open opens one layer after another, until what is inside is not packed.
func (u *Reader) open() error {
	for {
		head, err := u.Peek(4)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		p := Sniff(head)
		if p == None {
			return nil
		}
		if u.layers++; u.layers > mostLayers {
			return fmt.Errorf("it is compressed more than %d times; unpack it first", mostLayers)
		}
		layer, err := u.layer(p)
		if err != nil {
			return fmt.Errorf("unpack %s: %w", p, err)
		}
		u.Reader = bufio.NewReaderSize(&explained{Bounded{R: layer, File: &u.file}, p}, bufferSize)
	}
}

func (u *Reader) layer(p Packing) (io.Reader, error) {
	if p == Gzip {
		return gzip.NewReader(u.Reader)
	}
	d, err := zstd.NewReader(u.Reader, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow))
	if err != nil {
		return nil, err
	}
	u.zstd = append(u.zstd, d)
	return d, nil
}

// Layers is how often the file is packed.
func (u *Reader) Layers() int { return u.layers }

// Close releases the decoders.
func (u *Reader) Close() {
	for _, d := range u.zstd {
		d.Close()
	}
}

// explained adds to the errors of a layer which one it is, and where.
type explained struct {
	Bounded
	packing Packing
}

func (e *explained) Read(p []byte) (int, error) {
	n, err := e.Bounded.Read(p)
	switch {
	case err == nil || errors.Is(err, io.EOF):
	case errors.Is(err, ErrRatio):
		err = fmt.Errorf("unpack %s: %w", e.packing, err)
	default:
		err = fmt.Errorf("unpack %s: at byte %d of what it holds: %w; the file is damaged or cut off", e.packing, e.N(), err)
	}
	return n, err
}
