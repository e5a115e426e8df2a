package formats_test

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a protobuf message that is being written.
type message []byte

func (m message) number(field protowire.Number, v uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), v)
}

func (m message) bytes(field protowire.Number, v []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), v)
}

func (m message) text(field protowire.Number, v string) message { return m.bytes(field, []byte(v)) }

// Fields and values of Perfetto's protos.
const (
	packetTime, packetSequence, packetEvent, packetInterned, packetFlags, packetTrack = 8, 10, 11, 12, 13, 60
	trackUUID, trackName, trackProcess, trackThread, trackParent                      = 1, 2, 3, 4, 5
	eventNotes, eventType, eventNameID, eventTrack, eventCategory, eventName          = 4, 9, 10, 11, 22, 23
	noteText, noteNumber, noteName                                                    = 6, 3, 10
	eventLegacy, legacyPhase, legacyDuration                                          = 6, 2, 3
	begin, end                                                                        = 1, 2
	sequenceCleared, needsState                                                       = 1, 2
)

// tracks is a trace of Perfetto's.
type tracks struct {
	out      []byte
	interned map[string]uint64 // names; nil: they are written out
	uuids    map[string]uint64
}

func (t *tracks) packet(m message) {
	t.out = message(t.out).bytes(1, m.number(packetSequence, 1))
}

// track returns the id of a track, which is described when it is first asked for.
func (t *tracks) track(name string, describe func(message) message) uint64 {
	if uuid, known := t.uuids[name]; known {
		return uuid
	}
	uuid := uint64(len(t.uuids)+1) * 0x9E3779B97F4A7C15
	t.uuids[name] = uuid
	t.packet(message{}.bytes(packetTrack, describe(message{}.number(trackUUID, uuid))))
	return uuid
}

func (t *tracks) process(pid int64) uint64 {
	return t.track(fmt.Sprint("process ", pid), func(m message) message {
		return m.bytes(trackProcess, message{}.number(1, uint64(pid)).text(6, "python3"))
	})
}

func (t *tracks) thread(pid, tid int64) uint64 {
	process := t.process(pid)
	return t.track(fmt.Sprint("thread ", tid), func(m message) message {
		return m.number(trackParent, process).bytes(trackThread, message{}.number(1, uint64(pid)).number(2, uint64(tid)).text(5, "python3"))
	})
}

func (t *tracks) named(name string) uint64 {
	return t.track(name, func(m message) message { return m.text(trackName, name) })
}

// begins writes the beginning of a slice with notes: names and values, numbers or texts.
func (t *tracks) begins(track uint64, category, name string, at int64, notes ...any) {
	event, packet := message{}.number(eventType, begin).number(eventTrack, track), message{}
	event = event.text(eventCategory, category)
	if t.interned == nil {
		event = event.text(eventName, name)
	} else {
		id, known := t.interned[name]
		if !known {
			id = uint64(len(t.interned) + 1)
			t.interned[name] = id
			packet = packet.bytes(packetInterned, message{}.bytes(2, message{}.number(1, id).text(2, name)))
		}
		event = event.number(eventNameID, id)
		packet = packet.number(packetFlags, needsState)
	}
	for i := 0; i < len(notes); i += 2 {
		note := message{}.text(noteName, notes[i].(string))
		switch v := notes[i+1].(type) {
		case string:
			note = note.text(noteText, v)
		case int64:
			note = note.number(noteNumber, uint64(v))
		}
		event = event.bytes(eventNotes, note)
	}
	t.packet(packet.number(packetTime, uint64(at)).bytes(packetEvent, event))
}

func (t *tracks) ends(track uint64, at int64) {
	t.packet(message{}.number(packetTime, uint64(at)).bytes(packetEvent, message{}.number(eventType, end).number(eventTrack, track)))
}

// perfetto writes track events of threads with interned names, as programs do that use Perfetto's library.
func perfetto(m *Model) []byte {
	t := &tracks{uuids: map[string]uint64{}, interned: map[string]uint64{}}
	t.packet(message{}.number(packetFlags, sequenceCleared))
	for r := range m.Ranks {
		for i := range m.Ranks[r].Threads {
			thread := &m.Ranks[r].Threads[i]
			track := t.thread(m.Ranks[r].PID, thread.ID)
			var scope func(*Scope)
			scope = func(s *Scope) {
				for i := range s.Scopes {
					t.begins(track, "app", s.Scopes[i].Name, s.Scopes[i].Start)
					scope(&s.Scopes[i])
					t.ends(track, s.Scopes[i].End)
				}
			}
			scope(&thread.Top)
		}
	}
	return t.out
}

