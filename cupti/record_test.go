package cupti

import (
	"bytes"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// roundtrip is what the recorder and the player are made of, with a program around them.
var roundtrip = []string{
	"record_file.c", "record_cupti.c", "record_program.c",
	"stub/cuda.c", "stub/graph.c", "stub/cupti.c", "stub/buffers.c", "stub/replay.c", "stub/replay_gpu.c",
	"stub/replay_program.c", "stub/map.c", "stub/common.c", "stub/capture_reader.c",
	"testdata/roundtrip.c",
}

// buildRoundtrip compiles it with sanitizers, "" for none, or skips.
func buildRoundtrip(t *testing.T, sanitizers string) string {
	t.Helper()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	dir := t.TempDir()
	args := []string{"-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-I../internal/hotpath", "-o", filepath.Join(dir, "roundtrip")}
	if sanitizers != "" {
		probe := exec.Command(cc, "-fsanitize="+sanitizers, "-x", "c", "-o", filepath.Join(dir, "probe"), "-")
		probe.Stdin = strings.NewReader("int main(void){return 0;}")
		if err := probe.Run(); err != nil {
			t.Skipf("needs a C compiler with -fsanitize=%s: %v", sanitizers, err)
		}
		args = append(args, "-fsanitize="+sanitizers, "-fno-sanitize-recover=all")
	}
	args = append(append(args, roundtrip...), "-pthread", "-ldl")
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s does not compile: %v\n%.4000s", strings.Join(roundtrip, " "), err, out)
	}
	return filepath.Join(dir, "roundtrip")
}

// play runs the program, perhaps below another: command... MODE FILE.
func play(t *testing.T, mode, file string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], append(command[1:], mode, file)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%.2000s\n%.4000s", mode, err, out, stderr.String())
	}
	return string(out)
}

// TestReplayTellsWhatWasRecorded: a program with threads, graphs, ops, metrics and lost buffers, recorded on
// the fake driver, tells a profiler the same when it is replayed; under each sanitizer.
func TestReplayTellsWhatWasRecorded(t *testing.T) {
	for _, sanitizers := range []string{"address,undefined", "thread"} {
		t.Run(sanitizers, func(t *testing.T) {
			program := buildRoundtrip(t, sanitizers)
			file := filepath.Join(t.TempDir(), "capture")
			recorded := play(t, "record", file, program)
			replayed := play(t, "replay", file, program)
			if recorded != replayed {
				t.Errorf("recorded and replayed differ:\n%s", firstDifference(recorded, replayed))
			}
			if !strings.Contains(recorded, "== kernels and dropped: 214") {
				t.Errorf("want 214 kernels, got %s", recorded[strings.LastIndex(recorded, "==")+1:])
			}
		})
	}
}

// TestValgrind finds what the sanitizers do not: bytes in the file that nobody wrote.
func TestValgrind(t *testing.T) {
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		t.Skip("needs valgrind")
	}
	if testing.Short() {
		t.Skip("slow")
	}
	memcheck := []string{valgrind, "-q", "--error-exitcode=7", "--leak-check=full", buildRoundtrip(t, "")}
	file := filepath.Join(t.TempDir(), "capture")
	if play(t, "record", file, memcheck...) != play(t, "replay", file, memcheck...) {
		t.Error("recorded and replayed differ")
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return "recorded: " + x[i] + "\nreplayed: " + y[i]
		}
	}
	return "one is longer"
}

// TestDamagedCapture: the player survives files that lie.
func TestDamagedCapture(t *testing.T) {
	program := buildRoundtrip(t, "address,undefined")
	file := filepath.Join(t.TempDir(), "capture")
	play(t, "record", file, program)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := play(t, "read", file, program); got != "whole\n" {
		t.Errorf("the file itself: %s", got)
	}
	const head = 9 // the magic stays: it is what makes a file one of ours
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	random := rand.New(rand.NewSource(1))
	for range rounds {
		bad := bytes.Clone(good[:len(good)-random.Intn(len(good)/2)])
		for range 1 + random.Intn(20) {
			bad[head+random.Intn(len(bad)-head)] = byte(random.Intn(256))
		}
		if err := os.WriteFile(file, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		play(t, "read", file, program)
	}
}
