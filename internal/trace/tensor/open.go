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
)

// Open reads what a file says about the tensor in it. torch.save wrote it, and it may be packed by gzip. The hash of what
// torch.save wrote (BLAKE2b-512, hexadecimal) is checked unless it is "".
func Open(path, hash string) (*Tensor, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if file, err = contents(file, hash); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t, err := read(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Hash is that of what torch.save wrote.
func Hash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return unpack(io.Discard, f)
}

// contents is what torch.save wrote: the file itself, or one without a name that the packed file is unpacked to. If it
// fails, no file stays open.
func contents(file *os.File, hash string) (*os.File, error) {
	packed, err := isPacked(file)
	if err != nil || !packed && hash == "" {
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
	got, err := unpack(to, file)
	if err == nil && hash != "" && !strings.EqualFold(got, hash) {
		err = fmt.Errorf("it is damaged: its hash is %.16s…, not %.16s… as was recorded", got, hash)
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
func unpack(to io.Writer, file *os.File) (string, error) {
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
		in = z
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
