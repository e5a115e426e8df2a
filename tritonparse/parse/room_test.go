package parse

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
)

// TestLittleRoom: what is written does not depend on how much is held in memory meanwhile.
func TestLittleRoom(t *testing.T) {
	sources := map[string]string{"everything": everything(t), "turns": turns(t)}
	for _, name := range samples {
		sources[name] = t.TempDir()
		testkit.TraceSample(t, name, filepath.Join(sources[name], tritonparse.Prefix+name+"_.ndjson"))
	}
	rooms := map[string]room{
		"one kernel":    {kernels: 1, launches: 1 << 20, state: 1 << 20, values: 8 << 20, groups: 4096, sorter: 1 << 20, waiting: 1 << 20},
		"few bytes":     {kernels: 3, launches: 20 << 10, state: 1 << 20, values: 8 << 20, groups: 4096, sorter: 10 << 10, waiting: 50 << 10},
		"no state":      {kernels: 100, launches: 1 << 20, state: 1, values: 8 << 20, groups: 4096, sorter: 1 << 20, waiting: 1 << 20},
		"some state":    {kernels: 100, launches: 1 << 20, state: 2000, values: 8 << 20, groups: 4096, sorter: 100 << 10, waiting: 1},
		"one byte each": {kernels: 1, launches: 1, state: 1, values: 8 << 20, groups: 4096, sorter: 1, waiting: 1},
	}
	for name, source := range sources {
		for _, compat := range []bool{false, true} {
			if name == "complex" && compat && testing.Short() {
				continue
			}
			want := parsedBytes(t, source, Options{Compat: compat})
			for how, room := range rooms {
				if how == "one byte each" && name == "complex" {
					continue // a file for each of many launches
				}
				got := parsedBytes(t, source, Options{Compat: compat, room: room})
				for file := range want {
					if !bytes.Equal(got[file], want[file]) {
						t.Errorf("%s, compat %v, %s: %s is another file", name, compat, how, file)
					}
				}
				if len(got) != len(want) {
					t.Errorf("%s, compat %v, %s: %d files, not %d", name, compat, how, len(got), len(want))
				}
			}
		}
	}
}

// parsedBytes are the outputs of parsing, unpacked.
func parsedBytes(t *testing.T, source string, o Options) map[string][]byte {
	t.Helper()
	out := t.TempDir()
	result, err := Parse(source, out, o)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, name := range result.Files {
		text := []byte(testkit.Read(t, filepath.Join(out, name)))
		if filepath.Ext(name) == ".gz" {
			if text, err = testkit.Unpacked(filepath.Join(out, name)); err != nil {
				t.Fatal(err)
			}
		}
		files[name] = text
	}
	if left, err := filepath.Glob(filepath.Join(out, "*", ".*")); err != nil || len(left) > 0 {
		t.Errorf("files are left: %q, %v", left, err)
	}
	return files
}

// turns is a trace of kernels that are launched in turns: some compiled before or after launches, some never, some never
// launched, with other members and other values from turn to turn.
func turns(t *testing.T) string {
	t.Helper()
	var lines []string
	for turn := range 4 {
		for i := range 20 {
			hash := fmt.Sprintf("%04x", i)
			if turn == i%7 { // those of 4, 5 and 6 never
				lines = append(lines, testkit.CompilationRecord(hash, "cuda"))
			}
			line := testkit.LaunchRecord(hash, 4*i+turn)
			switch {
			case i%7 == 1 && turn > 0:
				continue
			case i == 3 && turn%2 == 0:
				line = launchRecord(hash, "k", won("/m.py:5:main"), turn, `"x":`+tensorArgument(4, turn))
			case i == 4:
				line = launchRecord(hash, "k", timed("/m.py:5:main"), 1, `"x":`+descriptorArgument(4, turn))
			}
			lines = append(lines, line)
		}
	}
	return testkit.RawTraces(t, map[string][]string{"u": lines})
}
