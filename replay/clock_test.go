package replay

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// launchTimes are those of a trace: when what a launch started began on the GPU, and how long after the launch, in µs.
type launchTimes struct {
	start, after, end float64
}

// timesByCorrelation reads kernels, copies and fills with their launches out of a trace, in order of their starts.
func timesByCorrelation(t *testing.T, events []traceEvent) (order []uint32, times map[uint32]launchTimes) {
	t.Helper()
	launched := map[uint32]float64{}
	for _, e := range events {
		if e.Cat == "launch" {
			launched[e.Args.Correlation] = e.Ts
		}
	}
	times = map[uint32]launchTimes{}
	for _, e := range events {
		if e.Cat != "kernel" && e.Cat != "memcpy" && e.Cat != "memset" {
			continue
		}
		at, ok := launched[e.Args.Correlation]
		if !ok {
			t.Fatalf("%s at %f has no launch", e.Name, e.Ts)
		}
		order = append(order, e.Args.Correlation)
		times[e.Args.Correlation] = launchTimes{e.Ts, e.Ts - at, e.Ts + e.Dur}
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return int(math.Copysign(1, times[a].start-times[b].start))
	})
	return order, times
}

// TestLaunchesStandNextToTheirKernels: a capture that does not say when the host did what. What begins on an idle GPU was
// launched just before, and a launch that waits on the GPU is never later than its work.
func TestLaunchesStandNextToTheirKernels(t *testing.T) {
	order, times := timesByCorrelation(t, playTrace(t, "../testdata/captures/overlap.capture.gz", "shadow"))
	idle, end := 0, math.Inf(-1)
	for _, id := range order {
		x := times[id]
		if x.after < 0 {
			t.Errorf("launch %d: its work begins %f µs before it", id, -x.after)
		}
		if x.start-end > 5_000 {
			if idle++; x.after > 1_000 {
				t.Errorf("launch %d: the GPU had nothing to do for %f µs, and its work begins %f µs after it", id, x.start-end, x.after)
			}
		}
		end = max(end, x.end)
	}
	if len(order) < 400 || idle < 3 {
		t.Errorf("%d launches, %d of them on an idle GPU: the capture has more", len(order), idle)
	}
}

// TestReplaysKeepRecordedTimes: a capture that says when its events happened. Expected times are read from the capture's
// bytes, without the player.
func TestReplaysKeepRecordedTimes(t *testing.T) {
	plain := unpacked(t, "../testdata/captures/vecadd.capture.gz")
	starts := kernelStarts(t, plain)
	first := uint64(math.MaxUint64)
	for _, s := range starts {
		first = min(first, s)
	}
	// Every event takes longer than the one before; all happen in the half second before the first kernel.
	at := first - 500_000_000
	var step uint64
	launched := map[uint32]uint64{}
	timed := withTimes(t, plain, func(e Event) uint64 {
		step += 3
		at += step
		if id, ok := launchOf(e); ok {
			launched[id] = at
		}
		return at
	})
	if at > first {
		t.Fatal("the capture has grown: use smaller steps")
	}
	file := filepath.Join(t.TempDir(), "timed.capture")
	if err := os.WriteFile(file, timed, 0o666); err != nil {
		t.Fatal(err)
	}
	order, times := timesByCorrelation(t, playTrace(t, file, "shadow"))
	if len(order) == 0 {
		t.Fatal("nothing was replayed")
	}
	for _, id := range order {
		if want := float64(starts[id]-launched[id]) / 1e3; math.Abs(times[id].after-want) > 0.002 {
			t.Errorf("launch %d: its kernel begins %f µs after it, %f were recorded", id, times[id].after, want)
		}
	}
}

