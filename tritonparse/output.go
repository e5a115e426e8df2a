package tritonparse

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

	"github.com/klauspost/compress/flate"
)

// chunkSize is how much of one kernel is compressed in one go. Chunks end at a byte's boundary, so those of one kernel can
// be put behind each other into one gzip member, in whatever order they were made: browsers read only the first member.
const chunkSize = 256 << 10

// spill is a file of compressed chunks, in the order in which they became full.
type spill struct {
	file *os.File
	mu   sync.Mutex
	at   int64
	err  error
	free chan *packer // also bounds how many chunks are compressed at a time
	open sync.Pool    // of io.ReadCloser, that unpack
	used chan []byte  // buffers whose text has been compressed
	wg   sync.WaitGroup
}

// chunk is one stretch of one kernel's records, in the spill once it is compressed.
type chunk struct {
	at, packed int64
	size       int64
	sum        uint32
	done       chan struct{} // closed once it is there
}

func newSpill(folder string) (*spill, error) {
	f, err := os.CreateTemp(folder, ".chunks-*")
	if err != nil {
		return nil, err
	}
	s := &spill{file: f, free: make(chan *packer, runtime.GOMAXPROCS(0)), used: make(chan []byte, 8)}
	for range cap(s.free) {
		w, err := flate.NewWriter(io.Discard, 5)
		if err != nil {
			return nil, err
		}
		s.free <- &packer{general: w}
	}
	return s, nil
}

// packer is what compresses: launches in one way, all else in another.
type packer struct {
	general *flate.Writer
	repeats repeats
}

func (s *spill) close() {
	s.wg.Wait()
	s.file.Close()
	os.Remove(s.file.Name())
}

func (s *spill) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *spill) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// text is read for who finds out in the end that something failed.
func (s *spill) text(c *chunk) []byte {
	text, err := s.read(c)
	if err != nil {
		s.fail(err)
	}
	return text
}

// read unpacks a chunk.
func (s *spill) read(c *chunk) ([]byte, error) {
	<-c.done
	if err := s.failed(); err != nil {
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
	text := make([]byte, c.size)
	_, err := io.ReadFull(z, text)
	return text, err
}

// stream is text that is written piece by piece, and that the spill takes where there is too much of it.
type stream struct {
	buffer []byte
	chunks []*chunk
}

// logBytes is how much of a log stays in memory.
const logBytes = 64 << 10

// chunkBytes is what a chunk takes in memory.
const chunkBytes = 160

// size is how many bytes of it are in memory.
func (t *stream) size() int { return len(t.buffer) + chunkBytes*len(t.chunks) }

// lighten packs it if so much of it is in memory.
func (t *stream) lighten(s *spill, most int) {
	if len(t.buffer) >= most {
		t.pack(s)
	}
}

func (t *stream) pack(s *spill) {
	if len(t.buffer) > 0 {
		t.chunks = append(t.chunks, s.add(t.buffer))
		t.buffer = nil
	}
}

// each calls f with each piece that was packed, and with the rest.
func (t *stream) each(s *spill, f func([]byte) error) error {
	for _, c := range t.chunks {
		text, err := s.read(c)
		if err != nil {
			return err
		}
		if err := f(text); err != nil {
			return err
		}
	}
	return f(t.buffer)
}

// buffer is room for text that is to be added.
func (s *spill) buffer() []byte {
	select {
	case b := <-s.used:
		return b
	default:
		return make([]byte, 0, 16<<10)
	}
}

// add compresses text, which belongs to the spill from now on, beside what else goes on.
func (s *spill) add(text []byte) *chunk {
	return s.compress(text, func(w *packer) ([]byte, error) { return deflate(w.general, text) })
}

// addLaunches does the same with launches.
func (s *spill) addLaunches(text []byte) *chunk {
	return s.compress(text, func(w *packer) ([]byte, error) { return w.repeats.pack(text), nil })
}

func (s *spill) compress(text []byte, pack func(*packer) ([]byte, error)) *chunk {
	c := &chunk{size: int64(len(text)), done: make(chan struct{})}
	w := <-s.free
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		defer close(c.done)
		defer func() { s.free <- w }()
		packed, err := pack(w)
		c.sum = crc32.ChecksumIEEE(text)
		if cap(text) >= chunkSize && cap(text) <= 2*chunkSize {
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

// sink is a slice to write to.
type sink []byte

func (s *sink) Write(p []byte) (int, error) {
	*s = append(*s, p...)
	return len(p), nil
}

func deflate(w *flate.Writer, text []byte) ([]byte, error) {
	out := make(sink, 0, len(text)/8)
	w.Reset(&out)
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err := w.Flush()
	return out, err
}

// part is a part of a file: chunks and text. Text is compressed beside what else goes on, as chunks are.
type part struct {
	spill    *spill
	held     []byte
	launches int // bytes of held that are launches
	chunks   []*chunk
}

// text adds text.
func (p *part) text(text []byte) {
	if p.held = append(p.held, text...); len(p.held) >= chunkSize {
		p.flush()
	}
}

// launchLines adds launches.
func (p *part) launchLines(text []byte) {
	p.launches += len(text)
	p.text(text)
}

func (p *part) flush() {
	if len(p.held) == 0 {
		return
	}
	held := p.held
	if p.held = nil; len(held) >= chunkSize {
		p.held = p.spill.buffer()
	}
	if 2*p.launches > len(held) {
		p.chunks = append(p.chunks, p.spill.addLaunches(held))
	} else {
		p.chunks = append(p.chunks, p.spill.add(held))
	}
	p.launches = 0
}

// chunk adds what is in the spill, or will be.
func (p *part) chunk(c *chunk) {
	p.flush()
	p.chunks = append(p.chunks, c)
}

// add adds another part, which is of no use any more.
func (p *part) add(q *part) {
	if len(q.chunks) > 0 {
		p.flush()
		p.chunks = append(p.chunks, q.chunks...)
	}
	p.launches += q.launches
	p.text(q.held)
}

// gzipFile is one gzip member, put together in the end.
type gzipFile struct {
	path  string
	parts []*part
}

// close writes the file.
func (g *gzipFile) close(s *spill) error {
	for _, p := range g.parts {
		p.flush()
	}
	s.wg.Wait()
	if err := s.failed(); err != nil {
		return err
	}
	f, err := os.Create(g.path)
	if err != nil {
		return err
	}
	err = g.write(f, s)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", g.path, err)
	}
	return nil
}

func (g *gzipFile) write(f io.Writer, s *spill) error {
	w := bufio.NewWriterSize(f, chunkSize)
	_, _ = w.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}) // w remembers what goes wrong
	var packed []byte
	var sum uint32
	var size int64
	for _, p := range g.parts {
		for _, c := range p.chunks {
			packed = slices.Grow(packed[:0], int(c.packed))[:c.packed]
			if _, err := s.file.ReadAt(packed, c.at); err != nil {
				return err
			}
			_, _ = w.Write(packed)
			sum, size = combineCRC(sum, c.sum, c.size), size+c.size
		}
	}
	end := []byte{3, 0} // an empty last block
	end = binary.LittleEndian.AppendUint32(end, sum)
	_, _ = w.Write(binary.LittleEndian.AppendUint32(end, uint32(size)))
	return w.Flush()
}

// combineCRC is the checksum of two texts behind each other, from theirs: the first is multiplied by x to the power of
// the second's bits, modulo the polynomial.
func combineCRC(a, b uint32, size int64) uint32 {
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
