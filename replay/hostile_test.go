package replay

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/goproton/goproton/profile/formats"
)

// A capture may come from an attacker. These tests play captures that no recorder writes: proton-replay may refuse one with
// a sentence, or play it; it must never crash.

// events is a capture under construction.
type events []byte

func numbers(values ...uint64) (b []byte) {
	for _, v := range values {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

func (e events) add(t Type, thread uint64, payload []byte) events {
	e = append(e, byte(t))
	e = append(e, numbers(thread, uint64(len(payload)))...)
	return append(e, payload...)
}

// Numbers that CUPTI has for things, as the recorder writes them.
const (
	kernelKind, kernelSize, kernelName = 10, 216, 104
	driverDomain, launchKernel         = 1, 307
	moduleLoaded, nodeCreated          = 6, 13
)

// kernelWith is a kernel record with a number in its name's place.
func kernelWith(name uint64) []byte {
	b := make([]byte, kernelSize)
	binary.LittleEndian.PutUint32(b, kernelKind)
	binary.LittleEndian.PutUint64(b[16:], 1000)
	binary.LittleEndian.PutUint64(b[24:], 1700)
	binary.LittleEndian.PutUint32(b[92:], 41)
	binary.LittleEndian.PutUint64(b[kernelName:], name)
	return b
}

// program is a capture of one launch, with one more event before its end.
func program(t Type, payload []byte) events {
	launch := append(numbers(driverDomain, launchKernel, 0, 41, 0x7f00, 1, 1, 0, 0, 64), append(make([]byte, 64), 0)...)
	e := events("PROTNCAP\x01").add(String, 1, []byte("add"))
	e = e.add(MachineOf, 1, numbers(130000, 13000, 1, 1763700000, 1))
	e = e.add(Device, 1, numbers(0, 1, 9, 0, 132, 1980000, 3201000, 6144))
	e = e.add(Callback, 1, launch)
	e = e.add(Callback, 1, numbers(driverDomain, launchKernel, 1, 41, 0x7f00, 1, 1, 0, 0, 0, 0))
	e = e.add(t, 2, payload)
	return e.add(End, 1, numbers(6))
}

// buffer is a payload of records of one kind.
func buffer(kind, size, name uint64, records []byte) []byte {
	return append(numbers(0, 4096, 1, kind, size, name), records...)
}

// outcome is what proton-replay did with a capture.
type outcome struct {
	text   string
	signal syscall.Signal // that ended it; 0 for none
	ok     bool
}

// playBytes replays a capture that is given as it stands in its file.
func playBytes(t testing.TB, plain []byte, mode string) outcome {
	t.Helper()
	return playWithEnv(t, plain, map[string]string{"mode": mode})
}

// playWithEnv does it with these options of a start, and with variables of Replay.Env.
func playWithEnv(t testing.TB, plain []byte, options map[string]string, env ...string) outcome {
	t.Helper()
	build, folder := "../build", t.TempDir()
	file := filepath.Join(folder, "hostile.capture")
	if err := os.WriteFile(file, plain, 0o666); err != nil {
		t.Fatal(err)
	}
	options["replay"] = file
	if options["name"] == "" {
		options["name"] = folder + "/out"
	}
	start, _ := json.Marshal(options)
	cmd := exec.Command(build+"/proton-replay", file, string(start))
	cmd.Env = append(append(os.Environ(), env...), "PROTON_LIB="+build+"/libproton.so", "PROTON_CUPTI_PATH="+build+"/stub/libcupti.so",
		"PROTON_STUB_CAPTURE="+file, "PROTON_STUB_PACE=0", "PROTON_RUN_CONFIG=")
	out, err := cmd.CombinedOutput()
	o := outcome{text: string(out), ok: err == nil}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
			o.signal = status.Signal()
		}
	} else if err != nil {
		t.Fatal(err)
	}
	return o
}

// check fails for an outcome that a hostile file must not have: a signal, or a Go runtime that gave up.
func (o outcome) check(t testing.TB) {
	t.Helper()
	for _, bad := range []string{"SIGSEGV", "fatal error", "BUG:", "panicked", "Sanitizer", "runtime error:"} {
		if strings.Contains(o.text, bad) {
			t.Errorf("it crashed:\n%.2000s", o.text)
			return
		}
	}
	if o.signal != 0 {
		t.Errorf("signal %v ended it:\n%.2000s", o.signal, o.text)
	}
}

