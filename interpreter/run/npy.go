package run

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// element is what is known of a type of elements: its size, and what numpy calls it. A type that numpy does not have is bits to it.
type element struct {
	size  int
	numpy string
}

var elements = map[string]element{
	"i1": {1, "|b1"}, "i8": {1, "|i1"}, "i16": {2, "<i2"}, "i32": {4, "<i4"}, "i64": {8, "<i8"},
	"f16": {2, "<f2"}, "f32": {4, "<f4"}, "f64": {8, "<f8"}, "bf16": {2, "<u2"},
	"f8E4M3FN": {1, "|u1"}, "f8E5M2": {1, "|u1"}, "f8E4M3FNUZ": {1, "|u1"}, "f8E5M2FNUZ": {1, "|u1"},
}

const npyMagic = "\x93NUMPY\x01\x00"

// writeNPY writes a file that numpy.load reads: one dimension, of the elements' type.
func writeNPY(path, kind string, data []byte) error {
	e, known := elements[kind]
	if !known || len(data)%e.size != 0 {
		e = element{1, "|u1"}
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }", e.numpy, len(data)/e.size)
	header += strings.Repeat(" ", 63-(len(npyMagic)+2+len(header))%64) + "\n"
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	w.WriteString(npyMagic)
	w.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(header))))
	w.WriteString(header)
	w.Write(data)
	return errors.Join(w.Flush(), f.Close())
}

// contents are the bytes of a buffer, from its file or by its fill.
func (b *Buffer) contents(folder string) (data []byte, err error) {
	if b.File == "" {
		return b.filled()
	}
	if data, err = os.ReadFile(filepath.Join(folder, b.File)); err != nil {
		return nil, err
	}
	if filepath.Ext(b.File) == ".npy" {
		if data, err = readNPY(data); err != nil {
			return nil, fmt.Errorf("%s: %w", b.File, err)
		}
	}
	if b.Bytes != 0 && b.Bytes != int64(len(data)) {
		return nil, fmt.Errorf("%s: it has %d bytes of elements, and its launch says %d", b.File, len(data), b.Bytes)
	}
	return data, nil
}

// readNPY is the elements of a file of numpy's, as they are.
func readNPY(raw []byte) ([]byte, error) {
	if len(raw) < 12 || !bytes.HasPrefix(raw, []byte(npyMagic[:6])) {
		return nil, errors.New("it is not a .npy file")
	}
	begin, length := 10, int(binary.LittleEndian.Uint16(raw[8:]))
	if raw[6] > 1 {
		begin, length = 12, int(binary.LittleEndian.Uint32(raw[8:]))
	}
	if length > len(raw)-begin {
		return nil, errors.New("its header is cut off")
	}
	header, data := string(raw[begin:begin+length]), raw[begin+length:]
	switch {
	case strings.Contains(header, "'fortran_order': True"):
		return nil, errors.New("its elements are in Fortran's order: save a copy that numpy.ascontiguousarray makes")
	case strings.Contains(header, "'descr': '>"):
		return nil, errors.New("its elements are big-endian: save them little-endian")
	case strings.Contains(header, "'descr': '|O'"):
		return nil, errors.New("its elements are objects of Python")
	}
	if want, known := npyBytes(header); known && want != len(data) {
		return nil, fmt.Errorf("it has %d bytes of elements, and its header says %d", len(data), want)
	}
	return data, nil
}

// npyBytes is how many bytes a header promises.
func npyBytes(header string) (int, bool) {
	kind := between(header, "'descr': '", "'")
	if len(kind) < 3 {
		return 0, false
	}
	n, err := strconv.Atoi(kind[2:])
	if err != nil {
		return 0, false
	}
	for _, d := range strings.FieldsFunc(between(header, "'shape': (", ")"), func(r rune) bool { return r == ',' || r == ' ' }) {
		k, err := strconv.Atoi(d)
		if err != nil || k < 0 || k > 0 && n > 1<<50/k {
			return 0, false
		}
		n *= k
	}
	return n, true
}

func between(s, before, after string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, _ = strings.Cut(s, after)
	return s
}
