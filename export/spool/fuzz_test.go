package spool

import (
	"path/filepath"
	"testing"
)

// FuzzEntry: the name of a window stays the same when a part of it was sent, and any other name in the folder is not the name of a window.
func FuzzEntry(f *testing.F) {
	f.Add("0000000000000000017-4711-3.window", 1)
	f.Add("1-2-3-4.window", 1<<40)
	f.Add("99999999999999999999-+1--2.window", -1)
	f.Fuzz(func(t *testing.T, name string, sent int) {
		e, ok := entry(name)
		if !ok {
			return
		}
		if e.Sent < 0 || e.PID < 0 || filepath.Base(name) != name {
			t.Fatalf("%q: %+v", name, e)
		}
		e.Sent = max(sent, 0)
		again, ok := entry(filepath.Base(e.partPath()))
		if !ok || again.Name != e.Name || again.Sent != e.Sent || again.PID != e.PID || !again.End.Equal(e.End) {
			t.Errorf("%q: %+v, then %+v, %v", name, e, again, ok)
		}
	})
}
