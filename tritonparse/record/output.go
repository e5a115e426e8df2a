package record

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/klauspost/compress/zstd"

	"github.com/goproton/goproton/internal/ownfile"
)

// output is the trace file of a process and rank. What was flushed is whole for every reader, even if nothing follows.
type output struct {
	header header
	rank   int64

	file      *ownfile.File
	names     []string // of the files, in the folder
	removed   bool     // by another process, at least once
	size      int64    // of the file
	encoder   *zstd.Encoder
	frameOpen bool
	pending   []byte // expanded and not compressed yet
}

// endOfFrame is an empty last block: it ends a zstd frame without checksum wherever one block was completed.
var endOfFrame = []byte{1, 0, 0}

// continueAt continues the file of a process that died: what it had not committed is cut off, and its frame is ended.
func (o *output) continueAt(c commit) error {
	o.rank = c.Rank
	if _, err := os.Stat(o.path()); errors.Is(err, fs.ErrNotExist) && c.OutSize == 0 {
		return nil
	}
	if err := o.open(); err != nil {
		return err
	}
	if uint64(o.size) < c.OutSize {
		return fmt.Errorf("%w: %s is shorter than it was", errDamaged, o.file.Name())
	}
	if err := o.cut(int64(c.OutSize)); err != nil {
		return err
	}
	if c.FrameOpen != 0 {
		if _, err := o.Write(endOfFrame); err != nil {
			return err
		}
	}
	return nil
}

// written is the size of the file, which may exist before it is opened: process ids are reused.
func (o *output) written() int64 {
	if o.file == nil {
		info, err := os.Stat(o.path())
		if err != nil {
			return 0
		}
		return info.Size()
	}
	return o.size
}

func (o *output) path() string {
	return filepath.Join(o.header.Options.Folder, o.header.outputName(o.rank))
}

// open begins the file, also after the program has removed it: programs clear the folder that they write into, even late.
func (o *output) open() error {
	if o.file != nil && o.isThere() {
		return nil
	}
	if o.file != nil {
		_ = o.file.Close()
		o.file, o.frameOpen = nil, false
	}
	if err := os.MkdirAll(o.header.Options.Folder, 0o777); err != nil {
		return err
	}
	file, err := ownfile.Open(o.path(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	size, err := file.Size()
	if err != nil {
		_ = file.Close()
		return err
	}
	o.file, o.size = file, size
	o.names = withAll(o.names, []string{filepath.Base(o.path())})
	return nil
}

func (o *output) isThere() bool {
	there := o.file.IsAt(o.path())
	o.removed = o.removed || !there
	return there
}

// cut ends the file earlier.
func (o *output) cut(size int64) error {
	if err := o.file.Truncate(size); err != nil {
		return err
	}
	o.size = size
	_, err := o.file.Seek(size, io.SeekStart)
	return err
}

// Write puts bytes into the file as they are.
func (o *output) Write(b []byte) (int, error) {
	n, err := o.file.Write(b)
	o.size += int64(n)
	return n, err
}

// enough is how much is expanded before it is compressed and written.
const enough = 1 << 20

// add takes a record. It is written with the next flush.
func (o *output) add(record []byte) { o.pending = append(o.pending, record...) }

func (o *output) full() bool { return len(o.pending) >= enough }

// flush writes what was added. After an error the file ends where it ended before.
func (o *output) flush() error {
	if len(o.pending) == 0 {
		return nil
	}
	if err := o.open(); err != nil {
		return err
	}
	before, wasOpen := o.size, o.frameOpen
	err := o.compress()
	if err != nil {
		_ = o.cut(before) // the disk may be full: cutting works there
		o.frameOpen = wasOpen
		return err
	}
	o.pending = o.pending[:0]
	if cap(o.pending) > 4*enough {
		o.pending = nil // after a large compilation
	}
	return nil
}

func (o *output) compress() error {
	switch o.header.Options.Compression {
	case "none":
		_, err := o.Write(o.pending)
		return err
	case "gzip":
		member := gzip.NewWriter(o)
		if _, err := member.Write(o.pending); err != nil {
			return err
		}
		return member.Close()
	}
	if o.encoder == nil {
		// The encoder runs in the program's process, so it has one thread and little memory. Frames have no checksum, so that endOfFrame can end them.
		encoder, err := zstd.NewWriter(o, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20),
			zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return err
		}
		o.encoder = encoder
	}
	if !o.frameOpen {
		o.encoder.Reset(o)
	}
	if _, err := o.encoder.Write(o.pending); err != nil {
		return err
	}
	o.frameOpen = true
	return o.encoder.Flush()
}

// end completes the file.
func (o *output) end() error {
	if o.file == nil {
		return nil
	}
	var err error
	o.isThere()
	if o.frameOpen {
		_, err = o.Write(endOfFrame)
		o.frameOpen = false
	}
	err = errors.Join(err, o.file.Close())
	o.file = nil
	return err
}

var _ io.Writer = (*output)(nil)

// why describes an error of writing to a user.
func why(err error) string {
	var of *fs.PathError // its path is in the sentence
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "the disk is full"
	case errors.Is(err, syscall.EDQUOT):
		return "the disk quota is used up"
	case errors.Is(err, syscall.EFBIG):
		return "no file may be larger (ulimit -f)"
	case errors.As(err, &of):
		return of.Err.Error()
	}
	return err.Error()
}
