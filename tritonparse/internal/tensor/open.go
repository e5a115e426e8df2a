package tensor

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/crypto/blake2b"

	"github.com/goproton/goproton/internal/inflate"
)

// Recorded is what a trace says of a file that torch.save wrote. Zero values stand for what it does not say.
type Recorded struct {
	Hash     string // BLAKE2b-512 of what torch.save wrote, hexadecimal
	Size     int64  // bytes of what torch.save wrote
	Elements int64  // bytes of the tensor's elements
}

// mostUnpacked bounds what a packed file unpacks to, unless its own size or the user vouches for more. Recorders store tensors of
// up to 10 GiB by default.
const mostUnpacked = 16 << 30

// Open reads what a file says about the tensor in it. torch.save wrote the file, and gzip may have packed it. The hash is checked.
func Open(path string, r Recorded) (*Tensor, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if file, err = contents(file, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t, err := read(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Hash is the hash of what torch.save wrote.
func Hash(path string, r Recorded) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return unpack(io.Discard, f, r)
}

// contents returns the file that torch.save wrote: file itself, or an unnamed file with the unpacked contents of file. If it
// fails, no file stays open.
func contents(file *os.File, r Recorded) (*os.File, error) {
	packed, err := isPacked(file)
	if err != nil || !packed && r.Hash == "" {
		return file, err
	}
	unpacked, to := file, io.Discard
	if packed {
		defer file.Close()
		if unpacked, err = os.CreateTemp("", "tensor"); err != nil {
			return nil, err
		}
		if err = os.Remove(unpacked.Name()); err != nil {
			return nil, errors.Join(err, unpacked.Close())
		}
		to = unpacked
	}
	got, err := unpack(to, file, r)
	if err == nil && r.Hash != "" && !strings.EqualFold(got, r.Hash) {
		err = fmt.Errorf("it is damaged: its hash is %.16s…, not %.16s… as was recorded", got, r.Hash)
	}
	if err != nil {
		return nil, errors.Join(err, unpacked.Close())
	}
	return unpacked, nil
}

func isPacked(f *os.File) (bool, error) {
	var head [2]byte
	_, err := f.ReadAt(head[:], 0)
	if err == io.EOF {
		err = nil // too short for anything
	}
	return head == [2]byte{0x1f, 0x8b}, err
}

// unpack writes what torch.save wrote, and returns its hash.
func unpack(to io.Writer, file *os.File, r Recorded) (string, error) {
	packed, err := isPacked(file)
	if err != nil {
		return "", err
	}
	var in io.Reader = file
	if packed {
		z, err := gzip.NewReader(file)
		if err != nil {
			return "", err
		}
		defer z.Close()
		if in, err = r.bounded(z, file); err != nil {
			return "", err
		}
	}
	h, err := blake2b.New512(nil)
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(io.MultiWriter(h, to), in); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// bounded reads what a packed file unpacks to, with an error for more than it may have: the size that the trace says, or where it
// says none, that of the elements with room for what torch.save adds. A tensor of zeros shrinks to a 1,032nd, and so does what
// only fills the disk: a size beyond mostUnpacked needs a packed file in proportion, or the user's word.
func (r Recorded) bounded(in io.Reader, file *os.File) (io.Reader, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	usual := max(inflate.Free, inflate.Ratio*info.Size())
	most := max(usual, mostUnpacked)
	switch {
	case r.Size > 0 && (r.Size <= most || inflate.Lifted()):
		return &bounded{in, r.Size, fmt.Errorf("it unpacks to more than the %d bytes that the trace says; it is not the file that was recorded", r.Size)}, nil
	case inflate.Lifted():
		return in, nil
	case r.Size <= 0:
		most = min(most, max(usual, inflate.Free+min(r.Elements, most)))
	}
	return &bounded{in, most, fmt.Errorf("%w: more than %d bytes from %d; if you trust the file, give --%s", inflate.ErrRatio, most, info.Size(), inflate.Flag)}, nil
}

// bounded reads left bytes, and returns err instead of more.
type bounded struct {
	in   io.Reader
	left int64
	err  error
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, b.err
	}
	return n, err
}