func TestHostileCaptures(t *testing.T) {
	built(t)
	const somewhere = 0x7
	short := make([]byte, 40)
	binary.LittleEndian.PutUint32(short, kernelKind)
	for _, c := range []struct {
		name string
		with events
		says string // "" for a capture that plays
	}{
		{"a whole one", program(Buffer, buffer(kernelKind, kernelSize, kernelName, kernelWith(1))), ""},
		{"a name that no string has", program(Buffer, buffer(kernelKind, kernelSize, kernelName, kernelWith(somewhere))), "named by string 7 of 1"},
		{"no name where kernels have one", program(Buffer, buffer(kernelKind, kernelSize, 0, kernelWith(somewhere))), "a name at byte 0"},
		{"a name elsewhere", program(Buffer, buffer(kernelKind, kernelSize, 8, kernelWith(somewhere))), "a name at byte 8"},
		{"kernels that are too short", program(Buffer, buffer(kernelKind, 40, kernelName, short)), "with 40 bytes"},
		{"kernels that are too long", program(Buffer, buffer(kernelKind, 1<<20, kernelName, make([]byte, 1<<20))), "with 1048576 bytes"},
		{"an unknown kind", program(Buffer, buffer(900, kernelSize, 0, kernelWith(1))), "records of kind 900"},
		{"records behind the last", program(Buffer, buffer(kernelKind, kernelSize, kernelName, append(kernelWith(1), 1, 2, 3))), "in the last 3 bytes"},
		{"two sizes of a kind", program(Buffer, buffer(kernelKind, kernelSize, kernelName, kernelWith(1))).
			add(Buffer, 2, buffer(kernelKind, 224, kernelName, append(kernelWith(1), make([]byte, 8)...))), "with 216 and with 224 bytes"},
		{"a graph where a module is loaded", program(Resource, numbers(moduleLoaded, 1, 2, 2, 3, 4, somewhere, 6, 7, 8, 9)), "resource callback 6 with data of shape 2"},
		{"a module where a graph node is made", program(Resource, numbers(nodeCreated, 1, 2, 1, 3, 4, somewhere)), "resource callback 13 with data of shape 1"},
		{"nothing where a graph node is made", program(Resource, numbers(nodeCreated, 1, 2, 0)), "resource callback 13 with data of shape 0"},
		{"a callback whose arguments are pointers", program(Callback,
			append(numbers(driverDomain, 23, 1, 42, 0x7f00, 1, 0, 0, somewhere, 24), append([]byte(strings.Repeat("\x07", 24)), 0)...)), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, mode := range []string{"", "pcsampling"} {
				o := playBytes(t, c.with, mode)
				o.check(t)
				if (c.says == "") != o.ok || !strings.Contains(o.text, c.says) {
					t.Errorf("mode %q: success %v, want %v and %q in\n%s", mode, o.ok, c.says == "", c.says, o.text)
				}
			}
		})
	}
}

// A sampled instruction with more reasons than there are must not write past what the profiler has room for.
func TestHostileSamples(t *testing.T) {
	built(t)
	const many = 100_000
	payload := append(numbers(0x7f00, 0, 1, 0, 0, 0, 1, 1, 1, 16, 1, 0, many), []byte(strings.Repeat("\x01\x01", many))...)
	playBytes(t, program(Samples, payload), "pcsampling").check(t)
}

// measured is a capture of one launch that was measured, as this payload says, before the end of its call.
func measured(payload []byte) events {
	launch := append(numbers(driverDomain, launchKernel, 0, 41, 0x7f00, 1, 1, 0, 0, 64), append(make([]byte, 64), 0)...)
	e := events("PROTNCAP\x01").add(String, 1, []byte("add")).add(String, 1, []byte("gpu__time_duration.sum"))
	e = e.add(MachineOf, 1, numbers(130000, 13000, 1, 1763700000, 1)).add(Device, 1, numbers(0, 1, 9, 0, 132, 1980000, 3201000, 6144))
	e = e.add(Answer, 1, numbers(5, 0x7f00, 0, 0)).add(Callback, 1, launch).add(Counters, 1, payload)
	e = e.add(Callback, 1, numbers(driverDomain, launchKernel, 1, 41, 0x7f00, 1, 1, 0, 0, 0, 0))
	return e.add(Buffer, 2, buffer(kernelKind, kernelSize, kernelName, kernelWith(1))).add(End, 1, numbers(9))
}

// TestHostileCounters: values that no recorder writes are shown, or the launch counts as one that was not measured.
func TestHostileCounters(t *testing.T) {
	built(t)
	const most = 1<<64 - 1
	for _, c := range []struct {
		name    string
		payload []byte
		counted bool
	}{
		{"a whole one", numbers(41, 1, 1, 1, 2, 0x408f400000000000), true},
		{"nothing", nil, false},
		{"no kind of GPU", numbers(41, 0, 1, 1, 2, 0), false},
		{"a kind of GPU that no string has", numbers(41, 77, 1, 1, 2, 0), false},
		{"no pass", numbers(41, 1, 0, 1, 2, 0), false},
		{"more passes than a number holds", numbers(41, 1, most, 1, 2, 0), true},
		{"more metrics than there are", numbers(41, 1, 1, most, 2, 0), true},
		{"a metric that no string has", numbers(41, 1, 1, 1, 77, 0), false},
		{"a negative time", numbers(41, 1, 1, 1, 2, 0xc08f400000000000), true},
		{"a time that is not a number", numbers(41, 1, 1, 1, 2, 0x7ff8000000000001), true},
		{"an endless time", numbers(41, 1, 1, 1, 2, 0x7ff0000000000000), true},
		{"another launch", numbers(40, 1, 1, 1, 2, 0), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkCounted(t, measured(c.payload), "counters:set=gpu__time_duration.sum", "counted_launches", c.counted, true)
		})
	}
}

