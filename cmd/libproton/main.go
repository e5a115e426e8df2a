// Go's runtime would keep two files of the cgroup open, to follow its processor limit, which init fixes.
//go:debug containermaxprocs=0

// Command libproton is the shared library that runs inside the workload: an injection library for the CUDA
// driver, a Python extension module, and a few C entry points. Everything here is an entry: recover, look
// up, call. The work is in the packages below.
package main

/*
#cgo LDFLAGS: -Wl,--wrap=x_cgo_sys_thread_create
#include <stdlib.h>
#include "entry.h"
#include "refusal.h"
*/
import "C"

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"

	"github.com/goproton/goproton/hooks"
	"github.com/goproton/goproton/internal/capture/recorder"
	"github.com/goproton/goproton/internal/hotpath"
	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/internal/tracelog"
	"github.com/goproton/goproton/profiler/control"
	"github.com/goproton/goproton/profiler/launchkinds"
	_ "github.com/goproton/goproton/profiler/nvidia"
)

var (
	service   = control.New()
	tracing   = tracelog.Service{Complain: func(what string) { say(what) }, Register: register}
	recording *recorder.Recording
	table     = hotpath.API() // what the program's side calls; a recorder may stand in front
)

func main() {}

func init() {
	// A guest's manners: two processors are plenty for one drainer, and the host's GOMAXPROCS is not ours.
	runtime.GOMAXPROCS(2)
	debug.SetGCPercent(400) // the heap is a few MB of call-path tree
	reserveThreads()
	if err := hotpath.Init(); err != nil {
		say(err)
		return
	}
	service.Manager.EachRound = func() { C.addresses_if_limited() }
	service.Say = func(what string) { say(what) }
	hotpath.OnFirstLaunch(C.exit_registrar())
	startRecording()
	hooks.Init(table)
	hooks.Control = call
}

// threads is how many goroutines can be in C or in the system at once without a new thread: the drainer, its rounds,
// the two of a trace, an exit and what it waits for.
const threads = 7

// reserveThreads has Go make threads now that it would otherwise make when the program may have none left.
func reserveThreads() {
	for range threads {
		go C.thread_waits()
	}
	C.threads_release(threads)
}

// say is our one line on standard error. Where that is closed or full, nothing is said.
func say(what any) { fmt.Fprintf(ownfile.Stderr, "proton: %v\n", what) }

func startRecording() {
	path := settings.Record.Get(os.Getenv)
	if path == "" {
		return
	}
	r, err := recorder.Record(path)
	if err != nil {
		say(err)
		return
	}
	say("recording to " + r.Path() + "; this run is slower than a profiled one")
	recording = r
	table = r.HotPath(table)
}

// call does one control call, for Python or C.
func call(method string, params []byte) []byte {
	if tracelog.Ours(method) {
		return traceCall(method, params)
	}
	answer := service.Call(method, params)
	if recording != nil {
		recording.Control(method, string(params))
	}
	return answer
}

// register gives a kind of launch its number, and keeps it in a recording, so that a replay knows it too.
func register(k tracelog.Kind) uint32 {
	if recording != nil {
		text, _ := json.Marshal(map[string]any{"id": k.ID, "kernel": k.Kernel, "hash": k.Hash, "function": k.Function})
		recording.Control("launch_kind", string(text))
	}
	return launchkinds.Register(launchkinds.Kind(k))
}

// traceCall does the control calls of traces, of which some carry a launch: they are kept out of recordings.
func traceCall(method string, params []byte) []byte {
	answer, err := tracing.Call(method, params)
	switch {
	case errors.As(err, new(*fs.PathError)), errors.As(err, new(syscall.Errno)):
		return hooks.ErrorJSON("OSError", err.Error())
	case err != nil:
		return hooks.ErrorJSON("RuntimeError", err.Error())
	}
	return answer
}

//export protonGPUStarts
func protonGPUStarts() {
	defer quietly()
	service.GPUStarts()
}

//export protonAtExit
func protonAtExit(gpuAlive C.int) {
	defer quietly()
	if err := service.AtExit(gpuAlive == 0, control.Patience()); err != nil {
		say(err)
	}
	if !service.GaveUp() {
		closeRecording() // takes as long as it takes: it is our own disk, not the GPU
	}
}

func closeRecording() {
	if recording == nil {
		return
	}
	if err := recording.Close(); err != nil {
		say(err)
	}
	recording = nil
}

//export protonCall
func protonCall(method, params *C.char) *C.char {
	return C.CString(string(call(C.GoString(method), []byte(C.GoString(params)))))
}

//export protonHotpath
func protonHotpath() unsafe.Pointer { return table }

// quietly keeps a bug of ours out of the workload.
func quietly() {
	if r := recover(); r != nil {
		say(fmt.Sprintf("BUG: %v; please report this", r))
	}
}
