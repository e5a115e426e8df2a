package profiler

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/profile"
)

// Sink takes the windows of a session: phases that are over. Each sink has a goroutine and a queue of its own, so a sink
// that is slow, fails or panics delays neither the program nor the profiler nor other sinks. Write gets one window at a
// time, in order. It must not change the profile, which other sinks read too. A window whose Write fails is offered up to
// three times. When more than 32 windows wait, the oldest is dropped. What is dropped is counted, and Problems says so.
// The context ends when the profiler no longer waits for the sink.
type Sink interface {
	Write(ctx context.Context, w Window, p *profile.Profile) error
}

// Window is the part of a session that a profile holds.
type Window struct {
	Session int
	Name    string    // of the session, as it was started
	Phase   int       // counted from 0
	Begin   time.Time // of an interval (Deltas); zero in others
	End     time.Time
	Last    bool // the session ends with it

	path, format string // of the file; "" is standard output
}

// fileSink writes each window into the file that is named after the session and the phase. It writes all files of
// trees.
type fileSink struct{}

func (fileSink) Write(_ context.Context, w Window, p *profile.Profile) error {
	if w.path == "" {
		if err := writeTree(ownfile.Stdout, p, w.format); err != nil {
			return fmt.Errorf("write the profile to standard output: %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(w.path), 0o777); err != nil {
		return fmt.Errorf("make the folder of %s: %w; give a name in a folder that can be written", w.path, err)
	}
	return ownfile.Replace(w.path, func(out io.Writer) error { return writeTree(out, p, w.format) })
}
