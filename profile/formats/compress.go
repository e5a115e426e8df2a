package formats

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Compression is how the bytes of a file are packed.
type Compression uint8

const (
	Plain Compression = iota
	Gzip
	Zstd
)

// Suffix is what a file name ends in.
func (c Compression) Suffix() string { return [...]string{"", ".gz", ".zst"}[c] }

func (c Compression) String() string { return [...]string{"plain", "gzip", "zstd"}[c] }

// magic are the first bytes of a packed file.
var magic = [...]string{Gzip: "\x1f\x8b", Zstd: "\x28\xb5\x2f\xfd"}

func cutCompression(path string) (plain string, c Compression) {
	for _, c := range []Compression{Gzip, Zstd} {
		if plain, found := strings.CutSuffix(path, c.Suffix()); found {
			return plain, c
		}
	}
	return path, Plain
}

func sniffCompression(head []byte) Compression {
	for _, c := range []Compression{Gzip, Zstd} {
		if strings.HasPrefix(string(head[:min(len(head), 4)]), magic[c]) {
			return c
		}
	}
	return Plain
}

// mostLayers is how often a file may be packed: twice happens when somebody compresses a .pb.gz.
const mostLayers = 2

// A packed file may grow to freeGrowth, or to mostGrowth times its size. Indented trees of 10 to 400 frames deep
// shrink to a 62nd to a 110th with gzip and to a 186th to a 695th with zstd (the 695th: 128 MB), so a factor alone
// would either refuse real files or let a bomb of some megabytes fill the memory.
const (
	freeGrowth = 256 << 20
	mostGrowth = 256
)

// zstdWindow is the largest window that the zstd program reads without being asked to (--long=27).
const zstdWindow = 128 << 20

// ErrBomb is wrapped by the error about a file that grows beyond measure when it is unpacked.
var ErrBomb = errors.New("it unpacks to far more than a profile would")

// unpacker reads through the layers of compression of a stream. Close ends what zstd has started.
type unpacker struct {
	*bufio.Reader
	in     countingReader
	layers int
	zstd   []*zstd.Decoder
}

const readBuffer = 64 << 10

func unpack(r io.Reader) (*unpacker, error) {
	u := &unpacker{in: countingReader{r: r}}
	u.Reader = bufio.NewReaderSize(&u.in, readBuffer)
	if err := u.peel(); err != nil {
		u.Close()
		return nil, err
	}
	return u, nil
}

// peel opens one layer after another, down to what is packed.
func (u *unpacker) peel() error {
	for {
		head, err := u.Peek(4)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		c := sniffCompression(head)
		if c == Plain {
			return nil
		}
		if u.layers++; u.layers > mostLayers {
			return fmt.Errorf("it is compressed more than %d times; unpack it first", mostLayers)
		}
		layer, err := u.layer(c)
		if err != nil {
			return fmt.Errorf("unpack %s: %w", c, err)
		}
		u.Reader = bufio.NewReaderSize(&boundedReader{r: layer, in: &u.in, packed: c}, readBuffer)
	}
}

func (u *unpacker) layer(c Compression) (io.Reader, error) {
	if c == Gzip {
		return gzip.NewReader(u.Reader)
	}
	d, err := zstd.NewReader(u.Reader, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow))
	if err != nil {
		return nil, err
	}
	u.zstd = append(u.zstd, d)
	return d, nil
}

func (u *unpacker) Close() {
	for _, d := range u.zstd {
		d.Close()
	}
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// boundedReader ends with an error where a layer has given more than the file could honestly hold.
type boundedReader struct {
	r      io.Reader
	in     *countingReader
	packed Compression
	n      int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.n += int64(n)
	if b.n > freeGrowth && b.n/mostGrowth > b.in.n {
		return 0, fmt.Errorf("unpack %s: %w: %d bytes of the first %d; if it is one, unpack it first", b.packed, ErrBomb, b.n, b.in.n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("unpack %s: at byte %d of what it holds: %w; the file is damaged or cut off", b.packed, b.n, err)
	}
	return n, err
}

// pack returns a writer that packs into w; closing it writes what is left and leaves w open.
func pack(w io.Writer, c Compression) (io.WriteCloser, error) {
	switch c {
	case Gzip:
		return gzip.NewWriter(w), nil
	case Zstd:
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	return unpacked{w}, nil
}

type unpacked struct{ io.Writer }

func (unpacked) Close() error { return nil }
