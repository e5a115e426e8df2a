package profiler

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/vendors"
)

// A second session with another backend is refused by name, also where it would only activate a living one.
func TestSessionsOfTwoBackends(t *testing.T) {
	m, _ := stage(t)
	register("other", func(SourceOptions) Source { return &fakeSource{} })
	name := filepath.Join(t.TempDir(), "p")
	first, err := m.Start(StartOptions{Name: name, Backend: "fake"})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[PROTON] Cannot add a session with backend "other" to sessions with backend "fake": a process profiles with one at a time; finalize them first`
	for _, session := range []string{name, name + "2"} {
		var argument *ArgumentError
		if _, err := m.Start(StartOptions{Name: session, Backend: "other"}); !errors.As(err, &argument) || err.Error() != want {
			t.Errorf("a session %s with another backend: %v, want %s", filepath.Base(session), err, want)
		}
	}
	if id, err := m.Start(StartOptions{Name: name}); err != nil || id != first {
		t.Errorf("a session of the same name that names no backend: %d, %v", id, err)
	}
	if _, err := m.Finalize(nil, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Start(StartOptions{Name: name, Backend: "other"}); err != nil {
		t.Errorf("another backend when no session is left: %v", err)
	}
}

func TestWhichBackend(t *testing.T) {
	before := backends.list
	t.Cleanup(func() { backends.list = before })
	never, always := func(SourceOptions) bool { return false }, func(SourceOptions) bool { return true }
	a := func(detect func(SourceOptions) bool) Backend {
		return Backend{Backend: vendors.Backend{Names: []string{"a"}}, Detect: detect}
	}
	b := func(detect func(SourceOptions) bool) Backend {
		return Backend{Backend: vendors.Backend{Names: []string{"b", "bee"}}, Detect: detect}
	}
	hip := func(name string, detect func(SourceOptions) bool) Backend {
		return Backend{Backend: vendors.Backend{Names: []string{name}}, DeviceType: "HIP", Detect: detect}
	}
	for _, c := range []struct {
		there []Backend
		name  string
		want  string // the backend, or part of the error
	}{
		{nil, "", `backend "cupti" is not built into this program; import github.com/goproton/goproton/cupti`},
		{nil, "cupti", "is not built into this program"},
		{nil, "roctracer", `backend "roctracer" is not built into this program; import github.com/goproton/goproton/roctracer`},
		{[]Backend{a(never), b(always)}, "", "b"},
		{[]Backend{a(never), b(never)}, "", "a"},
		{[]Backend{b(always), {Backend: vendors.Backend{Names: []string{"cupti"}}, Detect: always}}, "", "cupti"}, // a vendor's, wherever it was registered
		{[]Backend{a(always), b(always)}, "B", "b"},
		{[]Backend{a(always), b(always)}, "bee", "b"},
		{[]Backend{a(always)}, "xpupti", "Intel GPUs are not supported yet"},
		{[]Backend{a(always), hip("x", never), hip("y", always)}, "hip", "y"},
		{[]Backend{a(always), hip("x", never), hip("y", never)}, "HIP", "x"},
		{[]Backend{a(always)}, "hip", "[PROTON] Unknown profiler: hip"},
		{[]Backend{a(always)}, "nonsense", "[PROTON] Unknown profiler: nonsense"},
	} {
		backends.list = nil
		for _, b := range c.there {
			Register(b)
		}
		b, err := backendNamed(c.name, SourceOptions{})
		if err != nil && !strings.Contains(err.Error(), c.want) || err == nil && b.name() != c.want {
			t.Errorf("%q of %d backends: %v, %v, want %s", c.name, len(c.there), b, err, c.want)
		}
	}
}
