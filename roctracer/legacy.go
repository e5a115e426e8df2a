package roctracer

/*
#include <stdlib.h>
#include "legacy.h"
*/
import "C"

import (
	"cmp"
	"fmt"
	"path/filepath"
	"unsafe"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/profiler"
)

// legacy is the provider on libroctracer64. That finds HIP once, at its first use, and among the loaded libraries only.
type legacy struct {
	opts    profiler.SourceOptions
	path    string // of the library
	version int    // of it, 401 is 4.1
}

// NewLegacy returns a collector on libroctracer64.
func NewLegacy(opts profiler.SourceOptions) *Collector {
	return &Collector{name: "roctracer", provider: &legacy{opts: opts}, reader: newReader(opts, false)}
}

// HIPLoaded reports whether the program has loaded HIP.
func HIPLoaded() bool { return C.hip_find() != 0 }

func (l *legacy) ready() bool { return HIPLoaded() }

func (l *legacy) later() bool { return attachWhenLoaded() }

func (l *legacy) attach(bool) error {
	if !HIPLoaded() {
		return errNoHIP
	}
	root := C.CString(settings.Root.Get(hotpath.Getenv))
	defer C.free(unsafe.Pointer(root))
	C.nodes_use_root(root)
	if err := l.load(); err != nil {
		return err
	}
	if C.legacy_is_deaf() != 0 {
		return errDeaf
	}
	var what *C.char
	if rc := C.legacy_attach(&what); rc != 0 {
		return l.refused(C.GoString(what), int(rc))
	}
	return nil
}

// candidates are the files to try, best first; the last are for the loader to find.
func (l *legacy) candidates() []string {
	if path := loadedLibrary("libroctracer64.so"); path != "" {
		return []string{path} // a second copy would not hear HIP
	}
	search := vendors.ROCmSearch{Env: hotpath.Getenv, SitePackages: l.opts.SitePackages, HIP: filepath.Dir(C.GoString(C.hip_path()))}
	return append(search.Files(vendors.ROCtracer), vendors.ROCtracer.Names...)
}

func (l *legacy) load() error {
	var missing, unknown error // the first of each
	for _, path := range l.candidates() {
		err := open(path)
		if err != nil {
			missing = cmp.Or(missing, err)
			continue
		}
		l.path, l.version = path, int(C.legacy_version())
		if l.version/100 == 4 {
			return nil
		}
		unknown = cmp.Or(unknown, fmt.Errorf("%s is roctracer %d.%d, and GoProton knows version 4", path, l.version/100, l.version%100))
	}
	return fmt.Errorf("%w; install roctracer of the ROCm that the program uses, or set %s to its folder", cmp.Or(unknown, missing), settings.TritonROCtracer.Name)
}

func open(path string) error {
	c := C.CString(path)
	defer C.free(unsafe.Pointer(c))
	var missing C.int
	text := C.legacy_load(c, &missing)
	switch {
	case text == nil:
		return nil
	case missing != 0:
		return fmt.Errorf("open %s: it has no %s", path, C.GoString(text))
	}
	return fmt.Errorf("open libroctracer64: %s", C.GoString(text))
}

func (l *legacy) listen(records, calls record.Kinds) error {
	var what *C.char
	launches, copies, waits := wants(records, calls)
	rc := C.legacy_listen(launches, copies, waits, &what)
	if rc == 0 {
		return nil
	}
	err := l.refused(C.GoString(what), int(rc))
	C.legacy_listen(0, 0, 0, &what)
	return err
}

func (l *legacy) watch(marks record.Marks) error {
	var what *C.char
	if rc := C.legacy_watch(boolint(marks.Ranges), boolint(marks.Profilers), &what); rc != 0 {
		return l.refused(C.GoString(what), int(rc))
	}
	return nil
}

func (l *legacy) flush(bool) { C.legacy_flush() }

// detach leaves the pool open at the end of a process: threads may still launch, and the library frees what they write into.
func (l *legacy) detach(ending bool) { C.legacy_detach(boolint(!ending)) }