// TestRecordingsSayWhenEventsHappened: every event of a new recording has its time, in order and within the program's run.
func TestRecordingsSayWhenEventsHappened(t *testing.T) {
	build, dir := built(t), t.TempDir()
	config, _ := json.Marshal(map[string]string{"name": dir + "/out", "status": dir})
	cmd := exec.Command(filepath.Join(build, "stub/fake-program"), "2", "copies")
	cmd.Env = append(os.Environ(), "PROTON_RUN_CONFIG="+string(config), "PROTON_RECORD="+dir+"/a.capture.gz",
		"PROTON_CUPTI_PATH="+filepath.Join(build, "stub/libcupti.so"), "CUDA_INJECTION64_PATH="+filepath.Join(build, "libproton.so"))
	last := uint64(time.Now().UnixNano())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	end := uint64(time.Now().UnixNano())
	c, err := Open(dir + "/a.capture.gz")
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range c.Events {
		if e.Type == End {
			continue
		}
		if e.Time < last || e.Time > end {
			t.Fatalf("event %d of type %d happened at %d, the one before at %d, the program ended at %d", i, e.Type, e.Time, last, end)
		}
		last = e.Time
	}
	if len(c.Events) < 10 {
		t.Errorf("%d events", len(c.Events))
	}
}

func unpacked(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := Unpack(f)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// firstNumbers reads the first numbers of an event's payload.
func firstNumbers(payload []byte, n int) []uint64 {
	var all []uint64
	for range n {
		v, size := binary.Uvarint(payload)
		all, payload = append(all, v), payload[max(size, 0):]
	}
	return all
}

// launchOf is the correlation id of a callback at the entry of a call.
func launchOf(e Event) (uint32, bool) {
	if e.Type != Callback {
		return 0, false
	}
	n := firstNumbers(e.Payload, 4) // domain, function, site, correlation
	return uint32(n[3]), n[2] == 0
}

// withTimes inserts an event of type 28 before every other but strings, as the recorder writes them.
func withTimes(t *testing.T, plain []byte, when func(Event) uint64) []byte {
	t.Helper()
	const magic = 9
	out := bytes.NewBuffer(slices.Clone(plain[:magic]))
	var last uint64
	for rest := plain[magic:]; len(rest) > 0; {
		e := Event{Type: Type(rest[0])}
		thread, n := binary.Uvarint(rest[1:])
		length, m := binary.Uvarint(rest[1+n:])
		size := 1 + n + m + int(length)
		e.Thread, e.Payload = int(thread), rest[1+n+m:size]
		if e.Type != String {
			at := when(e)
			since := binary.AppendUvarint(nil, at-last)
			out.Write([]byte{byte(TimeOf), byte(thread), byte(len(since))})
			out.Write(since)
			last = at
		}
		out.Write(rest[:size])
		rest = rest[size:]
	}
	return out.Bytes()
}

// kernelStarts reads the records of all kernels, by correlation id.
func kernelStarts(t *testing.T, plain []byte) map[uint32]uint64 {
	t.Helper()
	c, err := Read(bytes.NewReader(plain))
	if err != nil {
		t.Fatal(err)
	}
	starts := map[uint32]uint64{}
	for _, e := range c.Events {
		if e.Type != Buffer {
			continue
		}
		rest, sizes := e.Payload, map[uint32]int{}
		next := func() uint64 {
			v, n := binary.Uvarint(rest)
			rest = rest[n:]
			return v
		}
		next() // stream
		next() // size of the buffer
		for range next() {
			kind := uint32(next())
			sizes[kind] = int(next())
			next() // where its name is
		}
		for len(rest) >= 4 {
			const concurrentKernel, start, correlation = 10, 16, 92
			kind := binary.LittleEndian.Uint32(rest)
			if kind == concurrentKernel {
				starts[binary.LittleEndian.Uint32(rest[correlation:])] = binary.LittleEndian.Uint64(rest[start:])
			}
			rest = rest[sizes[kind]:]
		}
	}
	if len(starts) == 0 {
		t.Fatal("the capture has no kernels")
	}
	return starts
}
