package interpreter

import (
	"bytes"
	"slices"

	"github.com/goproton/goproton/interpreter/check"
)

// duplicates looks for elements of one store that have the same address and different values: which of them stays is not defined.
func (w *watcher) duplicates(byRows bool) {
	rising, next := true, int64(-1<<63)
	w.eachRun(byRows, func(_, n int, address int64) {
		rising = rising && address >= next
		next = address + int64(n*w.site.size)
	})
	if rising {
		return
	}
	w.make(byRows)
	lanes := make([]int32, 0, len(w.addresses)) // in the order of their addresses
	for i := range w.addresses {
		if w.masks == nil || w.masks[i] != 0 {
			lanes = append(lanes, int32(i))
		}
	}
	slices.SortStableFunc(lanes, func(a, b int32) int {
		switch x, y := w.addresses[a], w.addresses[b]; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	size := w.site.size
	first, second := make([]byte, size), make([]byte, size)
	for i := 1; i < len(lanes); i++ {
		a, b := int(lanes[i-1]), int(lanes[i])
		if w.addresses[a] != w.addresses[b] {
			continue
		}
		w.put(first, a, a+1)
		w.put(second, b, b+1)
		if !bytes.Equal(first, second) {
			w.duplicate(a, b)
			return
		}
	}
}

func (w *watcher) duplicate(a, b int) {
	m := w.m
	f := m.accessFinding(w.site, check.DuplicateAddresses, "another element of the same operation, with another value, is stored at "+m.memory.describe(w.addresses[b], w.site.size), w.addresses[b], b)
	earlier := m.place(w.site.op, m.at, a)
	earlier.Access = f.Access
	f.Others = []check.Place{earlier}
	m.report(f)
}
