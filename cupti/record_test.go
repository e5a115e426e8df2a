package cupti

import (
	"bytes"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// roundtrip are the files of the recorder and the player, and a program that uses both.
var roundtrip = []string{
	"../hotpath/recorder/file.c", "../hotpath/recorder/program.c", "../hotpath/recorder/recorder.c",
	"../replay/player/reader.c", "../replay/player/map.c", "../replay/player/player.c",
	"../replay/player/program.c", "record_cupti.c", "record_counters.c", "code.c", "record_sampling.c", "../replay/fakecuda/cuda.c", "../replay/fakecuda/memory.c", "../replay/fakecuda/graph.c", "../replay/fakecuda/tensor.c", "../replay/fakecuda/cupti.c",
	"../replay/fakecuda/buffers.c", "../replay/fakecuda/counters.c", "../replay/fakecuda/lines.c", "../replay/fakecuda/several.c", "../replay/fakecuda/sampling.c", "../replay/fakecuda/check.c", "../replay/fakecuda/replay.c", "../replay/fakecuda/replay_clock.c", "../replay/fakecuda/replay_gpu.c", "../replay/fakecuda/replay_records.c", "../replay/fakecuda/common.c",
	"testdata/roundtrip.c",
}

// buildRoundtrip compiles these files with sanitizers, "" for none.
func buildRoundtrip(t *testing.T, sanitizers string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("too slow for -short: it compiles C with sanitizers")
	}
	return buildWith(t, sanitizers, roundtrip...)
}

// buildWith compiles files to a program with sanitizers, and skips the test if the compiler does not have them.
func buildWith(t *testing.T, sanitizers string, files ...string) string {
	t.Helper()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	dir := t.TempDir()
	args := []string{"-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-I../hotpath", "-I../hotpath/recorder", "-I../replay/player", "-o", filepath.Join(dir, "program")}
	if sanitizers != "" {
		probe := exec.Command(cc, "-fsanitize="+sanitizers, "-x", "c", "-o", filepath.Join(dir, "probe"), "-")
		probe.Stdin = strings.NewReader("int main(void){return 0;}")
		if err := probe.Run(); err != nil {
			t.Skipf("needs a C compiler with -fsanitize=%s: %v", sanitizers, err)
		}
		args = append(args, "-fsanitize="+sanitizers, "-fno-sanitize-recover=all")
	}
	args = append(append(args, files...), "-pthread", "-ldl")
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s does not compile: %v\n%.4000s", strings.Join(files, " "), err, out)
	}
	return filepath.Join(dir, "program")
}

func play(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = t.TempDir() // it makes files for a moment, and other tests walk over this folder
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%.200s: %v\n%.2000s\n%s", args[:min(len(args), 2)], err, out, stderr.String()[max(0, stderr.Len()-8000):])
	}
	return string(out)
}

// TestReplayReportsWhatWasRecorded: a program with threads, graphs, ops, metrics and lost buffers is recorded on the fake driver.
// Its replay reports the same to a profiler, under each sanitizer.
func TestReplayReportsWhatWasRecorded(t *testing.T) {
	for _, sanitizers := range sanitized() {
		t.Run(sanitizers, func(t *testing.T) {
			program := buildRoundtrip(t, sanitizers)
			file := filepath.Join(t.TempDir(), "capture")
			recorded := play(t, program, "record", file)
			replayed := play(t, program, "replay", file)
			if recorded != replayed {
				t.Errorf("recorded and replayed differ:\n%s", testkit.FirstDifference(recorded, replayed))
			}
			if !strings.Contains(recorded, "== kernels and dropped: 214") {
				t.Errorf("want 214 kernels, got %s", recorded[strings.LastIndex(recorded, "==")+1:])
			}
		})
	}
}

// sanitized are the sanitizers that programs in C are built with.
func sanitized() []string {
	if testkit.All() {
		return []string{"address,undefined", "thread"}
	}
	return []string{"address,undefined"}
}

// TestValgrind finds bytes in the file that were never initialised, which the sanitizers do not find.
func TestValgrind(t *testing.T) {
	testkit.OnlyInCheck(t, "valgrind is slow")
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		t.Skip("needs valgrind")
	}
	program, file := buildRoundtrip(t, ""), filepath.Join(t.TempDir(), "capture")
	memcheck := func(mode string) string {
		return play(t, valgrind, "-q", "--error-exitcode=7", "--leak-check=full", program, mode, file)
	}
	if memcheck("record") != memcheck("replay") {
		t.Error("recorded and replayed differ")
	}
}

// TestDamagedCapture: the player reads damaged files without an error of memory.
func TestDamagedCapture(t *testing.T) {
	program := buildRoundtrip(t, "address,undefined")
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "good")}
	play(t, program, "record", files[0])
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	const head, rounds = 9, 300 // bytes of the magic, which stay: without them a file is not a capture
	random := rand.New(rand.NewSource(1))
	for i := range rounds {
		bad := bytes.Clone(good[:len(good)-random.Intn(len(good)/2)])
		for range 1 + random.Intn(20) {
			bad[head+random.Intn(len(bad)-head)] = byte(random.Intn(256))
		}
		files = append(files, filepath.Join(dir, strconv.Itoa(i)))
		if err := os.WriteFile(files[i+1], bad, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out := strings.Split(play(t, program, append([]string{"read"}, files...)...), "\n")
	if out[0] != "whole" || len(out) < rounds {
		t.Errorf("the file itself is %q, and %d answers for %d files", out[0], len(out), len(files))
	}
}
