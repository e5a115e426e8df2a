package run

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/runinfo"
)

func TestCostOfScopesInsideIsSaidBefore(t *testing.T) {
	for _, c := range []struct {
		backend, mode, inside, want string
	}{
		{"", "", "", ""},
		{"cupti", "pcsampling", "", ""},
		{"replay", "", "", ""},
		{"instrumentation", "", "matmul", "14 to 21 %"},
		{"instrumentation", "mma:buffer_size=1024", "matmul", "without --mode mma "},
		{"instrumentation", "default", "", "sampling_strategy=selective"},
	} {
		o := Options{Config: runinfo.Config{Session: runinfo.Session{Backend: c.backend, Mode: c.mode}, Inside: c.inside}}
		if got := o.insideCost(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
