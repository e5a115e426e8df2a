package record

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/goproton/goproton/internal/ownfile"
)

// What the definitions' file holds, each with its length, its checksum and its kind before it.
const (
	isHeader     = 'H' // JSON; the first, and only the first
	isDefinition = 'D' // bytes that launches refer to by number, from 1
	isEvent      = 'E' // JSON of a compilation or autotune record, to be completed
)

const entryHead = 9 // length, checksum, kind

// maxEntry bounds what a damaged length can make us allocate; sources of 10 MB are the largest that occur.
const maxEntry = 256 << 20

func appendEntry(out []byte, kind byte, payload []byte) []byte {
	var head [entryHead]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(payload)))
	head[8] = kind
	binary.LittleEndian.PutUint32(head[4:], crc32.Update(crc32.ChecksumIEEE(head[8:9]), crc32.IEEETable, payload))
	return append(append(out, head[:]...), payload...)
}

// definitions is what a process left in the file, read again.
type definitions struct {
	header header
	values [][]byte // by number - 1
	events [][]byte
}

// readDefinitions reads up to the end, or up to where the process died while it wrote.
func readDefinitions(in io.Reader) (definitions, error) {
	var d definitions
	for first := true; ; first = false {
		kind, payload, err := readEntry(in)
		switch {
		case errors.Is(err, io.EOF) && !first:
			return d, nil
		case err != nil:
			return d, err
		case first != (kind == isHeader):
			return d, fmt.Errorf("%w: its header is not where it belongs", errDamaged)
		case kind == isHeader:
			if err := json.Unmarshal(payload, &d.header); err != nil {
				return d, fmt.Errorf("%w: its header: %v", errDamaged, err)
			}
			if d.header.Version != formatVersion {
				return d, fmt.Errorf("it has version %d, this program knows %d: use the proton that the run was made with", d.header.Version, formatVersion)
			}
		case kind == isDefinition:
			d.values = append(d.values, payload)
		case kind == isEvent:
			d.events = append(d.events, payload)
		default:
			return d, fmt.Errorf("%w: an entry of kind %q", errDamaged, kind)
		}
	}
}

// readEntry returns io.EOF at the end and where an entry was cut.
func readEntry(in io.Reader) (kind byte, payload []byte, err error) {
	var head [entryHead]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, nil, io.EOF
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size > maxEntry {
		return 0, nil, fmt.Errorf("%w: an entry of %d bytes", errDamaged, size)
	}
	payload, err = io.ReadAll(io.LimitReader(in, int64(size)))
	if err != nil || len(payload) < int(size) {
		return 0, nil, io.EOF
	}
	kind = head[8]
	if sum := crc32.Update(crc32.ChecksumIEEE(head[8:9]), crc32.IEEETable, payload); sum != binary.LittleEndian.Uint32(head[4:]) {
		return 0, nil, fmt.Errorf("%w: a checksum is wrong", errDamaged)
	}
	return kind, payload, nil
}

// openDefinitions begins the file of this process.
func openDefinitions(h header) (*ownfile.File, error) {
	file, err := ownfile.Open(h.ringFile("definitions"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, err
	}
	text, _ := json.Marshal(h)
	if _, err := file.Write(appendEntry(nil, isHeader, text)); err != nil {
		_ = file.Close()
		_ = os.Remove(file.Name())
		return nil, err
	}
	return file, nil
}
