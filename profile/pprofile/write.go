package pprofile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goproton/goproton/profile"
)

// Fields of a profile and of a sample.
const (
	fieldSample   = 2
	fieldLocation = 1
)

// Write writes p as a profile.proto. Files of pprof are compressed with gzip; that is the caller's business. pprof's encoder has all stacks
// in memory, which of deep trees take far more than the tree: here they are put into the samples as these are written.
func Write(w io.Writer, p *profile.Profile) error {
	const written = 3 // bytes of a frame of a stack, in the file
	of, err := build(p, profile.PathSizes{What: "a pprof profile", Frame: written})
	if err != nil {
		return err
	}
	var encoded bytes.Buffer
	if err := of.out.WriteUncompressed(&encoded); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	var stack, head []byte
	sample := 0
	for rest := encoded.Bytes(); len(rest) > 0; {
		number, _, size := protowire.ConsumeField(rest)
		if size < 0 {
			return fmt.Errorf("encode pprof profile: %w", protowire.ParseError(size))
		}
		field := rest[:size]
		rest = rest[size:]
		if number != fieldSample {
			out.Write(field)
			continue
		}
		content, _ := protowire.ConsumeBytes(field[protowire.SizeTag(number):])
		stack = of.appendStack(stack[:0], of.stacks[sample])
		sample++
		head = protowire.AppendVarint(protowire.AppendTag(head[:0], fieldSample, protowire.BytesType), uint64(len(stack)+len(content)))
		out.Write(head)
		out.Write(stack)
		out.Write(content)
	}
	return out.Flush()
}

// appendStack appends the locations of a sample as pprof's encoder writes them: packed if there are more than two.
func (w *writer) appendStack(b []byte, s stack) []byte {
	n, size := 0, 0
	var scratch [binary.MaxVarintLen64]byte
	for id := range w.locations(s) {
		n++
		size += binary.PutUvarint(scratch[:], id)
	}
	if n > 2 {
		b = protowire.AppendVarint(protowire.AppendTag(b, fieldLocation, protowire.BytesType), uint64(size))
	}
	for id := range w.locations(s) {
		if n <= 2 {
			b = protowire.AppendTag(b, fieldLocation, protowire.VarintType)
		}
		b = protowire.AppendVarint(b, id)
	}
	return b
}