// checkCounted plays a capture in a mode and without it: the profile says that a launch was counted, or not, and where one is written it can be read.
func checkCounted(t *testing.T, capture events, mode, metric string, counted, written bool) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "out")
	o := playWithEnv(t, capture, map[string]string{"mode": mode, "name": name})
	o.check(t)
	text, err := os.ReadFile(name + ".hatchet")
	if got := strings.Contains(string(text), metric); got != counted || written && err != nil {
		t.Errorf("counted: %v (%v), want %v\n%s", got, err, counted, o.text)
	}
	if _, err := formats.ReadFile(name + ".hatchet"); written && err != nil {
		t.Error(err)
	}
	playBytes(t, capture, "").check(t)
}

// countedByLine is a capture of one launch whose instructions counted, as this payload says, before the end of its call.
func countedByLine(payload []byte) events {
	launch := append(numbers(driverDomain, launchKernel, 0, 41, 0x7f00, 1, 1, 0, 0, 64), append(make([]byte, 64), 0)...)
	e := events("PROTNCAP\x01").add(String, 1, []byte("add")).add(String, 1, []byte("smsp__sass_inst_executed"))
	e = e.add(MachineOf, 1, numbers(130500, 13000, 1, 1763700000, 1)).add(Device, 1, numbers(0, 1, 9, 0, 132, 1980000, 3201000, 6144))
	e = e.add(Answer, 1, numbers(5, 0x7f00, 0, 0)).add(Callback, 1, launch).add(Lines, 1, payload)
	e = e.add(Callback, 1, numbers(driverDomain, launchKernel, 1, 41, 0x7f00, 1, 1, 0, 0, 0, 0))
	return e.add(End, 1, numbers(8))
}

// TestHostileLines: counts that no recorder writes are shown, or the launch counts as one that was not counted.
func TestHostileLines(t *testing.T) {
	built(t)
	const most = 1<<64 - 1
	for _, c := range []struct {
		name    string
		payload []byte
		counted bool
	}{
		{"a whole one", numbers(41, 1, 7, 7, 1, 0, 1, 16, 2, 1000), true},
		{"nothing", nil, false},
		{"no kind of GPU", numbers(41, 0, 7, 7, 1, 0, 1, 16, 2, 1000), false},
		{"no instruction", numbers(41, 1, 7, 7, 0), false},
		{"more instructions than there are", numbers(41, 1, 7, 7, most, 0, 1, 16, 2, 1000), true},
		{"a function that no string has", numbers(41, 1, 7, 7, 1, 0, 77, 16, 2, 1000), true},
		{"a metric that no string has", numbers(41, 1, 7, 7, 1, 0, 1, 16, 77, 1000), false},
		{"an offset and a count that are too large", numbers(41, 1, most, most, 1, most, 1, most, 2, most), true},
		{"another launch", numbers(40, 1, 7, 7, 1, 0, 1, 16, 2, 1000), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkCounted(t, countedByLine(c.payload), "counters:set=lines", "launches_by_line", c.counted, c.counted)
		})
	}
}

// mutated returns a capture with some bytes changed behind the magic.
func mutated(plain []byte, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 10))
	b := append([]byte(nil), plain...)
	for range 1 + r.IntN(3) {
		b[9+r.IntN(len(b)-9)] = byte(r.UintN(256))
	}
	return b
}

func plainCapture(t testing.TB, name string) []byte {
	t.Helper()
	return unpacked(t, "../testdata/captures/"+name+".capture.gz")
}

func TestMutatedCaptures(t *testing.T) {
	built(t)
	plain := plainCapture(t, "vecadd")
	for seed := range uint64(24) {
		o := playBytes(t, mutated(plain, seed), "")
		if o.check(t); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// FuzzReplay plays what the fuzzer makes of a few captures of each backend: go test ./internal/replay -run '^$' -fuzz FuzzReplay.
func FuzzReplay(f *testing.F) {
	f.Add([]byte(program(Buffer, buffer(kernelKind, kernelSize, kernelName, kernelWith(1)))))
	f.Add([]byte(program(Samples, numbers(0x7f00, 0, 1, 0, 0, 0, 1, 1, 1, 16, 1, 0, 1, 1, 1))))
	f.Add([]byte(programOfAMD(f, "rocprofiler", Samples, numbers(7001, 0, 1, 2, 2, 88, 16, 0x700, 1, 5, 0, 0, 2))))
	f.Add([]byte(programOfAMD(f, "roctracer", Answer, numbers(2, 0x66, 1+4*3))))
	f.Add([]byte(scopesOf(true)))
	f.Add([]byte(measured(numbers(41, 1, 1, 1, 2, 0x408f400000000000))))
	f.Add([]byte(countedByLine(numbers(41, 1, 7, 7, 1, 0, 1, 16, 2, 1000))))
	f.Fuzz(func(t *testing.T, plain []byte) {
		built(t, "stub/hip/libamdhip64.so.6")
		playAny(t, plain).check(t)
	})
}
