package perfetto

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
)

// Read reads a trace: its timeline, and the tree that it amounts to. Scheduling, logs and the counters of other programs are skipped. A
// truncated file is read as far as possible; Info then has profile.InfoIncomplete. The error for a file that is not a trace names the
// byte.
func Read(r io.Reader) (*profile.Profile, error) {
	d := newReader(r)
	err := d.packets()
	cutOff := int64(-1)
	switch held := len(d.b.Profile.Timeline.Slices) > 0; {
	case errors.Is(err, io.ErrUnexpectedEOF) && held:
		cutOff = d.offset
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("byte %d: the file ends within its first packets; it is cut off or not a Perfetto trace", d.offset)
	case err != nil:
		return nil, fmt.Errorf("byte %d: %w", d.offset, err)
	case !held && len(d.tracks.order) == 0:
		return nil, errors.New("byte 0: there are no track events in it; give a trace that proton or Perfetto's SDK wrote")
	}
	d.tracks.complete()
	for _, l := range d.queues {
		l.In.ID = d.tracks.ownerless()
	}
	d.tracks.finishCounters()
	d.joinFlows(d.flows)
	d.joinFlows(d.submissions)
	d.b.EndDocument(0)
	return d.b.Finish(cutOff), nil
}

// reader reads the packets of one file.
type reader struct {
	in     *bufio.Reader
	offset int64 // of the packet that is being read
	next   int64
	packet bytes.Buffer

	b         *lanes.Builder
	sequences map[uint64]*sequenceState
	tracks    trackTable
	strings   map[string]string // one copy of each text
	flows     []flowPoint
	// Calls that submit work of a GPU, and the render stages that this work is, by the stage's event.
	submissions []flowPoint
	e           event
	clocks      clockTable
	queues      map[queue]*lanes.Lane
	stages      stageTables
}

func newReader(r io.Reader) *reader {
	b := lanes.NewBuilder()
	return &reader{
		in: bufio.NewReaderSize(r, 64<<10), b: b, sequences: map[uint64]*sequenceState{},
		tracks: newTrackTable(b), strings: map[string]string{}, clocks: newClockTable(),
		queues: map[queue]*lanes.Lane{},
	}
}

// largestPacket bounds one packet, which is read as a whole. Perfetto's own writers stay below a few hundred kilobytes.
const largestPacket = 64 << 20

// packets reads the file. An error other than io.ErrUnexpectedEOF, which a cut off file has, says what is wrong at offset.
func (d *reader) packets() error {
	for {
		d.offset = d.next
		if _, err := d.in.Peek(1); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		tag, err := d.varint()
		if err != nil {
			return err
		}
		field, kind := protowire.DecodeTag(tag)
		if kind != protowire.BytesType || field < 1 {
			return fmt.Errorf("field %d has an unexpected wire type; this is not a Perfetto trace", field)
		}
		size, err := d.varint()
		if err != nil {
			return err
		}
		if size > largestPacket {
			return fmt.Errorf("a packet of %d bytes, and at most %d are read; this is not a Perfetto trace", size, largestPacket)
		}
		d.packet.Reset()
		n, err := io.CopyN(&d.packet, d.in, int64(size)) // grows with what comes, not with what is promised
		d.next += n
		if err != nil {
			if errors.Is(err, io.EOF) {
				return io.ErrUnexpectedEOF
			}
			return err
		}
		if field != tracePacket {
			continue
		}
		if err := d.readPacket(d.packet.Bytes()); err != nil {
			return err
		}
	}
}

func (d *reader) varint() (uint64, error) {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		c, err := d.in.ReadByte()
		if errors.Is(err, io.EOF) {
			return 0, io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		d.next++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, nil
		}
	}
	return 0, errors.New("a number of more than 64 bits; this is not a Perfetto trace")
}

// text returns the one copy of a string, as valid UTF-8.
func (d *reader) text(b []byte) string {
	if s, found := d.strings[string(b)]; found {
		return s
	}
	raw := string(b)
	s := strings.ToValidUTF8(raw, "\uFFFD")
	d.strings[raw] = s
	return s
}
