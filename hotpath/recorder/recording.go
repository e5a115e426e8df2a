// Package recorder writes captures (PROTON_RECORD): everything that a vendor's library reports to the profiler and everything
// that the program does, in the format of package capture. It stands between the program and the hot path by giving out
// a table of its own, and vendor rooms put it between themselves and their library (API). ../../replay/player plays captures.
package recorder

/*
#cgo CFLAGS: -I${SRCDIR}/.. -std=gnu11 -O2 -Wall -Wextra -Wno-unused-parameter
#include <stdlib.h>
#include "file.h"
#include "program.h"
#include "seen.h"
*/
import "C"

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/internal/version"
)

// Recording is a capture that is being written. There is one per process.
type Recording struct {
	path  string
	close sync.Once
}

// Record begins a recording into a file; in a child of a process that records, into FILE.pid<P>. Call it
// before any source is attached, and have hooks and programs use the table that HotPath returns. A variable names the process
// that the file belongs to: its children inherit the path, and would otherwise write over what their parent is writing.
func Record(path string) (*Recording, error) {
	pid := strconv.Itoa(os.Getpid())
	if owner := settings.RecordOwner.Get(hotpath.Getenv); owner != "" && owner != pid {
		path += ".pid" + pid
	} else {
		hotpath.SetEnvDefault(settings.RecordOwner.Name, pid)
	}
	if absolute, err := filepath.Abs(path); err == nil { // the program may change its folder
		path = absolute
	}
	name, writer := C.CString(path), C.CString(version.Tool())
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(writer))
	if errno := C.record_open(name, writer); errno != 0 {
		return nil, fmt.Errorf("record to %s: %w; set PROTON_RECORD to a file that can be written", path, syscall.Errno(errno))
	}
	return &Recording{path: path}, nil
}

// Path is the file that is being written.
func (r *Recording) Path() string { return r.path }

// HotPath returns a struct hp_api that records and then calls the given one.
func (r *Recording) HotPath(api unsafe.Pointer) unsafe.Pointer {
	return unsafe.Pointer(C.record_wrap_hotpath((*C.struct_hp_api)(api)))
}

// Control notes a control call of the program that has returned: its method and parameters.
func (r *Recording) Control(method, params string) {
	m, p := C.CString(method), C.CString(params)
	defer C.free(unsafe.Pointer(m))
	defer C.free(unsafe.Pointer(p))
	C.record_control(m, p)
}

// Inside notes what a launch of a kernel with scopes has left. What no decoder reads is cleared, so that it shrinks.
func (r *Recording) Inside(l *inside.Launch) {
	kernel, err := json.Marshal(l.Kernel)
	slots := l.Trimmed()
	if err != nil || len(slots) == 0 {
		return
	}
	k := C.CString(string(kernel))
	defer C.free(unsafe.Pointer(k))
	numbers := [...]C.uint64_t{
		C.uint64_t(l.Grid[0]), C.uint64_t(l.Grid[1]), C.uint64_t(l.Grid[2]), C.uint64_t(l.CTAsPerCluster), C.uint64_t(l.Device), C.uint64_t(l.Stream), C.uint64_t(l.Correlation),
	}
	C.record_inside(k, &numbers[0], unsafe.Pointer(&slots[0]), C.size_t(len(slots)))
}

// Close ends the recording and compresses the file in place. Only the first of several calls does it, and
// the others wait for it: a process has more than one exit handler.
func (r *Recording) Close() (err error) {
	r.close.Do(func() { err = r.finish() })
	return err
}

func (r *Recording) finish() error {
	if errno := C.record_close(); errno != 0 {
		return fmt.Errorf("record to %s: %w; the recording is incomplete: free some space and record again", r.path, syscall.Errno(errno))
	}
	if C.record_saw_gpu() == 0 && strings.HasSuffix(r.path, ".pid"+strconv.Itoa(os.Getpid())) {
		return os.Remove(r.path) // a helper process that never came near a GPU
	}
	return compress(r.path)
}

// compress replaces a file by its gzip form: a capture is mostly kernel records, which shrink tenfold.
func compress(path string) error {
	in, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("compress the recording: %w", err)
	}
	defer in.Close()
	err = ownfile.Replace(path, func(out io.Writer) error {
		// Of 87 MB of 180 000 launches level 3 makes 1.86 MB in 0.4 s, 6 makes 1.82 MB in 1.0 s, 9 takes 4.9 s.
		z, _ := gzip.NewWriterLevel(out, 3)
		if _, err := io.Copy(z, in); err != nil {
			return err
		}
		return z.Close()
	})
	if err != nil {
		return fmt.Errorf("compress the recording: %w; the file stays uncompressed, and can be replayed as it is", err)
	}
	return nil
}

// API returns the table that vendor rooms record with, a struct recorder_api; nil while nothing is recorded.
func API() unsafe.Pointer {
	if C.record_on() == 0 {
		return nil
	}
	return unsafe.Pointer(C.recorder_api())
}
