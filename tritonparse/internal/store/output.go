// Package store holds what is too large for memory while a trace is parsed: compressed chunks of text in a temporary file, from which
// gzip files are put together, texts that are sorted by a number on disk (an external merge sort), and compact logs of numbers.
package store

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/goproton/goproton/internal/ownfile"
	"github.com/klauspost/compress/flate"
)

// ChunkSize is how much of one kernel is compressed in one go. Chunks end at a byte's boundary, so the chunks of a kernel can follow
// one another in one gzip member, in whatever order they were made: browsers read only the first member.
const ChunkSize = 256 << 10

// Spill is a temporary file of compressed chunks, in the order in which they became full.
type Spill struct {
	firstError
	file *ownfile.Temporary
	at   int64          // guarded by mu
	free chan *packer   // also bounds how many chunks are compressed at a time
	open sync.Pool      // of io.ReadCloser, which unpack
	used chan []byte    // buffers whose text has been compressed
	Wg   sync.WaitGroup // of chunks that are being compressed
}

// Chunk is a piece of one kernel's records. It is in the spill once it is compressed.
type Chunk struct {
	at, packed int64
	size       int64
	sum        uint32
	done       chan struct{} // closed when it is in the spill
}

// NewSpill makes a spill with a temporary file in a folder.
func NewSpill(folder string) (*Spill, error) {
	f, err := ownfile.NewTemporary(folder)
	if err != nil {
		return nil, err
	}
	s := &Spill{file: f, free: make(chan *packer, runtime.GOMAXPROCS(0)), used: make(chan []byte, 8)}
	for range cap(s.free) {
		w, err := flate.NewWriter(io.Discard, 5)
		if err != nil {
			return nil, err
		}
		s.free <- &packer{general: w}
	}
	return s, nil
}

// packer compresses: launches by repeats, everything else by a general compressor.
type packer struct {
	general *flate.Writer
	repeats repeats
}

// Close waits for what is being compressed and removes the file.
func (s *Spill) Close() {
	s.Wg.Wait()
	s.file.Close()
}

// Text is Read for callers that check Failed at the end.
func (s *Spill) Text(c *Chunk) []byte {
	text, err := s.Read(c, nil)
	if err != nil {
		s.Fail(err)
	}
	return text
}

// Read unpacks a chunk, into the memory of room if the chunk fits there.
func (s *Spill) Read(c *Chunk, room []byte) ([]byte, error) {
	<-c.done
	if err := s.Failed(); err != nil {
		return nil, err
	}
	end := []byte{3, 0} // an empty last block
	in := io.MultiReader(io.NewSectionReader(s.file, c.at, c.packed), bytes.NewReader(end))
	z, _ := s.open.Get().(io.ReadCloser)
	if z == nil {
		z = flate.NewReader(in)
	} else if err := z.(flate.Resetter).Reset(in, nil); err != nil {
		return nil, err
	}
	defer s.open.Put(z)
	text := slices.Grow(room[:0], int(c.size))[:c.size]
	_, err := io.ReadFull(z, text)
	return text, err
}

// Stream is text that is written piece by piece. What is too much for memory moves to the spill.
type Stream struct {
	Buffer []byte
	chunks []*Chunk
}

// LogBytes is how much of a log stays in memory.
const LogBytes = 64 << 10

// chunkBytes is what a chunk takes in memory.
const chunkBytes = 160

// Size is how many bytes of the stream are in memory.
func (t *Stream) Size() int { return len(t.Buffer) + chunkBytes*len(t.chunks) }

// Lighten packs the stream if at least `most` bytes of it are in memory.
func (t *Stream) Lighten(s *Spill, most int) {
	if len(t.Buffer) >= most {
		t.Pack(s)
	}
}

// Pack moves the text that is in memory to the spill.
func (t *Stream) Pack(s *Spill) {
	if len(t.Buffer) > 0 {
		t.chunks = append(t.chunks, s.AddLaunches(t.Buffer)) // whose entries are nearly equal, too
		t.Buffer = nil
	}
}

// Each calls f with each piece that was packed, and with the rest.
func (t *Stream) Each(s *Spill, f func([]byte) error) error {
	for _, c := range t.chunks {
		text, err := s.Read(c, nil)
		if err != nil {
			return err
		}
		if err := f(text); err != nil {
			return err
		}
	}
	return f(t.Buffer)
}

// Buffer returns memory for text that will be added.
func (s *Spill) Buffer() []byte {
	select {
	case b := <-s.used:
		return b
	default:
		return make([]byte, 0, 16<<10)
	}
}

// Add compresses text on another goroutine. The text's memory belongs to the spill from now on.
func (s *Spill) Add(text []byte) *Chunk {
	return s.compress(text, func(w *packer) ([]byte, error) { return deflate(w.general, text) })
}

