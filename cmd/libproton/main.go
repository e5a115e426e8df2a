// By default Go's runtime keeps two files of the cgroup open, to follow its processor limit. init sets a fixed number.
//go:debug containermaxprocs=0

// Command libproton is the shared library that runs inside the program: an injection library for the CUDA driver, a Python
// extension module, and a few C entry points. This package has only the entry points, which call other packages.
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
	"slices"
	"syscall"
	"unsafe"

	_ "github.com/goproton/goproton/cupti"
	"github.com/goproton/goproton/hooks"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/recorder"
	"github.com/goproton/goproton/hotpath/scratch"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/interpreter/run"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/aggregate"
	"github.com/goproton/goproton/profiler/control"
	_ "github.com/goproton/goproton/roctracer"
	"github.com/goproton/goproton/triton/scopes"
	"github.com/goproton/goproton/tritonparse/record"
)

var (
	service   = control.New()
	tracing   = record.Service{Complain: func(what string) { say(what) }, Env: hotpath.Getenv, Register: register}
	recording *recorder.Recording
	table     = hotpath.API() // for the program and its hooks; a recorder replaces it
)

func main() {}

func init() {
	// Two processors are enough, because the drainer's commands run one at a time; the variable GOMAXPROCS is meant for the program.
	runtime.GOMAXPROCS(2)
	control.CollectGarbage()
	reserveThreads()
	if err := hotpath.Init(); err != nil {
		say(err)
		return
	}
	service.Manager.EachRound = func() { C.addresses_if_limited() }
	service.Say = func(what string) { say(what) }
	service.Listens = func(descriptor int) { C.entry_listens(C.int(descriptor)) }
	hotpath.OnFirstLaunch(C.exit_registrar())
	startRecording()
	scratch.Init(table)
	hooks.Init(table, scratch.API())
	hooks.Control = call
}

// threads is how many goroutines are in C or in system calls at once, each of which needs a thread: a control call, the
// rounds, two of a trace, an exit and those that it waits for.
const threads = 7

// reserveThreads has Go start these threads now. Later the program may have used up all that the system allows; see threads.c.
func reserveThreads() {
	n := threads + figures.OneIf[int](control.HangWatched()) // one more waits for the GPU
	for range n {
		go C.thread_waits()
	}
	C.threads_release(C.int(n))
}

// say prints a line on standard error. Errors are ignored.
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
	service.Manager.HearInside(r.Inside)
}

// call answers a control call of Python or C.
func call(method string, params []byte) []byte {
	if record.Ours(method) {
		return traceCall(method, params)
	}
	if run.Ours(method) {
		return interpretCall(method, params)
	}
	if method == "inside.scopes" {
		return insideScopes(params)
	}
	if method == "exit" { // where no exit handler of the library will run
		protonAtExit(1)
		return []byte("{}")
	}
	answer := service.Call(method, params)
	if recording != nil {
		recording.Control(method, string(params))
	}
	return answer
}

// insideScopes puts scopes into the text of a kernel. It is not recorded: nothing of the GPU is in it.
func insideScopes(params []byte) []byte {
	var ask struct {
		Text  string
		Pairs int
	}
	if err := json.Unmarshal(params, &ask); err != nil {
		return hooks.ErrorJSON("RuntimeError", err.Error())
	}
	done, err := scopes.Rewrite(ask.Text, ask.Pairs)
	if err != nil {
		return hooks.ErrorJSON("ValueError", err.Error())
	}
	return inJSON(done)
}

// inJSON is an answer as text.
func inJSON(answer any) []byte {
	text, err := json.Marshal(answer)
	if err != nil {
		return hooks.ErrorJSON("RuntimeError", err.Error())
	}
	return text
}

// register gives a launch kind its number, and writes it to a recording, for the replay.
func register(k record.LaunchKind) uint32 {
	if recording != nil {
		text, _ := json.Marshal(map[string]any{"id": k.ID, "kernel": k.Kernel, "hash": k.Hash, "function": k.Function})
		recording.Control("launch_kind", string(text))
	}
	return aggregate.RegisterLaunchKind(profile.LaunchKind{ID: k.ID, Kernel: k.Kernel, Hash: k.Hash, Function: k.Function})
}

// traceCall answers the control calls of traces. They are not recorded, because some have the data of a launch.
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

// interpreting runs kernels on the CPU. Python holds the memory of a launch until the launch has ended.
var interpreting = run.Service{Interrupted: hooks.Interrupted, Memory: func(address, bytes uint64) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), bytes)
}, KeepScopes: keepScopes, Scopes: scopesOf}

// keepScopes has open scopes kept though no session is active. One that begins later forgets them, and keeps its own.
func keepScopes() {
	if service.Manager.Status().Sessions == 0 {
		hotpath.SessionBegins(true)
		hotpath.SetActive(hotpath.Listeners{ScopeSet: 1, Shadow: true})
	}
}

// scopesOf are the names of the scopes around a scope, the outermost first.
func scopesOf(node uint32) (names []string) {
	nodes := hotpath.Nodes()
	for node != 0 && int(node) < len(nodes) {
		if node = nodes[node].Parent; node != 0 && int(node) < len(nodes) {
			names = append(names, hotpath.Text(nodes[node].Name))
		}
	}
	slices.Reverse(names)
	return names
}

// interpretCall answers the control calls of the interpreter. They are not recorded: nothing of the GPU is in them.
func interpretCall(method string, params []byte) []byte {
	answer, err := interpreting.Call(method, params)
	if err != nil {
		return hooks.ErrorJSON("RuntimeError", err.Error())
	}
	if answer == nil {
		return []byte("{}")
	}
	return inJSON(answer)
}

//export protonGPUStarts
func protonGPUStarts() {
	defer quietly()
	service.GPUStarts()
}

//export protonAttach
func protonAttach(config *C.char) *C.char {
	defer quietly()
	if err := service.Attach(C.GoString(config)); err != nil {
		return C.CString(err.Error())
	}
	return nil
}

//export protonAttachEnds
func protonAttachEnds() {
	defer quietly()
	service.AwaitAttached()
}

//export protonAtExit
func protonAtExit(gpuAlive C.int) {
	defer quietly()
	if err := service.AtExit(gpuAlive == 0, control.Patience()); err != nil {
		say(err)
	}
	if !service.GaveUp() {
		closeRecording() // without a limit: this waits for the disk, not for the GPU
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

// quietly recovers from a panic and reports it, so that the program continues.
func quietly() {
	if r := recover(); r != nil {
		say(fmt.Sprintf("BUG: %v; please report this", r))
	}
}
