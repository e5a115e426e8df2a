package run

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/runinfo"
)

// A flag wins over its variable, labels are added, and without a URL nothing is read.
func TestPushOptionsOfTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		push  Push
		flags []string
		env   string
		want  string
	}{
		{Push{URL: "u", Every: 60, Wait: 5}, nil, "", "{u  60 5  [] false}"},
		{Push{URL: "u", Every: 60, Wait: 5}, nil, "EVERY=30 WAIT=0 SERVICE=s LABELS=a=1,b=2", "{u  30 0 s [a=1 b=2] false}"},
		{Push{URL: "u", Every: 10, Wait: 1, Service: "f", Labels: []string{"b=3"}}, []string{"push-every", "push-wait", "push-service", "push-label"},
			"EVERY=30 WAIT=0 SERVICE=s LABELS=a=1,b=2", "{u  10 1 f [a=1 b=2 b=3] false}"},
		{Push{URL: "u", Every: 60, Wait: 5}, nil, "METRICS=1", "{u  60 5  [] true}"},
		{Push{URL: "u", Every: 60, Wait: 5}, []string{"push-counters"}, "METRICS=1", "{u  60 5  [] false}"},
		{Push{URL: "u", Every: 60}, nil, "EVERY=soon", `error: read PROTON_PUSH_EVERY="soon": give seconds`},
		{Push{}, nil, "EVERY=soon LABELS=a=1", "{  0 0  [] false}"},
	} {
		vars := map[string]string{}
		for _, pair := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			vars["PROTON_PUSH_"+name] = value
		}
		err := c.push.FillFrom(func(name string) string { return vars[name] }, func(flag string) bool { return slices.Contains(c.flags, flag) })
		got := fmt.Sprint(c.push)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%s with the flags %v: got %s, want %s", c.env, c.flags, got, c.want)
		}
	}
	labels, err := Push{Labels: []string{"a=1", "b=2", "b=3"}}.labels("target")
	if got := fmt.Sprint(labels); err != nil || got != "map[a:1 b:3 service_name:target]" {
		t.Errorf("labels: %s (%v)", got, err)
	}
}

// A folder that is not there is said before the target runs, and windows wait.
func TestPushToAFolderThatIsAway(t *testing.T) {
	t.Setenv("PROTON_PUSH_SPOOL", t.TempDir())
	folder := filepath.Join(t.TempDir(), "mount")
	for _, away := range []bool{true, false} {
		var said strings.Builder
		p, err := Push{URL: "file://" + folder, Every: 60}.start(&runinfo.Config{}, "target", &said)
		if err != nil {
			t.Fatal(err)
		}
		p.sender.Finish(t.Context())
		if want := "proton: warning: --push file://" + folder + ": there is no such folder: make it, or mount it; until then windows wait in "; strings.HasPrefix(said.String(), want) != away || !away && said.Len() > 0 {
			t.Errorf("away %v: %q", away, said.String())
		}
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

// Counters need a URL, and a collector there.
func TestPushOfCountersNeedsACollector(t *testing.T) {
	if err := (Options{Push: Push{Metrics: true}}).CheckPush(); err == nil || !strings.Contains(err.Error(), "the option counters needs --push") {
		t.Errorf("without a URL: %v", err)
	}
	for _, url := range []string{"http://localhost:4040", "parca+http://localhost:7070", "file://" + t.TempDir()} {
		err := Options{Push: Push{URL: url, Every: 60, Metrics: true}}.CheckPush()
		if err == nil || !strings.Contains(err.Error(), "counters are pushed over otlp only") || !strings.Contains(err.Error(), url) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
