// Package push sends windows from a spool to servers that keep profiles: Grafana Pyroscope, Parca and, over OTLP, an
// OpenTelemetry collector; or into a folder. To a collector it also sends the counters of a run. It runs in "proton run" or in a process of its own, never in the profiled program.
//
// A window is what one process recorded in an interval (counters.Taken). NewSeries makes of it one pprof profile per GPU that all
// servers accept, an encoding puts that into the envelope of a protocol, and a Sender sends one after another, retries what may
// succeed later, and counts what no server takes.
package push

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/profile"
)

// Name is what the servers call our profiles: __name__ of Pyroscope and Parca, the scope of OTLP.
const Name = "goproton"

// Label is a label of a series.
type Label struct{ Name, Value string }

// Series is what one GPU did for one process in one window.
type Series struct {
	ID      string  // the same whenever the same window is sent
	Labels  []Label // by name; without that of the profile's name
	Profile *pprof.Profile
	Folded  int // call paths that stand below a frame (other), because there were too many
	Cut     int // call paths whose outermost frames were cut

	raw []byte // the profile as a file of pprof, not compressed
}

// NewSeries makes the series of a window, whose name in the spool says which it is, in the order of their GPUs.
func NewSeries(name string, p *profile.Profile) ([]Series, error) {
	begin, _ := strconv.ParseInt(p.Info[profile.InfoStart], 10, 64)   //nolint:errcheck // 0: the server takes its own time
	end, _ := strconv.ParseInt(p.Info[profile.InfoWindowEnd], 10, 64) //nolint:errcheck // likewise
	byGPU := split(p)
	var list []Series
	for _, gpu := range slices.Sorted(maps.Keys(byGPU)) {
		s := Series{ID: id(name, gpu), Labels: labels(p.Info, gpu)}
		if err := s.fill(byGPU[gpu], limits, begin, max(end-begin, 0)); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// id is a UUID that is the same for the same series of the same window.
func id(name, gpu string) string {
	sum := sha256.Sum256([]byte(name + "\x00" + gpu))
	return uuid([16]byte(sum[:16]), 8) // of our own making
}

// uuid makes a UUID of some version out of bytes.
func uuid(b [16]byte, version byte) string {
	b[6], b[8] = b[6]&0x0f|version<<4, b[8]&0x3f|0x80
	text := hex.EncodeToString(b[:])
	return fmt.Sprintf("%s-%s-%s-%s-%s", text[:8], text[8:12], text[12:16], text[16:20], text[20:])
}

// labels are those of a series: what the user gave, and what the process knows. Neither process ids nor steps are among them:
// servers keep an index for every value.
func labels(info profile.Info, gpu string) []Label {
	set := map[string]string{}
	for key, value := range info {
		if name, is := strings.CutPrefix(key, runinfo.InfoLabel); is {
			set[name] = value
		}
	}
	for _, of := range []struct{ label, value string }{
		{"host", info[profile.InfoHost]}, {"rank", info[profile.InfoRank]}, {"gpu", gpu}, {"replay", info[profile.InfoReplay]},
	} {
		if of.value != "" {
			set[of.label] = of.value
		}
	}
	if set[runinfo.LabelService] == "" {
		set[runinfo.LabelService] = cmp.Or(info[profile.InfoName], "unknown_service")
	}
	var list []Label
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if value := foreign.Plain(set[name], mostLabelBytes); value != "" && runinfo.CheckLabel(name) == nil {
			list = append(list, Label{name, value})
		}
	}
	return list
}

const (
	mostLabelBytes = 2048 // Pyroscope's limit for values
	mostNameBytes  = 4096 // of a frame; Pyroscope's limit is 65,535
)
