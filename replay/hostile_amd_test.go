package replay

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/testkit"
)

// programOfAMD is a capture of one launch of a sampled kernel, with one more event before its end.
func programOfAMD(t testing.TB, backend string, last Type, payload []byte) events {
	const agent, code, image, call = 7001, 16, 9, 5
	e := events("PROTNCAP\x01")
	for _, text := range []string{backend, "hipModuleLaunchKernel", "add.kd", "AMD Instinct MI300X", "gfx942", "/lib/fake.so"} {
		e = e.add(String, 1, []byte(text))
	}
	version := uint64(10201)
	if backend == "roctracer" {
		version = 401
	}
	e = e.add(TimeOf, 0, numbers(1763700000000000000))
	e = e.add(MachineOf, 1, numbers(version, 60342133, 6, 1763700000, 6, 1, 6))
	e = e.add(NodeOf, 1, numbers(1, 1, 0, 0xc000, agent, 0xabc))
	e = e.add(Reasons, 1, numbers(agent, 0, 1, 2, 131072))
	e = e.add(Device, 1, numbers(0, 4, 0, 0, 304, 2100000, 1300000, 8192, 5, 192<<30, 64, 6))
	e = e.add(Cubin, 1, append(numbers(image), testkit.Read(t, "../testdata/captures/mi300x/add.gfx942.hsaco")...))
	e = e.add(Resource, 1, numbers(1, code, agent, 0x7f0000001000, 5368, 0x7f0000000000, 6, image))
	e = e.add(Resource, 1, numbers(3, 1, code, 3))
	e = e.add(NVTX, 1, numbers(1, 3, 1))
	e = e.add(Callback, 1, numbers(2, 0, call, 0x55, 0, 0, 0, 1))
	e = e.add(Request, 1, numbers(11, call))
	e = e.add(Callback, 1, numbers(2, 1, call, 0x55, 0, 0, 0, 1))
	e = e.add(NVTX, 1, numbers(2, 0, 1))
	e = e.add(Buffer, 2, recordsOfAMD(1, 1, 184, 1, 11, 2, call, call, 77, 1000, 2000, agent, 0, 1, 1, 3, 1))
	e = e.add(Samples, 3, numbers(agent, 0, 1, 2, 3, 104, code, 0x700, 1, call, 0x1e, 3, 4))
	e = e.add(last, 2, payload)
	return e.add(End, 1, numbers(15))
}

// recordsOfAMD is the payload of a buffer with so many records.
func recordsOfAMD(count uint64, records ...uint64) []byte {
	return append(numbers(0, 0, count), numbers(records...)...)
}

// playAny replays what may be a capture of any backend, with the fakes of the one that it names.
func playAny(t testing.TB, plain []byte) outcome {
	t.Helper()
	options, env := map[string]string{"mode": "pcsampling"}, []string(nil)
	if c, err := Read(bytes.NewReader(plain)); err == nil && vendors.AMD.Has(c.Machine.Backend) {
		if options["backend"] = c.Machine.Backend; c.Machine.Backend == "roctracer" {
			options["mode"] = ""
		}
		if env, err = amd.environment(c.Machine, "../build/stub", t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	return playWithEnv(t, plain, options, env...)
}

// TestHandWrittenAMDCapture: the events that the other tests change play as they should, as docs/formats.md describes them.
func TestHandWrittenAMDCapture(t *testing.T) {
	built(t, "stub/hip/libamdhip64.so.6")
	file := filepath.Join(t.TempDir(), "amd.capture")
	if err := os.WriteFile(file, programOfAMD(t, "rocprofiler", NVTX, numbers(2, 0, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	r := prepared(t, file)
	profile, problems := onHIPWith(t, map[string]string{"backend": "rocprofiler", "mode": "pcsampling"}, r.Env, r.Path, r.Args[1:]...)
	got := sampledOutlineOf(t, profile)
	for _, want := range []string{"  add.kd\n    add  count 1  time (ns) 1000\n", "stalled_amd_waitcnt 4", "every 131072 cycles; total 4, dropped 0"} {
		if !strings.Contains(got, want) {
			t.Errorf("the profile lacks %q:\n%s", want, got)
		}
	}
	if len(problems) > 0 {
		t.Errorf("problems: %q", problems)
	}
}

// TestHostileAMDCaptures: an event that no recorder writes is left out, and what comes before it plays.
func TestHostileAMDCaptures(t *testing.T) {
	built(t, "stub/hip/libamdhip64.so.6")
	const agent, code, most = 7001, 16, 1<<64 - 1
	for _, c := range []struct {
		name    string
		last    Type
		payload []byte
	}{
		{"a whole one", NVTX, numbers(2, 0, 1)},
		{"samples that end early", Samples, numbers(agent, 0, 7, 2, 3)},
		{"more samples than memory", Samples, numbers(agent, 0, 1, 2, 3, 104, code, 0x700, 1, 5, 3, 0, most)},
		{"a sample whose record is too large", Samples, numbers(agent, 0, 1, 2, 3, most, code, 0x700, 1, 5, 3, 0, 1)},
		{"a sample whose record is too small", Samples, numbers(agent, 0, 1, 2, 2, 8, code, 0x700, 1, 5, 3, 0, 1)},
		{"a sample of an unknown kind", Samples, numbers(agent, 0, 1, most, most, 104, code, 0x700, 1, 5, 3, 0, 1)},
		{"a sample behind the code", Samples, numbers(agent, most, 1, 2, 3, 104, code, most, most, most, most, most, 1)},
		{"samples of another GPU", Samples, numbers(7, 0, 1, 2, 3, 104, code, 0x700, 1, 5, 3, 0, 1)},
		{"code without an image", Resource, numbers(1, 17, agent, 0, 0, 0, most, most)},
		{"a kernel without a name", Resource, numbers(3, most, most, most)},
		{"a record of everything at most", Buffer, recordsOfAMD(1, 1, most, most, most, most, most, most, most, most, most, most, most, most, most, most, most)},
		{"more records than there are", Buffer, recordsOfAMD(most, 1, 184)},
		{"a range of an unknown library", NVTX, numbers(1, most, most)},
		{"a call of an unknown function", Callback, numbers(3, 0, 5, 0x55, 0, 0, 0, 1)},
		{"an answer that is too large", Answer, numbers(1, 0, most)},
		{"a second machine", MachineOf, numbers(0, 0, 0, 0, 0, 3, 0)},
	} {
		for _, backend := range []string{"rocprofiler", "roctracer"} {
			t.Run(c.name+"."+backend, func(t *testing.T) {
				o := playAny(t, programOfAMD(t, backend, c.last, c.payload))
				if o.check(t); !o.ok {
					t.Errorf("it does not play:\n%s", o.text)
				}
			})
		}
	}
}

// TestMutatedAMDCaptures changes bytes of the synthetic capture, which has each of AMD's events.
func TestMutatedAMDCaptures(t *testing.T) {
	built(t, "stub/hip/libamdhip64.so.6")
	plain := plainCapture(t, "mi300x_synthetic")
	for seed := range uint64(12) {
		o := playAny(t, mutated(plain, seed))
		if o.check(t); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		if strings.Contains(o.text, "fake librocprofiler-sdk:") {
			t.Errorf("seed %d: the profiler breaks a rule of rocprofiler-sdk:\n%s", seed, o.text)
		}
	}
}
