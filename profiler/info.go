package profiler

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/goproton/goproton/internal/runinfo"
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
	maps.Copy(info, launchInfo(runinfo.LaunchedBy(os.Getenv)))
	return info
}

// launchInfo is what the launcher of a distributed run says of this process.
func launchInfo(p runinfo.Launched) profile.Info {
	info := profile.Info{}
	if p.Requeue > 0 {
		info[profile.InfoRequeue] = strconv.Itoa(p.Requeue)
	}
	if p.Rank < 0 {
		return info
	}
	info[profile.InfoRank] = strconv.Itoa(p.Rank)
	for key, n := range map[string]int{profile.InfoWorld: p.World, profile.InfoRestart: p.Restart} {
		if n > 0 {
			info[key] = strconv.Itoa(n)
		}
	}
	for key, text := range map[string]string{profile.InfoLauncher: p.Launcher, profile.InfoJob: p.Job} {
		if text != "" {
			info[key] = text
		}
	}
	return info
}

// SetLaunched adds what became known of a session's process after its start. A timeline whose file has begun does not get it.
func (m *Manager) SetLaunched(id int, p runinfo.Launched) {
	_ = m.of(id, func(_ *drainer, s *session) error {
		s.info = maps.Clone(s.info) // windows on their way to sinks have the one from before
		maps.Copy(s.info, launchInfo(p))
		return nil
	})
}

// TraceFolder has profiles name the folder of the TritonParse trace that is being recorded with them.
func (m *Manager) TraceFolder(folder string) {
	m.drainer.do(func(d *drainer) { d.traceFolder = folder })
}

// infoFor returns the facts for a profile that a session makes now.
func (d *drainer) infoFor(s *session) profile.Info {
	info := maps.Clone(s.info)
	end := time.Now()
	if !s.active {
		end = s.paused
	}
	info[profile.InfoEnd] = strconv.FormatInt(end.UnixNano(), 10)
	if d.traceFolder != "" {
		info[profile.InfoTrace] = d.traceFolder
	}
	if s.recording != nil {
		info[profile.InfoWindows] = s.recording.log.String(time.Now())
	}
	d.describeBudget(s, info)
	d.counting.describe(info)
	return info
}
