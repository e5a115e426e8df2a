package record

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/tritonparse"
)

const recorded = "../../testdata/traces"

// TestRecordsEqualTritonParses compares the traces that this package and tritonparse 0.6.0 wrote of the same programs.
func TestRecordsEqualTritonParses(t *testing.T) {
	cases, err := os.ReadDir(recorded)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if !c.IsDir() {
			continue
		}
		t.Run(c.Name(), func(t *testing.T) {
			ours, theirs := recordedBy(t, c.Name(), "goproton"), recordedBy(t, c.Name(), "tritonparse")
			for _, kind := range []string{"compilation", "launch"} {
				comparePairs(t, c.Name(), kind, ours[kind], theirs[kind])
			}
		})
	}
}

// recordedBy returns a writer's records by type, in order, those of rank 0 before those of rank 1.
func recordedBy(t *testing.T, name, writer string) map[string][]map[string]any {
	t.Helper()
	by := map[string][]map[string]any{}
	for _, r := range records(t, filepath.Join(recorded, name, writer)) {
		kind := r["event_type"].(string)
		by[kind] = append(by[kind], r)
	}
	return by
}

func comparePairs(t *testing.T, name, kind string, ours, theirs []map[string]any) {
	t.Helper()
	if len(ours) != len(theirs) || len(ours) == 0 {
		t.Fatalf("%d records of type %s, tritonparse has %d", len(ours), kind, len(theirs))
	}
	if name == "matmul_autotuned" && kind == "launch" {
		// Which configuration wins is decided by a stopwatch; the benchmarks before that are the same.
		ours, theirs = ours[:10], theirs[:10]
	}
	for i := range ours {
		for _, difference := range differences("", comparable(ours[i], name), comparable(theirs[i], name)) {
			t.Errorf("%s %d: %s", kind, i, difference)
		}
	}
}

// comparable leaves out what differs between any two runs, and frames of the tool itself.
func comparable(r map[string]any, name string) map[string]any {
	for _, member := range []string{"goproton", "timestamp", "pid", "function"} {
		delete(r, member)
	}
	r["stack"] = slices.DeleteFunc(r["stack"].([]any), func(f any) bool {
		file := f.(map[string]any)["filename"].(string)
		return strings.Contains(file, "/tritonparse/") || strings.HasSuffix(file, "torch/utils/_traceback.py")
	})
	switch name {
	case "inductor":
		delete(r, "stack") // torch's own traceback shows the compiled function's source as a frame that does not exist
	case "cuda_graph":
		delete(r, "stream") // of the capture
	}
	if payload, ok := r["payload"].(map[string]any); ok {
		delete(payload["metadata"].(map[string]any), "times")
	}
	return r
}

func differences(path string, a, b any) (all []string) {
	x, ok := a.(map[string]any)
	y, too := b.(map[string]any)
	if !ok || !too {
		if !reflect.DeepEqual(a, b) {
			return []string{fmt.Sprintf("%s is %.200v, tritonparse has %.200v", path, a, b)}
		}
		return nil
	}
	names := map[string]bool{}
	for n := range x {
		names[n] = true
	}
	for n := range y {
		names[n] = true
	}
	for n := range names {
		at := path + "." + n
		v, has := x[n]
		w, hasToo := y[n]
		switch {
		case n == "data_ptr": // an address
			if !strings.HasPrefix(fmt.Sprint(v), "0x") || !strings.HasPrefix(fmt.Sprint(w), "0x") {
				all = append(all, fmt.Sprintf("%s is %v, tritonparse has %v", at, v, w))
			}
		case n == "blob_path": // in another folder
			if filepath.Base(fmt.Sprint(v)) != filepath.Base(fmt.Sprint(w)) {
				all = append(all, fmt.Sprintf("%s is %v, tritonparse has %v", at, v, w))
			}
		case has != hasToo:
			all = append(all, fmt.Sprintf("%s: here %v, in tritonparse's %v", at, has, hasToo))
		default:
			all = append(all, differences(at, v, w)...)
		}
	}
	return all
}

// TestMembersInOrder holds the order of members against tritonparse's, which readers that stream may rely on.
func TestMembersInOrder(t *testing.T) {
	for _, name := range []string{"vector_add", "tensor_descriptor", "statistics"} {
		first := func(writer, kind string) []string {
			for _, line := range lines(t, filepath.Join(recorded, name, writer)) {
				var r struct {
					Type string `json:"event_type"`
				}
				if json.Unmarshal(line, &r) == nil && r.Type == kind {
					return memberNames(t, line)
				}
			}
			t.Fatalf("%s has no %s of %s", name, kind, writer)
			return nil
		}
		for _, kind := range []string{"launch", "compilation"} {
			ours, theirs := first("goproton", kind), first("tritonparse", kind)
			if ours = slices.DeleteFunc(ours, func(n string) bool { return n == "goproton" }); !slices.Equal(ours, theirs) {
				t.Errorf("%s, %s: %v, tritonparse has %v", name, kind, ours, theirs)
			}
		}
	}
}

func memberNames(t *testing.T, line []byte) (names []string) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(line)))
	_, _ = decoder.Token()
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		names = append(names, name.(string))
	}
	return names
}

// TestRecordedKinds: the kind that a launch record names is the one that readers compute.
func TestRecordedKinds(t *testing.T) {
	for _, line := range lines(t, filepath.Join(recorded, "many_types", "goproton")) {
		var r struct {
			Type     string `json:"event_type"`
			Grid     json.RawMessage
			Args     json.RawMessage       `json:"extracted_args"`
			Metadata struct{ Hash string } `json:"compilation_metadata"`
			Goproton struct{ Launch string }
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if want := tritonparse.LaunchKind(r.Metadata.Hash, r.Grid, r.Args); r.Type == "launch" && r.Goproton.Launch != want {
			t.Errorf("kind %s, computed %s", r.Goproton.Launch, want)
		}
	}
}
