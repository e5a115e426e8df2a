package profiler

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/goproton/goproton/internal/outname"
	"github.com/goproton/goproton/profile"
)

// Version is set by the build.
var Version = "unknown"

// infoOf gathers the facts of this process that a profile tells.
func infoOf(name string, now uint64) profile.Info {
	info := profile.Info{
		profile.InfoPID:   strconv.Itoa(os.Getpid()),
		profile.InfoStart: strconv.FormatUint(now, 10),
		profile.InfoTool:  "goproton " + Version,
	}
	if base := filepath.Base(name); name != "" && name != "-" {
		info[profile.InfoName] = base
	}
	if host, err := os.Hostname(); err == nil {
		info[profile.InfoHost] = host
	}
	if rank, ranks, ok := outname.Launched(os.Getenv); ok {
		info[profile.InfoRank], info[profile.InfoWorld] = strconv.Itoa(rank), strconv.Itoa(ranks)
	}
	return info
}
