package control

import (
	"context"
	"io"
	"maps"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/goproton/goproton/export/spool"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/msgpack"
	"github.com/goproton/goproton/profiler"
)

// pushed puts the windows of a session into a spool, with what their sender has to know.
type pushed struct {
	*spool.Writer
	labels map[string]string
}

// pushes are the writers of all sessions whose windows are pushed, one for each spool: it numbers the windows of this process and limits
// their size. Threads of the program add to them while the drainer's rounds ask for the status.
type pushes struct {
	sync.Mutex
	writers map[string]*spool.Writer // by folder
}

func (p *pushes) writer(folder string) *spool.Writer {
	p.Lock()
	defer p.Unlock()
	w := p.writers[folder]
	if w == nil {
		w = spool.NewWriter(folder, spool.ProcessLimit)
		if p.writers == nil {
			p.writers = map[string]*spool.Writer{}
		}
		p.writers[folder] = w
	}
	return w
}

// pushDeltas is what a session is started with whose windows are pushed, nil without. The job is that of the launcher, unless the user
// names another.
func (s *Service) pushDeltas(o *runinfo.Push) (*profiler.Deltas, error) {
	if o == nil {
		return nil, nil
	}
	if err := checkLabels(o); err != nil {
		return nil, err
	}
	labels := map[string]string{}
	if job := runinfo.LaunchedBy(os.Getenv).Job; job != "" {
		labels[runinfo.LabelJob] = job
	}
	maps.Copy(labels, o.Labels)
	return &profiler.Deltas{Sink: &pushed{s.pushed.writer(o.Spool), labels}, Every: time.Duration(o.Seconds * float64(time.Second))}, nil
}

func checkLabels(o *runinfo.Push) error {
	if err := runinfo.CheckLabels(o.Labels); err != nil {
		return &profiler.ArgumentError{Text: "push: " + err.Error()}
	}
	return nil
}

func (p *pushed) Write(_ context.Context, w profiler.Window, window *profile.Profile) error {
	out := *window
	out.Info = maps.Clone(window.Info)
	out.Info[profile.InfoStart] = strconv.FormatInt(w.Begin.UnixNano(), 10)
	out.Info[profile.InfoWindowEnd] = strconv.FormatInt(w.End.UnixNano(), 10)
	for name, value := range p.labels {
		out.Info[runinfo.InfoLabel+name] = value
	}
	return p.Put(w.End, func(file io.Writer) error { return msgpack.Write(file, &out) })
}

// pushStatus says what became of the windows; nil if there are none to be.
func (s *Service) pushStatus() *runinfo.PushStatus {
	s.pushed.Lock()
	defer s.pushed.Unlock()
	if len(s.pushed.writers) == 0 {
		return nil
	}
	total := &runinfo.PushStatus{Dropped: int64(s.Manager.WindowsDropped())}
	for _, w := range s.pushed.writers {
		total.Add(runinfo.PushStatus{SpoolStatus: w.Status()})
	}
	return total
}
