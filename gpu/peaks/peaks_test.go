package peaks

import (
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestBoardsAreComplete: a board's entry gives all that its bandwidth is computed from, and a part's architecture has rates.
func TestBoardsAreComplete(t *testing.T) {
	for name := range knownBoards {
		d := profile.Device{Type: cuda, Arch: "90", Name: name}
		nvidiaComplete(&d)
		if bytes, known := nvidiaBandwidth(d); !known || bytes == 0 || d.ClockRate == 0 {
			t.Errorf("%s: %g byte/s at %d kHz", name, bytes, d.ClockRate)
		}
	}
	for _, p := range amdParts {
		if amd.Rates[p.arch] == nil || p.units <= amdPairs[p.arch] || p.bytes == 0 {
			t.Errorf("%s: %+v; its architecture has the rates %v", p.name, p, amd.Rates[p.arch])
		}
	}
}
