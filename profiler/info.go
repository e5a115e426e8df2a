package profiler

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"

	"github.com/goproton/goproton/internal/outname"
	"github.com/goproton/goproton/internal/version"
	"github.com/goproton/goproton/profile"
)

// infoOf gathers the facts of this process that a profile holds.
func infoOf(name string, now uint64) profile.Info {
	info := profile.Info{
		profile.InfoPID:   strconv.Itoa(os.Getpid()),
		profile.InfoStart: strconv.FormatUint(now, 10),
		profile.InfoTool:  version.Tool(),
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

// TraceFolder has profiles name the folder of the TritonParse trace that is being recorded with them.
func (m *Manager) TraceFolder(folder string) {
	m.drainer.do(func(d *drainer) { d.traceFolder = folder })
}

// infoFor returns the facts that a session's profile holds.
func (d *drainer) infoFor(s *session) profile.Info {
	if d.traceFolder == "" {
		return s.info
	}
	info := maps.Clone(s.info)
	info[profile.InfoTrace] = d.traceFolder
	return info
}
