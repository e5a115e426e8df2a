package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/profile"
)

// headSize is how much of a file a format sees before it says whether the file is its own.
const headSize = 4096

// Read reads a profile in any format, packed or not.
func Read(r io.Reader) (*profile.Profile, error) { return ReadAs(r, nil) }

// ReadAs reads a profile in one format, whatever it looks like; nil for any.
func ReadAs(r io.Reader, f *Format) (*profile.Profile, error) {
	file, size := plainFile(r)
	u, err := inflate.NewReader(r)
	if err != nil {
		return nil, err
	}
	defer u.Close()
	head, err := u.Peek(headSize + len(byteOrderMark))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	mark := int64(0)
	if bytes.HasPrefix(head, byteOrderMark) {
		head, mark = head[len(byteOrderMark):], int64(len(byteOrderMark))
		u.Discard(len(byteOrderMark)) //nolint:errcheck // they were peeked
	}
	var in io.Reader = u
	if f == nil {
		if f, in, err = recognise(u, head[:min(len(head), headSize)]); err != nil {
			return nil, behind(err, mark)
		}
	}
	if file != nil && u.Layers() == 0 && f.ReadAt != nil {
		p, err := f.ReadAt(io.NewSectionReader(file, mark, size-mark), size-mark)
		return p, behind(err, mark)
	}
	p, err := f.Read(in)
	if err = behind(err, mark); err != nil && u.Layers() > 0 && !errors.Is(err, ErrBomb) {
		return nil, fmt.Errorf("%w (bytes are counted in the unpacked data)", err)
	}
	return p, err
}

// byteOrderMark is what editors and programs on Windows write before text in UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

// behind corrects the place of an error in what lies behind a mark.
func behind(err error, mark int64) error {
	var wrong *profile.FormatError
	if mark > 0 && errors.As(err, &wrong) {
		wrong.Offset += mark
	}
	return err
}

// plainFile returns r as what can be read at several places at once, nil if it is anything but a file at its start.
func plainFile(r io.Reader) (io.ReaderAt, int64) {
	f, ok := r.(*os.File)
	if !ok {
		return nil, 0
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 { // those of /proc say 0
		return nil, 0
	}
	if at, err := f.Seek(0, io.SeekCurrent); err != nil || at != 0 {
		return nil, 0
	}
	return f, info.Size()
}

// ReadFile reads the profile in a file. If there is no such file but its parts are there, as a session with
// phases writes them, it reads all of them as one: run.part_0.hatchet, run.part_1.hatchet … for run.hatchet. A part
// that is named itself is read alone.
func ReadFile(path string) (*profile.Profile, error) { return ReadFileAs(path, nil) }

// ReadFileAs reads a file in one format, whatever it looks like; nil for any.
func ReadFileAs(path string, f *Format) (*profile.Profile, error) {
	file, err := foreign.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if parts := partsOf(path); len(parts) > 0 {
			return ReadParts(parts, f)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	defer file.Close()
	p, err := ReadAs(file, f)
	if err != nil && (strings.HasSuffix(path, ".nsys-rep") || strings.HasSuffix(path, ".ncu-rep")) {
		return nil, fmt.Errorf("read profile %s: it is a report of Nsight, which holds no call paths to show; record the program with proton run", path)
	}
	if err != nil {
		if newer := writtenByNewer(path); newer != "" {
			return nil, fmt.Errorf("read profile %s: %s (%w)", path, newer, err)
		}
		return nil, fmt.Errorf("read profile %s: %w", path, err)
	}
	return p, nil
}

// NotThere says whether an error of ReadFile is that the file could not be opened, rather than understood.
func NotThere(err error) bool {
	var cannot *fs.PathError
	return errors.As(err, &cannot)
}
