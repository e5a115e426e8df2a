package formats

import (
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/goproton/goproton/internal/inflate"
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

func cutCompression(path string) (plain string, c Compression) {
	for _, c := range []Compression{Gzip, Zstd} {
		if plain, found := strings.CutSuffix(path, c.Suffix()); found {
			return plain, c
		}
	}
	return path, Plain
}

// ErrBomb is wrapped by the error about a file that grows beyond measure when it is unpacked.
var ErrBomb = inflate.ErrRatio

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