// AddLaunches is Add for launches, whose texts are nearly equal.
func (s *Spill) AddLaunches(text []byte) *Chunk {
	return s.compress(text, func(w *packer) ([]byte, error) { return w.repeats.pack(text), nil })
}

func (s *Spill) compress(text []byte, pack func(*packer) ([]byte, error)) *Chunk {
	c := &Chunk{size: int64(len(text)), done: make(chan struct{})}
	w := <-s.free
	s.Wg.Add(1)
	go func() {
		defer s.Wg.Done()
		defer close(c.done)
		defer func() { s.free <- w }()
		packed, err := pack(w)
		c.sum = crc32.ChecksumIEEE(text)
		if cap(text) >= ChunkSize && cap(text) <= 2*ChunkSize {
			select {
			case s.used <- text[:0]:
			default:
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil && s.err == nil {
			_, err = s.file.WriteAt(packed, s.at)
		}
		if err != nil && s.err == nil {
			s.err = err
		}
		c.at, c.packed = s.at, int64(len(packed))
		s.at += c.packed
	}()
	return c
}

func deflate(w *flate.Writer, text []byte) ([]byte, error) {
	out := bytes.NewBuffer(make([]byte, 0, len(text)/8))
	w.Reset(out)
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err := w.Flush()
	return out.Bytes(), err
}

// Part is a part of a GzipFile: chunks, and text until there is enough of it for a chunk.
type Part struct {
	Spill    *Spill
	Held     []byte // text that is in no chunk
	launches int    // bytes of Held that are launches
	chunks   []*Chunk
}

// Text adds text to the part.
func (p *Part) Text(text []byte) {
	if p.Held = append(p.Held, text...); len(p.Held) >= ChunkSize {
		p.Flush()
	}
}

// LaunchLines is Text for lines of launches.
func (p *Part) LaunchLines(text []byte) {
	p.launches += len(text)
	p.Text(text)
}

// Flush makes a chunk of the text that is held.
func (p *Part) Flush() {
	if len(p.Held) == 0 {
		return
	}
	held := p.Held
	if p.Held = nil; len(held) >= ChunkSize {
		p.Held = p.Spill.Buffer()
	}
	if 2*p.launches > len(held) {
		p.chunks = append(p.chunks, p.Spill.AddLaunches(held))
	} else {
		p.chunks = append(p.chunks, p.Spill.Add(held))
	}
	p.launches = 0
}

// Chunk adds a chunk that is in the spill, or on its way there.
func (p *Part) Chunk(c *Chunk) {
	p.Flush()
	p.chunks = append(p.chunks, c)
}

// Add moves the contents of q to the end of p.
func (p *Part) Add(q *Part) {
	if len(q.chunks) > 0 {
		p.Flush()
		p.chunks = append(p.chunks, q.chunks...)
	}
	p.launches += q.launches
	p.Text(q.Held)
}

// GzipFile is a file of one gzip member.
type GzipFile struct {
	Path  string
	Parts []*Part
}

// Close writes the file.
func (g *GzipFile) Close(s *Spill) error {
	for _, p := range g.Parts {
		p.Flush()
	}
	s.Wg.Wait()
	if err := s.Failed(); err != nil {
		return err
	}
	f, err := os.Create(g.Path)
	if err != nil {
		return err
	}
	err = g.write(f, s)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", g.Path, err)
	}
	return nil
}

func (g *GzipFile) write(f io.Writer, s *Spill) error {
	w := bufio.NewWriterSize(f, ChunkSize)
	_, _ = w.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}) // Flush returns the first error of w
	var packed []byte
	var sum uint32
	var size int64
	for _, p := range g.Parts {
		for _, c := range p.chunks {
			packed = slices.Grow(packed[:0], int(c.packed))[:c.packed]
			if _, err := s.file.ReadAt(packed, c.at); err != nil {
				return err
			}
			_, _ = w.Write(packed)
			sum, size = CombineCRC(sum, c.sum, c.size), size+c.size
		}
	}
	end := []byte{3, 0} // an empty last block
	end = binary.LittleEndian.AppendUint32(end, sum)
	_, _ = w.Write(binary.LittleEndian.AppendUint32(end, uint32(size)))
	return w.Flush()
}

// CombineCRC is the checksum of two texts behind each other. a and b are their checksums and size is the second one's length: a is
// multiplied by x to the power of the second one's bits, modulo the polynomial.
func CombineCRC(a, b uint32, size int64) uint32 {
	power := uint32(0x00800000) // x^8, its highest bit being x^0
	for n := size; n > 0; n >>= 1 {
		if n&1 != 0 {
			a = multiplyCRC(a, power)
		}
		power = multiplyCRC(power, power)
	}
	return a ^ b
}

func multiplyCRC(a, b uint32) uint32 {
	var product uint32
	for bit := uint32(1 << 31); bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		carry := b & 1
		if b >>= 1; carry != 0 {
			b ^= crc32.IEEE
		}
	}
	return product
}
