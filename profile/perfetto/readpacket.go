package perfetto

import (
	"cmp"
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// sequenceState is what the packets of one writer refer to.
type sequenceState struct {
	names, categories, keys, texts, stages, kernels map[uint64]string
	stacks                                          map[string]int32 // call paths by the bytes of their annotation
	track                                           uint64           // of events without a track
	clock                                           uint64           // of packets without a clock; 0: the trace's clock
}

func newSequenceState() *sequenceState {
	return &sequenceState{
		names: map[uint64]string{}, categories: map[uint64]string{}, keys: map[uint64]string{}, texts: map[uint64]string{},
		stages: map[uint64]string{}, kernels: map[uint64]string{},
		stacks: map[string]int32{},
	}
}

// field is one field of a message: v is the value of a number, b that of a text or message.
type field struct {
	number protowire.Number
	kind   protowire.Type
	v      uint64
	b      []byte
}

func (f field) double() float64 { return math.Float64frombits(f.v) }

var errDamaged = errors.New("a message within the packet is damaged")

// fields calls each for every field of a message.
func fields(message []byte, each func(field) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errDamaged
		}
		message = message[n:]
		f := field{number: number, kind: kind}
		switch kind {
		case protowire.VarintType:
			f.v, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			f.v, n = protowire.ConsumeFixed64(message)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(message)
			f.v = uint64(v)
		case protowire.BytesType:
			f.b, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return errDamaged
		}
		message = message[n:]
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

// packetParts are the parts of a packet that the reader uses, in any order.
type packetParts struct {
	timestamp, sequence, flags, clock                 uint64
	event, interned, defaults, snapshot, track, stage []byte
	hasEvent, hasTrack, hasInterned, stateCleared     bool
}

func (d *reader) readPacket(message []byte) error {
	var p packetParts
	err := fields(message, func(f field) error {
		switch f.number {
		case packetTimestamp:
			p.timestamp = f.v
		case packetSequenceID:
			p.sequence = f.v
		case packetSequenceFlags:
			p.flags = f.v
		case packetTimestampClock:
			p.clock = f.v
		case packetStateCleared:
			p.stateCleared = f.v != 0
		case packetTrackEvent:
			p.event, p.hasEvent = f.b, true
		case packetInternedData:
			p.interned, p.hasInterned = f.b, true
		case packetDefaults:
			p.defaults = f.b
		case packetClockSnapshot:
			p.snapshot = f.b
		case packetRenderStage:
			p.stage = f.b
		case packetTrackDescriptor:
			p.track, p.hasTrack = f.b, true
		}
		return nil
	})
	if err != nil {
		return err
	}
	return d.take(&p)
}

// take reads the parts in the order in which they depend on each other.
func (d *reader) take(p *packetParts) error {
	state := d.sequences[p.sequence]
	if state == nil || p.stateCleared || p.flags&stateCleared != 0 {
		state = newSequenceState()
		d.sequences[p.sequence] = state
	}
	if p.defaults != nil {
		if err := d.readDefaults(state, p.defaults); err != nil {
			return err
		}
	}
	if p.snapshot != nil {
		if err := d.clocks.snapshot(p.sequence, p.snapshot); err != nil {
			return err
		}
	}
	if p.hasInterned {
		if err := d.readInterned(state, p.interned); err != nil {
			return err
		}
	}
	if p.hasTrack {
		if err := d.readTrack(p.track); err != nil {
			return err
		}
	}
	if !p.hasEvent && p.stage == nil {
		return nil
	}
	at, fault := d.clocks.at(p.sequence, cmp.Or(p.clock, state.clock), p.timestamp)
	if p.stage != nil {
		return d.readStage(state, at, fault, p.stage)
	}
	return d.readEvent(state, at, fault, p.event)
}

func (d *reader) readDefaults(state *sequenceState, message []byte) error {
	return fields(message, func(f field) error {
		switch f.number {
		case packetTimestampClock:
			state.clock = f.v
		case defaultsTrackEvent:
			return fields(f.b, func(f field) error {
				if f.number == defaultTrack {
					state.track = f.v
				}
				return nil
			})
		}
		return nil
	})
}

func (d *reader) readInterned(state *sequenceState, message []byte) error {
	return fields(message, func(f field) error {
		var table map[uint64]string
		switch f.number {
		case internedNames:
			table = state.names
		case internedCategories:
			table = state.categories
		case internedKeys:
			table = state.keys
		case internedStrings:
			table = state.texts
		case internedStages:
			table = state.stages
		case internedKernels:
			table = state.kernels
		default:
			return nil
		}
		var id uint64
		var text string
		err := fields(f.b, func(f field) error {
			switch f.number {
			case internedIID:
				id = f.v
			case internedText:
				text = d.text(f.b)
			}
			return nil
		})
		table[id] = text
		return err
	})
}