// chromium writes track events as Chrome does: slices have the phases of Chrome's JSON format, X where
// nothing is within.
func chromium(m *Model) []byte {
	t := &tracks{uuids: map[string]uint64{}}
	for r := range m.Ranks {
		for i := range m.Ranks[r].Threads {
			thread := &m.Ranks[r].Threads[i]
			track := t.thread(m.Ranks[r].PID, thread.ID)
			event := func(name string, at int64, legacy message) {
				t.packet(message{}.number(packetTime, uint64(at)).bytes(packetEvent,
					message{}.text(eventCategory, "toplevel").bytes(eventLegacy, legacy).number(eventTrack, track).text(eventName, name)))
			}
			var scope func(*Scope)
			scope = func(s *Scope) {
				for i := range s.Scopes {
					inner := &s.Scopes[i]
					if len(inner.Scopes) == 0 {
						event(inner.Name, inner.Start, message{}.number(legacyPhase, 'X').number(legacyDuration, uint64(inner.End-inner.Start)/1000))
						continue
					}
					event(inner.Name, inner.Start, message{}.number(legacyPhase, 'B'))
					scope(inner)
					event(inner.Name, inner.End, message{}.number(legacyPhase, 'E'))
				}
			}
			scope(&thread.Top)
		}
	}
	return t.out
}

// rocprofv3 writes as rocprofv3 --output-format pftrace does: kind by kind, each slice whole and after those within it, all names
// written out, and GPUs on tracks of their own.
func rocprofv3(m *Model) []byte {
	t := &tracks{uuids: map[string]uint64{}}
	t.packet(message{}.number(packetFlags, sequenceCleared))
	rank := &m.Ranks[0]
	track := func(thread *Thread) uint64 {
		if thread == &rank.Threads[0] {
			return t.thread(rank.PID, rank.PID)
		}
		return t.named(fmt.Sprintf("THREAD %d (%d)", thread.ID-rank.PID, thread.ID))
	}
	for i := range rank.Threads {
		at := track(&rank.Threads[i])
		rank.Threads[i].Top.calls(func(c *Call) {
			name := "hipLaunchKernel"
			if len(c.Work) == 0 {
				name = Wait
			}
			t.begins(at, "hip_api", name, c.Start, "begin_ns", c.Start, "end_ns", c.End, "tid", rank.Threads[i].ID, "corr_id", c.Correlation)
			t.ends(at, c.End)
		})
	}
	for i := range rank.Threads {
		at := track(&rank.Threads[i])
		var scope func(*Scope)
		scope = func(s *Scope) {
			for i := range s.Scopes {
				scope(&s.Scopes[i])
				t.begins(at, "marker_api", s.Scopes[i].Name, s.Scopes[i].Start, "tid", rank.PID, "kind", "MARKER_CORE_API")
				t.ends(at, s.Scopes[i].End)
			}
		}
		scope(&rank.Threads[i].Top)
	}
	m.Work(func(_ int, _ *Call, w *Work) {
		at, category := t.named(fmt.Sprintf("COMPUTE AGENT [%d] QUEUE [%d] (GPU)", w.Device, w.Stream)), "kernel_dispatch"
		notes := []any{"begin_ns", w.Start, "end_ns", w.End, "agent", int64(w.Device), "corr_id", w.Correlation, "queue", int64(w.Stream)}
		if w.Bytes > 0 {
			at, category = t.named(fmt.Sprintf("COPY to AGENT [%d] THREAD [%d] (GPU)", w.Device, w.Stream)), "memory_copy"
			notes = []any{"begin_ns", w.Start, "end_ns", w.End, "src_agent", int64(9), "dst_agent", int64(w.Device), "copy_bytes", w.Bytes, "corr_id", w.Correlation}
		}
		t.begins(at, category, w.Name, w.Start, notes...)
		t.ends(at, w.End)
	})
	return t.out
}
