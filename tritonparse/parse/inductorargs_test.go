package parse

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
)

// withInductorArgs is the recorded trace of torch.compile's kernel with what Inductor may hand to the hook in addition to the kernel's
// arguments. The releases of torch that were available pass nothing to the hook, so the arguments are written by hand.
func withInductorArgs(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("../../testdata/traces/inductor/tritonparse/" + tritonparse.Prefix + "*")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	text := testkit.Gunzip(t, found[0])
	const none = `"extracted_inductor_args":{}`
	launches := bytes.Count(text, []byte(none))
	for n := range launches {
		args := fmt.Sprintf(`"extracted_inductor_args":{"ks0":{"type":"int","value":%d},"scale":{"type":"float","value":0.5},"mode":{"type":"str","value":"é","length":1},`+
			`"out":{"type":"tensor","shape":[128,64],"dtype":"torch.float32","device":"cuda:0","stride":[64,1],"data_ptr":"0x7f00"},"nothing":{"type":"NoneType","repr":"None"}}`, 64<<n)
		text = bytes.Replace(text, []byte(none), []byte(args), 1)
	}
	if launches != 2 {
		t.Fatalf("%d launches, not 2", launches)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, tritonparse.Prefix+"me_rank_none_pid_945_host_gpu_.ndjson"), text, 0o666); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestInductorArgsAsTritonparse: such arguments count in hashes and differences of launches as they do in tritonparse.
func TestInductorArgsAsTritonparse(t *testing.T) {
	needOracle(t).compare(t, withInductorArgs(t), `{}`, Options{})
}

// TestInductorArgs: they are known by name, and filters find them.
func TestInductorArgs(t *testing.T) {
	trace, err := tritonparse.Open(withInductorArgs(t), tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	err = trace.EachLaunch(func(l *tritonparse.LaunchRecord) error {
		for _, a := range l.InductorArgs {
			seen = append(seen, a.Name+" "+a.Brief())
		}
		return nil
	})
	const want = "[ks0 64 scale 0.5 mode \"é\" out float32[128,64] nothing None ks0 128 scale 0.5 mode \"é\" out float32[128,64] nothing None]"
	if err != nil || fmt.Sprint(seen) != want {
		t.Errorf("%v, %v", seen, err)
	}
}
