package run

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/goproton/goproton/interpreter/check"
)

// Memory that the program has asked for, as by torch.empty, gets words that depend on their address, if the check for uninitialised values is
// on: what is still there when a kernel is launched was never written, neither by a kernel nor by anything else.

// signature is the word at an address that is a multiple of 8.
func signature(address uint64) uint64 {
	z := address + 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31 | 1<<40 | 1
}

// sign fills memory at an address.
func sign(data []byte, address uint64) {
	for at := int(-address & 7); at+8 <= len(data); at += 8 {
		binary.NativeEndian.PutUint64(data[at:], signature(address+uint64(at)))
	}
}

// signed has a 1 for each byte that is as it was filled; nil if there is none.
func signed(data []byte, address uint64) (list []byte) {
	for at := int(-address & 7); at+8 <= len(data); at += 8 {
		if binary.NativeEndian.Uint64(data[at:]) != signature(address+uint64(at)) {
			continue
		}
		if list == nil {
			list = make([]byte, len(data))
		}
		copy(list[at:], "\x01\x01\x01\x01\x01\x01\x01\x01")
	}
	return list
}

// unwritten fills memory that the program has just got.
func (s *Service) unwritten(request []byte) (any, error) {
	var p struct{ Address, Bytes uint64 }
	if err := json.Unmarshal(request, &p); err != nil {
		return nil, fmt.Errorf("read the arguments of interpret.unwritten: %w", err)
	}
	sign(s.Memory(p.Address, p.Bytes), p.Address)
	s.signed.Store(true)
	return nil, nil
}

// findUnwritten marks what was never written in the buffers of a launch.
func (s *Service) findUnwritten(r *Run, l *Launch) {
	if r.checks&check.Uninitialised == 0 || !s.signed.Load() {
		return
	}
	for _, b := range l.List {
		b.memory.Unwritten = signed(b.memory.Data, b.memory.Address)
	}
}
