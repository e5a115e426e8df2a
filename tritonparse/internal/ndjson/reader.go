// Package ndjson reads files of one JSON record per line, as tritonparse writes them: plain, as gzip members or as zstd
// frames, recognised by their first bytes and never by the file's name. A damaged piece is skipped, and reading goes on behind it.
//
// It also reads and writes the members of records. A member that is missing, or is something else than it should be, is a zero value: records
// come from many versions of several writers.
package ndjson

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/goproton/goproton/internal/inflate"
)

// MaxRecord bounds one line. tritonparse cuts each file of a compilation at 10 MiB and a compilation has fewer than ten
// of them; escapes may double that.
const MaxRecord = 256 << 20

// A record of a compressed file may have freeRecord bytes, or recordRatio times what has been read of the file if that is more:
// of a line of 250 MB that a file of 250 kB unpacks to, the parser would make gigabytes. The bound is on single records and not
// on the file, since launches that differ in one number shrink to a 500th, and are read one after the other.
const (
	freeRecord  = 8 << 20
	recordRatio = 64
)

// MaxDamages is how many damages are kept by place; more are only counted.
const MaxDamages = 100

// Damage is a piece of a file that could not be read.
type Damage struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`         // in the file, of the member, frame or line
	Line   int    `json:"line,omitempty"` // from 1, where it is known
	What   string `json:"what"`
}

func (d Damage) String() string {
	if d.Line > 0 {
		return fmt.Sprintf("%s: line %d (byte %d): %s", d.File, d.Line, d.Offset, d.What)
	}
	return fmt.Sprintf("%s: byte %d: %s", d.File, d.Offset, d.What)
}

// Record is one line that is not blank.
type Record struct {
	Text   []byte // without the line's end; valid until the next call of Next
	Line   int    // from 1, blank lines counted
	Index  int    // from 0, blank lines not counted
	Offset int64  // of the line in a plain file; of its member or frame in a compressed one
}

// Reader reads the records of one file.
type Reader struct {
	name    string
	file    io.ReaderAt
	size    int64
	close   func() error
	next    int64 // where the next member, frame or plain text begins
	piece   *piece
	lines   *bufio.Reader
	line    []byte // of the record being put together
	begin   int64  // where that begins, as Record.Offset
	skip    bool   // the rest of a line that is too long
	number  int
	index   int
	damages []Damage
	count   int

	packed *packedInput
	gzip   *gzip.Reader
	zstd   *zstd.Decoder
	frame  []byte // a small frame, and what it decodes to
	frames []byte
}

// piece is a stretch of the file that is decoded in one go.
type piece struct {
	start  int64
	end    func() int64 // where it ended, once it has been read
	plain  bool
	offset int64 // of the next line, in plain text
}

func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	r := NewReader(f, info.Size(), path)
	r.close = f.Close
	return r, nil
}

// NewReader reads what file holds; name is for damages.
func NewReader(file io.ReaderAt, size int64, name string) *Reader {
	return &Reader{name: name, file: file, size: size, lines: bufio.NewReaderSize(nil, 256<<10)}
}

func (r *Reader) Close() error {
	if r.zstd != nil {
		r.zstd.Close()
	}
	if r.close != nil {
		return r.close()
	}
	return nil
}

// Position is how far the file is read, about: what a decoder or buffer has taken beyond the last record counts.
func (r *Reader) Position() int64 {
	switch {
	case r.piece == nil:
		return r.next
	case r.piece.plain:
		return r.piece.offset
	}
	return r.piece.end()
}

// Damages are the first MaxDamages damages, and how many there are.
func (r *Reader) Damages() ([]Damage, int) { return r.damages, r.count }

// Report adds a damage that the reader cannot see: a record that is not the JSON that it should be.
func (r *Reader) Report(rec Record, what string) {
	r.damage(Damage{Offset: rec.Offset, Line: rec.Line, What: what})
}

func (r *Reader) damage(d Damage) {
	r.count++
	if len(r.damages) < MaxDamages {
		d.File = r.name
		r.damages = append(r.damages, d)
	}
}

// Next returns the next record, or io.EOF. Other errors come from the disk.
func (r *Reader) Next() (Record, error) {
	for {
		if r.piece == nil {
			more, err := r.nextPiece()
			if err != nil {
				return Record{}, err
			}
			if !more {
				return r.lastLine()
			}
		}
		offset := r.piece.start
		if r.piece.plain {
			offset = r.piece.offset
		}
		part, err := r.lines.ReadSlice('\n')
		if r.piece.plain {
			r.piece.offset += int64(len(part))
		}
		r.keep(part, offset)
		switch {
		case err == nil:
			if rec, ok := r.finish(); ok {
				return rec, nil
			}
		case errors.Is(err, bufio.ErrBufferFull): // the line goes on
		case errors.Is(err, io.EOF):
			// A line may go on in the next member.
			r.next = r.piece.end()
			r.piece = nil
		default:
			if isDisk(err) {
				return Record{}, fmt.Errorf("read %s: %w", r.name, err)
			}
			r.damage(Damage{Offset: r.piece.start, What: "cut or damaged: " + err.Error()})
			r.line, r.skip = r.line[:0], false
			r.next = r.resync(r.piece.start + 2)
			r.piece = nil
		}
	}
}

func isDisk(err error) bool {
	var path *os.PathError
	return errors.As(err, &path)
}

// keep adds a part to the line that is being put together, as far as the line may grow.
func (r *Reader) keep(part []byte, offset int64) {
	if r.skip {
		return
	}
	if what := r.tooLong(int64(len(r.line) + len(part))); what != "" {
		r.damage(Damage{Offset: offset, Line: r.number + 1, What: what})
		r.line, r.skip = nil, true
		return
	}
	if len(r.line) == 0 {
		r.begin = offset
	}
	r.line = append(r.line, part...)
}

// tooLong says why a line of this size is not read; "" if the line is read.
func (r *Reader) tooLong(size int64) string {
	switch {
	case size > MaxRecord:
		return fmt.Sprintf("a line of more than %d MiB", MaxRecord>>20)
	case size <= freeRecord || r.piece.plain || inflate.Lifted():
		return ""
	}
	if packed := r.Position(); size > recordRatio*packed {
		return fmt.Sprintf("a line of more than %d bytes, unpacked from the first %d of the file; if you trust it, give --%s", size, packed, inflate.Flag)
	}
	return ""
}

// finish ends the line that was put together.
func (r *Reader) finish() (Record, bool) {
	text := bytes.TrimSpace(r.line)
	if r.number == 0 {
		text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // a mark that Windows' editors put before UTF-8
	}
	r.line = r.line[:0]
	r.number++
	if r.skip {
		r.skip = false
		r.index++
		return Record{}, false
	}
	if len(text) == 0 {
		return Record{}, false
	}
	rec := Record{Text: text, Line: r.number, Index: r.index, Offset: r.begin}
	r.index++
	return rec, true
}

// lastLine is a line without an end.
func (r *Reader) lastLine() (Record, error) {
	if len(r.line) == 0 && !r.skip {
		return Record{}, io.EOF
	}
	if rec, ok := r.finish(); ok {
		return rec, nil
	}
	return Record{}, io.EOF
}

var (
	gzipMagic = []byte{0x1f, 0x8b, 8}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	// skippableMagic ends the sixteen magic numbers of frames that hold no text, but what some writer notes for itself:
	// pzstd begins each of its frames with one, and the seekable format ends with one.
	skippableMagic = []byte{0x2a, 0x4d, 0x18}
)

// nextPiece starts to decode what begins at r.next.
func (r *Reader) nextPiece() (bool, error) {
	for r.next < r.size {
		var head [4]byte
		n, err := r.file.ReadAt(head[:], r.next)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, fmt.Errorf("read %s: %w", r.name, err)
		}
		start := r.next
		switch {
		case bytes.HasPrefix(head[:n], gzipMagic):
			err = r.startGzip(start)
		case bytes.Equal(head[:n], zstdMagic):
			err = r.startZstd(start)
		case n == len(head) && bytes.Equal(head[1:], skippableMagic) && head[0]&0xf0 == 0x50:
			if err = r.passOver(start); err == nil {
				continue
			}
		case start == 0:
			if head[0] == 0x1f && head[1] == 0x8b {
				err = errors.New("a gzip member of an unknown method")
				break
			}
			r.lines.Reset(io.NewSectionReader(r.file, 0, r.size))
			r.piece = &piece{plain: true, end: func() int64 { return r.size }}
			return true, nil
		default:
			err = errors.New("neither a gzip member nor a zstd frame begins here")
		}
		if err == nil {
			return true, nil
		}
		if isDisk(err) {
			return false, fmt.Errorf("read %s: %w", r.name, err)
		}
		r.damage(Damage{Offset: start, What: "cut or damaged: " + err.Error()})
		r.line = r.line[:0]
		r.next = r.resync(start + 2)
	}
	return false, nil
}

func (r *Reader) startGzip(start int64) error {
	if r.packed == nil {
		r.packed = &packedInput{file: r.file, size: r.size, r: bufio.NewReaderSize(nil, 64<<10), at: -1}
	}
	in := r.packed
	in.seek(start)
	var err error
	if r.gzip == nil {
		r.gzip, err = gzip.NewReader(in)
	} else {
		err = r.gzip.Reset(in)
	}
	if err != nil {
		return err
	}
	r.gzip.Multistream(false)
	r.lines.Reset(r.gzip)
	r.piece = &piece{start: start, end: func() int64 { return in.at }}
	return nil
}

// packedInput is what a decoder reads, from one member to the next: there may be one for each record. It counts what was
// taken, and gives single bytes too, so that no decoder takes more than it needs.
type packedInput struct {
	file io.ReaderAt
	size int64
	r    *bufio.Reader
	at   int64 // in the file, of the next byte
}

func (in *packedInput) seek(at int64) {
	if in.at != at {
		in.r.Reset(io.NewSectionReader(in.file, at, in.size-at))
		in.at = at
	}
}

func (in *packedInput) Read(p []byte) (int, error) {
	n, err := in.r.Read(p)
	in.at += int64(n)
	return n, err
}

func (in *packedInput) ReadByte() (byte, error) {
	b, err := in.r.ReadByte()
	if err == nil {
		in.at++
	}
	return b, err
}

// maxWindow is the largest window that the zstd program reads without being asked to (--long=27), as for --ultra -22.
const maxWindow = 128 << 20

// smallFrame is how large a frame may be, packed and not, to be decoded in one go; writers that flush after each record
// make many small ones.
const smallFrame = 1 << 20

func (r *Reader) startZstd(start int64) error {
	end, content, err := r.zstdEnd(start)
	if err != nil {
		// What is there of the frame may hold whole lines.
		end = r.size
	}
	if r.zstd == nil {
		// One goroutine: others work on the records meanwhile.
		r.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return err
		}
	}
	r.piece = &piece{start: start, end: func() int64 { return end }}
	if err == nil && r.smallFrame(start, end, content) {
		return nil
	}
	if err := r.zstd.Reset(io.NewSectionReader(r.file, start, end-start)); err != nil {
		r.piece = nil
		return err
	}
	r.lines.Reset(r.zstd)
	return nil
}

// passOver goes on behind a frame that holds no text.
func (r *Reader) passOver(start int64) error {
	var head [8]byte
	if _, err := r.file.ReadAt(head[:], start); errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	end := start + int64(len(head)) + int64(binary.LittleEndian.Uint32(head[4:]))
	if end > r.size {
		return io.ErrUnexpectedEOF
	}
	r.next = end
	return nil
}

// smallFrame decodes a whole frame if it is small and not damaged.
func (r *Reader) smallFrame(start, end int64, content uint64) bool {
	if end-start > smallFrame || content > smallFrame {
		return false
	}
	r.frame = slices.Grow(r.frame[:0], int(end-start))[:end-start]
	if _, err := r.file.ReadAt(r.frame, start); err != nil {
		return false
	}
	var err error
	if r.frames, err = r.zstd.DecodeAll(r.frame, r.frames[:0]); err != nil {
		return false
	}
	r.lines.Reset(bytes.NewReader(r.frames))
	return true
}

// zstdEnd finds the end of a frame by the sizes of its blocks (RFC 8878, 3.1.1), without decoding it, and how much the
// frame says that it holds.
func (r *Reader) zstdEnd(start int64) (end int64, content uint64, err error) {
	var head [zstd.HeaderMaxSize]byte
	n, _ := r.file.ReadAt(head[:], start)
	var h zstd.Header
	if err := h.Decode(head[:n]); err != nil {
		return 0, 0, err
	}
	content = math.MaxUint64
	if h.HasFCS {
		content = h.FrameContentSize
	}
	at := start + int64(h.HeaderSize)
	for {
		var block [3]byte
		if _, err := r.file.ReadAt(block[:], at); err != nil {
			return 0, 0, io.ErrUnexpectedEOF
		}
		bits := int64(block[0]) | int64(block[1])<<8 | int64(block[2])<<16
		size := bits >> 3
		switch bits >> 1 & 3 {
		case 1:
			size = 1
		case 3:
			return 0, 0, errors.New("a block of a reserved kind")
		}
		at += 3 + size
		if bits&1 != 0 {
			break
		}
	}
	if h.HasCheckSum {
		at += 4
	}
	if at > r.size {
		return 0, 0, io.ErrUnexpectedEOF
	}
	return at, content, nil
}

// resync finds the next place at or after from where a member or frame begins that holds records. Three or four bytes
// of magic also turn up by chance, so what is found must decode to the beginning of an object.
func (r *Reader) resync(from int64) int64 {
	const overlap = 3
	buf := make([]byte, 256<<10)
	for from < r.size {
		n, err := r.file.ReadAt(buf, from)
		text := buf[:n]
		for i := 0; i < len(text); i++ {
			j := bytes.IndexAny(text[i:], "\x1f\x28")
			if j < 0 {
				break
			}
			i += j
			if (bytes.HasPrefix(text[i:], gzipMagic) || bytes.HasPrefix(text[i:], zstdMagic)) && r.beginsObject(from+int64(i)) {
				return from + int64(i)
			}
		}
		if err != nil || n <= overlap {
			break
		}
		from += int64(n - overlap)
	}
	return r.size
}

func (r *Reader) beginsObject(at int64) bool {
	in := bufio.NewReaderSize(io.NewSectionReader(r.file, at, r.size-at), 4<<10)
	var first [1]byte
	head, _ := in.Peek(1)
	if len(head) == 1 && head[0] == gzipMagic[0] {
		z, err := gzip.NewReader(in)
		if err != nil {
			return false
		}
		_, err = io.ReadFull(z, first[:])
		return err == nil && first[0] == '{'
	}
	z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return false
	}
	defer z.Close()
	_, err = io.ReadFull(z, first[:])
	return err == nil && first[0] == '{'
}
